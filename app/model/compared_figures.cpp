#include "app/model/compared_figures.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>

#include "kernels/base/text.h"
#include "kernels/problem/counts.h"

namespace convscope {
namespace {

using Value = std::optional<double>;

std::string percent_of(double fraction) { return fmt::format("{:.3g} %", 100 * fraction); }

struct Judged {
  FigureVerdict verdict = FigureVerdict::neutral;
  std::string rule;
};

// By the direction that is good for a figure. `spread`: what two runs of one kernel may differ by.
Judged judged(double a, double b, Better better, double spread, double enough, bool by_bytes) {
  if (a == b) return {FigureVerdict::same, "the same number"};
  const double apart = std::abs(a - b) / std::max(std::abs(a), std::abs(b));
  if (apart <= spread)
    return {FigureVerdict::same,
            fmt::format("{} apart: two runs of one kernel may differ by {}", percent_of(apart), percent_of(spread))};
  std::string beyond = spread > 0 ? fmt::format("; two runs of one kernel may differ by {}", percent_of(spread)) : "";
  if (better == Better::higher_by_bytes) {
    if (!by_bytes)
      return {FigureVerdict::neutral, "more is better only where bytes set the floor of both, and they do not here"};
    better = Better::higher;
  }
  if (better == Better::neither) return {FigureVerdict::neutral, "neither more nor less of it is better by itself"};
  if (better == Better::higher && enough > 0 && std::min(a, b) >= enough)
    return {FigureVerdict::neutral, fmt::format("both are above {:.4g}, which is enough", enough)};
  if (better == Better::lower && enough > 0 && std::max(a, b) <= enough)
    return {FigureVerdict::neutral, fmt::format("both are below {:.4g}, which is little enough", enough)};
  if (spread == unknown_spread) {
    if (apart <= most_spread)
      return {FigureVerdict::neutral,
              fmt::format("{} apart: what two runs of one kernel differ by was not measured of it, and of another "
                          "counter it was up to {}",
                          percent_of(apart), percent_of(most_spread))};
    beyond = fmt::format("; two runs of one kernel differed by {} at most in any counter that was measured for it",
                         percent_of(most_spread));
  }
  const bool wins = better == Better::higher ? a > b : a < b;
  return {wins ? FigureVerdict::better : FigureVerdict::worse,
          (better == Better::higher ? "more is better" : "less is better") + beyond};
}

// The statistics' own word.
std::optional<FigureVerdict> verdict_of(const ComparedTime& t) {
  if (t.verdict == "FASTER") return FigureVerdict::better;
  if (t.verdict == "SLOWER") return FigureVerdict::worse;
  if (t.verdict == "SAME") return FigureVerdict::same;
  if (t.verdict == "AMBIGUOUS") return FigureVerdict::ambiguous;
  return {};
}

// Both sides of a comparison, and the rows that are made of them.
class Figures {
 public:
  Figures(const KernelComparison& c, const Profile* p, const Profile* q, const std::optional<HeldFloor>& floor)
      : c_(c), p_(p), q_(q), floor_(floor) {
    if (p) counted_a_ = counters_of(*p);
    if (q) counted_b_ = counters_of(*q);
    by_bytes_ = p && q && p->floor_from == "bytes" && q->floor_from == "bytes";
    emulated_ = (p && p->device_kind != "cuda") || (q && q->device_kind != "cuda");
  }

  std::vector<ComparedFigure> all() {
    times();
    counted();
    waits();
    launches();
    conditions();
    std::stable_sort(rows_.begin(), rows_.end(),
                     [](const ComparedFigure& x, const ComparedFigure& y) { return x.group < y.group; });
    return std::move(rows_);
  }

 private:
  // Where the values of a row are from, and why one is missing.
  struct Sides {
    std::string source_a, source_b, reason_a, reason_b;
  };

