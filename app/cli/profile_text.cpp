// Answers to `profile` and `bench` as tables, as comma-separated values and as a trace.
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/profile_samples.h"
#include "app/cli/verbs.h"
#include "app/engine/codec.h"
#include "kernels/base/text.h"

namespace convscope {
using nlohmann::json;
namespace {

std::string text(const json& j, const char* field) {
  auto it = j.find(field);
  return it != j.end() && it->is_string() ? it->get<std::string>() : "";
}

std::string time_of(const json& v) { return v.is_number() ? time_text(v.get<double>()) : "–"; }

std::string times_of(const json& t) {
  return fmt::format("{} ({} to {}, {} samples, noise {:.1f} %)", time_of(t["median_ms"]), time_of(t["interval_ms"][0]),
                     time_of(t["interval_ms"][1]), t["samples"].get<int>(), t["noise_pct"].get<double>());
}

std::string shape(const json& v) {
  return fmt::format("{}×{}×{}", v[0].get<int64_t>(), v[1].get<int64_t>(), v[2].get<int64_t>());
}

// Three significant digits, and no exponent below a million.
std::string figure(double v) {
  double size = std::abs(v);
  if (size >= 1e6) return fmt::format("{:.3g}", v);
  if (size >= 100 || size == 0) return fmt::format("{:.0f}", v);
  return fmt::format("{:.3g}", v);
}

std::string header(const json& j, const std::string& what) {
  ConvProblem p = problem_from(j["problem"]);
  return fmt::format("{} on {} → Lout {}\n{}\n\n", what, describe(p), p.out_length(), text(j["device"], "name"));
}

std::string conditions_text(const json& c) {
  if (c.contains("reason")) return text(c, "reason");
  std::string out;
  auto add = [&](const char* name, const char* unit, const json& range, const json& limit) {
    if (!range.is_object()) return;
    double low = range["least"], high = range["most"];
    out += fmt::format("{}{}{}{} {}", out.empty() ? "" : ", ", name, low < high ? figure(low) + " to " : "",
                       figure(high), unit);
    if (limit.is_number()) out += fmt::format(" (limit {})", figure(limit.get<double>()));
  };
  add("SM ", "MHz", c["sm_mhz"], c["max_sm_mhz"]);
  add("memory ", "MHz", c["memory_mhz"], c["max_memory_mhz"]);
  add("", "°C", c["temperature_c"], nullptr);
  add("", "W", c["power_w"], c["power_limit_w"]);
  for (const auto& why : c["slower_because"]) out += fmt::format(", {}", why.get<std::string>());
  return out.empty() ? "the GPU tells none" : out;
}

std::string headline_line(const json& h) {
  std::string value = h["value"].is_number() ? figure(h["value"].get<double>()) : "–", unit = text(h, "unit");
  if (unit == "1") unit = "×";
  if (h["value"].is_null())
    return fmt::format("    {:<26} {:>10}         {}\n", text(h, "title"), value, text(h, "reason"));
  std::string shade = text(h, "shade");
  return fmt::format("    {:<26} {:>10} {:<7} {:<5} {}\n", text(h, "title"), value, unit,
                     shade == "unknown" ? "" : shade, text(h, "good"));
}

// The reasons warps waited for most, when they were counted.
std::string waiting_text(const json& list) {
  std::string out = list.empty() ? "" : "  waiting\n";
  for (size_t i = 0; i < std::min<size_t>(3, list.size()); i++)
    out += fmt::format("    {:>3.0f} %  {}\n", 100 * list[i]["share"].get<double>(), text(list[i], "words"));
  return out;
}

// The lines that ask most of memory.
std::string lines_text(const json& r) {
  if (r["lines"].empty()) return "";
  struct Row {
    std::string place;
    double global, loads, requests, shared, conflicts;
  };
  std::vector<Row> rows;
  double global = 0, shared = 0;
  for (const auto& l : r["lines"]) {
    const json& v = l["values"];
    auto get = [&](const char* name) { return v.contains(name) ? v[name]["value"].get<double>() : 0.0; };
    Row row{
        l["line"].is_null() ? "line unknown" : fmt::format("{}:{}", file_name(text(l, "file")), l["line"].get<int>()),
        get("load_sectors") + get("store_sectors"),
        get("load_sectors"),
        get("load_requests"),
        get("shared_wavefronts"),
        get("shared_conflicts")};
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
    if (row.shared > 0)
      words += fmt::format(
          "{}{:.0f} % of shared memory's cycles{}", words.empty() ? "" : ", ", 100 * row.shared / shared,
          row.conflicts > 0 ? fmt::format(", {:.0f} % of them conflicts", 100 * row.conflicts / row.shared) : "");
    out += fmt::format("    {:<26} {}\n", row.place, words);
  }
  return out;
}

std::string csv_field(const std::string& s) {
  if (s.find_first_of(",\"\n") == std::string::npos) return s;
  std::string out = "\"";
  for (char c : s) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

class Csv {
 public:
  explicit Csv(const std::string& head) : text_(head + "\n") {}
  void line(const std::vector<std::string>& fields) {
    for (size_t i = 0; i < fields.size(); i++) text_ += (i ? "," : "") + csv_field(fields[i]);
    text_ += "\n";
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string plain(const json& v) { return v.is_null() ? "" : v.is_string() ? v.get<std::string>() : v.dump(); }

}  // namespace

std::string profile_text(const json& r) {
  std::string name = text(r["kernel"], "name");
  std::string out =
      header(r, name + (text(r["kernel"], "what_ran").empty() ? "" : " (" + text(r["kernel"], "what_ran") + ")"));
  const json& b = r["bottleneck"];
  out += fmt::format("  {}\n", text(b, "sentence"));
  if (!text(b, "next").empty())
    out += fmt::format(
        "  next: {}{}\n", text(b, "next"),
        text(b, "rung").empty() || text(b, "rung") == name ? "" : fmt::format(" (kernel {} does)", text(b, "rung")));
  const json& t = r["timing"];
  bool emulated = text(t, "source") == "emulated";
  out += "\n";
  if (t["hot"].is_object()) out += fmt::format("  {:<11} {}\n", emulated ? "emulated" : "time hot", times_of(t["hot"]));
  if (t["cold"].is_object()) out += fmt::format("  {:<11} {}\n", "time cold", times_of(t["cold"]));
  if (emulated) out += "              time of this CPU, which says nothing of a GPU\n";
  if (t["kernel_ms"].is_number())
    out += fmt::format("  {:<11} {} in {} kernel{} by CUPTI, {} seen from the host\n", "of it", time_of(t["kernel_ms"]),
                       r["kernels"].size(), r["kernels"].size() == 1 ? "" : "s", time_of(t["host_ms"]));
  else if (!emulated)
    out += fmt::format("  {:<11} {}\n", "of it", text(t, "kernel_reason"));
  if (t["floor_ms"].is_number())
    out += fmt::format("  {:<11} {} by {} ({}){}\n", "floor", time_of(t["floor_ms"]), text(t, "floor_from"),
                       text(t, "floor_source"),
                       emulated || !t["hot"].is_object()
                           ? ""
                           : fmt::format(": this is {:.3g} times that",
                                         t["hot"]["median_ms"].get<double>() / t["floor_ms"].get<double>()));
  out += fmt::format("  {:<11} {}\n", "clocks", conditions_text(r["conditions"]));
  for (const auto& l : r["launches"])
    out += fmt::format("  {:<11} {} grid {}, block {}, {} registers, {} shared{}; {} ({})\n", "launch",
                       text(l, "entry"), shape(l["grid"]), shape(l["block"]), l["registers"].get<int>(),
                       bytes_text(l["static_shared_bytes"].get<uint64_t>() + l["dynamic_shared_bytes"].get<uint64_t>()),
                       l["local_bytes"].get<int64_t>()
                           ? fmt::format(", {} bytes of local memory a thread", l["local_bytes"].get<int64_t>())
                           : "",
                       l["occupancy"].is_object()
                           ? fmt::format("occupancy {:.0f} %, {}", l["occupancy"]["percent"].get<double>(),
                                         text(l["occupancy"], "limit"))
                           : text(l, "occupancy_reason"),
                       text(l, "source"));
  if (r["launches"].empty()) out += fmt::format("  {:<11} {}\n", "launch", text(r, "launches_reason"));
  const json& c = r["counters"];
  bool any = c["source"].is_string();
  if (!any) {
    out += fmt::format("  {:<11} {}\n", "counters", text(c, "reason"));
  } else {
    out += fmt::format("\n  {}\n", text(c, "source"));
    for (const auto& h : r["headlines"]) out += headline_line(h);
    for (const auto& set : c["sets"])
      if (!text(set, "reason").empty()) out += fmt::format("    {}: {}\n", text(set, "set"), text(set, "reason"));
    out += waiting_text(r["waiting"]);
  }
  out += lines_text(r);
  out += samples_text(r) + timeline_text(r);
  for (const auto& p : r["roofline"]["points"])
    out +=
        fmt::format("  {:<11} {} of {} GFLOP/s that {} allows at {} operations a byte ({}): {:.0f} %\n", "roofline",
                    figure(p["gflops"].get<double>()), figure(p["ceiling_gflops"].get<double>()), text(p, "bound_by"),
                    figure(p["intensity"].get<double>()), text(p, "name"), 100 * p["fraction"].get<double>());
  for (const auto& w : r["warnings"]) out += fmt::format("  ! {}\n", w.get<std::string>());
  return out;
}

std::string profile_csv(const json& r) {
  Csv csv("section,name,value,unit,source");
  const json& t = r["timing"];
  std::string source = plain(t["source"]);
  for (const char* cache : {"hot", "cold"})
    if (t[cache].is_object())
      for (const char* what : {"median_ms", "min_ms"})
        csv.line({"timing", fmt::format("{}_{}", cache, what), plain(t[cache][what]), "ms", source});
  for (const char* what : {"kernel_ms", "host_ms"})
    csv.line({"timing", what, plain(t[what]), "ms", t[what].is_null() ? "" : "measured"});
  csv.line({"timing", "floor_ms", plain(t["floor_ms"]), "ms", plain(t["floor_source"])});
  for (const auto& l : r["launches"]) {
    for (const char* what : {"registers", "static_shared_bytes", "dynamic_shared_bytes", "local_bytes"})
      csv.line({"launch " + text(l, "entry"), what, plain(l[what]), std::string(what).ends_with("bytes") ? "byte" : "1",
                text(l, "source")});
    if (l["occupancy"].is_object())
      csv.line({"launch " + text(l, "entry"), "occupancy", plain(l["occupancy"]["percent"]), "%", "computed"});
  }
  for (const auto& set : r["counters"]["sets"])
    for (const auto& [name, v] : set["values"].items())
      csv.line(
          {"counters " + text(set, "set"), name, plain(v["value"]), text(v, "unit"), plain(r["counters"]["source"])});
  for (const auto& l : r["lines"])
    for (const auto& [name, v] : l["values"].items())
      csv.line({fmt::format("line {}:{}", plain(l["file"]), plain(l["line"])), name, plain(v["value"]), text(v, "unit"),
                plain(r["lines_source"])});
  for (const auto& row : samples_rows(r)) csv.line(row);
  for (const auto& h : r["headlines"])
    csv.line({"headlines", text(h, "name"), plain(h["value"]), text(h, "unit"),
              h["value"].is_null() ? text(h, "reason") : plain(r["counters"]["source"])});
  csv.line({"bottleneck", text(r["bottleneck"], "rule"), text(r["bottleneck"], "sentence"), "", ""});
  for (const auto& w : r["warnings"]) csv.line({"warning", "", plain(w), "", ""});
  return csv.text();
}

// Trace Event Format: complete events ("X") in microseconds; what lies within another on one line nests in it.
json profile_trace(const json& r) {
  json events = json::array();
  std::string name = text(r["kernel"], "name");
  ConvProblem p = problem_from(r["problem"]);
  auto event = [&](const std::string& what, double start_us, double us, int line, json args) {
    events.push_back(
        {{"name", what}, {"ph", "X"}, {"ts", start_us}, {"dur", us}, {"pid", 1}, {"tid", line}, {"args", args}});
  };
  auto label = [&](const char* what, int line, const std::string& words) {
    json e = {{"name", what}, {"ph", "M"}, {"pid", 1}, {"args", {{"name", words}}}};
    if (line >= 0) e["tid"] = line;
    events.push_back(e);
  };
  label("process_name", -1, text(r["device"], "name"));
  const json args = {{"problem", describe(p)}, {"bottleneck", text(r["bottleneck"], "sentence")}};
  if (!r["kernels"].empty()) {
    uint64_t first = UINT64_MAX;
    double last = 0;
    for (const auto& k : r["kernels"]) first = std::min(first, k["start_ns"].get<uint64_t>());
    auto begin = [&](const json& k) { return static_cast<double>(k["start_ns"].get<uint64_t>() - first) / 1e3; };
    for (const auto& k : r["kernels"]) last = std::max(last, begin(k) + 1e3 * k["duration_ms"].get<double>());
    label("thread_name", 0, "a call of " + name);
    event(name, 0, last, 0, args);
    for (const auto& k : r["kernels"]) {
      // The line of a kernel's stream, and the call above them all.
      int line = 1 + k["stream"].get<int>();
      label("thread_name", line, fmt::format("stream {}", k["stream"].get<int>()));
      json own = {{"source", "recorded by CUPTI"}};
      for (const char* fact :
           {"grid", "block", "registers", "static_shared_bytes", "dynamic_shared_bytes", "local_bytes"})
        own[fact] = k[fact];
      event(text(k, "name"), begin(k), 1e3 * k["duration_ms"].get<double>(), line, own);
    }
  } else if (r["timing"]["hot"].is_object()) {
    // Without records, the samples end to end inside one event.
    std::string source = text(r["timing"], "source");
    label("thread_name", 0, source + " calls, end to end");
    double at = 0, all = 0;
    for (const auto& ms : r["timing"]["hot"]["samples_ms"]) all += 1e3 * ms.get<double>();
    event(fmt::format("{} ({})", name, source), 0, all, 0, args);
    for (const auto& ms : r["timing"]["hot"]["samples_ms"]) {
      double us = std::min(1e3 * ms.get<double>(), all - at);
      event(fmt::format("{} call", source), at, us, 0, {{"source", source}});
      at += us;
    }
  }
  add_timeline_events(r, events);
  return {{"traceEvents", events},
          {"displayTimeUnit", "ms"},
          {"otherData", {{"convscope", r["convscope"]}, {"kernel", name}, {"source", r["timing"]["source"]}}}};
}

std::string bench_text(const json& r) {
  std::string against = text(r, "against");
  std::string out = header(r, against.empty() ? "bench" : "bench against " + against);
  if (r.contains("reason")) out += fmt::format("  {}\n\n", text(r, "reason"));
  out += fmt::format("  {:<14} {:>10} {:>7} {:>10} {:>8}  {:<10} {}\n", "", "hot", "noise", "cold", "× floor",
                     "verdict", "");
  auto noise = [](const json& t) {
    return t.is_object() ? fmt::format("{:.1f} %", t["noise_pct"].get<double>()) : std::string("–");
  };
  for (const auto& e : r["entries"]) {
    const json& v = e["against"]["hot"];
    std::string verdict = text(v, "verdict");
    std::string more = !text(e, "reason").empty() ? text(e, "reason")
                       : verdict.empty()          ? text(v, "reason")
                       : verdict == "AMBIGUOUS"   ? text(v, "evidence")
                                                  : fmt::format("{:.3g} times as fast", v["speedup"].get<double>());
    const json& cold = e["against"]["cold"];
    if (!verdict.empty() && !text(cold, "verdict").empty() && text(cold, "verdict") != verdict)
      more += fmt::format("; cold: {}", text(cold, "verdict"));
    out += fmt::format("  {:<14} {:>10} {:>7} {:>10} {:>8}  {:<10} {}\n", text(e, "name"),
                       e["hot"].is_object() ? time_of(e["hot"]["median_ms"]) : "–", noise(e["hot"]),
                       e["cold"].is_object() ? time_of(e["cold"]["median_ms"]) : "–",
                       e["times_floor"].is_number() ? figure(e["times_floor"].get<double>()) : "–",
                       verdict.empty() ? "–" : verdict, more);
    if (!text(e, "doubt").empty()) out += fmt::format("                 ! {}\n", text(e, "doubt"));
  }
  out += fmt::format("\n  {} rounds, samples taken in turn; nothing here is judged, `convscope run` says what is right",
                     r["rounds"].get<int>());
  if (r["floor_ms"].is_number())
    out += fmt::format("; floor of what was asked for {} by {} ({}), × floor: of each one's own arithmetic",
                       time_of(r["floor_ms"]), text(r, "floor_from"), text(r, "floor_source"));
  out += fmt::format("\n  clocks: {}\n", conditions_text(r["conditions"]));
  for (const auto& w : r["warnings"]) out += fmt::format("  ! {}\n", w.get<std::string>());
  return out;
}

std::string bench_csv(const json& r) {
  Csv csv("name,kind,cache,median_ms,low_ms,high_ms,min_ms,noise_pct,samples,source,against,verdict,speedup,p,reason");
  for (const auto& e : r["entries"])
    for (const char* cache : {"hot", "cold"}) {
      const json& t = e[cache];
      const json& v = e["against"][cache];
      auto of = [&](const char* field) { return t.is_object() ? plain(t[field]) : std::string(); };
      auto verdict = [&](const char* field) { return v.contains(field) ? plain(v[field]) : std::string(); };
      csv.line({text(e, "name"), text(e, "kind"), cache, of("median_ms"),
                t.is_object() ? plain(t["interval_ms"][0]) : "", t.is_object() ? plain(t["interval_ms"][1]) : "",
                of("min_ms"), of("noise_pct"), of("samples"), t.is_object() ? plain(e["source"]) : "",
                plain(r["against"]), verdict("verdict"), verdict("speedup"), verdict("p"),
                t.is_object()                ? verdict("reason")
                : !text(e, "reason").empty() ? text(e, "reason")
                                             : text(e, "cold_reason")});
    }
  return csv.text();
}

}  // namespace convscope
