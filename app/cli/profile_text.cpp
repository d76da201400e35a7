// Answers to `profile` as tables, as comma-separated values and as a trace.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

#include "app/cli/forms.h"
#include "app/cli/profile_samples.h"
#include "app/cli/verbs.h"
#include "app/engine/codec.h"
#include "app/engine/json_fields.h"
#include "app/engine/profile_codec.h"
#include "kernels/base/text.h"
#include "profiling/cupti/timeline.h"
#include "profiling/metrics/figures.h"

namespace convscope {
using json_fields::text;
using nlohmann::json;
namespace {

using forms::Csv;
using forms::figure;
using forms::header;
using forms::plain;
using forms::time_of;

std::string times_of(const json& t) {
  return fmt::format("{} ({} to {}, {} samples, noise {})", time_of(t.at("median_ms")),
                     time_of(t.at("interval_ms").at(0)), time_of(t.at("interval_ms").at(1)), t.at("samples").get<int>(),
                     noise_text(t.at("noise_pct").get<double>()));
}

std::string shape(const json& v) {
  return fmt::format("{}×{}×{}", v.at(0).get<int64_t>(), v.at(1).get<int64_t>(), v.at(2).get<int64_t>());
}

}  // namespace

std::string conditions_text(const json& c) {
  if (c.contains("reason")) return text(c, "reason");
  std::string out = conditions_line(c);
  for (const auto& why : c.at("slower_because"))
    out += fmt::format("{}{}", out.empty() ? "" : " · ", why.get<std::string>());
  return out.empty() ? "the GPU tells none" : out;
}

namespace {

// What good looks like stands beside each value, and is said to be that.
std::string headline_line(const json& h, bool estimated) {
  std::string value = h.at("value").is_number() ? figure(h.at("value").get<double>()) : "–", unit = text(h, "unit");
  if (unit == "1") unit = "×";
  if (h.at("value").is_null())
    return fmt::format("    {:<26} {:>10}         {}\n", text(h, "title"), value, text(h, "reason"));
  std::string shade = text(h, "shade");
  if (estimated) value = "≈ " + value;
  return fmt::format("    {:<26} {:>10} {:<7} {:<5} good: {}\n", text(h, "title"), value, unit,
                     shade == "unknown" ? "" : shade, text(h, "good"));
}

// The reasons warps waited for most, when they were counted.
std::string waiting_text(const json& list) {
  std::string out = list.empty() ? "" : "  waiting\n";
  for (size_t i = 0; i < std::min<size_t>(3, list.size()); i++)
    out += fmt::format("    {:>3.0f} %  {}\n", 100 * list[i].at("share").get<double>(), text(list[i], "words"));
  return out;
}

// What is missing of each set of counters: all of it, for a reason of its own, or what this chip does not have.
std::string sets_text(const json& counters) {
  std::string out;
  const bool hardware = !text(counters, "source").starts_with("emulated");
  for (const auto& set : counters.at("sets")) {
    std::string why = text(set, "reason"), names;
    for (const auto& name : set.value("not_on_this_chip", json::array()))
      names += (names.empty() ? "" : ", ") + name.get<std::string>();
    if (why == text(counters, "reason")) why.clear();  // said once, of all
    if (!names.empty() && hardware && why.empty()) why = "not on this chip: " + names;
    if (!why.empty()) out += fmt::format("    {}: {}\n", text(set, "set"), why);
  }
  return out;
}

// The lines that ask most of memory.
std::string lines_text(const json& r) {
  if (r.at("lines").empty()) return "";
  struct Row {
    std::string place;
    double global, loads, requests, shared, conflicts;
    double used, lanes;  // bytes of the loads, threads that took part; below 0: an answer of before
  };
  std::vector<Row> rows;
  double global = 0, shared = 0;
  for (const auto& l : r.at("lines")) {
    const json& v = l.at("values");
    auto get = [&](const char* name) { return v.contains(name) ? v.at(name).at("value").get<double>() : 0.0; };
    Row row{l.at("line").is_null() ? "line unknown"
                                   : fmt::format("{}:{}", file_name(text(l, "file")), l.at("line").get<int>()),
            get("load_sectors") + get("store_sectors"),
            get("load_sectors"),
            get("load_requests"),
            get("shared_wavefronts"),
            get("shared_conflicts"),
            v.contains("load_used_bytes") ? get("load_used_bytes") : -1,
            v.contains("load_lanes") ? get("load_lanes") : -1};
    global += row.global, shared += row.shared;
    rows.push_back(row);
  }
  auto weight = [&](const Row& row) {
    return std::max(global > 0 ? row.global / global : 0, shared > 0 ? row.shared / shared : 0);
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) { return weight(a) > weight(b); });
  std::string out = fmt::format("\n  lines ({})\n", text(r, "lines_source"));
  for (size_t i = 0; i < std::min<size_t>(5, rows.size()); i++) {
    const Row& row = rows[i];
    std::string words;
    if (row.global > 0) words = fmt::format("{:.0f} % of sectors", 100 * row.global / global);
    if (row.requests > 0) words += fmt::format(", {} a load", figure(row.loads / row.requests));
    if (auto used = used_of_sectors(row.used, row.loads); used && row.used >= 0)
      words += fmt::format(" with {:.0f} % of their bytes used", *used);
    if (row.requests > 0 && row.lanes >= 0 && row.lanes < 31.5 * row.requests)
      words += fmt::format(" by {} of 32 threads", figure(row.lanes / row.requests));
    if (row.shared > 0)
      words += fmt::format(
          "{}{:.0f} % of shared memory's cycles{}", words.empty() ? "" : ", ", 100 * row.shared / shared,
          row.conflicts > 0 ? fmt::format(", {:.0f} % of them conflicts", 100 * row.conflicts / row.shared) : "");
    out += fmt::format("    {:<26} {}\n", row.place, words);
  }
  return out;
}

struct CeilingName {
  const char *field, *words, *unit;
  double scale;
};
constexpr CeilingName ceiling_names[] = {
    {"memory_gbs", "memory", "GB/s", 1},        {"l2_gbs", "L2 cache", "GB/s", 1},
    {"shared_gbs", "shared memory", "GB/s", 1}, {"f32_gflops", "f32", "TFLOP/s", 1e-3},
    {"f64_gflops", "f64", "TFLOP/s", 1e-3},     {"tf32_gflops", "TF32", "TFLOP/s", 1e-3},
    {"f16_gflops", "f16", "TFLOP/s", 1e-3}};

std::string rate_of(const json& c, const CeilingName& n) {
  auto it = c.find(n.field);
  if (it == c.end() || !it->is_number()) return "";
  double v = it->get<double>() * n.scale;
  return (v >= 1e3 ? fmt::format("{:.0f}", v) : fmt::format("{:.4g}", v)) + " " + n.unit;
}

std::string ceilings_line(const json& c) {
  std::string list;
  for (const auto& n : ceiling_names)
    if (std::string rate = rate_of(c, n); !rate.empty())
      list += fmt::format("{}{} {}", list.empty() ? "" : ", ", n.words, rate);
  return fmt::format("  {:<11} {} ({}, {})\n", "ceilings", list, text(c, "gpu"), text(c, "source"));
}

}  // namespace

