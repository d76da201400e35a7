#include "app/cli/profile_samples.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/engine/json_fields.h"
#include "kernels/base/text.h"
#include "profiling/cupti/timeline.h"

namespace convscope {
using json_fields::text;
using nlohmann::json;
namespace {

// A figure that was asked for and is not there, with its reason; nothing when it was not asked for.
std::string absent(const char* what, const json& part) {
  std::string code = part.at("gap").is_object() ? text(part.at("gap"), "code") : "";
  if (code.empty() || code == "not-asked" || code == "no-gpu") return "";
  return fmt::format("  {:<11} {}\n", what, text(part, "reason"));
}

double share(uint64_t part, uint64_t whole) {
  return whole ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

std::string place_text(const json& l) {
  return l.at("line").is_null() ? "line unknown"
                                : fmt::format("{}:{}", file_name(text(l, "file")), l.at("line").get<int>());
}

// "long_scoreboard 61 %, wait 12 %": what the samples of a line were, the most first.
std::string most_of(const json& line, size_t count) {
  std::vector<std::pair<uint64_t, std::string>> all;
  for (const auto& [name, n] : line.at("reasons").items()) all.emplace_back(n.get<uint64_t>(), name);
  std::sort(all.rbegin(), all.rend());
  std::string out;
  for (size_t i = 0; i < std::min(count, all.size()); i++)
    out += fmt::format("{}{} {:.0f} %", i ? ", " : "", all[i].second,
                       share(all[i].first, line.at("samples").get<uint64_t>()));
  return out;
}

std::string figure(double v) {
  double size = std::abs(v);
  if (size >= 100 || size == 0) return fmt::format("{:.0f}", v);
  return fmt::format("{:.3g}", v);
}

}  // namespace

std::string samples_text(const json& r) {
  if (!r.contains("pc_sampling")) return "";  // a record of before
  const json& s = r.at("pc_sampling");
  if (s.at("source").is_null()) return absent("sampling", s);
  uint64_t all = s.at("samples"), dropped = s.at("dropped");
  int calls = s.at("calls");
  std::string out = fmt::format("\n  {}: {} samples of warps in {} call{}", text(s, "source"),
                                grouped(static_cast<int64_t>(all)), calls, calls == 1 ? "" : "s");
  if (s.at("period_cycles").is_number())
    out += fmt::format(", one in {} cycles a multiprocessor", grouped(s.at("period_cycles").get<int64_t>()));
  out += dropped ? fmt::format(", {} dropped\n", grouped(static_cast<int64_t>(dropped))) : ", none dropped\n";
  if (s.at("buffer_full") == true) out += "    ! the sampler's buffer overflowed: there were more than these\n";
  constexpr size_t most = 5;
  for (size_t i = 0; i < std::min(most, s.at("reasons").size()); i++) {
    const json& reason = s.at("reasons")[i];
    if (reason.at("samples") == 0) break;
    out += fmt::format("    {:>3.0f} %  {:<22} {}\n", share(reason.at("samples"), all), text(reason, "name"),
                       text(reason, "words"));
  }
  out += "  lines by samples\n";
  for (size_t i = 0; i < std::min(most, s.at("lines").size()); i++) {
    const json& l = s.at("lines")[i];
    out += fmt::format("    {:>3.0f} %  {:<22} {}\n", share(l.at("samples"), all), place_text(l), most_of(l, 3));
  }
  for (const auto& f : s.at("functions"))
    if (f.contains("lines_reason")) out += fmt::format("    {}: {}\n", text(f, "name"), text(f, "lines_reason"));
  return out;
}

std::string timeline_text(const json& r) {
  if (!r.contains("timeline")) return "";
  const json& t = r.at("timeline");
  if (t.at("source").is_null()) return absent("timeline", t);
  int calls = t.at("calls");
  size_t points = t.at("lanes").empty() ? 0 : t.at("lanes")[0]["points"].get<size_t>();
  const double work_us = t.at("work_us"), kernels_us = json_fields::number(t, "kernels_us").value_or(work_us);
  std::string out = fmt::format("\n  over time, {}: {} points of {} µs while kernels ran, {}{}\n", text(t, "source"),
                                points, figure(t.at("interval_us")), time_text(kernels_us / 1e3),
                                calls > 1 ? fmt::format(", {} calls back to back since one is short", calls) : "");
  if (work_us > 1.02 * kernels_us)
    out += fmt::format(
        "    {} from the first kernel's begin to the last one's end: {} of it lie between kernels, which "
        "recording them keeps apart\n",
        time_text(work_us / 1e3), time_text((work_us - kernels_us) / 1e3));
  out += fmt::format("    {:<26} {:>8} {:>8} {:>8}\n", "", "min", "mean", "max");
  for (const auto& lane : t.at("lanes"))
    out +=
        fmt::format("    {:<26} {:>8} {:>8} {:>8}  {}\n", text(lane, "title"), figure(lane.at("least").get<double>()),
                    figure(lane.at("mean").get<double>()), figure(lane.at("most").get<double>()), text(lane, "unit"));
  if (t.at("longer").get<int>() > 0)
    out += "    the interval was made longer: the hardware's buffer overflowed at a shorter one\n";
  return out;
}

std::vector<std::vector<std::string>> samples_rows(const json& r) {
  std::vector<std::vector<std::string>> rows;
  if (!r.contains("pc_sampling") || !r.contains("timeline")) return rows;
  const json& s = r.at("pc_sampling");
  std::string source = text(s, "source");
  if (!source.empty()) {
    for (const char* what : {"samples", "dropped"})
      rows.push_back({"sampling", what, s.at(what).dump(), "sample", source});
    for (const auto& reason : s.at("reasons"))
      if (reason.at("samples") != 0)
        rows.push_back({"stall", text(reason, "name"), reason.at("samples").dump(), "sample", source});
    for (const auto& l : s.at("lines")) {
      std::string section = "line " + (l.at("line").is_null() ? "?" : text(l, "file") + ":" + l.at("line").dump());
      rows.push_back({section, "samples", l.at("samples").dump(), "sample", source});
      for (const auto& [name, n] : l.at("reasons").items()) rows.push_back({section, name, n.dump(), "sample", source});
    }
  }
  const json& t = r.at("timeline");
  source = text(t, "source");
  for (const auto& lane : t.at("lanes"))
    for (const char* what : {"least", "mean", "most"})
      rows.push_back({"timeline", text(lane, "name") + "_" + what, lane.at(what).dump(), text(lane, "unit"), source});
  return rows;
}

std::string trace_row(const std::string& name, size_t row) {
  return row == 0 ? name : name + ", overlapping" + (row == 1 ? "" : fmt::format(" ({})", row));
}

// Trace Event Format: counters ("C") keep their value until the next event of their name.
void add_timeline_events(const json& r, json& events) {
  if (!r.contains("timeline")) return;
  const json& t = r.at("timeline");
  if (t.at("source").is_null() || t.at("start_us").empty()) return;
  constexpr int process = 2;
  int calls = t.at("calls");
  auto name_it = [&](const char* what, int line, const std::string& words) {
    json e = {{"name", what}, {"ph", "M"}, {"pid", process}, {"args", {{"name", words}}}};
    if (line >= 0) e["tid"] = line;
    events.push_back(e);
  };
  name_it("process_name", -1,
          fmt::format("{} over time, a point each {} µs", text(r.at("kernel"), "name"), figure(t.at("interval_us"))));
  double work = t.at("work_us");
  auto event = [&](const std::string& what, double start, double end, int line) {
    events.push_back({{"name", what},
                      {"ph", "X"},
                      {"ts", start},
                      {"dur", std::max(0.0, end - start)},
                      {"pid", process},
                      {"tid", line},
                      {"args", {{"source", "recorded by CUPTI"}}}});
  };
  if (!t.at("launches").empty()) {
    std::vector<TimeSpan> spans;
    for (const auto& l : t.at("launches")) spans.push_back({l.at("start_us"), l.at("end_us")});
    const std::vector<size_t> rows = rows_of(spans);
    for (size_t row = 0; row <= *std::max_element(rows.begin(), rows.end()); row++)
      name_it("thread_name", static_cast<int>(row) + 1, trace_row("kernels while it was sampled", row));
    double last = work;
    for (const auto& s : spans) last = std::max(last, s.end);
    event(calls > 1 ? fmt::format("{} calls, back to back", calls) : "a call", 0, last, 1);
    for (size_t i = 0; i < spans.size(); i++)
      event(text(t.at("launches")[i], "name"), std::max(0.0, spans[i].begin), spans[i].end,
            static_cast<int>(rows[i]) + 1);
  }
  const json &start = t.at("start_us"), &end = t.at("end_us");
  for (const auto& lane : t.at("lanes")) {
    std::string name = fmt::format("{} ({})", text(lane, "title"), text(lane, "unit"));
    auto counter = [&](double at, const json& value) {
      events.push_back({{"name", name}, {"ph", "C"}, {"ts", at}, {"pid", process}, {"args", {{"value", value}}}});
    };
    // What lies before the kernel is left out: traces begin at 0.
    double last = 0;
    for (size_t i = 0; i < start.size(); i++) {
      if (end[i].get<double>() <= 0) continue;
      counter(std::max(0.0, start[i].get<double>()), lane.at("values")[i]);
      last = end[i];
    }
    counter(last, 0);
  }
}

}  // namespace convscope
