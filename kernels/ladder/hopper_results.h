// How hopper_tf32's sums leave a warpgroup: in whole sectors, classes interleaved, outputs no tap reaches included.
//
// A warpgroup has 128 neighbouring positions m and a tile of channels; lane (g, t) = (lane / 4, lane % 4) of warp w has
// the channels t, t + 4, … and four positions h: 32w + 8·near·(h / near) + near·g + h % near, so that the outputs of
// `near` positions are four neighbours, and those of the lanes g follow them.
#pragma once
#include "convscope/activation.h"
#include "convscope/hopper.h"

constexpr int hopper_positions = 128;  // of a tile

// A number that a lambda is called with and the compiler knows.
template <int n>
struct Count {
  static constexpr int value = n;
};

// The value of lane column q at the lane's position h (of 4): wgmma gives a lane rows g and g + 8 and two columns of 8.
template <int columns>
__device__ __forceinline__ float result_of(const float (&d)[2][columns], int q, int h) {
  return d[h / 2][q / 2 * 4 + h % 2 * 2 + q % 2];
}

// Four neighbouring outputs of channel number `channel` of a lane: of its positions near·run …, all classes, and after
// each class's output the gcd − 1 that no tap reaches.
template <int period, int gcd, int columns>
__device__ __forceinline__ void quad_of(float (&v)[4], const float (&d)[2][columns], int channel, int run,
                                        const float* bias, int channels) {
  constexpr int stride = period * gcd, near = 4 / stride;
  float untouched = activated(gcd > 1 && bias && channel * 4 < channels ? bias[channel * 4] : 0.0f);
#pragma unroll
  for (int o = 0; o < 4; o++)
    v[o] = o % gcd ? untouched : result_of(d, channel * period + o % stride / gcd, run * near + o / stride);
}

// Stores to y. They say nothing of memory to the compiler: loads from shared memory may pass them.
template <int offset = 0>
__device__ __forceinline__ void store_16(void* to, float a, float b, float c, float d) {
#if defined(__CUDACC__)
  asm volatile("st.global.v4.f32 [%0 + %5], {%1, %2, %3, %4};" ::"l"(to), "f"(a), "f"(b), "f"(c), "f"(d), "n"(offset));
#else
  *reinterpret_cast<float4*>(static_cast<char*>(to) + offset) = make_float4(a, b, c, d);
#endif
}
__device__ __forceinline__ void store_8(float* to, float a, float b) {
#if defined(__CUDACC__)
  asm volatile("st.global.v2.f32 [%0], {%1, %2};" ::"l"(to), "f"(a), "f"(b));
#else
  *reinterpret_cast<float2*>(to) = make_float2(a, b);
#endif
}
__device__ __forceinline__ void store_4(float* to, float a) {
#if defined(__CUDACC__)
  asm volatile("st.global.f32 [%0], %1;" ::"l"(to), "f"(a));
#else
  *to = a;
#endif
}
__device__ __forceinline__ void warpgroup_barrier() { meet<128>(static_cast<int>(1 + threadIdx.x / 128)); }
__device__ __forceinline__ int words_after_boundary(const float* p) {  // of 32 bytes
  return static_cast<int>(reinterpret_cast<uintptr_t>(p) >> 2 & 7);
}

// How far a lane's rows are from a 16-byte boundary decides how its results leave. One way for a whole warp.
enum class Way { ends, whole, pairs, words };

