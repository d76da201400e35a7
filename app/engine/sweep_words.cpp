// What a sweep shows, in words and as data.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/engine/sweep.h"
#include "kernels/base/text.h"

namespace convscope {
using nlohmann::json;

namespace {

// "1 to 4 and 7": values that are neighbours on the axis belong together.
std::string values_words(const std::vector<SweepPoint>& points, const std::vector<size_t>& at) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < at.size();) {
    size_t last = i;
    while (last + 1 < at.size() && at[last + 1] == at[last] + 1) last++;
    const std::string from = grouped(points[at[i]].value), to = grouped(points[at[last]].value);
    parts.push_back(last == i ? from : last == i + 1 ? from + " and " + to : from + " to " + to);
    i = last + 1;
  }
  constexpr size_t most = 6;
  if (parts.size() > most) {
    const size_t more = parts.size() - most;
    parts.resize(most);
    return fmt::format("{} and {} more stretches", fmt::join(parts, ", "), more);
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string percent(double fraction) { return percent_text(fraction, 1); }

struct Fastest {
  size_t entry;
  double ms, next_ms;  // of the second; infinite where there is none
};

std::optional<Fastest> fastest_at(const SweepPoint& p) {
  std::optional<Fastest> best;
  for (size_t i = 0; i < p.entries.size(); i++) {
    const SweepEntry& e = p.entries[i];
    if (!e.ms || e.wrong()) continue;
    if (!best || *e.ms < best->ms)
      best = Fastest{i, *e.ms, best ? best->ms : INFINITY};
    else
      best->next_ms = std::min(best->next_ms, *e.ms);
  }
  return best;
}

std::string range_words(double least, double most, const std::string& unit) {
  auto three = [](double v) { return v >= 100 ? fmt::format("{:.0f}", v) : fmt::format("{:.3g}", v); };
  const std::string a = three(least), b = three(most);
  return a == b ? a + unit : a + " to " + b + unit;
}

// Where the kernel is right, and where it is not.
std::string verdict_words(const Sweep& s, size_t kernel) {
  const auto& points = s.points();
  std::vector<size_t> right, wrong, died, refused, unjudged;
  double least = 1, most = 0;
  std::string why;
  for (size_t i = 0; i < points.size(); i++) {
    if (points[i].entries.empty()) continue;
    const SweepEntry& e = points[i].entries[kernel];
    if (e.reference) return "";
    if (!e.status) {
      unjudged.push_back(i);
    } else if (*e.status == Status::right) {
      right.push_back(i);
    } else if (*e.status == Status::wrong) {
      wrong.push_back(i);
      if (e.failing) least = std::min(least, e.failing_fraction()), most = std::max(most, e.failing_fraction());
    } else if (*e.status == Status::not_run) {
      refused.push_back(i);
      if (why.empty()) why = e.sentence;
    } else {
      died.push_back(i);
    }
  }
  const size_t judged = right.size() + wrong.size() + died.size();
  if (!judged && refused.empty()) return "";
  std::vector<std::string> parts;
  auto of = [&](const std::vector<size_t>& at) { return values_words(points, at); };
  const std::string axis = s.spec().axis.name();
  if (judged && right.size() == judged && refused.empty() && unjudged.empty())
    return fmt::format("right at {} {} of {}", judged == 1 ? "the" : "all",
                       judged == 1 ? "one value" : fmt::format("{} values", judged), axis);
  if (!wrong.empty())
    parts.push_back(fmt::format("wrong at {} {}{}", axis, of(wrong),
                                most > 0
                                    ? percent(least) == percent(most)
                                          ? fmt::format(", {} of its elements", percent(most))
                                          : fmt::format(", {} to {} of its elements", percent(least), percent(most))
                                    : ""));
  if (!died.empty()) parts.push_back(fmt::format("crashed or hung at {}", of(died)));
  if (!right.empty()) parts.push_back(fmt::format("right at {}", (wrong.empty() ? axis + " " : "") + of(right)));
  if (!refused.empty()) parts.push_back(fmt::format("not run at {} ({})", of(refused), why));
  if (!unjudged.empty()) parts.push_back(fmt::format("not judged at {}", of(unjudged)));
  return fmt::format("{}", fmt::join(parts, "; "));
}

// Who is the fastest where, or how long the only one takes.
std::string fastest_sentence(const Sweep& s) {
  if (s.measures() && !s.on_gpu()) return "";  // the emulator's times say nothing of each other on a GPU
  const auto& points = s.points();
  struct Stretch {
    std::string kernel;
    std::vector<size_t> at;
    double least = INFINITY, most = 0;  // times as fast as the next
  };
  std::vector<Stretch> stretches;
  size_t rivals = 0;
  for (size_t i = 0; i < points.size(); i++) {
    const auto best = fastest_at(points[i]);
    if (!best) continue;
    size_t timed = 0;
    for (const auto& e : points[i].entries) timed += e.ms && !e.wrong();
    rivals = std::max(rivals, timed);
    const SweepEntry& e = points[i].entries[best->entry];
    const std::string name = e.kernel == e.ran ? file_name(e.kernel) : fmt::format("{} ({})", e.kernel, e.ran);
    if (stretches.empty() || stretches.back().kernel != name) stretches.push_back({name, {}});
    Stretch& now = stretches.back();
    now.at.push_back(i);
    if (std::isfinite(best->next_ms))
      now.least = std::min(now.least, best->next_ms / best->ms),
      now.most = std::max(now.most, best->next_ms / best->ms);
  }
  if (stretches.empty()) return "";
  if (rivals < 2) {
    double least = INFINITY, most = 0;
    for (const auto& p : points)
      if (const auto best = fastest_at(p); best && p.floor_ms && *p.floor_ms > 0)
        least = std::min(least, best->ms / *p.floor_ms), most = std::max(most, best->ms / *p.floor_ms);
    return most > 0 ? fmt::format("{}: {} times the floor", stretches.front().kernel, range_words(least, most, ""))
                    : "";
  }
  constexpr size_t most_told = 5;
  std::vector<std::string> parts;
  for (const auto& st : stretches) {
    if (parts.size() == most_told) {
      parts.push_back(fmt::format("and {} more change{}", stretches.size() - most_told,
                                  stretches.size() == most_told + 1 ? "" : "s"));
      break;
    }
    const std::string by =
        st.most >= 1.005 ? fmt::format(" ({} times the next)", range_words(st.least, st.most, "")) : "";
    parts.push_back(fmt::format("{} at {}{}", st.kernel, values_words(points, st.at), by));
  }
  return fmt::format("fastest: {}", fmt::join(parts, "; "));
}

}  // namespace

std::vector<std::string> Sweep::sentences() const {
  // Kernels of which the same is to be said stand together.
  std::vector<std::pair<std::string, std::vector<std::string>>> told;  // what, of which
  for (size_t k = 0; k < spec_.kernels.size(); k++) {
    const std::string what = verdict_words(*this, k);
    if (what.empty()) continue;
    auto same = std::find_if(told.begin(), told.end(), [&](const auto& t) { return t.first == what; });
    if (same == told.end()) same = told.insert(told.end(), {what, {}});
    same->second.push_back(file_name(spec_.kernels[k]));
  }
  std::vector<std::string> all;
  for (const auto& [what, names] : told) {
    std::string who;
    for (size_t i = 0; i < names.size(); i++) who += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
    all.push_back(who + ": " + what);
  }
  if (std::string s = fastest_sentence(*this); !s.empty()) all.push_back(std::move(s));
  return all;
}

std::string Sweep::csv() const {
  std::string out = csv_field(spec_.axis.name()) +
                    ",out_length,kernel,ran,status,failing,elements,max_bound_ratio,ms,noise_pct,cold_ms,source,"
                    "times_floor,floor_ms,remark\n";
  auto figure = [](const std::optional<double>& v) { return v ? fmt::format("{:.9g}", *v) : std::string(); };
  for (const auto& p : points_) {
    if (p.entries.empty()) out += fmt::format("{},,,,,,,,,,,,,,{}\n", p.value, csv_field(p.refused));
    for (const auto& e : p.entries) {
      const bool judged = e.status && e.elements > 0;
      const std::string remark = !e.ms && !e.no_time.empty() ? e.no_time
                                 : e.status == Status::right ? p.note
                                                             : e.sentence;
      out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", p.value, p.problem.out_length(),
                         csv_field(e.kernel), csv_field(e.ran), e.status ? name_of(*e.status) : "",
                         judged ? std::to_string(e.failing) : "", judged ? std::to_string(e.elements) : "",
                         figure(e.worst), figure(e.ms), figure(e.noise_pct), figure(e.cold_ms), e.source,
                         e.ms && p.floor_ms ? fmt::format("{:.4g}", *e.ms / *p.floor_ms) : "", figure(p.floor_ms),
                         csv_field(remark));
    }
  }
  return out;
}