std::string ceilings_text(const json& c) {
  std::string out;
  const json none = json::array();
  auto it = c.find("facts");
  const json& facts = it != c.end() && it->is_array() ? *it : none;
  for (const auto& n : ceiling_names) {
    std::string rate = rate_of(c, n), how;
    for (const auto& f : facts)
      if (text(f, "name") == n.field)
        how = f.at("value").is_number()
                  ? fmt::format("± {}, {}", noise_text(f.at("noise_pct").get<double>()), text(f, "how"))
                  : text(f, "how");
    if (rate.empty() && how.empty()) continue;
    out += fmt::format("  {:<14} {:>16}  {}\n", n.words, rate.empty() ? "–" : rate, how);
  }
  return out + fmt::format("  source: {}{}\n", text(c, "source"),
                           facts.empty() ? "; the first profile on this GPU measures them" : "");
}

std::string profile_text(const json& r) {
  std::string name = text(r.at("kernel"), "name");
  std::string out =
      header(r, name + (text(r.at("kernel"), "what_ran").empty() ? "" : " (" + text(r.at("kernel"), "what_ran") + ")"));
  const json& b = r.at("bottleneck");
  out += fmt::format("  {}\n", text(b, "sentence"));
  if (!text(b, "next").empty())
    out += fmt::format(
        "  next: {}{}\n", text(b, "next"),
        text(b, "rung").empty() || text(b, "rung") == name ? "" : fmt::format(" (kernel {} does)", text(b, "rung")));
  const json& t = r.at("timing");
  bool emulated = text(t, "source") == "emulated";
  out += "\n";
  if (t.at("hot").is_object())
    out += fmt::format("  {:<11} {}{}\n", emulated ? "emulated" : "time hot", times_of(t.at("hot")),
                       emulated ? "" : ", whole calls of this profile");
  if (t.at("cold").is_object()) out += fmt::format("  {:<11} {}\n", "time cold", times_of(t.at("cold")));
  if (std::string words = forms::packed_words(r, t); !words.empty())
    out += fmt::format("  {:<11} {}\n", "packed", words);
  if (emulated) out += "              time of this CPU, which says nothing of a GPU\n";
  if (t.at("kernel_ms").is_number())
    out += fmt::format("  {:<11} {} in {} kernel{} by CUPTI (another call, recorded), {} seen from the host\n", "of it",
                       time_of(t.at("kernel_ms")), r.at("kernels").size(), r.at("kernels").size() == 1 ? "" : "s",
                       time_of(t.at("host_ms")));
  else if (!emulated)
    out += fmt::format("  {:<11} {}\n", "of it", text(t, "kernel_reason"));
  if (t.at("floor_ms").is_number())
    out += fmt::format("  {:<11} {} by {}{} ({}){}\n", "floor", time_of(t.at("floor_ms")), text(t, "floor_from"),
                       forms::floor_rate(r, t), text(t, "floor_source"),
                       emulated || !t.at("hot").is_object()
                           ? ""
                           : fmt::format(": this is {:.3g} times that",
                                         t.at("hot").at("median_ms").get<double>() / t.at("floor_ms").get<double>()));
  if (const json& c = r.at("roofline").at("ceilings"); !emulated && c.is_object() && c.contains("facts"))
    out += ceilings_line(c);
  out += fmt::format("  {:<11} {}\n", "clocks", conditions_text(r.at("conditions")));
  for (const auto& l : r.at("launches"))
    out += fmt::format(
        "  {:<11} {} grid {}, block {}, {} registers, {} shared{}; {} ({})\n", "launch", text(l, "entry"),
        shape(l.at("grid")), shape(l.at("block")), l.at("registers").get<int>(),
        bytes_text(l.at("static_shared_bytes").get<uint64_t>() + l.at("dynamic_shared_bytes").get<uint64_t>()),
        l.at("local_bytes").get<int64_t>()
            ? fmt::format(", {} bytes of local memory a thread", l.at("local_bytes").get<int64_t>())
            : "",
        l.at("occupancy").is_object()
            ? fmt::format("occupancy {:.0f} %, {}", l.at("occupancy").at("percent").get<double>(),
                          text(l.at("occupancy"), "limit"))
            : text(l, "occupancy_reason"),
        text(l, "source"));
  if (r.at("launches").empty()) out += fmt::format("  {:<11} {}\n", "launch", text(r, "launches_reason"));
  const json& c = r.at("counters");
  bool any = c.at("source").is_string();
  if (!any) {
    out += fmt::format("  {:<11} {}\n", "counters", text(c, "reason"));
    out += sets_text(c);
  } else {
    out += fmt::format("\n  {}\n", text(c, "source"));
    const bool estimated = is_estimate(text(c, "source"));
    if (estimated) out += "    ≈: an estimate, all blocks being taken to be like those that were traced\n";
    for (const auto& h : r.at("headlines")) out += headline_line(h, estimated);
    out += sets_text(c);
    out += waiting_text(r.at("waiting"));
  }
  out += lines_text(r);
  out += samples_text(r) + timeline_text(r);
  const bool packs = t.value("packs_weights", json()) == true;  // points are of whole plans
  for (const auto& p : r.at("roofline").at("points"))
    out += fmt::format("  {:<11} {} of {} GFLOP/s that {} allows at {} operations a byte ({}): {:.0f} %\n", "roofline",
                       figure(p.at("gflops").get<double>()), figure(p.at("ceiling_gflops").get<double>()),
                       text(p, "bound_by"), figure(p.at("intensity").get<double>()),
                       text(p, "name") + (packs ? ", packing included" : ""), 100 * p.at("fraction").get<double>());
  out += forms::warnings_beneath(r);
  return out;
}