// One channel of a warp's results, straight from registers: 32·runs neighbours from row[0], quad g + 8·run of them in
// lane g. Lanes hand each other what lies before the next 16-byte boundary of the row, `skip` words away.
template <Way way, int runs>
__device__ __forceinline__ void store_row(const float (&v)[runs][4], float* row, int skip, int g, int t, int low,
                                          int high) {
  constexpr int last = runs - 1;
  int lane = threadIdx.x % 32;
#pragma unroll
  for (int run = 0; run < runs; run++) {
    float* to = row + 32 * run + 4 * g;
    const float(&u)[4] = v[run];
    float next[3] = {};
    if constexpr (way == Way::whole) store_16(to, u[0], u[1], u[2], u[3]);
    if constexpr (way == Way::ends)  // the row ends or begins here: word by word
#pragma unroll
      for (int i = 0; i < 4; i++)
        if (int at = 32 * run + 4 * g + i; at >= low && at < high) store_4(row + at, u[i]);
    if constexpr (way == Way::pairs || way == Way::words) {
#pragma unroll
      for (int i = 0; i < (way == Way::pairs ? 2 : 3); i++)
        next[i] = __shfl_sync(~0u, g == 0 && run < last ? v[run < last ? run + 1 : 0][i] : u[i], (lane + 4) % 32);
      bool mine = g < 7 || run < last || skip == 0;
      float x[7] = {u[0], u[1], u[2], u[3], next[0], next[1], next[2]};
      if constexpr (way == Way::words)
#pragma unroll
        for (int i = 0; i < 6; i++) x[i] = skip & 1 ? x[i + 1] : x[i];
#pragma unroll
      for (int i = 0; i < 4; i++) x[i] = skip & 2 ? x[i + 2] : x[i];
      if (mine) store_16(to + skip, x[0], x[1], x[2], x[3]);
    }
  }
  if constexpr (way == Way::pairs) {
    float a = g == 0 ? v[0][0] : v[last][2], b = g == 0 ? v[0][1] : v[last][3];
    if (skip && (g == 0 || g == 7)) store_8(row + (g == 0 ? 0 : 32 * runs - 2), a, b);
  } else if constexpr (way == Way::words) {  // the ends, lane g word g: the first `skip` words, and the last 4 − skip
    float end = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
      float got = __shfl_sync(~0u, g == 0 ? v[0][i] : v[last][i], t + (i < skip ? 0 : 28));
      if (g == i) end = got;
    }
    if (skip && g < 4) store_4(row + g + (g < skip ? 0 : 32 * runs - 4), end);
  }
}

template <Way way, int period, int gcd, int columns>
__device__ __forceinline__ void store_rows(const float (&d)[2][columns], const float* bias, float* row, int64_t length,
                                           int skip, int g, int t, int channels, int low, int high) {
  constexpr int runs = period * gcd;
#pragma unroll
  for (int channel = 0; channel < columns / 2 / period; channel++, row += 4 * length) {
    if (way == Way::ends && channel * 4 + t >= channels) break;
    float v[runs][4];
#pragma unroll
    for (int run = 0; run < runs; run++) quad_of<period, gcd>(v[run], d, channel, run, bias, channels - t);
    store_row<way>(v, row, skip, g, t, low, high);
  }
}

template <int period, int gcd, int columns>
__device__ __forceinline__ void results_direct(const float (&d)[2][columns], const float* bias, float* y,
                                               int64_t length, int64_t j, int channels, int g, int t) {
  constexpr int stretch = 32 * period * gcd;
  float* row = y + t * length + j;
  int skip = -words_after_boundary(row) & 3;  // the same in all rows of a lane: they are 4 apart
  int low = static_cast<int>(max(int64_t{0}, -j)), high = static_cast<int>(min(int64_t{stretch}, length - j));
  if (bias) bias += t;
  if (low > 0 || high < stretch || channels < columns / 2 / period * 4)
    store_rows<Way::ends, period, gcd>(d, bias, row, length, skip, g, t, channels, low, high);
  else if (!__any_sync(~0u, skip))
    store_rows<Way::whole, period, gcd>(d, bias, row, length, skip, g, t, channels, low, high);
  else if (!__any_sync(~0u, skip & 1))
    store_rows<Way::pairs, period, gcd>(d, bias, row, length, skip, g, t, channels, low, high);
  else
    store_rows<Way::words, period, gcd>(d, bias, row, length, skip, g, t, channels, low, high);
}

