// Which problems the stream rungs take, who has which part of them, and how they are launched. Host only.
#pragma once
#include "hopper_plan.h"
#include "hopper_stream.h"

namespace {

struct StreamPlan : HopperPlanOf<StreamTiles> {
  int64_t blocks = 0;
};

// Stages: the deepest of which three fit. A step of the products is of one round of 8 channels, or of two
// (hopper_scaled.h).
inline void fit_stages(StreamPlan& h, int64_t all_rounds, int parts, int together, bool scaled) {
  StreamTiles& t = h.tiles;
  const int64_t x_round = int64_t{t.box} * t.segments * 32, rings = 3 - together;
  t.together = together;
  for (int64_t deep : {4, 2, 1}) {
    if (scaled && deep % 2) continue;
    const int64_t steps = (scaled ? deep / 2 : deep) * t.shifts;
    int64_t chunk = ceil_div(steps, 4) * 128 * t.width * parts, stage = chunk + together * deep * x_round;
    int64_t stages = std::min((hopper_shared_bytes - 1024) / (rings * (stage + 16)), hopper_stages);
    t.deep = static_cast<int32_t>(deep), t.chunk = static_cast<int32_t>(chunk), t.stages = static_cast<int32_t>(stages);
    h.shared = static_cast<size_t>(rings * stages * (stage + 16));
    if (stages >= 3 && steps % 4 == 0) break;
  }
  t.rounds = static_cast<int32_t>(ceil_div(all_rounds, t.deep) * t.deep);
  t.length = t.rounds / t.deep;
}

// Microseconds: a step (a shift of 8 channels, or of 16) of 128 columns for both warpgroups of a block, and for one
// alone; results that no product hides, as warpgroups that share their weights end at the same time. Fitted to an
// H200's times.
struct StreamRates {
  double both_us, alone_us, end_us;
  bool ordered;  // rungs 22 to 24: one alone may wait for its copies, results take a turn each way, no form has halves
};

// Who has which units, and how many microseconds that should take. Whole units take ⌈units/warpgroups⌉ turns; cut ones
// as many as there are, and the exchange of sums. What is left after whole turns is cut together with the last of them:
// pieces of at least a unit. The figures are fitted to an H200's times: what the L2 cache delivers to a multiprocessor,
// and how long a copy takes to begin, which few stages do not hide; an exchange; what two warpgroups give each other
// when they share one unit.
template <class Plan>
double share_units(Plan& h, int parts, int64_t columns, bool scaled, int64_t x_round,
                   const StreamRates& r = {0.175, 0.16, 2, false}) {
  StreamTiles& t = h.tiles;
  constexpr double l2_bytes_a_us = 62e3, latency_us = 1.2, exchange_us = 6, another_us = 3, given_us = 0.5;
  constexpr int64_t blocks = hopper_multiprocessors;
  const bool shared = t.together == 2;
  t.lots = static_cast<int32_t>(ceil_div(t.items, t.together));
  t.units = static_cast<int32_t>(columns * t.lots);
  const double steps = static_cast<double>(t.deep) / (scaled ? 2 : 1) * t.shifts * t.width / 128 * (parts == 2 ? 3 : 1);
  const double bytes = (3 - t.together) * t.chunk + 2.0 * t.deep * static_cast<double>(x_round);
  const double copied_us = bytes / l2_bytes_a_us, waited_us = (latency_us + copied_us) / std::max(t.stages - 1, 1);
  const double both = std::max({r.both_us * steps, copied_us, waited_us}) * t.length;
  const double alone = std::max(r.alone_us * steps, r.ordered ? copied_us / 2 : 0) * t.length;
  const int64_t most = shared ? blocks : 2 * blocks, turns = t.units / most;
  auto unit_us = [&](int64_t workers) { return shared || workers > blocks ? both : alone; };
  auto workers = [&](int64_t n) {
    t.alone = !shared && n <= blocks;
    h.blocks = shared || t.alone ? n : ceil_div(n, 2);
  };
  t.alone = !shared && t.units <= blocks, h.blocks = std::min<int64_t>(blocks, t.units);
  t.whole = static_cast<int32_t>(ceil_div(t.units, most));
  const double end = shared || r.ordered ? r.end_us : 0;
  double best = t.whole * (unit_us(t.units) + end);
  for (int64_t share = 2; share <= std::min<int64_t>(t.length, 8); share++) {  // workers that have a part of a unit
    int64_t used = std::min(most, t.units * share);
    double us = t.units * (unit_us(used) + end) / static_cast<double>(used) + exchange_us +
                another_us * static_cast<double>(turns ? 0 : share - 2);
    if (us < 0.97 * best) {
      best = us, t.whole = static_cast<int32_t>(std::max<int64_t>(turns - 1, 0));
      workers(used);
    }
    if (used == most) break;
  }
  const bool form = !r.ordered && t.shifts == 2 && (t.period == 4 || t.period == 8) && t.width == 128 / parts &&
                    t.gcd == 1 && h.step == 1 && t.segments == 1;  // that can
  const bool can = form && !shared && t.units <= blocks && t.length > 1;
  const double us = both * static_cast<double>(ceil_div(t.length, 2)) / t.length + given_us;
  if (can && us < best) best = us, t.halves = 1, t.alone = 0, t.whole = 1, h.blocks = t.units;
  return best;
}

// What the blocks would divide by, and who has how much of the units that are cut.
template <class Plan>
void number_units(Plan& h, int64_t columns) {
  StreamTiles& t = h.tiles;
  const int64_t workers = h.blocks * (t.alone || t.halves || t.together == 2 ? 1 : 2);
  const int64_t cut = std::max<int64_t>(0, t.units - t.whole * workers) * t.length;
  t.share = static_cast<int32_t>(cut / workers), t.longer = static_cast<int32_t>(cut % workers);
  t.by_share = divisor_of(std::max(t.share, 1)), t.by_longer_share = divisor_of(t.share + 1);
  t.by_length = divisor_of(t.length), t.by_inner = divisor_of(t.by_columns ? columns : t.lots);
  t.by_column_tiles = divisor_of(t.column_tiles);
}

inline StreamPlan stream_plan_of_width(const ConvProblem& p, int64_t width, int parts, bool scaled = false) {
  constexpr int64_t most = (int64_t{1} << 31) - 1;
  StreamPlan h{hopper_segments<StreamTiles>(p, width, parts)};
  if (!h.refused.empty()) return h;
  StreamTiles& t = h.tiles;
  t.step = h.step <= 3 ? h.step : 0;
  if (t.shifts > 16) return h.refused = "takes at most 16 different shifts of x", h;
  const int64_t columns = int64_t{t.column_tiles} * p.groups, all_rounds = t.rounds;
  if (columns * t.items > most / 4) return h.refused = "takes tiles that 32 bits can count", h;
  StreamPlan shared = h;
  const int64_t x_round = int64_t{t.box} * t.segments * 32;
  fit_stages(h, all_rounds, parts, 1, scaled), fit_stages(shared, all_rounds, parts, 2, scaled);
  if (t.stages < 2 && shared.tiles.stages < 2)
    return h.refused = "takes stages of weights that fit in shared memory", h;
  const double apart_us = share_units(h, parts, columns, scaled, x_round);
  const double shared_us = share_units(shared, parts, columns, scaled, x_round);
  if (t.stages < 2 || (shared.tiles.stages >= 2 && shared_us < apart_us)) h = shared;
  if (int64_t{t.units} * t.length > most || int64_t{t.length} * t.chunk / 4 > most)
    return h.refused = "takes weights that 32 bits can count", h;
  // What is larger is better read by neighbours at the same time.
  t.by_columns = p.x_elements() >= columns * t.length * (t.chunk / 4);
  number_units(h, columns);
  return h;
}

// Launches a rung's pack kernel and, of its forms, the first that fits: form(entry, width, shifts, period, halves).
struct StreamLaunch {
  const ConvProblem& p;
  Plan& plan;
  const StreamPlan& h;
  int64_t more = 0;  // bytes that packing needs behind the flags
  int64_t words = int64_t{h.tiles.column_tiles} * p.groups * h.tiles.length * (h.tiles.chunk / 4);
  HopperRows rows{p, whole(words * 4)};
  size_t sums_at = rows.at + whole(static_cast<int64_t>(rows.bytes()));
  bool cut = h.tiles.share || h.tiles.longer;
  size_t ready_at = sums_at + (cut ? whole(h.blocks * 2 * 128 * h.tiles.width * 4) : 0);
  size_t before = 0;  // launches until x and weights are ready

