#include "app/engine/recording_compare.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <stdexcept>
#include <utility>

#include "app/engine/json_fields.h"
#include "kernels/base/text.h"
#include "profiling/statistics/compare.h"

namespace convscope {
using json_fields::number;
using json_fields::part;
using json_fields::text;
using nlohmann::json;
namespace {

// Above this share of throttled readings `bench` does not believe its times either.
constexpr double much_throttled = 0.1;
// Clocks that are nearer to each other than what matters of times are the same.
constexpr double same_clock = 0.01;

std::vector<double> kept_samples(const json& time) {
  std::vector<double> samples = json_fields::numbers(time, "samples_ms");
  for (double ms : samples)
    if (!std::isfinite(ms) || !(ms > 0))
      throw std::domain_error(fmt::format("samples_ms holds {} ms, which is no time", number_text(ms)));
  return samples;
}

std::optional<RecordedClock> clock_in(const json& conditions, const char* field) {
  const json& range = part(conditions, field);
  auto least = number(range, "least"), median = number(range, "median"), most = number(range, "most");
  if (!least || !median || !most || !(*least > 0) || !(*least <= *median) || !(*median <= *most)) return {};
  return RecordedClock{*least, *median, *most};
}

// The driver's own version: by NVML, else of "580.159.04, CUDA 13.0". Answers of before have only what CUDA it speaks.
std::string driver_of(const json& answer) {
  if (const std::string own = text(part(answer, "conditions"), "driver"); !own.empty()) return own;
  const std::string both = text(part(answer, "device"), "driver");
  return both.starts_with("CUDA ") ? "" : both.substr(0, both.find(", "));
}

std::optional<RecordedTimes> times_in(const Recording& r, const RecordedAnswer& a) {
  const json& timing = part(a.answer, "timing");
  const json& packed = part(timing, "packed");
  RecordedTimes t;
  t.from = a.type();
  t.hot = kept_samples(t.from == "run" ? timing : part(timing, "hot"));
  if (t.hot.empty()) return {};
  t.cold = kept_samples(part(timing, "cold"));
  t.packed_hot = kept_samples(packed), t.packed_cold = kept_samples(part(packed, "cold"));
  t.source = text(timing, "source");
  const json& device = part(a.answer, "device");
  t.device = text(device, "name"), t.driver = driver_of(a.answer);
  t.on_gpu = text(device, "kind") == "cuda" && t.source != "emulated";
  if (t.device.empty()) t.device = r.device_name();
  t.date = a.date.empty() ? text(r.about, "date") : a.date;
  const json& conditions = part(a.answer, "conditions");
  t.sm = clock_in(conditions, "sm_mhz"), t.memory = clock_in(conditions, "memory_mhz");
  if (number(conditions, "throttled_fraction").value_or(0) > much_throttled) {
    t.slowed = fmt::format("{}", fmt::join(json_fields::texts(conditions, "warnings"), "; "));
    if (t.slowed.empty()) t.slowed = "the GPU slowed itself down";
  }
  return t;
}

bool same_subject(const RunRequest& a, const RunRequest& b) {
  return a.kernel == b.kernel && a.problem == b.problem && a.inputs == b.inputs && a.accuracy == b.accuracy;
}

std::string clock_words(const char* name, const RecordedClock& then, const RecordedClock& now) {
  return fmt::format("{} {:.0f} MHz then, {:.0f} MHz now", name, then.median, now.median);
}

bool another_clock(const std::optional<RecordedClock>& then, const std::optional<RecordedClock>& now) {
  if (!then || !now) return false;
  return std::max(then->median, now->median) / std::min(then->median, now->median) > 1 + same_clock;
}

double clocks_explain(const std::optional<RecordedClock>& then, const std::optional<RecordedClock>& now) {
  return then && now ? std::max(then->most, now->most) / std::min(then->least, now->least) : 0;
}

std::string taken_where(const RecordedTimes& t) {
  return t.on_gpu ? "of a GPU" : t.source == "emulated" ? "of the emulator" : "of a CPU";
}

struct HeldTimes {
  const RecordedTimes *then = nullptr, *now = nullptr;
  std::string reason;  // why they cannot be held against each other
};

HeldTimes times_to_hold(const RecordedFigures& then, const RecordedFigures& now) {
  auto any = [](const RecordedFigures& f) { return f.profile ? &*f.profile : f.run ? &*f.run : nullptr; };
  HeldTimes h;
  if (then.profile && now.profile)
    h = {&*then.profile, &*now.profile, ""};
  else if (then.run && now.run)
    h = {&*then.run, &*now.run, ""};
  else
    h = {any(then), any(now), ""};
  if (!h.then || !h.now)
    h.reason = !h.then && !h.now ? "it was timed in neither"
               : h.then          ? "it was not timed now"
                                 : "it was not timed then";
  else if (h.then->source != h.now->source || h.then->on_gpu != h.now->on_gpu)
    h.reason = fmt::format("a time {} then and one {} now say nothing of each other", taken_where(*h.then),
                           taken_where(*h.now));
  else if (h.then->from != h.now->from)
    h.reason = fmt::format("its only time then is that of a {}, now that of a {}", h.then->from, h.now->from);
  return h;
}

// What differs beside the kernel, and what is not known of it.
std::vector<std::string> what_else_differs(const RecordedTimes& then, const RecordedTimes& now) {
  if (!now.on_gpu) return {"times of the CPUs that ran them, which need not be the same: they say nothing of a GPU"};
  std::vector<std::string> differs;
  const char* not_its_doing = "what differs between times need not be the kernel's doing";
  auto say = [&](const std::string& what) { differs.push_back(what + ": " + not_its_doing); };
  if (then.device != now.device) say(fmt::format("another GPU, {} then, {} now", then.device, now.device));
  if (!then.driver.empty() && !now.driver.empty() && then.driver != now.driver)
    say(fmt::format("another driver, {} then, {} now", then.driver, now.driver));
  if (another_clock(then.sm, now.sm)) say("other clocks, " + clock_words("SM", *then.sm, *now.sm));
  if (another_clock(then.memory, now.memory)) say("other clocks, " + clock_words("memory", *then.memory, *now.memory));
  auto lacks = [&](const char* what, bool of_then, bool of_now, const char* so) {
    if (of_then && of_now) return;
    differs.push_back(fmt::format("{} not recorded {}: {}", what, of_now ? "then" : of_then ? "now" : "in either", so));
  };
  lacks("the driver was", !then.driver.empty(), !now.driver.empty(), "whether it is another one is not known");
  lacks("clocks were", then.sm.has_value(), now.sm.has_value(), "whether the GPU was slower then or now is not known");
  return differs;
}

// Why times are not to be believed, as `bench` has it; "" where they are.
std::string doubt_of(const RecordedTimes& then, const RecordedTimes& now) {
  std::vector<std::string> doubts;
  if (!then.slowed.empty()) doubts.push_back("then: " + then.slowed);
  if (!now.slowed.empty()) doubts.push_back("now: " + now.slowed);
  // Another GPU has clocks of its own; that it is another one is said.
  if (then.device == now.device && another_clock(then.sm, now.sm))
    doubts.push_back(clock_words("the SM clock was", *then.sm, *now.sm));
  if (then.device == now.device && another_clock(then.memory, now.memory))
    doubts.push_back(clock_words("the memory clock was", *then.memory, *now.memory));
  return fmt::format("{}", fmt::join(doubts, "; "));
}

json interval_of_time(const std::vector<double>& samples, const Interval& i) {
  Timing t;
  t.samples_ms = samples;
  return {{"median_ms", number_json(i.middle)},
          {"interval_ms", {number_json(i.low), number_json(i.high)}},
          {"noise_pct", number_json(t.noise_pct())},
          {"samples", samples.size()}};
}

json no_time_verdict(const std::string& why) { return {{"verdict", nullptr}, {"reason", why}}; }

json held_samples(const std::vector<double>& then, const std::vector<double>& now, const std::string& doubt,
                  const CompareRules& rules) {
  const ComparisonOfTimes c = compare_times(now, then, doubt, rules);
  // c.a is now, c.b then. Both intervals hold at once in nine of ten cases at least, and so does the ratio's.
  return {{"verdict", name_of(c.verdict)},
          {"ratio", number_json(c.a.middle / c.b.middle)},
          {"ratio_interval", {number_json(c.a.low / c.b.high), number_json(c.a.high / c.b.low)}},
          {"speedup", number_json(c.speedup)},
          {"p", number_json(c.p)},
          {"evidence", c.evidence},
          {"then", interval_of_time(then, c.b)},
          {"now", interval_of_time(now, c.a)}};
}

// The times of an entry: `of` (packed, whole), `from`, `hot`, `cold`.
void put_times(json& entry, const HeldTimes& held, bool with_packing) {
  entry["from"] = nullptr, entry["of"] = nullptr;
  if (!held.reason.empty()) {
    entry["hot"] = entry["cold"] = no_time_verdict(held.reason);
    return;
  }
  const RecordedTimes &then = *held.then, &now = *held.now;
  const bool packed = !with_packing && !then.packed_hot.empty() && !now.packed_hot.empty();
  entry["from"] = now.from, entry["of"] = packed ? "packed" : "whole";
  CompareRules rules;
  const std::string doubt = doubt_of(then, now);
  if (then.sm && now.sm)
    rules.doubt_explains = std::max(clocks_explain(then.sm, now.sm), clocks_explain(then.memory, now.memory));
  entry["hot"] = held_samples(packed ? then.packed_hot : then.hot, packed ? now.packed_hot : now.hot, doubt, rules);
  const auto &cold_then = packed ? then.packed_cold : then.cold, &cold_now = packed ? now.packed_cold : now.cold;
  entry["cold"] =
      cold_then.empty() || cold_now.empty()
          ? no_time_verdict(now.on_gpu ? "one of the two has no cold times" : "the emulator has no cache to be cold")
          : held_samples(cold_then, cold_now, doubt, rules);
}

json clock_json(const std::optional<RecordedClock>& c) {
  if (!c) return nullptr;
  return {{"least", c->least}, {"median", c->median}, {"most", c->most}};
}

// What one of them says of the entry: verdict, and where and when its time is of.
json side_json(const RecordedFigures& f, const RecordedTimes* t) {
  auto known = [](const std::string& words) { return words.empty() ? json(nullptr) : json(words); };
  json j = {{"status", known(f.status)}, {"sentence", known(f.sentence)}, {"verdict_date", known(f.verdict_date)}};
  if (f.status.empty()) j["status_reason"] = f.is_reference ? "references are not judged" : "it was not judged";
  if (!f.text_hash.empty()) j["text_hash"] = f.text_hash;
  j["device"] = t ? json(t->device) : json(nullptr), j["driver"] = t ? known(t->driver) : json(nullptr);
  j["date"] = t ? known(t->date) : json(nullptr), j["source"] = t ? known(t->source) : json(nullptr);
  j["sm_mhz"] = t ? clock_json(t->sm) : json(nullptr), j["memory_mhz"] = t ? clock_json(t->memory) : json(nullptr);
  if (!t) j["reason"] = "it was not timed";
  return j;
}

json subject_json(const RecordedFigures& f) {
  return {{"kernel", f.asked.kernel},
          {"kind", f.is_reference ? "reference" : "kernel"},
          {"problem", full_problem_json(f.asked.problem)},
          {"accuracy", name_of(f.asked.accuracy)},
          {"seed", f.asked.inputs.seed}};
}

// null: one of them was not judged. changed: neither is right.
json change_of_status(const std::string& then, const std::string& now) {
  if (then.empty() || now.empty()) return nullptr;
  if (then == now) return "none";
  return then == "right" ? "worse" : now == "right" ? "better" : "changed";
}

// Why one of them does not have what the other has, as far as it is known.
std::string why_absent(const Recording& r, const std::vector<RecordedFigures>& of_r, const RecordedFigures& f) {
  for (const auto& other : of_r)
    if (other.asked.kernel == f.asked.kernel && other.asked.problem == f.asked.problem)
      return "recorded there at another accuracy, with another seed or other inputs";
  for (const auto& left : part(r.about, "left_out"))
    for (const char* type : {"profile ", "run "})
      if (text(left, "what") == type + f.asked.kernel) return "left out there: " + text(left, "reason");
  return "";
}

}  // namespace

std::vector<RecordedFigures> figures_of(const Recording& r) {
  std::vector<RecordedFigures> all;
  for (const RecordedAnswer& a : r.answers) {
    const std::string type = a.type();
    if ((type != "run" && type != "profile") || a.asked.kernel.empty()) continue;
    auto same = [&](const RecordedFigures& f) { return same_subject(f.asked, a.asked); };
    auto f = std::find_if(all.begin(), all.end(), same);
    if (f == all.end()) f = all.insert(all.end(), RecordedFigures{a.asked, false, "", "", "", "", {}, {}});
    const json& kernel = part(a.answer, "kernel");
    if (text(kernel, "kind") == "reference") f->is_reference = true;
    if (const std::string hash = text(kernel, "text_hash"); !hash.empty()) f->text_hash = hash;
    (type == "run" ? f->run : f->profile) = times_in(r, a);  // of two the newer one, which stands behind
    if (type != "run") continue;
    const json& verdict = part(a.answer, "verdict");
    f->status = text(verdict, "status"), f->sentence = text(verdict, "sentence");
    f->verdict_date = a.date.empty() ? text(r.about, "date") : a.date;
  }
  return all;
}

json origins_of(const std::vector<RecordedFigures>& figures) {
  json devices = json::array(), drivers = json::array();
  std::string first, last;
  std::optional<double> least, most;
  auto add = [](json& list, const std::string& name) {
    if (!name.empty() && std::find(list.begin(), list.end(), name) == list.end()) list.push_back(name);
  };
  for (const auto& f : figures)
    for (const auto* t : {&f.profile, &f.run}) {
      if (!*t) continue;
      const RecordedTimes& times = **t;
      add(devices, times.device), add(drivers, times.driver);
      if (first.empty() || (!times.date.empty() && times.date < first)) first = times.date;
      last = std::max(last, times.date);
      if (!times.sm) continue;
      least = std::min(least.value_or(times.sm->median), times.sm->median);
      most = std::max(most.value_or(times.sm->median), times.sm->median);
    }
  return {{"devices", devices},
          {"drivers", drivers},
          {"dates", last.empty() ? json(nullptr) : json{first, last}},
          {"sm_mhz", least ? json{*least, *most} : json(nullptr)}};
}

json recordings_compared(const Recording& then, const std::vector<RecordedFigures>& of_then, const Recording& now,
                         const std::vector<RecordedFigures>& of_now, bool with_packing) {
  json entries = json::array(), only = json::array(), warnings = json::array();
  std::vector<std::pair<std::string, int>> differs;  // each once, and of how many kernels
  auto counterpart = [](const RecordedFigures& f, const std::vector<RecordedFigures>& others) {
    auto same = [&](const RecordedFigures& other) { return same_subject(f.asked, other.asked); };
    auto it = std::find_if(others.begin(), others.end(), same);
    return it == others.end() ? nullptr : &*it;
  };
  auto alone = [&](const char* where, const RecordedFigures& f, const std::string& reason) {
    json j = subject_json(f);
    j["in"] = where, j["status"] = f.status.empty() ? json(nullptr) : json(f.status);
    j["reason"] = reason.empty() ? json(nullptr) : json(reason);
    only.push_back(std::move(j));
  };
  int timed = 0;
  json counts = {{"compared", 0},  {"SAME", 0},  {"FASTER", 0}, {"SLOWER", 0},
                 {"AMBIGUOUS", 0}, {"worse", 0}, {"better", 0}, {"changed", 0}};
  auto count = [&](const std::string& what) {
    if (auto it = counts.find(what); it != counts.end()) it.value() = it->get<int>() + 1;
  };
  for (const RecordedFigures& f : of_then) {
    const RecordedFigures* other = counterpart(f, of_now);
    if (!other) {
      alone("then", f, why_absent(now, of_now, f));
      continue;
    }
    const HeldTimes held = times_to_hold(f, *other);
    json j = subject_json(f);
    j["then"] = side_json(f, held.then), j["now"] = side_json(*other, held.now);
    j["verdict_change"] = change_of_status(f.status, other->status);
    j["text_changed"] =
        f.text_hash.empty() || other->text_hash.empty() ? json(nullptr) : json(f.text_hash != other->text_hash);
    put_times(j, held, with_packing);
    json& of_entry = j["warnings"] = json::array();
    if (held.reason.empty()) {
      timed++;
      for (const std::string& words : what_else_differs(*held.then, *held.now)) {
        of_entry.push_back(words);
        auto it = std::find_if(differs.begin(), differs.end(), [&](const auto& d) { return d.first == words; });
        if (it == differs.end()) it = differs.insert(differs.end(), {words, 0});
        it->second++;
      }
    }
    count("compared"), count(text(j, "verdict_change")), count(text(j["hot"], "verdict"));
    entries.push_back(std::move(j));
  }
  for (const RecordedFigures& f : of_now)
    if (!counterpart(f, of_then)) alone("now", f, why_absent(then, of_then, f));
  for (const auto& [words, of] : differs)
    warnings.push_back(of == timed ? words
                                   : fmt::format("{} (of {} of the {} that were timed in both)", words, of, timed));
  counts["without_times"] = counts["compared"].get<int>() - timed;
  return {{"entries", entries}, {"only", only}, {"summary", counts}, {"warnings", warnings}};
}

}  // namespace convscope