// Results into shared memory, a row a channel. In which bank a lane begins: rows on 16 bytes are stored by 16; rows of
// odd length begin in different banks by themselves; else each t begins with another word.
template <int period, int gcd, int columns>
__device__ __forceinline__ void stage_rows(Way way, const float (&d)[2][columns], const float* bias, int channels,
                                           float* to, int after, int further, int turn) {
  constexpr int stride = period * gcd, pitch = hopper_positions * stride + 8;
  float* begins[2] = {to + after, to + ((after + 4 * further) & 7)};  // rows of a lane are 4 apart: two distances
#pragma unroll
  for (int channel = 0; channel < columns / 2 / period; channel++)
#pragma unroll
    for (int run = 0; run < stride; run++) {
      float v[4], turned[4];
      float* at = begins[channel % 2] + channel * 4 * pitch + 32 * run;
      quad_of<period, gcd>(v, d, channel, run, bias, channels);
      if (way == Way::whole) {
        *reinterpret_cast<float4*>(at) = make_float4(v[0], v[1], v[2], v[3]);
      } else if (way == Way::words) {
#pragma unroll
        for (int i = 0; i < 4; i++) at[i] = v[i];
      } else {
#pragma unroll
        for (int i = 0; i < 4; i++) turned[i] = turn & 1 ? v[(i + 1) % 4] : v[i];
#pragma unroll
        for (int i = 0; i < 4; i++) at[(i + turn) & 3] = turn & 2 ? turned[(i + 2) % 4] : turned[i];
      }
    }
}

// Rows of a tile out of shared memory, where they lie as far from a 32-byte boundary as they do in y: a warp writes
// every fourth one, whole sectors, 512 bytes at a time, and the few words at its ends. Rows that are eight apart are as
// far from a boundary, so that all places are worked out before the first row.
// own: outputs until the next tile begins. Where that is before the tile's end, each row is left to it at a boundary,
// and taken at one from the tile before, so that no sector is written by two.
template <int tile, int own>
struct StagedRows {
  static constexpr int pitch = tile + 8, parts = tile / 128;
  static constexpr int together = parts > 1 ? 2 : 4;  // rows that are loaded before they are stored
  static_assert(4 * together % 8 == 0, "all rounds find the same places");
  int read[together][parts], read_end[together];  // bytes from a round's first row to what a lane reads
  unsigned to[together], to_end[together];        // bytes from the beginning of a row in y to where it stores
  int left[together];                             // words from there to the last whole sector's end
  bool has_end[together];

  // begin: words between a boundary and the warp's first row; further: so many more from row to row. Of a row
  // [from, until) is there; begins: its first word is.
  __device__ __forceinline__ StagedRows(int begin, int further, int from, int until, bool begins) {
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int k = 0; k < together; k++) {
      int now = (begin + 4 * k * further) & 7, row = 4 * k * pitch + now, low = from, high = until;
      if (own < tile) {
        if (!begins) low = -now & 7;
        high = min(high, own + (-(now + own) & 7));
      }
      int start = low + (-(now + low) & 7), first = start, next = high - ((now + high) & 7);  // whole sectors
      if (next < first) first = next = min(first, high);
      to[k] = static_cast<unsigned>(first + 4 * lane) * 4;
      left[k] = next - first - 4 * lane;
      // Beyond the sectors of a short row there is still shared memory to read.
#pragma unroll
      for (int i = 0; i < parts; i++) read[k][i] = (row + min(start + 128 * i + 4 * lane, tile + 4 - now)) * 4;
      int end = lane < 8 ? low + lane : next + lane - 8;
      has_end[k] = lane < 16 && end < (lane < 8 ? first : high);
      to_end[k] = static_cast<unsigned>(end) * 4;
      read_end[k] = (row + min(end, tile - 1)) * 4;
    }
  }
  template <bool whole, bool ends = true>
  __device__ __forceinline__ void store(const char* from, char* row, int64_t length, int rows) const {
    const int64_t next_row = 16 * length;
#pragma unroll(whole&& parts > 1 ? 2 : 1)
    for (; rows > 0; rows -= 4 * together, row += together * next_row, from += 16 * together * pitch) {
      float4 v[together][parts];
      float v_end[together];
#pragma unroll
      for (int k = 0; k < together; k++) {
#pragma unroll
        for (int i = 0; i < parts; i++) v[k][i] = *reinterpret_cast<const float4*>(from + read[k][i]);
        if (ends) v_end[k] = *reinterpret_cast<const float*>(from + read_end[k]);
      }
#pragma unroll
      for (int k = 0; k < together; k++) {
        if (!whole && 4 * k >= rows) break;
        char* at = row + k * next_row;
        auto part = [&](auto i) {
          if (i.value * 128 < left[k])
            store_16<i.value * 512>(at + to[k], v[k][i.value].x, v[k][i.value].y, v[k][i.value].z, v[k][i.value].w);
        };
        part(Count<0>{});
        if constexpr (parts > 1) part(Count<1>{});
        if constexpr (parts > 2) part(Count<2>{}), part(Count<3>{});
        if (ends && has_end[k]) store_4(reinterpret_cast<float*>(at + to_end[k]), v_end[k]);
      }
    }
  }
  // From the warp's first row on; rows: how many from it to the last.
  __device__ __forceinline__ void store(const float* from, float* row, int64_t length, int rows) const {
    auto bytes = reinterpret_cast<const char*>(from);
    auto to_bytes = reinterpret_cast<char*>(row);
    if constexpr (own < tile && parts == 1) {  // of longer rows a loop of its own costs more (#79: 0.374 to 0.376 ms)
      bool any = false;
#pragma unroll
      for (int k = 0; k < together; k++) any |= has_end[k];
      if ((rows + 3) / 4 % together == 0 && !__any_sync(~0u, any))
        return store<true, false>(bytes, to_bytes, length, rows);
    }
    if ((rows + 3) / 4 % together == 0)  // no branch in the loop, so that loads pass the stores before them
      store<true>(bytes, to_bytes, length, rows);
    else
      store<false>(bytes, to_bytes, length, rows);
  }
};

