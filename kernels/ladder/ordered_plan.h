// Which problems the ordered rungs take, in which tiles, and where things are in their workspace. Host only.
#pragma once
#include "hopper_stream_plan.h"
#include "ordered.h"

namespace {

struct OrderedPlan : HopperPlanOf<OrderedTiles> {
  int64_t blocks = 0;
};

// Stages: of 32 channels where at most two shifts make four steps of them, else of 16, as deep as forms are compiled.
inline void fit_ordered(OrderedPlan& h, int64_t all_rounds, int parts, int together, int64_t x_round, int64_t room) {
  OrderedTiles& t = h.tiles;
  const int64_t rings = 3 - together;
  t.together = together, t.deep = t.shifts <= 2 ? 4 : 2;
  t.chunk = static_cast<int32_t>(ceil_div(int64_t{t.deep} / 2 * t.shifts, 4) * 128 * t.width * parts);
  const int64_t stage = t.chunk + together * t.deep * x_round;
  t.stages = static_cast<int32_t>(std::min(room / (rings * (stage + 16)), hopper_stages));
  h.shared = static_cast<size_t>(rings * t.stages * (stage + 16));
  t.rounds = static_cast<int32_t>(ceil_div(all_rounds, t.deep) * t.deep), t.length = t.rounds / t.deep;
}

inline OrderedPlan ordered_of_width(const ConvProblem& p, int64_t width, int parts) {
  constexpr int64_t most = (int64_t{1} << 31) - 1;
  ConvProblem in_floats = p;  // 16-bit numbers are taken in the same order
  in_floats.dtype = DType::f32;
  HopperPlan geometry = hopper_geometry(in_floats, width, parts);
  OrderedPlan h{{{}, geometry.table, geometry.step, 0, geometry.refused}};
  if (!h.refused.empty()) return h;
  OrderedTiles& t = h.tiles;
  static_cast<HopperTiles&>(t) = geometry.tiles;
  const int64_t halo = h.table.shift[t.shifts - 1];
  if (t.gcd > 1) return h.refused = "takes strides and dilations without a common factor", h;
  if (halo > ordered_rows - hopper_positions)
    return h.refused = "takes taps that reach back at most 16 inputs, not " + std::to_string(halo), h;
  t.first = static_cast<int32_t>(p.padding / p.stride), t.halo = static_cast<int32_t>(halo);
  t.box = static_cast<int32_t>(hopper_positions + halo);
  const int64_t positions = (p.out_length() - 1 + p.padding) / p.stride - t.first + 1;
  // Where the sequence before ends in as many zeros as the next one begins with, they share them.
  t.lead = t.first == 0 && positions >= p.length + halo ? 0 : t.halo;
  const int64_t rows = p.batch * (positions + t.lead), tiles = ceil_div(rows, hopper_positions);
  const int64_t columns = int64_t{t.column_tiles} * p.groups, all_rounds = t.rounds;
  if (rows > most - 4096 || columns * tiles > most / 4 || tiles * p.groups * t.rounds > most / 4 || t.rounds > 100000)
    return h.refused = "takes tiles that 32 bits can count", h;
  t.pitch = static_cast<int32_t>(positions + t.lead), t.by_pitch = divisor_of(t.pitch);
  t.tiles = t.items = static_cast<int32_t>(tiles), t.by_tiles = divisor_of(tiles);
  t.segment = static_cast<int32_t>(hopper_positions), t.segments = 1;
  // Of a warp, for results that leave by way of shared memory.
  const bool floats = p.dtype == DType::f32, rows_are_staged = t.period == 5 || t.period == 10;
  if (rows_are_staged || (!floats && (t.period == 4 || t.period == 8)))
    t.staging = 4 * (32 * t.period + (floats ? 8 : 16)) * static_cast<int32_t>(size_of(p.dtype));
  const int64_t x_round = int64_t{t.box} * 16 * parts;
  OrderedPlan shared = h;
  fit_ordered(h, all_rounds, parts, 1, x_round, hopper_shared_bytes - 8 * t.staging);
  // Where warpgroups end at the same time, results leave by copies, where they are compiled for it.
  if (floats && t.shifts == 2 && h.step == 1 && (rows_are_staged || (parts == 1 && (t.period == 4 || t.period == 8)))) {
    shared.tiles.copies = 1;
    shared.tiles.staging = std::max(
        t.staging, static_cast<int32_t>(width / t.period / 2 * (hopper_positions * t.period + 8)));  // a warp's quarter
  }
  fit_ordered(shared, all_rounds, parts, 2, x_round, hopper_shared_bytes - 8 * shared.tiles.staging);
  if (t.stages < 2 && shared.tiles.stages < 2)
    return h.refused = "takes stages of weights that fit in shared memory", h;
  StreamRates rates{0.16, 0.085, 3, true};  // results that leave by copies wait less for the memory
  const double apart_us = share_units(h, parts, columns, true, x_round, rates);
  if (shared.tiles.copies) rates.end_us = 1;
  const double shared_us = share_units(shared, parts, columns, true, x_round, rates);
  if (t.stages < 2 || (shared.tiles.stages >= 2 && shared_us < apart_us)) h = shared;
  if (int64_t{t.units} * t.length > most || int64_t{t.length} * t.chunk / 4 > most)
    return h.refused = "takes weights that 32 bits can count", h;
  h.shared += static_cast<size_t>(8 * t.staging);  // `h` may have become the other one
  t.by_columns = p.x_elements() / 2 * parts >= columns * t.length * (t.chunk / 4);
  t.blocks_of_x =
      static_cast<int32_t>(std::min<int64_t>(ceil_div(8 * hopper_multiprocessors, tiles * p.groups), t.rounds / 2));
  number_units(h, columns);
  return h;
}

inline OrderedPlan ordered_plan(const ConvProblem& p, int parts) {
  const int64_t width = 128 / parts;
  OrderedPlan h = ordered_of_width(p, width, parts);
  const bool wide =
      h.refused.empty() && h.tiles.shifts == 2 && h.step == 1 && (h.tiles.period == 5 || h.tiles.period == 10);
  return wide ? ordered_of_width(p, 160 / parts, parts) : h;
}

// Behind the packed weights: sums of cut units, who is ready and the weights' scale, what was found of the weights, of
// x, its scales, and x in order.
struct OrderedRoom {
  int64_t words, tiles;  // of the weights; of x, of all groups
  size_t sums, ready, of_weights, of_x, scales, image, all;
  OrderedRoom(const ConvProblem& p, const OrderedPlan& h) {
    const OrderedTiles& t = h.tiles;
    auto whole = [](int64_t bytes) { return static_cast<size_t>(ceil_div(bytes, 256) * 256); };
    words = int64_t{t.column_tiles} * p.groups * t.length * (t.chunk / 4), tiles = t.items * p.groups;
    sums = whole(words * 4), ready = sums + (t.share || t.longer ? whole(h.blocks * 2 * 128 * t.width * 4) : 0);
    of_weights = ready + whole(stream_flags * 4 + 4), of_x = of_weights + scaled_blocks * 4;
    scales = of_x + whole(tiles * t.blocks_of_x * 4), image = scales + whole(tiles * 4);
    all = image + static_cast<size_t>(tiles * t.rounds * t.box * 16 * t.parts);
  }
};

// Of a rung's forms the first that fits: form(entry, width, parts, shifts, rounds, period, copies).
struct OrderedLaunch {
  const ConvProblem& p;
  Plan& plan;
  const OrderedPlan& h;
  const OrderedRoom& at;
  size_t before = plan.launches().size();
  template <class Entry>
  void form(Entry entry, int width, int parts, int shifts, int rounds, int period, bool copies) const {
    const OrderedTiles& t = h.tiles;
    const bool fits = width == t.width && parts == t.parts &&
                      (!shifts || (h.step == 1 && shifts == t.shifts && 2 * rounds == t.deep)) &&
                      (!period || period == t.period) && (copies == (t.copies != 0) || !period);
    if (!fits || plan.launches().size() > before) return;
    plan.launch(entry, {h.blocks}, {hopper_threads}, h.shared)
        .early()
        .in_order()
        .args(p.args(), t, h.table, plan.workspace(at.image), plan.workspace(at.scales), plan.workspace(), plan.b(),
              plan.y(), plan.workspace(at.sums), plan.workspace(at.ready), p.dtype == DType::bf16);
  }
};

}  // namespace
