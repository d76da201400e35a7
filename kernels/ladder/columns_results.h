// How sums over columns leave a warp: a row of y is a run of neighbouring outputs, all classes of its positions
// interleaved, with the outputs that no tap reaches in between.
//
// A warp's results are put into its own part of shared memory in the order of y (row by row, `pitch` words each) and
// leave from there, 128 bytes an instruction. What does not fit goes in several windows of that order, so that any
// stride has a way out. No barrier of the block is needed.
#pragma once
#include "convscope/activation.h"

constexpr int column_warps = 4;
constexpr int column_threads = 32 * column_warps;
constexpr int column_buffers = 3;  // stages in shared memory: one is used, the others are on their way
constexpr int most_columns = 64;   // of a block
constexpr int most_spans = 16;     // of a block

// The cut of a problem; columns_plan.h makes it.
struct ColumnTiles {
  int32_t first;                                // the first position m, a multiple of 4
  int32_t span, spans, pieces, all_spans;       // positions of a span; spans of a block, of a sequence, of all
  int32_t position_tiles, column_tiles;         // the latter of a group
  int32_t period, gcd, back, inverse;           // s', gcd(s, d), d', the inverse of d' modulo s'
  int32_t classes;                              // classes that are columns: all s', or those of taps 0…K − 1
  int32_t tile_columns;                         // columns of a block that count
  int32_t jump, rest;                           // d'/s' (at least 1) and its remainder: how far apart shifts are
  int32_t product_channels, product_shifts;     // of one product, 8 together
  int32_t shifts, chunk, chunks;                // of product_shifts each: all, of a stage; stages for all of them
  int32_t deep, channels_log2, channel_blocks;  // a stage: deep · product_channels = 2^log2 input channels
  int32_t box, pitch, whole;                    // words of x: of a span, of a channel; whether 16-byte pieces will do
  int32_t splits;
  int32_t chain;               // chained: rows of a span, of which a lane has MW positions each; else 0
  int32_t staging, row_pitch;  // words of a warp's results in shared memory, of a row in it

  // The class ρ of a channel's column number a, and back: −1 where no tap reaches the class.
  __device__ int32_t class_of(int32_t a) const {
    return classes == period ? a : static_cast<int32_t>(static_cast<int64_t>(a) * back % period);
  }
  __device__ int32_t column_of(int32_t rho) const {
    if (classes == period) return rho;
    int64_t k = static_cast<int64_t>(rho) * inverse % period;
    return k < classes ? static_cast<int32_t>(k) : -1;
  }
};

// How the positions of a lane lie, and so what it reads for the products of all shifts: its two rows of each 16
// positions (apart); neighbours, where the shifts are 0, 1, 2, … (near); or d' apart, where d' > s' and so every s'-th
// shift is d' further (chained).
enum class Lanes { apart, near, chained };

// What is worked out once a block.
struct ColumnTable {
  int64_t x[most_spans], y[most_spans];  // where a span's sequence begins: in x, and in y the block's first row
  int32_t m[most_spans];                 // first position of a span
  int32_t at[most_columns];              // where a column's result lies in the rows of a warp, before its position
  float bias[most_columns];              // of a column
  float row_bias[most_columns];
};
constexpr int32_t no_column = 1 << 30;  // beyond every window

// The position of row g (half 0) or g + 8 of a warp's fragment m, of MW. Where a lane has neighbours, each half of the
// rows is a unit of positions that follow each other in a sequence; else each fragment is. Chained ones are numbered
// like neighbours.
template <int MW, Lanes lanes>
__device__ __forceinline__ int position_of(int m, int half, int g) {
  return lanes == Lanes::apart ? 16 * m + 8 * half + g : half * 8 * MW + MW * g + m;
}
template <int MW, Lanes lanes>
constexpr int column_unit = lanes == Lanes::apart ? 16 : 8 * MW;

// Outputs low…high of a row: `from` in shared memory, `to` in y. Only residues first…end modulo the stride, if a block
// has not all columns of the row's channel.
__device__ __forceinline__ void store_part(const float* from, float* to, int low, int high, int stride, int first,
                                           int end, int lane) {
  int r = (low + lane) % stride, step = 32 % stride;
#pragma unroll 1
  for (int o = low + lane; o < high; o += 32) {
    if (r >= first && r < end) to[o] = from[o];
    r += step;
    if (r >= stride) r -= stride;
  }
}