// A tile's results by way of shared memory. own: outputs of a row until the next tile begins, if not all; then sectors
// are counted from `from`, y's first word, which is on 16 bytes only: all tiles must find the same boundaries.
template <int period, int gcd, int own, int columns>
__device__ __forceinline__ void results_staged(const float (&d)[2][columns], const float* bias, float* y,
                                               float* staging, int64_t length, int64_t j, int channels, int g, int t,
                                               [[maybe_unused]] const float* from = nullptr) {
  constexpr int stride = period * gcd, all = columns / 2 / period, tile = hopper_positions * stride, pitch = tile + 8;
  int warp = threadIdx.x / 32 % 4;
  int further = static_cast<int>(length) & 7, begin = words_after_boundary(y + j);  // of row 0, and how much more a row
  if constexpr (own < tile) begin = (begin - words_after_boundary(from)) & 7;
  int after = (begin + t * further) & 7, turn = (t - after) & 3;
  float* to = staging + t * pitch + warp * 32 * stride + 4 * g;
  warpgroup_barrier();  // all have written what was there
  Way way = !__any_sync(~0u, after & 3) ? Way::whole : length & 1 ? Way::words : Way::pairs;
  stage_rows<period, gcd>(way, d, bias ? bias + t : nullptr, channels - t, to, after, further, turn);
  warpgroup_barrier();
  int low = static_cast<int>(max(int64_t{0}, -j)), high = static_cast<int>(min(int64_t{tile}, length - j));
  StagedRows<tile, own> rows(begin + warp * further, further, low, high, j <= 0);
  rows.store(staging + warp * pitch, y + warp * length + j, length, min(channels, all * 4) - warp);
}

// Sums become results: the bias is added, and what follows the layer is done where they are, before they are picked for
// the way in which they leave. (Done as they are picked it took registers: 120 bytes of them were spilled for #79.)
template <int period, int columns>
__device__ __forceinline__ void finish(float (&d)[2][columns], const float* bias, int channels, int t) {
  if (bias)
#pragma unroll
    for (int channel = 0; channel < columns / 2 / period; channel++) {
      // No branch: all are on their way at once. (channel · 4 + t would be kept for each channel.)
      float b = channel * 4 < channels - t ? (bias + t)[channel * 4] : 0.0f;
#pragma unroll
      for (int q = channel * period; q < (channel + 1) * period; q++)
#pragma unroll
        for (int h = 0; h < 4; h++) d[h / 2][q / 2 * 4 + h % 2 * 2 + q % 2] += b;
    }
#pragma unroll
  for (int i = 0; i < columns; i++) d[0][i] = activated(d[0][i]), d[1][i] = activated(d[1][i]);
}