  static ComparedFigure row(FigureGroup group, std::string title, std::string unit, Value a, Value b, std::string about,
                            Sides s) {
    ComparedFigure f;
    f.group = group, f.title = std::move(title), f.unit = std::move(unit), f.about = std::move(about);
    f.a = a, f.b = b;
    f.source_a = std::move(s.source_a), f.source_b = std::move(s.source_b);
    if (!a) f.a_reason = std::move(s.reason_a);
    if (!b) f.b_reason = std::move(s.reason_b);
    return f;
  }
  // A figure that is judged by the way that is good for it.
  void add(ComparedFigure f, Better better, double spread, double enough = 0) {
    if (!f.a && !f.b) return;
    f.estimate_a = f.a && is_estimate(f.source_a), f.estimate_b = f.b && is_estimate(f.source_b);
    const double error =
        std::max(f.estimate_a ? estimate_error(f.source_a) : 0, f.estimate_b ? estimate_error(f.source_b) : 0);
    if (f.a && f.b && error > 0 && *f.a != *f.b && better != Better::neither &&
        std::abs(*f.a - *f.b) <= error * std::max(std::abs(*f.a), std::abs(*f.b))) {
      f.verdict = FigureVerdict::ambiguous;
      f.rule = fmt::format("an estimate from some of the blocks may be off by {}: the two are nearer to each other",
                           percent_of(error));
    } else if (f.a && f.b) {
      Judged j = judged(*f.a, *f.b, better, spread, enough, by_bytes_);
      f.verdict = j.verdict, f.rule = j.rule;
    }
    rows_.push_back(std::move(f));
  }
  // One that has the statistics' verdict.
  void add(ComparedFigure f, const ComparedTime& t) {
    if (!f.a && !f.b) return;
    if (f.a && f.b) f.verdict = verdict_of(t), f.rule = f.verdict ? t.evidence : t.reason;
    if (f.verdict && c_.source == "emulated")
      f.verdict = FigureVerdict::emulated, f.rule = "host time of the CPU emulator says nothing of a GPU: " + f.rule;
    rows_.push_back(std::move(f));
  }

  // With weights packed before, which inference pays, and what packing them takes.
  void packed_times() {
    const auto &x = c_.first, &y = c_.second;
    const Sides timed{c_.source, c_.source, x.packed.reason, y.packed.reason};
    constexpr const char* about =
        "The launches that pack weights left out: inference packs them once. Who packs none has its only times.";
    auto of = [&](const char* title, const ComparedTime& a, const ComparedTime& b) {
      ComparedFigure f = row(FigureGroup::time, title, "ms", a.median_ms, b.median_ms, about, timed);
      // A recording that is older than these times says so, of the sides that it is older for.
      const bool old = !c_.recorded.empty() && (!x.packed.told || !y.packed.told);
      if (!f.a && !f.b && old) {
        if (!x.packed.told) f.a_words = "not recorded";
        if (!y.packed.told) f.b_words = "not recorded";
        rows_.push_back(std::move(f));
      } else {
        add(std::move(f), a);
      }
    };
    of("Hot, weights packed", x.packed_hot, y.packed_hot);
    if (x.packed_cold.median_ms || y.packed_cold.median_ms) of("Cold, weights packed", x.packed_cold, y.packed_cold);
    add(row(FigureGroup::time, "Packing of weights", "ms", x.packed.packing_ms, y.packed.packing_ms,
            "The launches that pack weights, alone.", {c_.source, c_.source, x.packed.reason, y.packed.reason}),
        Better::neither, 0);
  }

  void floors(const std::string& over, const Sides& timed) {
    const auto &x = c_.first, &y = c_.second;
    Value floor_a = x.floor_ms, floor_b = y.floor_ms, times_a = x.times_floor, times_b = y.times_floor;
    Sides from{"computed", "computed", x.reason, y.reason}, of = timed;
    const char* about = "The least time that bytes and the arithmetic of each allow.";
    if (floor_) {
      about = "The least time that bytes and the arithmetic that is asked for allow, whichever kernel it is.";
      const std::string loose = "it computes less accurately than what is asked for: the floor is not its own";
      auto over_floor = [&](const ComparedKernel& k) {
        return k.hot.median_ms && floor_->ms > 0 ? Value(*k.hot.median_ms / floor_->ms) : Value();
      };
      floor_a = floor_b = floor_->ms;
      times_a = over_floor(x), times_b = over_floor(y);
      if (floor_->loose_a) floor_a.reset(), times_a.reset(), from.reason_a = of.reason_a = loose;
      if (floor_->loose_b) floor_b.reset(), times_b.reset(), from.reason_b = of.reason_b = loose;
    }
    const std::string rates = floor_                    ? floor_->words
                              : c_.floor_source.empty() ? ""
                                                        : "by the rates of " + c_.floor_source;
    if (!rates.empty()) from.source_a = from.source_b = "computed, " + rates;
    add(row(FigureGroup::time, "Floor", "ms", floor_a, floor_b, about, from), Better::neither, 0);
    ComparedFigure times =
        row(FigureGroup::time, over, "1", times_a, times_b,
            floor_ ? "Hot median over the floor." : "Hot median over the floor of its own arithmetic.", of);
    // Over one and the same floor it is the times that are compared, and they have a verdict.
    const double noise = (x.hot.noise_pct.value_or(0) + y.hot.noise_pct.value_or(0)) / 100;
    if (floor_a && floor_a == floor_b)
      add(std::move(times), x.hot);
    else
      add(std::move(times), Better::lower, noise);
  }

