#include "app/model/ladder.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "app/model/floor.h"
#include "app/model/kernel_times.h"
#include "app/model/workbench.h"
#include "kernels/base/text.h"

namespace convscope {
namespace {

using From = LadderRow::From;

// The ceilings that the times stand under, whichever kernel is chosen.
Roof roof_under(const Ladder& l, const Workbench& bench, const Document& d, const PredictedTimes* predicted) {
  const std::string& recorded_on = bench.recorded().source();
  const std::string gpu = l.recorded               ? recorded_on.substr(0, recorded_on.find(','))
                          : bench.runs().ran_on(d) ? bench.runs().ran_device()
                          : predicted              ? predicted->gpu
                                                   : "";
  return known_roof(bench, d, gpu, l.recorded);
}

void put_floor(Ladder& l, const Roof& roof, const Document& d) {
  if (const auto floor = floor_under(roof, d.problem)) l.floor_ms = floor->ms, l.floor_words = floor->words;
}

void put_references(Ladder& l, const Workbench& bench, const Document& d) {
  auto add = [&](const std::string& name, double ms, From from) {
    if (!(ms > 0) || l.of(name)) return;
    LadderRow row;
    row.name = name, row.kind = "reference", row.from = from, row.ms = ms, row.packs = false, row.can_choose = true;
    row.looser = is_looser(bench, d, name);
    for (const auto& k : bench.inventory().kernels())
      if (k.name == name) row.idea = k.idea;
    l.rows.push_back(row);
  };
  // Those of the run first, as the panel Timing has them; of what was profiled alone, hours later maybe, only the rest.
  const Report* r = bench.report_of(d);
  if (r && r->document.problem == d.problem && r->device_kind == "cuda" && l.recorded == !r->recorded.empty())
    for (const auto& ref : r->references)
      if (ref.median_ms) add(ref.name, *ref.median_ms, l.recorded ? From::recorded : From::measured);
  if (l.recorded)
    for (const auto& p : bench.recorded().points(d))
      if (p.kind == "reference") add(p.kernel, p.ms, From::recorded);
}

// A verdict on this problem: of the recording, or the newest report.
std::string status_of(const LadderRow& row, const Ladder& l, const Workbench& bench, const Document& d) {
  if (!l.recorded) {
    const Report* r = bench.report_of(d);
    return r && r->final && r->kernel == row.name && r->document.problem == d.problem ? r->status : "";
  }
  Document own = d;
  own.kernel = row.name;
  const Document there = bench.recorded().nearest(own);
  const Report* r = bench.recorded().report(there);
  if (!r) return "";
  // Right at a stricter accuracy is right here; wrong at one may be right here, unless its index is wrong.
  const bool counts =
      r->status == "right" ? there.accuracy <= d.accuracy : there.accuracy >= d.accuracy || row.kind == "specimen";
  return counts ? r->status : "";
}

}  // namespace

std::string times_text(double v) {
  if (v >= 999.5) return grouped(std::llround(v));
  return fmt::format("{:.{}f}", v, v >= 99.95 ? 0 : v >= 9.995 ? 1 : 2);
}

const LadderRow* Ladder::of(const std::string& name) const {
  auto it = std::find_if(rows.begin(), rows.end(), [&](const LadderRow& r) { return r.name == name; });
  return it == rows.end() ? nullptr : &*it;
}

const LadderRow* Ladder::fastest(From from) const {
  const LadderRow* best = nullptr;
  for (const auto& r : rows)
    if (r.from == from && r.from != From::nothing && r.kind != "specimen" && !r.looser && r.status != "wrong" &&
        (!best || r.ms < best->ms))
      best = &r;
  return best;
}

const LadderRow* Ladder::fastest() const {
  for (From from : {From::recorded, From::measured, From::predicted})
    if (const LadderRow* r = fastest(from)) return r;
  return nullptr;
}

bool Ladder::any() const {
  return std::any_of(rows.begin(), rows.end(), [](const LadderRow& r) { return r.from != From::nothing; });
}

Ladder ladder_of(const Workbench& bench, const Document& d) {
  Ladder l;
  const KernelTimes times = kernel_times(bench, d);
  l.recorded = times.source.starts_with("recorded");
  const PredictedTimes* predicted = l.recorded ? nullptr : bench.planning().times(d);
  // Of two GPUs on one axis nobody would know which is which.
  if (predicted && !times.all.empty() && predicted->gpu != bench.runs().ran_device()) predicted = nullptr;
  bool any_predicted = false;
  for (const char* kind : {"outside", "specimen", "ladder"})
    for (const auto& k : bench.inventory().kernels()) {
      if (k.kind != kind) continue;
      LadderRow row;
      row.name = k.name, row.kind = k.kind, row.idea = k.idea;
      row.looser = is_looser(bench, d, k.name);
      row.can_choose = k.available || bench.recorded().holds_kernel(d, k.name);
      if (const KernelTime* t = times.of(k.name); t && t->ms > 0) {
        row.from = l.recorded ? From::recorded : From::measured;
        row.ms = t->ms, row.packs = t->packs, row.of = t->of;
      } else if (predicted) {
        for (const auto& p : predicted->all)
          if (p.kernel == k.name && p.ms && *p.ms > 0)
            row.from = From::predicted, row.ms = *p.ms, row.packs = false, any_predicted = true;
          else if (p.kernel == k.name)
            row.why = p.refused;
      }
      if (row.from == From::nothing && row.why.empty())
        row.why = l.recorded                          ? "not recorded on this problem"
                  : row.kind == "ladder" && predicted ? "the planner's model does not know it"
                                                      : "it has not run here on a GPU";
      row.status = status_of(row, l, bench, d);
      l.rows.push_back(row);
    }
  put_references(l, bench, d);
  const bool packing =
      std::any_of(times.all.begin(), times.all.end(), [](const KernelTime& t) { return t.packs == true; });
  if (!times.source.empty())
    l.sources.push_back(times.source + ", hot" + (l.recorded ? ", the newest of each" : "") +
                        (packing ? ", packing of weights included where a kernel packs" : ""));
  if (any_predicted)
    l.sources.push_back(fmt::format("predicted by the planner's model for {}, weights packed before", predicted->gpu));
  if (l.any()) put_floor(l, roof_under(l, bench, d, predicted), d);
  return l;
}

std::string ladder_sentence(const Ladder& l, const Document& d) {
  const LadderRow* own = l.of(d.kernel);
  const std::string enough = fmt::format(
      "accurate enough for {}", d.problem.dtype == DType::f32
                                    ? std::string(name_of(d.accuracy)) + (d.accuracy == Accuracy::strict ? " f32" : "")
                                    : std::string(name_of(d.problem.dtype)));
  auto of_floor = [&](double ms) {
    return l.floor_ms ? times_text(ms / *l.floor_ms) + " times the floor" : std::string();
  };
  if (!own || own->from == From::nothing) {
    const LadderRow* best = l.fastest();
    if (!best) return "";
    const std::string floor = of_floor(best->ms);
    return fmt::format("{} {} here of those that are {}: {}{}", best->name,
                       best->from == From::predicted ? "is predicted to be the fastest" : "is the fastest", enough,
                       time_text(best->ms), floor.empty() ? "" : ", " + floor);
  }
  const LadderRow* best = l.fastest(own->from);
  std::string s = fmt::format("{} {} {}", file_name(own->name),
                              own->from == From::predicted ? "is predicted to take" : "takes", time_text(own->ms));
  const std::string floor = own->looser ? "" : of_floor(own->ms);  // its own is another
  const std::string which =
      (own->from == From::measured ? "the fastest of those that ran here and are " : "the fastest that is ") + enough;
  if (best == own)
    s += fmt::format(", {}{}", which, floor.empty() ? "" : ": " + floor);
  else if (best)
    s += fmt::format(": {} times {}, {}{}", times_text(own->ms / best->ms), file_name(best->name), which,
                     floor.empty() ? "" : ", and " + floor);
  else if (!floor.empty())
    s += ": " + floor;
  // What nobody has timed may be faster still.
  const LadderRow* more = own->from == From::measured ? l.fastest(From::predicted) : nullptr;
  if (more && (!best || more->ms < best->ms))
    s += fmt::format("; {} is predicted to take {}", more->name, time_text(more->ms));
  return s;
}

}  // namespace convscope
