// `convscope compare`: two recordings beside each other, and whether anything got worse.
#include <algorithm>
#include <cstdio>
#include <fmt/format.h>

#include "app/cli/delivery.h"
#include "app/cli/fail_on.h"
#include "app/cli/forms.h"
#include "app/cli/recorded.h"
#include "app/cli/verbs.h"
#include "app/engine/recording_compare.h"
#include "kernels/problem/presets.h"

namespace convscope {
using json_fields::number;
using json_fields::part;
using json_fields::text;
using nlohmann::json;
namespace {

constexpr const char* compare_rule =
    "SAME, FASTER, SLOWER or AMBIGUOUS as `bench` has it, on the samples that both recordings kept; they were not "
    "taken "
    "in turn, so whatever else differed between the two is in them";

// A recording that is read whole, and what it holds.
struct ComparedFile {
  std::string path;
  Recording recording;
  std::vector<RecordedFigures> figures;

  explicit ComparedFile(const std::string& named) : path(recording_path(named)), recording(read_recording(path)) {
    for (const RecordedAnswer& a : recording.answers) require_whole(path, a.type(), a.answer);
    figures = shown_whole(path, [&] { return figures_of(recording); });
  }
  json about() const {
    json j = origins_of(figures);
    j["file"] = path, j["source"] = recording.source();
    for (const char* fact : {"convscope", "command"}) j[fact] = recording.about.value(fact, json(nullptr));
    const json& left = part(recording.about, "left_out");
    j["left_out"] = left.is_array() ? left : json::array();
    return j;
  }
};

std::string listed_names(const json& names) {
  return fmt::format("{}", fmt::join(names.get<std::vector<std::string>>(), ", "));
}

// "then  a.convscope: NVIDIA H200, 2026-11-22 to 2026-11-27, driver 580.159.04, SM 1980 MHz, convscope 0.1.0"
std::string origin_line(const char* which, const json& j) {
  std::string out = fmt::format("{:<5} {}: {}", which, text(j, "file"), listed_names(j.at("devices")));
  if (j.at("devices").empty()) out += "nothing that was timed";
  if (const json& dates = j.at("dates"); dates.is_array()) {
    const std::string first = dates[0], last = dates[1];
    out += ", " + first + (first == last ? "" : " to " + last);
  }
  if (!j.at("drivers").empty()) out += ", driver " + listed_names(j.at("drivers"));
  if (const json& mhz = j.at("sm_mhz"); mhz.is_array()) {
    const double least = mhz[0], most = mhz[1];
    out += least < most ? fmt::format(", SM {:.0f} to {:.0f} MHz", least, most) : fmt::format(", SM {:.0f} MHz", most);
  }
  if (const std::string by = text(j, "convscope"); !by.empty()) out += ", convscope " + by;
  return out + "\n";
}

std::string subject_name(const json& entry) {
  const std::string accuracy = text(entry, "accuracy");
  return text(entry, "kernel") + (accuracy == "strict" ? "" : ", " + accuracy);
}

std::string compared_problem(const json& entry) {
  const ConvProblem p = problem_from(entry.at("problem"));
  const std::string words = preset_in_words(p);
  return words.empty() ? describe(p) : words;
}

std::string status_words(const json& entry) {
  const std::string then = text(entry.at("then"), "status"), now = text(entry.at("now"), "status");
  if (then.empty() && now.empty()) return "–";
  if (then == now) return then;
  return (then.empty() ? "–" : then) + " → " + (now.empty() ? "–" : now);
}

std::string time_and_noise(const json& held, const char* side) {
  const json& t = part(held, side);
  const auto noise = number(t, "noise_pct");
  return noise ? forms::time_of(t.at("median_ms")) + " ± " + noise_text(*noise) : "–";
}

std::string ratio_words(const json& held) {
  const auto ratio = number(held, "ratio");
  const std::vector<double> ends = json_fields::numbers(held, "ratio_interval");
  if (!ratio || ends.size() != 2) return "–";
  return fmt::format("{:.3f} ({:.3f} to {:.3f})", *ratio, ends[0], ends[1]);
}

std::string more_of(const json& entry) {
  const json &hot = entry.at("hot"), &cold = entry.at("cold");
  const std::string verdict = text(hot, "verdict"), other = text(cold, "verdict");
  std::string more = verdict.empty() ? text(hot, "reason") : verdict == "AMBIGUOUS" ? text(hot, "evidence") : "";
  auto add = [&](const std::string& words) { more += (more.empty() ? "" : "; ") + words; };
  if (!verdict.empty() && !other.empty() && other != verdict) add("cold: " + other);
  if (entry.at("text_changed") == json(true)) add("its file's text is another one");
  return more;
}

// Problem and kernel first, then what became of it.
std::string worse_words(const json& entry) {
  return fmt::format("{} on {}: right then, {} now ({})", subject_name(entry), compared_problem(entry),
                     text(entry.at("now"), "status"), text(entry.at("now"), "sentence"));
}

// Too few samples for a verdict, as slow kernels have, and still beyond doubt: the intervals are far from each other.
bool is_far_slower(const json& held, double percent) {
  constexpr double far_percent = 25;  // no clock explains as much
  const auto ends = json_fields::numbers(held, "ratio_interval");
  return text(held, "verdict") == "AMBIGUOUS" && ends.size() == 2 &&
         100 * (ends[0] - 1) > std::max(percent, far_percent);
}
std::string slower_line(const json& entry) {
  return fmt::format("{} on {}: SLOWER, {}", subject_name(entry), compared_problem(entry),
                     as_long_words(entry.at("hot")));
}

std::string compare_table(const json& j) {
  std::string out = origin_line("then", j.at("then")) + origin_line("now", j.at("now"));
  size_t name = 14, status = 7;
  for (const auto& e : j.at("entries")) {
    name = std::max(name, subject_name(e).size());
    // Its arrow and dashes are one column each.
    const std::string words = status_words(e);
    status = std::max(status, static_cast<size_t>(std::count_if(words.begin(), words.end(), [](char c) {
                        return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
                      })));
  }
  std::vector<std::string> problems;
  for (const auto& e : j.at("entries"))
    if (std::find(problems.begin(), problems.end(), compared_problem(e)) == problems.end())
      problems.push_back(compared_problem(e));
  for (const auto& problem : problems) {
    out += fmt::format("\n{}\n  {:<{}} {:<{}} {:>17} {:>17}  {:<23} {}\n", problem, "", name, "verdict", status, "then",
                       "now", "now / then", "time");
    for (const auto& e : j.at("entries")) {
      if (compared_problem(e) != problem) continue;
      const json& hot = e.at("hot");
      const std::string verdict = text(hot, "verdict");
      out += fmt::format("  {:<{}} {:<{}} {:>17} {:>17}  {:<23} {:<10} {}\n", subject_name(e), name, status_words(e),
                         status, time_and_noise(hot, "then"), time_and_noise(hot, "now"), ratio_words(hot),
                         verdict.empty() ? "–" : verdict, more_of(e));
    }
  }
  for (const char* side : {"then", "now"}) {
    std::string names;
    for (const auto& e : j.at("only")) {
      if (text(e, "in") != side) continue;
      names += (names.empty() ? "" : "; ") + subject_name(e) + " on " + compared_problem(e);
      if (const std::string why = text(e, "reason"); !why.empty()) names += " (" + why + ")";
    }
    if (!names.empty()) out += fmt::format("\n  only {}: {}\n", side, names);
  }
  const json& s = j.at("summary");
  auto of = [&](const char* what) { return s.at(what).get<int>(); };
  out += fmt::format(
      "\n  {} compared: {} SAME, {} FASTER, {} SLOWER, {} AMBIGUOUS, {} without times; verdicts: {} worse, {} "
      "better, {} otherwise changed\n",
      of("compared"), of("SAME"), of("FASTER"), of("SLOWER"), of("AMBIGUOUS"), of("without_times"), of("worse"),
      of("better"), of("changed"));
  out += fmt::format("  {}\n", text(j, "rule"));
  for (const auto& w : j.at("warnings")) out += fmt::format("  ! {}\n", w.get<std::string>());
  for (const auto& why : j.at("failed")) out += fmt::format("  ✗ {}\n", why.get<std::string>());
  return out;
}

}  // namespace

int verb_compare(const CommonOptions& common, const CompareOptionsCli& options) {
  const FailOn fail_on(options.fail_on);
  Delivery delivery(common, options.format, options.out, {"table", "json"});
  const ComparedFile then(options.then), now(options.now);
  json j = recordings_compared(then.recording, then.figures, now.recording, now.figures, options.with_packing);
  if (j.at("entries").empty())
    throw InputError("recording", options.now, "holds no kernel on a problem that " + options.then + " holds as well");
  json failed = json::array();
  for (const auto& e : j.at("entries"))
    if (text(e, "verdict_change") == "worse") failed.push_back(worse_words(e));
  for (const auto& e : j.at("entries"))
    if (const json& hot = e.at("hot"); fail_on.is_asked() && text(e, "kind") != "reference") {
      if (fail_on.is_met_by(hot))
        failed.push_back(slower_line(e));
      else if (is_far_slower(hot, fail_on.percent()))
        failed.push_back(fmt::format("{} on {}: at least {:.3g} times as long, by too few samples for a verdict",
                                     subject_name(e), compared_problem(e),
                                     json_fields::numbers(hot, "ratio_interval")[0]));
      else if (!text(e.at("then"), "source").empty() && text(e.at("now"), "source").empty())
        failed.push_back(fmt::format("{} on {}: timed then, not now", subject_name(e), compared_problem(e)));
    }
  // What is missing must not pass for fast enough.
  for (const auto& e : j.at("only"))
    if (const std::string status = text(e, "status"); fail_on.is_asked() && text(e, "in") == "then" &&
                                                      text(e, "kind") != "reference" &&
                                                      (status.empty() || status == "right"))
      failed.push_back(fmt::format("{} on {}: in the earlier recording alone", subject_name(e), compared_problem(e)));
  j["convscope"] = CONVSCOPE_VERSION, j["then"] = then.about(), j["now"] = now.about();
  j["rule"] = compare_rule, j["fail_on"] = fail_on.is_asked() ? json(fail_on.words()) : json(nullptr);
  j["failed"] = failed;
  const int code = failed.empty() ? 0 : 1;
  j["exit_code"] = code;
  delivery.deliver(delivery.format() == "table" ? compare_table(j) : json_text(j), j);
  return code;
}

}  // namespace convscope
