// How the stream rungs' sums leave a warpgroup: a lane's results of a channel are one run of a row, all classes of its
// positions.
//
// A lane (g, t) = (lane / 4, lane % 4) of warp w has the channels t, t + 4, … Short sequences share a tile of 128
// positions: `segment` of each.
#pragma once
#include "hopper_results.h"

// The tile as a lane sees it, which has four neighbouring positions 32w + 4g …: where they are.
struct LanePlace {
  int sequence;       // in the tile
  int position;       // the first of four, in the sequence's segment
  bool begins, ends;  // no lane of the warp goes on before, or after it, in the same row
  __device__ __forceinline__ LanePlace(int segment, int warp, int g) {
    int at = warp % 4 * 32 + 4 * g;
    sequence = at / segment, position = at - sequence * segment;
    begins = g == 0 || position == 0, ends = g == 7 || position + 4 >= segment;
  }
};

// Four neighbouring outputs from `at` on, of a row of `length`.
__device__ __forceinline__ void store_quad(float* row, int64_t at, int64_t length, bool aligned, const float (&v)[4]) {
  if (aligned && at >= 0 && at + 4 <= length) {
    store_16(row + at, v[0], v[1], v[2], v[3]);
  } else {
#pragma unroll
    for (int k = 0; k < 4; k++)
      if (at + k >= 0 && at + k < length) store_4(row + at + k, v[k]);
  }
}

// Results of eight classes, all of them neighbours, of a lane with positions g, g + 8, …: a position's are 32 bytes,
// those of lanes g and g + 1 follow each other. Each store of a warp writes whole sectors. Where sectors are positions,
// two lanes exchange halves; where a sector ends in the middle of a position (a padding of 4), one stores its second
// half when the next stores its first.
template <int columns>
__device__ __forceinline__ void results_sectors(const float (&d)[2][columns], int64_t length, const float* bias,
                                                float* y, int64_t j, int channels, int g, int t) {
  bool odd = g % 2;
#pragma unroll
  for (int channel = 0; channel < columns / 16; channel++) {
    int r = channel * 4 + t;
    float* row = y + r * length;
    bool mine = r < channels;
    float b = bias && mine ? bias[r] : 0.0f;
    bool aligned = (reinterpret_cast<uintptr_t>(row + j) & 15) == 0;
    bool positions = !__any_sync(~0u, words_after_boundary(row + j));
#pragma unroll
    for (int h = 0; h < 4; h++) {
      int64_t at = j + h * 64;
      float v[2][4];
#pragma unroll
      for (int k = 0; k < 8; k++) v[k / 4][k % 4] = activated(result_of(d, channel * 8 + k, h) + b);
      float first[4], second[4];
#pragma unroll
      for (int k = 0; k < 4; k++) {
        float own = odd ? v[1][k] : v[0][k], other = odd ? v[0][k] : v[1][k];
        if (positions) other = __shfl_xor_sync(~0u, other, 4);
        // positions: the even lane's sector, then the odd lane's. Else: what meets in the middle of the two, the rest.
        first[k] = positions ? (odd ? other : own) : other;
        second[k] = positions ? (odd ? own : other) : own;
      }
      if (!mine) continue;
      store_quad(row, positions ? (odd ? at - 4 : at) : (odd ? at : at + 4), length, aligned, first);
      store_quad(row, positions ? (odd ? at + 4 : at + 8) : (odd ? at + 4 : at), length, aligned, second);
    }
  }
}

// Results of any number of classes, all of them neighbours: a lane's four positions are one run of a row, which the
// next lane's goes on. Stored by 16 bytes: what lies before the next 16-byte boundary a lane has from the next one.
// y: channel 0 of the lane's sequence; channels: that exist there; j: the output of the lane's first position.
template <int period, int columns>
__device__ __forceinline__ void results_runs(const float (&d)[2][columns], int64_t length, const float* bias, float* y,
                                             int64_t j, int channels, const LanePlace& place, int t) {
  constexpr int run = 4 * period;
  int lane = threadIdx.x % 32;
#pragma unroll
  for (int channel = 0; channel < columns / 2 / period; channel++) {
    int r = channel * 4 + t;
    float* row = y + r * length;
    bool mine = r < channels;
    float b = bias && mine ? bias[r] : 0.0f;
    float x[run + 3];
#pragma unroll
    for (int i = 0; i < run; i++) x[i] = activated(result_of(d, channel * period + i % period, i / period) + b);
#pragma unroll
    for (int i = 0; i < 3; i++) x[run + i] = __shfl_sync(~0u, x[i], (lane + 4) % 32);
    int skip = -words_after_boundary(row + j) & 3;
    auto one = [&](int64_t at, float v) {
      if (at >= 0 && at < length) store_4(row + at, v);
    };
    if (mine && place.begins)
#pragma unroll
      for (int i = 0; i < 3; i++)
        if (i < skip) one(j + i, x[i]);
#pragma unroll
    for (int i = 0; i < run + 2; i++) x[i] = skip & 1 ? x[i + 1] : x[i];
#pragma unroll
    for (int i = 0; i < run; i++) x[i] = skip & 2 ? x[i + 2] : x[i];
    if (!mine) continue;
#pragma unroll
    for (int i = 0; i < run; i += 4) {
      int64_t at = j + skip + i;
      bool cut = i + 4 == run && place.ends && skip > 0;  // the next lane is another's
      if (at >= 0 && at + 4 <= length && !cut)
        store_16(row + at, x[i], x[i + 1], x[i + 2], x[i + 3]);
      else
#pragma unroll
        for (int k = 0; k < 4; k++)
          if (!cut || k < 4 - skip) one(at + k, x[i + k]);
    }
  }
}