std::string profile_csv(const json& r) {
  Csv csv("section,name,value,unit,source");
  const json& t = r.at("timing");
  std::string source = plain(t.at("source"));
  for (const char* cache : {"hot", "cold"})
    if (t.at(cache).is_object())
      for (const char* what : {"median_ms", "min_ms"})
        csv.line({"timing", fmt::format("{}_{}", cache, what), plain(t.at(cache).at(what)), "ms", source});
  if (auto packed = t.find("packed"); packed != t.end() && packed->is_object()) {
    for (const char* what : {"median_ms", "min_ms"})
      csv.line({"timing", fmt::format("packed_{}", what), plain(packed->at(what)), "ms", source});
    csv.line({"timing", "packed_cold_median_ms", plain(packed->at("cold").value("median_ms", json())), "ms", source});
    csv.line({"timing", "packing_ms", plain(t.at("packing_ms")), "ms", plain(t.at("packing_source"))});
  }
  for (const char* what : {"kernel_ms", "host_ms"})
    csv.line({"timing", what, plain(t.at(what)), "ms", t.at(what).is_null() ? "" : source});
  csv.line({"timing", "floor_ms", plain(t.at("floor_ms")), "ms", plain(t.at("floor_source"))});
  for (const auto& l : r.at("launches")) {
    for (const char* what : {"registers", "static_shared_bytes", "dynamic_shared_bytes", "local_bytes"})
      csv.line({"launch " + text(l, "entry"), what, plain(l.at(what)),
                std::string(what).ends_with("bytes") ? "byte" : "register", text(l, "source")});
    if (l.at("occupancy").is_object())
      csv.line({"launch " + text(l, "entry"), "occupancy", plain(l.at("occupancy").at("percent")), "%", "computed"});
  }
  for (const auto& set : r.at("counters").at("sets"))
    for (const auto& [name, v] : set.at("values").items())
      csv.line({"counters " + text(set, "set"), name, plain(v.at("value")), text(v, "unit"),
                plain(r.at("counters").at("source"))});
  for (const auto& l : r.at("lines"))
    for (const auto& [name, v] : l.at("values").items())
      csv.line({fmt::format("line {}:{}", plain(l.at("file")), plain(l.at("line"))), name, plain(v.at("value")),
                text(v, "unit"), plain(r.at("lines_source"))});
  for (const auto& row : samples_rows(r)) csv.line(row);
  for (const auto& h : r.at("headlines"))
    csv.line({"headlines", text(h, "name"), plain(h.at("value")), text(h, "unit"),
              h.at("value").is_null() ? text(h, "reason") : plain(r.at("counters").at("source"))});
  csv.line({"bottleneck", text(r.at("bottleneck"), "rule"), text(r.at("bottleneck"), "sentence"), "", ""});
  for (const auto& w : r.at("warnings")) csv.line({"warning", "", plain(w), "", ""});
  return csv.text();
}

