#include "app/model/ladder.h"

#include <algorithm>
#include <fmt/format.h>

#include "app/model/kernel_times.h"
#include "app/model/roof.h"
#include "app/model/workbench.h"
#include "kernels/base/text.h"

namespace convscope {
namespace {

using From = LadderRow::From;

std::string times_words(double times) { return fmt::format("{:.3g} times", times); }

// By the report where it has one; on the emulator, whose times have none, by the GPU that its roofline is of.
// `other`: a report of another kernel at the same accuracy, for where the document's own kernel has none.
void put_floor(Ladder& l, const Workbench& bench, const Document& d, const Report* other) {
  const Report* r = bench.report_of(d);
  if (other && !(r && r->document.problem == d.problem && r->timing.floor_ms)) r = other;
  if (!r || !(r->document.problem == d.problem)) return;
  if (r->timing.floor_ms && *r->timing.floor_ms > 0) {
    l.floor_ms = r->timing.floor_ms;
    l.floor_words = fmt::format("by {}, {}", r->timing.floor_from == "flops" ? "operations" : r->timing.floor_from,
                                r->timing.floor_source);
    return;
  }
  const Roof roof = roof_of(bench, d, *r);
  if (!roof.known() || !(roof.peak() > 0) || !(r->least_bytes > 0)) return;
  const double by_bytes = r->least_bytes / (roof.memory_gbs * 1e6), by_flops = r->flops / (roof.peak() * 1e6);
  l.floor_ms = std::max(by_bytes, by_flops);
  l.floor_words = fmt::format("by {} of {}, {}", by_bytes >= by_flops ? "bytes" : "operations", roof.gpu, roof.source);
}

void put_references(Ladder& l, const Workbench& bench, const Document& d, bool recorded) {
  auto add = [&](const std::string& name, double ms, From from) {
    if (!(ms > 0) || l.of(name)) return;
    LadderRow row;
    row.name = name, row.kind = "reference", row.from = from, row.ms = ms, row.packs = false, row.can_choose = true;
    row.looser = is_looser(bench, d, name);
    for (const auto& k : bench.kernels())
      if (k.name == name) row.idea = k.idea;
    l.rows.push_back(row);
  };
  if (recorded)
    for (const auto& p : bench.recorded().points(d))
      if (p.kind == "reference") add(p.kernel, p.ms, From::recorded);
  const Report* r = bench.report_of(d);
  if (r && r->document.problem == d.problem && r->device_kind == "cuda")
    for (const auto& ref : r->references)
      if (ref.median_ms) add(ref.name, *ref.median_ms, r->recorded.empty() ? From::measured : From::recorded);
}

}  // namespace

const LadderRow* Ladder::of(const std::string& name) const {
  auto it = std::find_if(rows.begin(), rows.end(), [&](const LadderRow& r) { return r.name == name; });
  return it == rows.end() ? nullptr : &*it;
}

const LadderRow* Ladder::fastest() const {
  const LadderRow* best = nullptr;
  for (const auto& r : rows)
    if (r.from != From::nothing && r.kind == "ladder" && !r.looser && r.status != "wrong" && (!best || r.ms < best->ms))
      best = &r;
  return best;
}

bool Ladder::any() const {
  return std::any_of(rows.begin(), rows.end(), [](const LadderRow& r) { return r.from != From::nothing; });
}

Ladder ladder_of(const Workbench& bench, const Document& d) {
  Ladder l;
  const KernelTimes times = kernel_times(bench, d);
  const bool recorded = times.source.starts_with("recorded");
  const PredictedTimes* predicted = recorded ? nullptr : bench.predicted_times(d);
  bool any_predicted = false;
  const Report* with_floor = nullptr;
  for (const char* kind : {"outside", "specimen", "ladder"})
    for (const auto& k : bench.kernels()) {
      if (k.kind != kind) continue;
      LadderRow row;
      row.name = k.name, row.kind = k.kind, row.idea = k.idea;
      row.looser = is_looser(bench, d, k.name);
      row.can_choose = k.available || bench.recorded().holds_kernel(d, k.name);
      if (const KernelTime* t = times.of(k.name)) {
        row.from = recorded ? From::recorded : From::measured;
        row.ms = t->ms, row.packs = t->packs;
      } else if (predicted) {
        for (const auto& p : predicted->all)
          if (p.kernel == k.name && p.ms)
            row.from = From::predicted, row.ms = *p.ms, row.packs = false, any_predicted = true;
          else if (p.kernel == k.name)
            row.why = p.refused;
      }
      if (row.from == From::nothing && row.why.empty()) {
        row.why = recorded                            ? "not recorded on this problem"
                  : row.kind == "ladder" && predicted ? "the planner's model does not know it"
                                                      : "it has not run here on a GPU";
      }
      if (recorded && row.from != From::nothing) {
        Document own = d;
        own.kernel = k.name;
        if (const Report* r = bench.recorded().report(own); r && r->timing.floor_ms) with_floor = r;
        const Document there = bench.recorded().nearest(own);
        // Right at a stricter accuracy is right here; wrong at one may be right here, unless its index is wrong.
        if (const Report* r = bench.recorded().report(there))
          if (r->status == "right" ? there.accuracy <= d.accuracy
                                   : there.accuracy >= d.accuracy || row.kind == "specimen")
            row.status = r->status;
      } else if (const Report* r = bench.report_of(d);
                 r && r->final && r->kernel == k.name && r->document.problem == d.problem) {
        row.status = r->status;
      }
      l.rows.push_back(row);
    }
  put_references(l, bench, d, recorded);
  if (!times.source.empty()) l.sources.push_back(times.source);
  if (any_predicted)
    l.sources.push_back(fmt::format("predicted by the planner's model for {}, weights packed before", predicted->gpu));
  if (l.any()) put_floor(l, bench, d, with_floor);
  return l;
}

std::string ladder_sentence(const Ladder& l, const Document& d) {
  const LadderRow *own = l.of(d.kernel), *best = l.fastest();
  const std::string name = file_name(d.kernel);
  auto of_floor = [&](double ms) {
    return l.floor_ms ? fmt::format("{} the floor", times_words(ms / *l.floor_ms)) : std::string();
  };
  auto takes = [](const LadderRow& r) { return r.from == From::predicted ? "is predicted to take" : "takes"; };
  if (!own || own->from == From::nothing) {
    if (!best) return "";
    const std::string floor = of_floor(best->ms);
    return fmt::format("{} {} here of those that are accurate enough: {}{}", best->name,
                       best->from == From::predicted ? "is predicted to be the fastest" : "is the fastest",
                       time_text(best->ms), floor.empty() ? "" : ", " + floor);
  }
  std::string s = fmt::format("{} {} {}", name, takes(*own), time_text(own->ms));
  const std::string floor = of_floor(own->ms);
  if (best == own) return s + ", the fastest that is accurate enough" + (floor.empty() ? "" : ": " + floor);
  if (best)
    s += fmt::format(": {} {}, the fastest that is accurate enough", times_words(own->ms / best->ms), best->name);
  if (!floor.empty()) s += (best ? ", and " : ": ") + floor;
  return s;
}

}  // namespace convscope