json Sweep::document() const {
  auto figure = [](const std::optional<double>& v) { return v ? number_json(*v) : json(nullptr); };
  auto word = [](const std::string& s) { return s.empty() ? json(nullptr) : json(s); };
  json fields = json::array(), points = json::array();
  for (const auto* f : spec_.axis.fields) fields.push_back(f->name);
  for (const auto& p : points_) {
    json entries = json::array();
    for (const auto& e : p.entries) {
      json verdict = nullptr;
      if (e.status)
        verdict = {{"status", name_of(*e.status)},
                   {"sentence", e.sentence},
                   {"failing", e.failing},
                   {"elements", e.elements},
                   {"failing_fraction", e.failing_fraction()},
                   {"max_bound_ratio", figure(e.worst)}};
      json time = nullptr;
      if (e.ms)
        time = {{"median_ms", *e.ms},
                {"noise_pct", figure(e.noise_pct)},
                {"cold_ms", figure(e.cold_ms)},
                {"source", e.source}};
      entries.push_back({{"kernel", e.kernel},
                         {"ran", e.ran},
                         {"verdict", verdict},
                         {"verdict_reason", e.status ? json(nullptr) : word(e.sentence)},
                         {"time", time},
                         {"time_reason", e.ms ? json(nullptr) : word(e.no_time)}});
    }
    points.push_back({{"value", p.value},
                      {"problem", p.refused.empty() ? full_problem_json(p.problem) : json(nullptr)},
                      {"refused", word(p.refused)},
                      {"note", word(p.note)},
                      {"floor_ms", figure(p.floor_ms)},
                      {"floor_from", word(p.floor_words)},
                      {"entries", std::move(entries)}});
  }
  return {{"fields", fields},         {"values", spec_.axis.values},         {"problem", problem_json(spec_.base)},
          {"kernels", spec_.kernels}, {"accuracy", name_of(spec_.accuracy)}, {"seed", spec_.inputs.seed},
          {"device", word(device_)},  {"times", word(times_words())},        {"points", std::move(points)},
          {"sentences", sentences()}};
}

}  // namespace convscope
