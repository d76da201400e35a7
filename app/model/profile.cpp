#include "app/model/profile.h"

#include <algorithm>

#include "app/engine/json_fields.h"
#include "app/model/packed_time.h"
#include "profiling/metrics/figures.h"

namespace convscope {
using nlohmann::json;
using namespace json_fields;

namespace {

std::vector<std::string> words(const json& j, const char* field) {
  std::vector<std::string> all;
  for (const auto& w : part(j, field))
    if (w.is_string()) all.push_back(w.get<std::string>());
  return all;
}

void shape_from(const json& j, const char* field, std::array<int64_t, 3>& into) {
  std::vector<int64_t> v = wholes(j, field);
  v.resize(3, 1);
  std::copy_n(v.begin(), 3, into.begin());
}

ProfileLaunch launch_from(const json& l) {
  ProfileLaunch out;
  out.entry = text(l, "entry"), out.source = text(l, "source");
  out.registers = whole(l, "registers");
  out.static_shared_bytes = whole(l, "static_shared_bytes");
  out.dynamic_shared_bytes = whole(l, "dynamic_shared_bytes");
  out.local_bytes = whole(l, "local_bytes");
  const json& o = part(l, "occupancy");
  out.occupancy_pct = number(o, "percent");
  out.limit = text(o, "limit");
  out.main = l.is_object() && l.value("main", json(false)) == true;
  shape_from(l, "grid", out.grid), shape_from(l, "block", out.block);
  return out;
}

}  // namespace

const ProfileLaunch* main_launch(const Profile& p) {
  if (p.launches.empty()) return nullptr;
  for (const auto& l : p.launches)
    if (l.main) return &l;
  auto ms = [&](const ProfileLaunch& l) {
    double sum = 0;
    for (const auto& k : p.kernels)
      if (k.name == l.entry) sum += k.ms;
    return sum;
  };
  auto longest = std::max_element(p.launches.begin(), p.launches.end(),
                                  [&](const ProfileLaunch& a, const ProfileLaunch& b) { return ms(a) < ms(b); });
  return ms(*longest) > 0 ? &*longest : &p.launches.back();
}

size_t main_launch(const Report& r, const Profile* p) {
  const ProfileLaunch* profiled = p ? main_launch(*p) : nullptr;
  for (size_t i = 0; i < r.launches.size(); i++)
    if (r.launches[i].main) return i;
  for (size_t i = 0; i < r.launches.size(); i++)
    if (profiled && r.launches[i].entry == profiled->entry) return i;
  return r.launches.size() - 1;
}

Counters counters_of(const Profile& p) {
  Counters all;
  for (const auto& v : p.values) all.emplace(v.name, v.value);
  return of_kernels_alone(std::move(all), p.kernel_ms);
}

ProfileCeilings ceilings_from(const json& c) {
  auto rate = [&](const char* field) { return number(c, field).value_or(0); };
  ProfileCeilings out = {text(c, "gpu"),     text(c, "source"),   rate("memory_gbs"),
                         rate("f32_gflops"), rate("tf32_gflops"), rate("f16_gflops"),
                         rate("f64_gflops"), rate("l2_gbs"),      rate("shared_gbs")};
  for (const auto& fact : part(c, "facts")) out.facts.push_back(text(fact, "name") + ": " + text(fact, "how"));
  return out;
}

Profile profile_from(const json& j, const Document& asked, bool full) {
  static uint64_t serial = 0;
  Profile p;
  p.serial = ++serial;
  p.document = asked;
  p.full = full;
  p.kernel = text(part(j, "kernel"), "name"), p.kind = text(part(j, "kernel"), "kind");
  p.device_kind = text(part(j, "device"), "kind");
  p.device_name = text(part(j, "device"), "name");
  p.architecture = text(part(j, "device"), "architecture");
  p.multiprocessors = whole(part(j, "device"), "multiprocessors").value_or(0);
  const json& limits = part(j, "bottleneck");
  p.sentence = text(limits, "sentence"), p.next = text(limits, "next"), p.rung = text(limits, "rung");
  const json& counters = part(j, "counters");
  p.counted_by = text(counters, "source");
  p.gap = text(part(counters, "gap"), "what"), p.how = text(part(counters, "gap"), "how");
  for (const auto& set : part(counters, "sets"))
    p.sets.push_back({text(set, "set"), text(set, "reason"), words(set, "not_on_this_chip")});
  for (const auto& set : part(counters, "sets"))
    for (const auto& [name, value] : part(set, "values").items())
      if (auto v = number(value, "value")) p.values.push_back({text(set, "set"), name, text(value, "unit"), *v});
  for (const auto& h : part(j, "headlines"))
    p.headlines.push_back({text(h, "name"), text(h, "title"), text(h, "unit"), text(h, "formula"), text(h, "good"),
                           text(h, "meaning"), text(h, "shade"), text(h, "reason"), number(h, "value")});
  for (const auto& l : part(j, "lines")) {
    ProfileLine line{text(l, "file"), whole(l, "line").value_or(0), {}};
    for (const auto& [name, value] : part(l, "values").items())
      if (auto v = number(value, "value")) line.values[name] = *v;
    p.lines.push_back(std::move(line));
  }
  p.lines_source = text(j, "lines_source"), p.lines_reason = text(j, "lines_reason");
  for (const auto& l : part(j, "launches")) p.launches.push_back(launch_from(l));
  p.launches_reason = text(j, "launches_reason");
  for (const auto& w : part(j, "waiting"))
    p.waiting.push_back({text(w, "name"), text(w, "words"), number(w, "share").value_or(0)});
  double first_ns = 0;
  for (const auto& k : part(j, "kernels")) {
    double start_ns = number(k, "start_ns").value_or(0);
    if (p.kernels.empty()) first_ns = start_ns;
    ProfileKernel kernel{text(k, "name"), number(k, "duration_ms").value_or(0), (start_ns - first_ns) / 1e3};
    shape_from(k, "grid", kernel.grid), shape_from(k, "block", kernel.block);
    p.kernels.push_back(std::move(kernel));
  }
  p.samples = samples_from(part(j, "pc_sampling"));
  p.timeline = timeline_from(part(j, "timeline"));
  for (const auto& phase : part(j, "phases"))
    p.phases.push_back({text(phase, "name"), number(phase, "seconds").value_or(0)});
  p.warnings = words(j, "warnings");
  const json& timing = part(j, "timing");
  p.hot_ms = number(part(timing, "hot"), "median_ms"), p.cold_ms = number(part(timing, "cold"), "median_ms");
  p.kernel_ms = number(timing, "kernel_ms"), p.host_ms = number(timing, "host_ms");
  p.kernel_reason = text(timing, "kernel_reason"), p.host_reason = text(timing, "host_reason");
  p.packs_weights = p.kind == "reference" ? false : packed_from(timing, part(j, "launches")).packs;
  p.time_source = text(timing, "source"), p.floor_from = text(timing, "floor_from");
  const json& conditions = part(j, "conditions");
  p.conditions = conditions_from(conditions);
  p.conditions_reason = text(conditions, "reason");
  p.slower_because = words(conditions, "slower_because");
  p.sm_mhz = number(part(conditions, "sm_mhz"), "median");
  p.memory_mhz = number(part(conditions, "memory_mhz"), "median");
  p.temperature_c = number(part(conditions, "temperature_c"), "median");
  p.power_w = number(part(conditions, "power_w"), "median");
  const json& roof = part(j, "roofline");
  p.ceilings = ceilings_from(part(roof, "ceilings"));
  for (const auto& at : part(roof, "points"))
    p.points.push_back({text(at, "name"), number(at, "intensity").value_or(0), number(at, "gflops").value_or(0),
                        number(at, "fraction").value_or(0), text(at, "cache") == "cold"});
  p.roofline_reason = text(roof, "reason");
  return p;
}

}  // namespace convscope
