#include "app/engine/profile_codec.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>

#include "app/engine/codec.h"
#include "app/engine/json_fields.h"
#include "app/engine/sampling_codec.h"
#include "kernels/runtime/registry.h"
#include "profiling/metrics/figures.h"

namespace convscope {
using nlohmann::json;
namespace {

json optional_number(const std::optional<double>& v) { return v ? number_json(*v) : json(nullptr); }

json time_json(const Timing& t) {
  if (t.empty()) return nullptr;
  Interval i = median_interval(t.samples_ms);
  return {{"median_ms", number_json(t.median_ms())}, {"interval_ms", {number_json(i.low), number_json(i.high)}},
          {"min_ms", number_json(t.min_ms())},       {"noise_pct", number_json(t.noise_pct())},
          {"samples", t.samples_ms.size()},          {"samples_ms", t.samples_ms}};
}

json range_json(const std::optional<Range>& r) {
  if (!r) return nullptr;
  return {{"least", r->least}, {"median", r->median}, {"most", r->most}};
}

json launch_json(const LaunchProfile& l) {
  const LaunchFacts& f = l.facts;
  json j = {{"entry", f.entry},
            {"grid", {f.grid.x, f.grid.y, f.grid.z}},
            {"block", {f.block.x, f.block.y, f.block.z}},
            {"registers", f.registers},
            {"static_shared_bytes", f.static_shared_bytes},
            {"dynamic_shared_bytes", f.dynamic_shared_bytes},
            {"local_bytes", f.local_bytes},
            {"source", f.binary.empty() ? "the loaded binary" : "the device code for " + f.binary}};
  if (l.occupancy)
    j["occupancy"] = {{"blocks", l.occupancy->blocks},
                      {"warps", l.occupancy->warps()},
                      {"percent", l.occupancy_pct},
                      {"limit", l.limit},
                      {"source", "computed"}};
  else
    j["occupancy"] = nullptr, j["occupancy_reason"] = l.no_occupancy;
  return j;
}

json kernel_record_json(const KernelRecord& k) {
  return {{"name", k.name},
          {"start_ns", k.start_ns},
          {"duration_ms", k.ms()},
          {"grid", k.grid},
          {"block", k.block},
          {"registers", k.registers},
          {"static_shared_bytes", k.static_shared_bytes},
          {"dynamic_shared_bytes", k.dynamic_shared_bytes},
          {"local_bytes", k.local_bytes},
          {"stream", k.stream}};
}

json reading_json(const CounterReading& c) {
  json values = json::object();
  for (const auto& [name, value] : c.values) {
    const Metric* m = find_metric(name);
    values[name] = {{"value", number_json(value)}, {"unit", m ? m->unit : ""}};
  }
  json set = {{"set", name_of(c.set)}, {"about", about(c.set)},
              {"passes", c.passes},    {"spent_ms", number_json(c.spent_ms)},
              {"values", values},      {"not_on_this_chip", c.not_here}};
  if (c.gap) set["reason"] = c.gap.sentence();
  return set;
}

json counters_json(const std::vector<CounterReading>& list, const Gap& missing, const std::string& source) {
  json sets = json::array();
  for (const auto& c : list) sets.push_back(reading_json(c));
  json j = {{"sets", sets}, {"source", missing ? json(nullptr) : json(source)}, {"gap", gap_json(missing)}};
  if (missing) j["reason"] = missing.sentence();
  return j;
}

json lines_json(const ProfileReport& r) {
  json list = json::array();
  for (const auto& l : r.lines) {
    json values = json::object();
    for (const auto& c : line_counters())
      if (auto it = l.values.find(c.name); it != l.values.end())
        values[c.name] = {{"value", number_json(it->second)}, {"unit", c.unit}};
    list.push_back({{"file", l.file.empty() ? json(nullptr) : json(l.file)},
                    {"line", l.line > 0 ? json(l.line) : json(nullptr)},
                    {"values", values}});
  }
  return list;
}

json headlines_json(const std::vector<HeadlineValue>& headlines, const Gap& missing) {
  json list = json::array();
  for (const auto& v : headlines) {
    json j = {{"name", v.headline->name},       {"title", v.headline->title},     {"value", optional_number(v.value)},
              {"unit", v.headline->unit},       {"formula", v.headline->formula}, {"good", v.headline->good},
              {"meaning", v.headline->meaning}, {"shade", name_of(v.shade)}};
    if (!v.value) j["reason"] = missing ? missing.what : v.missing;
    list.push_back(j);
  }
  return list;
}

json bottleneck_json(const Bottleneck& b) {
  return {{"rule", b.rule},
          {"sentence", b.sentence},
          {"next", b.next.empty() ? json(nullptr) : json(b.next)},
          {"rung", b.rung.empty() ? json(nullptr) : json(b.rung)}};
}

// What warps waited for, the longest first: shares of all waiting.
json waiting_json(const ProfileReport& r) {
  Counters counters = r.all_counters();
  struct Wait {
    double value;
    const Stall* stall;
  };
  std::vector<Wait> waits;
  double all = 0;
  for (const auto& s : stalls())
    if (auto it = counters.find(s.name); it != counters.end() && s.waiting && it->second > 0) {
      waits.push_back({it->second, &s});
      all += it->second;
    }
  std::sort(waits.begin(), waits.end(), [](const Wait& a, const Wait& b) { return a.value > b.value; });
  json list = json::array();
  for (const auto& w : waits)
    list.push_back({{"name", w.stall->name}, {"words", w.stall->words}, {"share", w.value / all}});
  return list;
}

json roofline_json(const ProfileReport& r) {
  json points = json::array();
  for (const auto& p : r.roofline)
    points.push_back({{"name", p.name},
                      {"cache", p.cold ? "cold" : "hot"},
                      {"intensity", p.intensity},
                      {"gflops", p.gflops},
                      {"ceiling_gflops", p.ceiling},
                      {"fraction", p.fraction()},
                      {"bound_by", p.memory_bound ? "memory" : "arithmetic"}});
  json j = {{"ceilings", ceilings_json(r.ceilings)},
            {"arithmetic", name_of(r.arithmetic)},
            {"ridge", r.ceilings.memory_gbs > 0 ? json(r.ceilings.ridge(r.arithmetic)) : json(nullptr)},
            {"points", points}};
  if (points.empty()) j["reason"] = r.roofline_missing;
  return j;
}

void put_floor(json& j, const std::optional<Floor>& floor, const Ceilings& c) {
  j["floor_ms"] = floor ? json(floor->ms) : json(nullptr);
  j["floor_from"] = floor ? json(floor->by_bytes ? "bytes" : "flops") : json(nullptr);
  j["floor_source"] = floor ? json(c.gpu + ", " + c.source) : json(nullptr);
  if (!floor) j["floor_reason"] = "the ceilings of this GPU are not known";
}

}  // namespace

void put_packed(json& times, const PackedTimes& packed, const std::string& no_time) {
  const bool there = !packed.hot.empty() && no_time.empty();
  times["packs_weights"] = no_time.empty() || packed.packs ? json(packed.packs) : json(nullptr);
  times["packed"] = there ? time_json(packed.hot) : json(nullptr);
  times["packing_ms"] = there && !packed.packing.empty() ? number_json(packed.packing.median_ms()) : json(nullptr);
  times["packing_source"] =
      times["packing_ms"].is_null() ? json(nullptr) : json("measured, the launches that pack alone");
  if (there) {
    times["packed"]["cold"] = time_json(packed.cold);
    times["packing_noise_pct"] = number_json(packed.packing.noise_pct());
  } else {
    times["packed_reason"] = no_time.empty() ? packed.missing : no_time;
  }
}

json conditions_json(const Conditions& c) {
  auto limit = [](auto v) { return v ? json(*v) : json(nullptr); };
  json over_time = json::array(), warnings = json::array();
  for (const auto& r : c.over_time)
    over_time.push_back({{"t_ms", number_json(r.t_ms)},
                         {"sm_mhz", limit(r.sm_mhz)},
                         {"memory_mhz", limit(r.memory_mhz)},
                         {"power_w", limit(r.power_w)},
                         {"temperature_c", limit(r.temperature_c)},
                         {"reasons", r.slower_because ? json(slower_because_words(*r.slower_because)) : json(nullptr)},
                         {"throttled", r.slower_because ? json(is_throttled(*r.slower_because)) : json(nullptr)},
                         {"idle", r.slower_because ? json(is_idle(*r.slower_because)) : json(nullptr)}});
  for (const auto& w : {c.warning(), c.shared_with()})
    if (!w.empty()) warnings.push_back(w);
  json j = {{"readings", c.readings},
            {"sm_mhz", range_json(c.sm_mhz)},
            {"memory_mhz", range_json(c.memory_mhz)},
            {"temperature_c", range_json(c.temperature_c)},
            {"power_w", range_json(c.power_w)},
            {"max_sm_mhz", limit(c.limits.max_sm_mhz)},
            {"max_memory_mhz", limit(c.limits.max_memory_mhz)},
            {"power_limit_w", limit(c.limits.power_limit_w)},
            {"mig", c.missing ? json(nullptr) : json(c.limits.mig)},
            {"driver", c.driver_version.empty() ? json(nullptr) : json(c.driver_version)},
            {"throttled_fraction", optional_number(c.throttled)},
            {"slower_because", slower_because_words(c.slower_because)},
            {"over_time", over_time},
            {"readings_for_one", c.readings_for_one},
            {"warnings", warnings},
            {"source", c.missing ? json(nullptr) : json("measured by NVML")}};
  if (c.missing) j["reason"] = c.missing.sentence();
  return j;
}

std::string conditions_line(const json& conditions) {
  using namespace json_fields;
  std::string out;
  auto finite = [](const json& j, const char* field) {
    auto v = number(j, field);
    return v && std::isfinite(*v) ? v : std::nullopt;
  };
  auto add = [&](const char* name, const char* unit, const char* field, const char* limit_field) {
    const json& range = part(conditions, field);
    auto least = finite(range, "least"), most = finite(range, "most"), limit = finite(conditions, limit_field);
    if (!least || !most || *least > *most) return;
    const bool moved = std::round(*least) < std::round(*most);
    out += fmt::format("{}{}{}{:.0f} {}", out.empty() ? "" : " · ", name,
                       moved ? fmt::format("{:.0f} to ", *least) : "", *most, unit);
    if (limit) out += fmt::format(" (limit {:.0f})", *limit);
  };
  add("SM ", "MHz", "sm_mhz", "max_sm_mhz"), add("memory ", "MHz", "memory_mhz", "max_memory_mhz");
  add("", "°C", "temperature_c", ""), add("", "W", "power_w", "power_limit_w");
  return out;
}

json ceilings_json(const Ceilings& c) {
  auto known = [](double v) { return v > 0 ? json(v) : json(nullptr); };
  json facts = json::array();
  for (const auto& f : c.facts)
    facts.push_back({{"name", f.name}, {"value", known(f.value)}, {"noise_pct", f.noise_pct}, {"how", f.how}});
  return {{"gpu", c.gpu},
          {"source", c.source},
          {"memory_gbs", known(c.memory_gbs)},
          {"f32_gflops", known(c.f32_gflops)},
          {"tf32_gflops", known(c.tf32_gflops)},
          {"f16_gflops", known(c.f16_gflops)},
          {"f64_gflops", known(c.f64_gflops)},
          {"l2_gbs", known(c.l2_gbs)},
          {"shared_gbs", known(c.shared_gbs)},
          {"facts", facts}};
}

json profile_json(const ProfileReport& r) {
  json timing = {{"hot", time_json(r.hot)},
                 {"cold", time_json(r.cold)},
                 {"host_ms", optional_number(r.host_ms)},
                 {"kernel_ms", optional_number(r.kernel_ms)},
                 {"source", r.hot.empty() ? json(nullptr) : json(r.emulated ? "emulated" : "measured")}};
  if (r.emulated) timing["reason"] = "emulated time: it says nothing of a GPU";
  if (r.cold.empty()) timing["cold_reason"] = "the emulator has no cache to be cold";
  if (!r.host_ms) timing["host_reason"] = "emulated time is the host's own";
  if (!r.kernel_ms)
    timing["kernel_reason"] = r.kernels_missing ? r.kernels_missing.sentence() : "no kernel was recorded in a call";
  put_packed(timing, r.packed);
  put_floor(timing, r.floor, r.ceilings);

  json launches = json::array(), kernels = json::array();
  const LaunchProfile* main = main_launch(r);
  for (const auto& l : r.launches) {
    launches.push_back(launch_json(l));
    launches.back()["main"] = &l == main;
  }
  for (const auto& k : r.kernels) kernels.push_back(kernel_record_json(k));
  json j = {{"convscope", CONVSCOPE_VERSION},
            {"kernel",
             {{"name", r.name},
              {"kind", r.is_reference ? "reference" : "kernel"},
              {"file", r.file.empty() ? json(nullptr) : json(r.file)},
              {"requires", r.requires_hardware},
              {"what_ran", r.what_ran.empty() ? json(nullptr) : json(r.what_ran)}}},
            {"problem", full_problem_json(r.spec.problem)},
            {"device", device_json(r.device)},
            {"seed", r.spec.inputs.seed},
            {"set", r.spec.full     ? "full"
                    : r.spec.memory ? "memory"
                                    : "live"},
            {"timing", timing},
            {"conditions", conditions_json(r.conditions)},
            {"launches", launches},
            {"kernels", kernels},
            {"counters", counters_json(r.counters, r.counters_missing, r.counters_source)},
            {"lines", lines_json(r)},
            {"lines_source", r.lines.empty() ? json(nullptr) : json(r.lines_source)},
            {"pc_sampling", pc_samples_json(r.samples)},
            {"timeline", timeline_json(r.timeline)},
            {"headlines", headlines_json(r.headlines, r.counters_missing)},
            {"waiting", waiting_json(r)},
            {"roofline", roofline_json(r)},
            {"bottleneck", bottleneck_json(r.bottleneck)},
            {"warnings", r.warnings}};
  if (launches.empty())
    j["launches_reason"] =
        names_file(r.name) ? "registers and shared memory are the device code's: nvcc, which compiles a file "
                             "from outside for it, is not here or did not take it"
        : r.emulated       ? "registers and shared memory are the device code's, and this build has none: it "
                             "was made without nvcc"
                           : "the reference's kernels are known from records only";
  if (r.lines.empty()) j["lines_reason"] = r.lines_missing.empty() ? "it touches no memory" : r.lines_missing;
  if (kernels.empty()) j["kernels_reason"] = timing.value("kernel_reason", "no kernel was recorded in a call");
  return j;
}

namespace {

// Of a profile's answer, what the rules look at.
BottleneckFacts facts_from(const json& j) {
  using namespace json_fields;
  BottleneckFacts f;
  const json &timing = part(j, "timing"), &problem = part(j, "problem"), &counters = part(j, "counters");
  f.ms = number(part(timing, "hot"), "median_ms"), f.host_ms = number(timing, "host_ms");
  f.flops = number(problem, "flops").value_or(0), f.least_bytes = number(problem, "least_bytes").value_or(0);
  f.floor_ms = number(timing, "floor_ms"), f.floor_by_bytes = text(timing, "floor_from") == "bytes";
  f.emulated = text(timing, "source") == "emulated";
  if (auto n = whole(part(j, "device"), "multiprocessors"); n && !f.emulated) f.multiprocessors = static_cast<int>(*n);
  // Who says which launch counts does; else it is the one that took longest.
  const json* main = nullptr;
  double longest = -1;
  for (const auto& l : part(j, "launches")) {
    double ms = l.is_object() && l.value("main", json()) == true ? std::numeric_limits<double>::infinity() : 0;
    for (const auto& k : part(j, "kernels"))
      if (text(k, "name") == text(l, "entry")) ms += number(k, "duration_ms").value_or(0);
    if (ms > longest) longest = ms, main = &l;
  }
  if (main) {
    auto grid = wholes(*main, "grid");
    f.blocks = 1;
    for (auto n : grid) *f.blocks *= n;
    f.local_bytes = whole(*main, "local_bytes");
    if (auto n = whole(*main, "registers")) f.registers = static_cast<int>(*n);
    const json& occupancy = part(*main, "occupancy");
    f.theoretical_occupancy = number(occupancy, "percent"), f.occupancy_limit = text(occupancy, "limit");
  }
  ProfileReport who;
  who.name = text(part(j, "kernel"), "name"), who.is_reference = text(part(j, "kernel"), "kind") == "reference";
  f.reached = reached_rungs(who);
  for (const auto& set : part(counters, "sets"))
    for (const auto& [name, v] : part(set, "values").items())
      if (auto value = number(v, "value")) f.counters.emplace(name, *value);
  f.counters = of_kernels_alone(std::move(f.counters), number(timing, "kernel_ms"));
  f.counters_missing = text(part(counters, "gap"), "what");
  for (const auto& t : dtype_table)
    if (text(problem, "dtype") == t.name) f.element_bytes = static_cast<int>(t.size);
  for (const auto& l : part(j, "lines")) {
    Counters values;
    for (const auto& [name, v] : part(l, "values").items())
      if (auto value = number(v, "value")) values.emplace(name, *value);
    f.lines.push_back(bottleneck_line(text(l, "file"), static_cast<int>(whole(l, "line").value_or(0)), values));
  }
  return f;
}

// The means of a recorded timeline: over kernels, not over what lies between them.
void summarise_timeline(json& j) {
  using namespace json_fields;
  Timeline t;
  t.start_us = numbers(j, "start_us"), t.end_us = numbers(j, "end_us"), t.work_us = number(j, "work_us").value_or(0);
  auto lanes = j.find("lanes");
  if (t.start_us.empty() || t.start_us.size() != t.end_us.size() || lanes == j.end() || !lanes->is_array()) return;
  for (const auto& l : part(j, "launches"))
    if (auto start = number(l, "start_us"), end = number(l, "end_us"); start && end && *end >= *start)
      t.launches.push_back({text(l, "name"), *start, *end});
  j["kernels_us"] = number_json(t.kernels_us());
  for (auto& l : *lanes) {
    if (!l.is_object()) continue;
    Lane lane;
    lane.values = numbers(l, "values");
    const LaneSummary s = t.summary(lane);
    if (!s.points) continue;
    l["least"] = number_json(s.least), l["mean"] = number_json(s.mean), l["most"] = number_json(s.most);
    l["points"] = s.points;
  }
}

}  // namespace

void judge_recorded_profile(json& j) {
  using namespace json_fields;
  if (!j.is_object() || !j.contains("counters") || !j.contains("timing") || text(part(j, "bottleneck"), "rule").empty())
    return;
  const GpuArchitecture* a = find_architecture(text(part(j, "device"), "architecture"));
  if (auto launches = j.find("launches"); a && launches != j.end() && launches->is_array())
    for (auto& l : *launches) {
      if (!number(part(l, "occupancy"), "percent")) continue;
      const int64_t registers = whole(l, "registers").value_or(-1);
      const int64_t shared = whole(l, "static_shared_bytes").value_or(-1),
                    more = whole(l, "dynamic_shared_bytes").value_or(-1);
      int64_t threads = 1;
      for (auto n : wholes(l, "block")) threads *= n >= 1 && n <= 1024 ? n : 0;
      constexpr int64_t much = 1 << 24;  // bytes, more than any GPU has
      if (threads < 1 || threads > 1024 || registers < 0 || registers > 255 || shared < 0 || more < 0 ||
          shared > much || more > much)
        continue;
      const BlockShape block{static_cast<int>(threads), static_cast<int>(registers), shared + more};
      const Occupancy o = occupancy(*a, block);
      if (std::abs(100 * o.fraction(*a) - number(l["occupancy"], "percent").value_or(-1)) < 0.1)
        l["occupancy"]["limit"] = limiter_in_words(*a, block, o);
    }
  if (auto t = j.find("timeline"); t != j.end() && t->is_object()) summarise_timeline(*t);
  const BottleneckFacts facts = facts_from(j);
  if (auto list = j.find("headlines"); list != j.end() && list->is_array())
    for (auto& h : *list)
      if (h.is_object()) {
        auto value = number(h, "value");
        h["shade"] =
            name_of(!value ? Shade::unknown
                           : shade_of(text(h, "name"), *value, facts.counters,
                                      {facts.flops, facts.least_bytes, facts.floor_ms && !facts.floor_by_bytes}));
      }
  j["bottleneck"] = bottleneck_json(find_bottleneck(facts));
  j["bottleneck"]["source"] = "by the rules of this version, from the recorded figures";
}

json live_json(const LiveReading& r) {
  std::vector<CounterReading> list;
  if (r.counters) list.push_back(*r.counters);
  json j = {{"ms", number_json(r.ms)},
            {"source", r.source},
            {"counters", counters_json(list, r.counters_missing, "counted by hardware")},
            {"headlines", headlines_json(r.headlines, r.counters_missing)},
            {"bottleneck", bottleneck_json(r.bottleneck)}};
  if (r.source == "emulated") j["reason"] = "emulated time: it says nothing of a GPU";
  j["packed_ms"] = optional_number(r.packed_ms);
  j["packed_source"] =
      r.packed_ms ? json("recorded by CUPTI: this call, which packed, without the launches that did") : json(nullptr);
  if (!r.packed_ms) j["packed_reason"] = r.packed_missing;
  return j;
}

json bench_json(const BenchReport& r) {
  auto verdict = [](const std::optional<ComparisonOfTimes>& c, const std::string& why) -> json {
    if (!c) return {{"verdict", nullptr}, {"reason", why}};
    return {{"verdict", name_of(c->verdict)},
            {"speedup", number_json(c->speedup)},
            {"p", number_json(c->p)},
            {"evidence", c->evidence}};
  };
  const BenchEntry* other = nullptr;
  for (const auto& e : r.entries)
    if (e.name == r.against) other = &e;
  json entries = json::array();
  bool emulated = false, packed = false;
  const bool cut_short = r.interrupted && r.device.kind == DeviceInfo::Kind::cuda;
  const char* no_cold_times = cut_short ? "interrupted before it was sampled" : "the emulator has no cache to be cold";
  for (const auto& e : r.entries) {
    emulated |= e.emulated, packed |= e.verdict.packed;
    const std::string no_cold = e.cold.empty() && !e.hot.empty() ? no_cold_times : e.no_verdict;
    // Which medians a verdict is about stands beside it: those of the entry may be others.
    auto against = [&](const BenchEntry::Verdict& v) -> json {
      json all = {{"hot", verdict(v.hot, e.no_verdict)},
                  {"cold", verdict(v.cold, no_cold)},
                  {"of", v.packed ? "packed" : "whole"}};
      for (bool cold : {false, true})
        if (json& one = all[cold ? "cold" : "hot"]; other && (cold ? v.cold : v.hot)) {
          one["median_ms"] = number_json(held_times(e, cold, v.packed).median_ms());
          one["against_median_ms"] = number_json(held_times(*other, cold, v.packed).median_ms());
        }
      return all;
    };
    json j = {{"name", e.name},
              {"kind", e.is_reference ? "reference" : "kernel"},
              {"what_ran", e.what_ran.empty() ? json(nullptr) : json(e.what_ran)},
              {"hot", time_json(e.hot)},
              {"cold", time_json(e.cold)},
              {"source", e.hot.empty() ? json(nullptr) : json(e.emulated ? "emulated" : "measured")},
              {"times_floor",
               e.floor && !e.emulated && !e.hot.empty() ? json(e.hot.median_ms() / e.floor->ms) : json(nullptr)},
              {"floor_ms", e.floor ? json(e.floor->ms) : json(nullptr)},
              {"against", against(e.verdict)},
              {"against_whole", against(e.whole_verdict)}};
    put_packed(j, e.packed, e.hot.empty() ? e.missing : "");
    if (j["packed"].is_object() && e.floor) j["packed"]["times_floor"] = e.packed.hot.median_ms() / e.floor->ms;
    if (!e.missing.empty()) j["reason"] = e.missing;
    if (e.cold.empty()) j["cold_reason"] = e.hot.empty() ? e.missing : no_cold_times;
    if (!e.doubt.empty()) j["doubt"] = e.doubt;
    entries.push_back(j);
  }
  json j = {{"convscope", CONVSCOPE_VERSION},
            {"problem", full_problem_json(r.spec.problem)},
            {"device", device_json(r.device)},
            {"seed", r.spec.inputs.seed},
            {"against", r.against.empty() ? json(nullptr) : json(r.against)},
            {"verdicts_of", packed ? "packed" : "whole"},
            {"rounds", r.rounds},
            {"interrupted", r.interrupted},
            {"source", emulated ? "emulated" : "measured"},
            {"entries", entries},
            {"conditions", conditions_json(r.conditions)},
            {"warnings", r.warnings}};
  if (emulated) j["reason"] = "emulated time: who is faster here says nothing of a GPU";
  put_floor(j, r.floor, r.ceilings);
  return j;
}

}  // namespace convscope