  static size_t whole(int64_t bytes) { return static_cast<size_t>(ceil_div(bytes, 256) * 256); }
  template <class Pad>
  void begin(Pad pad) {
    plan.need_workspace(ready_at + stream_flags * 4 + static_cast<size_t>(more));
    rows.copy(plan, pad);
  }
  auto packing(auto entry) { return plan.launch(entry, {std::min<int64_t>(ceil_div(words, 256), 1056)}, {256}); }
  template <class Entry, class Pad>
  void pack(Entry entry, Pad pad) {
    begin(pad);
    packing(entry).args(p.args(), h.tiles, h.table, plan.w(), plan.workspace(), plan.workspace(ready_at));
    before = plan.launches().size();
  }
  // The weights' scale comes first (hopper_scaled.h), from what so many blocks find.
  template <class Largest, class Entry, class Pad>
  void pack_scaled(Largest largest, Entry entry, Pad pad, int64_t blocks) {
    const size_t found = ready_at + stream_flags * 4 + 4;
    begin(pad);
    plan.launch(largest, {blocks}, {256}).args(p.args(), plan.w(), plan.workspace(found));
    packing(entry).args(p.args(), h.tiles, h.table, plan.w(), plan.workspace(found), plan.workspace(),
                        plan.workspace(ready_at));
    before = plan.launches().size();
  }
  template <class Entry>
  void form(Entry entry, int width, int shifts, int period, bool halves = false) const {
    const StreamTiles& t = h.tiles;
    bool near_four = period == 0 || (period != 1 && period != 2 && period != 4 && period != 8);
    bool fits = width == t.width && halves == t.halves && (!shifts || (h.step == 1 && shifts == t.shifts)) &&
                (!period || (period == t.period && t.gcd == 1)) && (near_four || t.segments == 1);
    if (!fits || plan.launches().size() > before) return;
    plan.launch(entry, {h.blocks}, {hopper_threads}, h.shared)
        .early()
        .in_order()
        .args(p.args(), t, h.table, rows.view(plan, t.box, 8 * t.deep, t.segments), plan.workspace(), plan.b(),
              plan.y(), plan.workspace(sums_at), plan.workspace(ready_at));
  }
};

}  // namespace