  void times() {
    const auto &x = c_.first, &y = c_.second;
    const Sides timed{c_.source, c_.source, x.reason, y.reason};
    // Beside times with weights packed before, those of whole plans are named so.
    const bool packs = x.packed.packs == true || y.packed.packs == true;
    auto whole = [&](const char* title) { return title + std::string(packs ? ", packing included" : ""); };
    auto median = [&](const char* title, const ComparedTime& a, const ComparedTime& b, std::string about) {
      for (const auto& [name, t] : {std::pair(&x.name, &a), std::pair(&y.name, &b)})
        if (t->low_ms && t->high_ms)
          about += fmt::format("\n{}: {} to {}, at 95 %", *name, time_text(*t->low_ms), time_text(*t->high_ms));
      add(row(FigureGroup::time, whole(title), "ms", a.median_ms, b.median_ms, std::move(about), timed), a);
    };
    median("Median, hot", x.hot, y.hot, "Median of samples taken in turn, data in the cache.");
    median("Median, cold", x.cold, y.cold, "With the L2 cache flushed before each sample.");
    packed_times();
    // What follows from the hot medians has their verdict.
    if (c_.source != "emulated") {
      auto rate = [](double work, Value ms) { return ms && *ms > 0 && work > 0 ? Value(work / *ms * 1e-6) : Value(); };
      const Sides computed{"computed, " + c_.source, "computed, " + c_.source, x.reason, y.reason};
      const double work = flops(c_.document.problem), bytes = static_cast<double>(least_bytes(c_.document.problem));
      add(row(FigureGroup::time, whole("Useful work"), "GFLOP/s", rate(work, x.hot.median_ms),
              rate(work, y.hot.median_ms), "Operations of taps that land, a second.\n2 · exact taps / hot median",
              computed),
          x.hot);
      add(row(FigureGroup::time, whole("Least traffic"), "GB/s", rate(bytes, x.hot.median_ms),
              rate(bytes, y.hot.median_ms),
              "Least bytes a second: what is really moved may be more.\nleast bytes / hot median", computed),
          x.hot);
    }
    auto host = [](const Profile* p) { return p ? p->host_ms : Value(); };
    auto from = [](const Profile* p) { return p ? p->time_source : ""; };
    add(row(FigureGroup::time, whole("Call, from the host"), "ms", host(p_), host(q_),
            "From before the launch to after the wait for its end, by the host's clock. The kernel's own time says how "
            "fast it is.",
            {from(p_), from(q_), p_ ? p_->host_reason : why_not(p_, x.name),
             q_ ? q_->host_reason : why_not(q_, y.name)}),
        Better::neither, 0);
    auto plain = [&](const std::string& title, const char* unit, Value a, Value b, const char* about, Better better,
                     double spread) { add(row(FigureGroup::time, title, unit, a, b, about, timed), better, spread); };
    if (c_.source != "emulated") floors(whole("× floor"), timed);  // of emulated time a floor would mean nothing
    constexpr const char* about_noise = "Half of all samples lie within this of the median.";
    plain(whole("Noise, hot"), "%", x.hot.noise_pct, y.hot.noise_pct, about_noise, Better::neither, 0);
    plain(whole("Noise, cold"), "%", x.cold.noise_pct, y.cold.noise_pct, about_noise, Better::neither, 0);
  }

  // ---- counters -----------------------------------------------------------------------------------------------------

  static const ProfileHeadline* headline(const Profile* of, std::string_view name) {
    if (of)
      for (const auto& h : of->headlines)
        if (h.name == name) return &h;
    return nullptr;
  }
  static const ProfileValue* counted_as(const Profile* of, std::string_view name) {
    if (of)
      for (const auto& v : of->values)
        if (v.name == name) return &v;
    return nullptr;
  }
  static Value in(const Counters& c, std::string_view name) {
    auto it = c.find(name);
    return it == c.end() ? Value() : Value(it->second);
  }
  static std::string why_not(const Profile* p, const std::string& kernel) {
    if (!p) return "no profile of " + kernel;
    if (!p->gap.empty()) return p->gap;
    return p->full ? "its profile does not have it" : "its profile has not all sets: profile it with the full set";
  }
  Sides counted_sides() const {
    auto by = [](const Profile* p) { return !p ? "" : p->counted_by.empty() ? "not counted" : p->counted_by; };
    return {by(p_), by(q_), why_not(p_, c_.first.name), why_not(q_, c_.second.name)};
  }
  // What a counter said of the whole range that was counted, where of_kernels_alone() has put it right.
  std::string before_put_right(std::string_view counter) const {
    std::string out;
    auto side = [&](const Profile* p, const Counters& right, const std::string& kernel) {
      const ProfileValue* raw = counted_as(p, counter);
      if (Value v = in(right, counter); raw && v && *v != raw->value)
        out += fmt::format("\n{}: {} over the range that was counted, which is longer than its kernels", kernel,
                           value_words(raw->value, raw->unit));
    };
    side(p_, counted_a_, c_.first.name), side(q_, counted_b_, c_.second.name);
    return out;
  }
  double spread_of(const Figure& f) const { return emulated_ ? 0 : f.spread; }

