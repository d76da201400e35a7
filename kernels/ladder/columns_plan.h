// How columns_tf32 cuts a problem: which form, how many positions, columns and shifts a block has, how many blocks
// share a sum. Host only.
#pragma once
#include "columns_results.h"
#include "phases.h"

#ifndef __CUDACC__
#include <span>

namespace {

// A form of the kernel: images of the weights (one, or high and low), tiles of 8 columns, of 16 positions of a warp,
// how a lane's positions lie, blocks that registers leave room for on a multiprocessor.
struct ColumnForm {
  int parts, nt, mw;
  Lanes lanes;
  int blocks;
};

struct ColumnPlan {
  ColumnForm form{};
  ColumnTiles tiles{};
  int64_t blocks = 0;
  size_t packed_bytes = 0, sum_bytes = 0, shared = 0;
  double clocks = 0;  // what the model expects
  std::string refused;
};

constexpr int64_t column_multiprocessors = 132;      // of the GPU that the model is of
constexpr int64_t column_room = 227 << 10;           // its shared memory of a multiprocessor
constexpr int64_t column_halo = 224;                 // most extra positions of x
constexpr int64_t column_words = 4000;               // most words of x of a stage, so that three fit in 99 KiB (sm_86)
constexpr int64_t column_staging = 72 << 10;         // most bytes of results that are worth more shared memory
constexpr int64_t column_stride = 4096;              // the largest: a warp's rows have 32-bit places
constexpr int64_t column_sums = int64_t{256} << 20;  // most bytes of parts
constexpr int64_t column_packed = int64_t{4} << 30;  // most bytes of packed weights
constexpr double column_products = 8;                // least of a block that shares a sum

inline std::string columns_refuse(const ConvProblem& p) {
  constexpr int64_t most = int64_t{1} << 30;
  Phases f = phases_of(p);
  if (p.dtype != DType::f32) return "takes f32 only";
  if (p.stride > column_stride) return "takes strides up to " + std::to_string(column_stride);
  if (p.out_length() + p.padding > most || (p.kernel_size - 1) * p.dilation > most ||
      p.out_per_group() * f.period > most)
    return "takes rows, reaches and columns of a group up to 2^30";
  return "";
}

// Which input channels and shifts are one product, and which products one stage.
inline void cut_sum(const ConvProblem& p, const Phases& f, const ColumnForm& form, ColumnTiles& t) {
  int64_t shifts = f.back <= f.period ? (p.kernel_size - 1) * f.back / f.period + 1 : p.kernel_size;
  t.jump = static_cast<int32_t>(std::max<int64_t>(f.back / f.period, 1));
  t.rest = static_cast<int32_t>(f.back <= f.period ? 0 : f.back % f.period);
  int64_t least = 0;
  for (int64_t channels : {8, 4, 2, 1}) {
    if (channels < 8 && form.lanes != Lanes::apart) break;
    if (channels < 8 && (t.rest || (8 / channels - 1) * t.jump > column_halo / 2)) continue;
    int64_t products = ceil_div(p.in_per_group(), channels) * ceil_div(shifts, 8 / channels);
    if (least && products >= least) continue;
    least = products;
    t.product_channels = static_cast<int32_t>(channels);
  }
  t.product_shifts = 8 / t.product_channels;
  int64_t groups = ceil_div(shifts, t.product_shifts), far = t.jump + (t.rest > 0);
  int64_t most = std::min<int64_t>(64 / (form.nt * form.parts), 32);  // 16 KiB of weights
  most = std::max<int64_t>(1, std::min(most, (column_halo / far + 1) / t.product_shifts));
  t.shifts = static_cast<int32_t>(groups);
  t.chunks = static_cast<int32_t>(ceil_div(groups, most));
  t.chunk = static_cast<int32_t>(ceil_div(groups, t.chunks));
  if (form.lanes == Lanes::near && t.chunks > 1)
    t.chunk = (t.chunk + 3) / 4 * 4, t.chunks = static_cast<int32_t>(ceil_div(groups, t.chunk));
  int64_t rounds = ceil_div(p.in_per_group(), t.product_channels);
  t.deep = 1;
  // Deeper stages have fewer barriers; no round may be added for it.
  int64_t width = 64 * form.mw + (int64_t{t.chunk} * t.product_shifts - 1) * far + 3;
  while (2 * t.deep * t.chunk <= 8 && 2 * t.deep * t.product_channels * width <= column_words &&
         rounds % (2 * t.deep) == 0)
    t.deep *= 2;
  t.channels_log2 = 0;
  while (1 << t.channels_log2 < t.deep * t.product_channels) t.channels_log2++;
  t.channel_blocks = static_cast<int32_t>(ceil_div(rounds, t.deep));
}

// How long sequences are cut, or short ones put side by side.
inline void cut_positions(const ConvProblem& p, const ColumnForm& form, ColumnTiles& t) {
  int64_t tile = 64 * form.mw, first = p.padding / p.stride / 4 * 4;
  int64_t positions = (p.out_length() - 1 + p.padding) / p.stride - first + 1;
  int64_t halo = (int64_t{t.chunk} * t.product_shifts - 1) * (t.jump + (t.rest > 0)) + 3;
  t.first = static_cast<int32_t>(first);
  t.whole = p.length % 4 == 0;
  int64_t least = 0;
  const bool chained = form.lanes == Lanes::chained;
  const int64_t unit = chained ? t.back * form.mw : form.lanes == Lanes::near ? 8 * form.mw : 16;
  for (int64_t span = tile / unit * unit; span >= unit; span -= unit) {
    int64_t spans = std::min<int64_t>(tile / span, most_spans), box = ceil_div(span + halo, 4) * 4;
    if (span < tile && spans * box * t.deep * t.product_channels > column_words) continue;
    int64_t all = ceil_div(positions, span) * p.batch, tiles = ceil_div(all, spans);
    // Products, and copies by whole warps: a warp's 32 copies bring 128 or 32 words.
    int64_t at_once = t.whole ? 128 : 32, cost = tiles * (4 * tile + spans * ceil_div(box, at_once) * at_once);
    if (least && cost >= least) continue;
    least = cost;
    t.span = static_cast<int32_t>(span), t.spans = static_cast<int32_t>(spans);
    t.pieces = static_cast<int32_t>(ceil_div(positions, span));
    t.all_spans = static_cast<int32_t>(std::min<int64_t>(all, INT32_MAX));
    t.position_tiles = static_cast<int32_t>(std::min<int64_t>(tiles, INT32_MAX));
    t.box = static_cast<int32_t>(box);
  }
  t.chain = chained ? t.span / form.mw : 0;
  // A fragment's channels lie in different banks.
  int64_t apart = t.product_channels == 2 ? 16 : 8;
  t.pitch = static_cast<int32_t>(ceil_div(t.spans * t.box - apart, 32) * 32 + apart);
}

// Clocks, for what they are worth: they decide between forms and numbers of blocks.
inline void estimate(const ConvProblem& p, ColumnPlan& h) {
  const ColumnTiles& t = h.tiles;
  const ColumnForm& f = h.form;
  double stages = static_cast<double>(t.channel_blocks) * t.chunks / t.splits;
  double products = stages * t.deep * t.chunk;
  // Of a multiprocessor: a product's tensor-core instructions, its loads; and its copies.
  double tensor = 7.0 * f.mw * f.nt * (f.parts == 2 ? 3 : 1);
  double loads = 4.0 * ((f.lanes == Lanes::near      ? f.mw
                         : f.lanes == Lanes::chained ? 4
                                                     : 4 * f.mw) +
                        2 * f.nt * f.parts);
  double copies =
      stages *
      (t.deep * t.product_channels * t.pitch * (t.whole ? 1.0 : 2.5) + t.deep * t.chunk * f.nt * 64 * f.parts) / 10;
  double clocks = products * (std::max(tensor, loads) + loads / 8) + copies;
  double results = 64.0 * f.mw * static_cast<double>(std::min<int64_t>(t.tile_columns, p.out_per_group() * t.classes)) *
                   static_cast<double>(p.stride) / t.classes / 5;
  double alone = products * 90 + stages * 300 + 3000 + results;  // of one block by itself
  double resident =
      static_cast<double>(std::min<int64_t>(f.blocks, column_room / static_cast<int64_t>(h.shared + 2048)));
  double each = std::min(resident, std::ceil(static_cast<double>(h.blocks) / column_multiprocessors));
  double waves = std::ceil(static_cast<double>(h.blocks) / (each * column_multiprocessors));
  h.clocks = waves * std::max(each * (clocks + results + 500), alone + clocks);
  if (h.sum_bytes) h.clocks += 5000 + 2 * static_cast<double>(h.sum_bytes) / 2000;
}

inline ColumnPlan plan_form(const ConvProblem& p, const ColumnForm& form) {
  ColumnPlan h;
  h.form = form;
  ColumnTiles& t = h.tiles;
  Phases f = phases_of(p);
  int64_t width = 8 * form.nt;
  t.period = static_cast<int32_t>(f.period), t.gcd = static_cast<int32_t>(f.gcd);
  t.back = static_cast<int32_t>(f.back), t.inverse = static_cast<int32_t>(f.inverse);
  // Classes without a tap are no columns; then a block has whole channels.
  bool few = p.kernel_size < f.period && p.kernel_size <= width;
  t.classes = static_cast<int32_t>(few ? p.kernel_size : f.period);
  t.tile_columns = static_cast<int32_t>(few ? width / t.classes * t.classes : width);
  int64_t columns = p.out_per_group() * t.classes;
  t.column_tiles = static_cast<int32_t>(ceil_div(columns, t.tile_columns));
  const bool chained = form.lanes == Lanes::chained;
  if (form.lanes == Lanes::near && (f.back > f.period || p.kernel_size == 1))
    return h.refused = "takes shifts that are 0, 1, 2, …", h;
  if (chained && (f.back <= f.period || f.back > 64 || p.kernel_size <= f.period || p.y_elements() > INT32_MAX / 2))
    return h.refused = "takes chains of shifts", h;
  cut_sum(p, f, form, t);
  cut_positions(p, form, t);

  int64_t stage = int64_t{t.deep} * (t.product_channels * t.pitch + t.chunk * width * 8 * form.parts);
  int64_t stages = int64_t{t.channel_blocks} * t.chunks;
  int64_t packed = p.groups * t.column_tiles * stages * t.deep * t.chunk * width * 8 * form.parts * 4;
  int64_t tiles = int64_t{t.position_tiles} * t.column_tiles * p.groups;
  if (packed > column_packed)
    return h.refused = "takes weights that are packed into 4 GiB, these need " + std::to_string(packed) + " bytes", h;
  if (tiles > INT32_MAX || t.all_spans == INT32_MAX) return h.refused = "takes what 2^31 blocks can compute", h;
  h.packed_bytes = static_cast<size_t>(ceil_div(packed, 256) * 256);

  // So far apart that those of a lane's neighbours mostly lie in other banks.
  int64_t row = 16 * form.mw * p.stride,
          rows = std::min<int64_t>((t.tile_columns + t.classes - 2) / t.classes + 1, columns);
  t.row_pitch = static_cast<int32_t>(row + (form.lanes == Lanes::near ? 1 : 4));
  int64_t staging =
      std::min(rows * t.row_pitch * column_warps * 4, std::min(column_room / form.blocks - 3072, column_staging));
  auto with_splits = [&](int64_t splits) {
    ColumnPlan s = h;
    s.tiles.splits = static_cast<int32_t>(splits);
    s.blocks = tiles * splits;
    s.sum_bytes = splits == 1 && !chained ? 0 : static_cast<size_t>(splits * tiles * width * 64 * form.mw * 4);
    int64_t buffers = std::min<int64_t>(column_buffers, ceil_div(stages, splits));
    int64_t shared = std::max(buffers * stage * 4, s.sum_bytes ? 0 : staging);
    s.shared = static_cast<size_t>(shared);
    s.tiles.staging = static_cast<int32_t>(shared / 4 / column_warps / 4 * 4);
    estimate(p, s);
    return s;
  };
  ColumnPlan best = with_splits(1);
  if (best.sum_bytes > column_sums) return h.refused = "takes sums of 256 MiB", h;
  int64_t most =
      std::min(static_cast<int64_t>(static_cast<double>(stages * t.deep * t.chunk) / column_products), stages);
  for (int64_t blocks = 1; blocks <= 2 * form.blocks; blocks++) {
    int64_t splits = std::min(column_multiprocessors * blocks / tiles, most);
    if (splits < 2 || p.y_elements() > INT32_MAX / 2 || splits * tiles * width * 64 * form.mw * 4 > column_sums)
      continue;
    if (ColumnPlan s = with_splits(splits); s.clocks < best.clocks) best = s;
  }
  return best;
}

// The form that the model expects to be fastest.
inline ColumnPlan plan_columns(const ConvProblem& p, std::span<const ColumnForm> forms) {
  ColumnPlan best;
  if (best.refused = columns_refuse(p); !best.refused.empty()) return best;
  best = plan_form(p, forms[0]);
  for (const ColumnForm& form : forms.subspan(1))
    if (ColumnPlan h = plan_form(p, form); h.refused.empty() && (!best.refused.empty() || h.clocks < best.clocks))
      best = h;
  return best;
}

}  // namespace
#endif