template <int NT, int MW, Lanes lanes>
__device__ __forceinline__ void store_columns(const float (&d)[MW][NT][4], const ConvArgs& c, const ColumnTiles& tiles,
                                              const ColumnTable& table, int spans, int column0, float* staging,
                                              float* y) {
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  int stride = static_cast<int>(c.stride), pitch = tiles.row_pitch;
  int cout = static_cast<int>(c.out_channels / c.groups), length = static_cast<int>(c.out_length);
  int columns = min(tiles.tile_columns, cout * tiles.classes - column0);
  int before = column0 % tiles.classes;  // columns of the first row that another block has
  int rows = (before + columns + tiles.classes - 1) / tiles.classes, last = (before + columns - 1) % tiles.classes + 1;
  // Rows of which this block has all columns.
  int whole_from = before ? 1 : 0, whole_to = last < tiles.classes ? rows - 1 : rows;
  int position0 = warp * 16 * MW, span0 = position0 / tiles.span;
  bool one = span0 == (position0 + 16 * MW - 1) / tiles.span;  // all positions follow each other in one sequence
  constexpr int unit = column_unit<MW, lanes>;
  int run = one ? 16 * MW * stride : unit * stride, runs = one ? 1 : 16 * MW / unit;
  int window = tiles.staging >= pitch ? tiles.staging / pitch * pitch : tiles.staging;
  bool holes = tiles.classes < tiles.period || tiles.gcd > 1;

  for (int begin = 0; begin < rows * pitch; begin += window) {
    int end = min(begin + window, rows * pitch), row0 = begin / pitch, row1 = (end + pitch - 1) / pitch;
    if (holes) {
      for (int row = row0; row < row1; row++)
#pragma unroll 1
        for (int o = max(row * pitch, begin) + lane; o < min((row + 1) * pitch, end); o += 32)
          staging[o - begin] = activated(table.row_bias[row]);
      __syncwarp();
    }
#pragma unroll
    for (int q = 0; q < NT; q++)
#pragma unroll
      for (int i = 0; i < 2; i++) {
        int at = table.at[8 * q + 2 * t + i] - begin + position_of<MW, lanes>(0, 0, g) * stride;
        float bias = table.bias[8 * q + 2 * t + i];
#pragma unroll
        for (int m = 0; m < MW; m++)
#pragma unroll
          for (int half = 0; half < 2; half++) {
            int o = at + position_of<MW, lanes>(m, half, 0) * stride;
            if (static_cast<unsigned>(o) < static_cast<unsigned>(end - begin))
              staging[o] = activated(d[m][q][2 * half + i] + bias);
          }
      }
    __syncwarp();
    for (int k = 0; k < runs; k++) {
      int position = position0 + unit * k, span = position / tiles.span;
      if (span >= spans) break;
      int j = (table.m[span] + position % tiles.span) * stride - static_cast<int>(c.padding);
      int low = max(0, -j), high = min(run, length - j);
      const float* from = staging + unit * k * stride - begin;
      float* to = y + table.y[span] + j;
      auto part = [&](int row) {  // what of a row is in the window
        bool is_first = row < whole_from, is_last = row >= whole_to;
        store_part(from + row * pitch, to + row * c.out_length, max(low, begin - row * pitch - unit * k * stride),
                   min(high, end - row * pitch - unit * k * stride), stride, is_first ? before * tiles.gcd : 0,
                   is_last ? last * tiles.gcd : stride, lane);
      };
      if (window < pitch) {
        for (int row = row0; row < row1; row++) part(row);
        continue;
      }
      int row = max(row0, whole_from), stop = min(row1, whole_to);
      if (row0 < row) part(row0);
      const float* line = from + row * pitch;
      float* to_line = to + row * c.out_length;
      for (; row < stop; row += 4, line += 4 * pitch, to_line += 4 * c.out_length)
#pragma unroll 1
        for (int o = low + lane; o < high; o += 32) {
          float v[4];
#pragma unroll
          for (int r = 0; r < 4; r++) v[r] = line[o + (row + r < stop ? r * pitch : 0)];
#pragma unroll
          for (int r = 0; r < 4; r++)
            if (row + r < stop) to_line[o + r * c.out_length] = v[r];
        }
      if (stop < row1 && stop >= row0 && stop >= whole_from) part(stop);
    }
    __syncwarp();
  }
}