  void a_headline(const Figure& figure) {
    const ProfileHeadline *a = headline(p_, figure.name), *b = headline(q_, figure.name), *any = a ? a : b;
    if (!any) return;
    std::string about = fmt::format("{}\n{}\nGood: {}.", any->meaning, any->formula, any->good);
    if (*figure.about) about += fmt::format("\n{}", figure.about);
    for (const char* counter : {"duration", "dram_busy"})
      if (headline_showing(counter) == figure.name) about += before_put_right(counter);
    Sides sides = counted_sides();
    if (a && !a->reason.empty()) sides.reason_a = a->reason;
    if (b && !b->reason.empty()) sides.reason_b = b->reason;
    add(row(figure.group, any->title, any->unit, a ? a->value : Value(), b ? b->value : Value(), std::move(about),
            std::move(sides)),
        figure.better, spread_of(figure), figure.enough);
  }

  // Not where a headline shows it.
  void a_counter(std::string_view name, const Figure& figure) {
    if (auto shown = headline_showing(name); !shown.empty() && (headline(p_, shown) || headline(q_, shown))) return;
    const ProfileValue *v = counted_as(p_, name), *any = v ? v : counted_as(q_, name);
    if (!any) return;
    std::string about = fmt::format("{}{}{}, of the set {}", figure.about, *figure.about ? "\n" : "", name, any->set);
    add(row(figure.group, figure.title, any->unit, in(counted_a_, name), in(counted_b_, name),
            about + before_put_right(name), counted_sides()),
        figure.better, spread_of(figure), figure.enough);
  }

  void counted() {
    for (const auto& f : figures()) {
      if (f.group == FigureGroup::waiting) continue;
      a_headline(f);
      a_counter(f.name, f);
    }
    // Of another version: its own name, and no opinion.
    std::vector<std::string> others;
    for (const Profile* p : {p_, q_})
      if (p)
        for (const auto& v : p->values)
          if (!find_figure(v.name) && headline_showing(v.name).empty() &&
              std::find(others.begin(), others.end(), v.name) == others.end())
            others.push_back(v.name);
    for (const auto& name : others) {
      std::string title = name;
      std::replace(title.begin(), title.end(), '_', ' ');
      a_counter(name, {name.c_str(), title.c_str(), FigureGroup::issue, Better::neither, 0});
    }
  }

  // The longest wait first.
  void waits() {
    const auto first = static_cast<std::ptrdiff_t>(rows_.size());
    for (const auto& f : figures()) {
      if (f.group != FigureGroup::waiting) continue;
      std::string about = f.about;
      std::string title = f.title;
      for (const auto& s : stalls())
        if (std::string_view(s.name) == f.name) {
          about = fmt::format("{}: {}", s.words, f.about);
          title = s.words;
          constexpr std::string_view said_above = "waiting for ";
          if (title.starts_with(said_above)) title = title.substr(said_above.size());
          title += " (warps)";  // its unit
        }
      Figure in_words = f;
      in_words.about = about.c_str(), in_words.title = title.c_str();
      a_counter(f.name, in_words);
    }
    auto most = [](const ComparedFigure& f) { return std::max(f.a.value_or(0), f.b.value_or(0)); };
    std::stable_sort(rows_.begin() + first, rows_.end(),
                     [&](const ComparedFigure& x, const ComparedFigure& y) { return most(x) > most(y); });
  }

  // ---- launches and conditions --------------------------------------------------------------------------------------