// Trace Event Format: complete events ("X") in microseconds; what lies within another on one line nests in it.
json profile_trace(const json& r) {
  json events = json::array();
  std::string name = text(r.at("kernel"), "name");
  ConvProblem p = problem_from(r.at("problem"));
  auto event = [&](const std::string& what, double start_us, double us, int line, json args) {
    events.push_back(
        {{"name", what}, {"ph", "X"}, {"ts", start_us}, {"dur", us}, {"pid", 1}, {"tid", line}, {"args", args}});
  };
  auto label = [&](const char* what, int line, const std::string& words) {
    json e = {{"name", what}, {"ph", "M"}, {"pid", 1}, {"args", {{"name", words}}}};
    if (line >= 0) e["tid"] = line;
    events.push_back(e);
  };
  label("process_name", -1, text(r.at("device"), "name"));
  const json args = {{"problem", describe(p)}, {"bottleneck", text(r.at("bottleneck"), "sentence")}};
  if (!r.at("kernels").empty()) {
    uint64_t first = UINT64_MAX;
    double last = 0;
    for (const auto& k : r.at("kernels")) first = std::min(first, k.at("start_ns").get<uint64_t>());
    auto begin = [&](const json& k) { return static_cast<double>(k.at("start_ns").get<uint64_t>() - first) / 1e3; };
    for (const auto& k : r.at("kernels")) last = std::max(last, begin(k) + 1e3 * k.at("duration_ms").get<double>());
    label("thread_name", 0, "a call of " + name);
    event(name, 0, last, 0, args);
    // A line for each stream, and the call above them all. A kernel that is launched early (programmatic dependent
    // launch) begins before the one ahead of it has ended: it gets a line of its own below its stream's.
    std::map<int, std::vector<const json*>> streams;
    for (const auto& k : r.at("kernels")) streams[k.at("stream").get<int>()].push_back(&k);
    std::map<const json*, int> lines;
    int next_line = 1;
    for (const auto& [stream, kernels] : streams) {
      std::vector<TimeSpan> spans;
      for (const json* k : kernels) {  // in whole nanoseconds, so that one may begin as the other ends
        auto ns = static_cast<double>(k->at("start_ns").get<uint64_t>() - first);
        spans.push_back({ns, ns + std::round(1e6 * k->at("duration_ms").get<double>())});
      }
      const std::vector<size_t> rows = rows_of(spans);
      const size_t most = *std::max_element(rows.begin(), rows.end());
      for (size_t i = 0; i < rows.size(); i++) lines[kernels[i]] = next_line + static_cast<int>(rows[i]);
      for (size_t row = 0; row <= most; row++)
        label("thread_name", next_line++, trace_row(fmt::format("stream {}", stream), row));
    }
    for (const auto& k : r.at("kernels")) {
      const int line = lines.at(&k);
      json own = {{"source", "recorded by CUPTI"}};
      for (const char* fact :
           {"grid", "block", "registers", "static_shared_bytes", "dynamic_shared_bytes", "local_bytes"})
        own[fact] = k.at(fact);
      event(text(k, "name"), begin(k), 1e3 * k.at("duration_ms").get<double>(), line, own);
    }
  } else if (r.at("timing").at("hot").is_object()) {
    // Without records, the samples end to end inside one event.
    std::string source = text(r.at("timing"), "source");
    label("thread_name", 0, source + " calls, end to end");
    double at = 0, all = 0;
    for (const auto& ms : r.at("timing").at("hot").at("samples_ms")) all += 1e3 * ms.get<double>();
    event(fmt::format("{} ({})", name, source), 0, all, 0, args);
    for (const auto& ms : r.at("timing").at("hot").at("samples_ms")) {
      double us = std::min(1e3 * ms.get<double>(), all - at);
      event(fmt::format("{} call", source), at, us, 0, {{"source", source}});
      at += us;
    }
  }
  add_timeline_events(r, events);
  json about = {{"convscope", r.at("convscope")}, {"kernel", name}, {"source", r.at("timing").at("source")}};
  if (auto recorded = r.find("recorded"); recorded != r.end()) about["recorded"] = *recorded;
  return {{"traceEvents", events}, {"displayTimeUnit", "ms"}, {"otherData", about}};
}

}  // namespace convscope