  void launches() {
    const ProfileLaunch *l = p_ ? main_launch(*p_) : nullptr, *m = q_ ? main_launch(*q_) : nullptr;
    if (!l && !m) return;
    auto reason = [](const Profile* p, const ProfileLaunch* of, const std::string& kernel) -> std::string {
      if (of) return "not known";
      return !p ? "no profile of " + kernel : p->launches_reason.empty() ? "no launch is known" : p->launches_reason;
    };
    const Sides sides{l ? l->source : "", m ? m->source : "", reason(p_, l, c_.first.name),
                      reason(q_, m, c_.second.name)};
    constexpr const char* which = "Of the launch that takes longest.";
    auto words = [&](const char* title, auto text, const char* about) {
      ComparedFigure f = row(FigureGroup::launch, title, "", {}, {}, fmt::format("{}\n{}", about, which), sides);
      if (l) f.a_words = text(*l), f.a_reason.clear();
      if (m) f.b_words = text(*m), f.b_reason.clear();
      rows_.push_back(std::move(f));
    };
    auto shape = [](const std::array<int64_t, 3>& s) { return fmt::format("{} × {} × {}", s[0], s[1], s[2]); };
    words(
        "Function", [](const ProfileLaunch& x) { return x.entry; }, "Its name in the device code.");
    words(
        "Grid", [&](const ProfileLaunch& x) { return shape(x.grid); }, "Blocks.");
    words(
        "Block", [&](const ProfileLaunch& x) { return shape(x.block); }, "Threads.");
    auto number = [&](const char* title, const char* unit, auto field, Better better, const char* about,
                      double enough = 0) {
      auto of = [&](const ProfileLaunch* x) {
        return x && (x->*field) ? Value(static_cast<double>(*(x->*field))) : Value();
      };
      add(row(FigureGroup::launch, title, unit, of(l), of(m), fmt::format("{}\n{}", about, which), sides), better, 0,
          enough);
    };
    number("Registers a thread", "register", &ProfileLaunch::registers, Better::neither,
           "More let a thread hold more, fewer let more warps stay: the occupancy says what that comes to.");
    number("Shared memory, static", "byte", &ProfileLaunch::static_shared_bytes, Better::neither,
           "Of a block, as the kernel declares it.");
    number("Shared memory, dynamic", "byte", &ProfileLaunch::dynamic_shared_bytes, Better::neither,
           "Of a block, as the launch asks for it.");
    number("Local memory a thread", "byte", &ProfileLaunch::local_bytes, Better::lower,
           "In the GPU's memory: registers that were spilled, and arrays that are indexed.");
    number("Theoretical occupancy", "%", &ProfileLaunch::occupancy_pct, Better::higher,
           "Warps that a multiprocessor has room for, of those it can hold.", 50);
    auto calls = [](const Profile* p) {
      return p && !p->kernels.empty() ? Value(static_cast<double>(p->kernels.size())) : Value();
    };
    add(row(FigureGroup::launch, "Kernels a call", "kernel", calls(p_), calls(q_),
            "All that ran in one call, packing of weights included.",
            {"recorded by CUPTI", "recorded by CUPTI", "no kernels were recorded", "no kernels were recorded"}),
        Better::neither, 0);
  }

  void conditions() {
    auto source = [](const Profile* p) {
      return p && !p->recorded.empty() ? "recorded: " + p->recorded + ", by NVML" : std::string("measured by NVML");
    };
    auto reason = [](const Profile* p, const std::string& kernel) {
      return !p ? "no profile of " + kernel : p->conditions_reason.empty() ? "not read" : p->conditions_reason;
    };
    const Sides sides{source(p_), source(q_), reason(p_, c_.first.name), reason(q_, c_.second.name)};
    auto one = [&](const char* title, const char* unit, Value Profile::*field, double spread, const char* about) {
      add(row(FigureGroup::conditions, title, unit, p_ ? p_->*field : Value(), q_ ? q_->*field : Value(), about, sides),
          Better::neither, spread);
    };
    constexpr double clock_step = 0.008;  // of a clock: it moves by 15 MHz at a time
    one("SM clock", "MHz", &Profile::sm_mhz, clock_step,
        "Median while it was profiled. Where clocks are apart, times are apart by as much.");
    one("Memory clock", "MHz", &Profile::memory_mhz, clock_step, "Median while it was profiled.");
    one("Power", "W", &Profile::power_w, 0, "Median while it was profiled.");
    one("Temperature", "°C", &Profile::temperature_c, 0, "Median while it was profiled.");
  }

  const KernelComparison& c_;
  const Profile *p_, *q_;
  const std::optional<HeldFloor>& floor_;
  bool by_bytes_ = false, emulated_ = false;
  Counters counted_a_, counted_b_;
  std::vector<ComparedFigure> rows_;
};

}  // namespace

std::vector<ComparedFigure> compared_figures(const KernelComparison& c, const Profile* a, const Profile* b,
                                             const std::optional<HeldFloor>& floor) {
  return Figures(c, a, b, floor).all();
}

}  // namespace convscope
