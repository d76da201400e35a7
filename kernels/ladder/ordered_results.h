// How the ordered rungs' sums leave a warpgroup: a lane has positions g, g + 8, … of its warp's 32, and all classes of
// each.
#pragma once
#include "half_products.h"
#include "hopper_rows.h"

#if defined(CONVSCOPE_HAS_HOPPER)

__device__ __forceinline__ void store_2(uint16_t* to, uint32_t v) {
#if defined(__CUDACC__)
  asm volatile("st.global.b16 [%0], %1;" ::"l"(to), "h"(static_cast<uint16_t>(v)));
#else
  *to = static_cast<uint16_t>(v);
#endif
}

// Four rows out of shared memory, where they lie as far behind a 16-byte boundary as they do in y: 16 bytes a lane,
// what lies before the first boundary and behind the last one element by element. Of a row [low, high) exists.
template <class T>
__device__ __forceinline__ void rows_leave(const T* staging, int pitch, int all, T* to, int64_t length, int rows,
                                           int low, int high) {
  constexpr int many = 16 / sizeof(T);
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < all + many - 1; i += 32 * many) {
    const int from = i + many * lane;
#pragma unroll 1
    for (int row0 = 0; row0 < 4; row0 += 2) {
      uint4 v[2];
#pragma unroll
      for (int row = 0; row < 2; row++)
        v[row] = *reinterpret_cast<const uint4*>(staging + (row0 + row) * pitch + min(from, pitch - many));
#pragma unroll
      for (int row = 0; row < 2; row++) {
        T* at = to + (row0 + row) * length;
        const int o = from - static_cast<int>(reinterpret_cast<uintptr_t>(at) / sizeof(T) % many);
        if (row0 + row >= rows || o >= high || o + many <= low) continue;
        if (o >= low && o + many <= high) {
          store_16(at + o, __uint_as_float(v[row].x), __uint_as_float(v[row].y), __uint_as_float(v[row].z),
                   __uint_as_float(v[row].w));
        } else {
          const uint32_t words[4] = {v[row].x, v[row].y, v[row].z, v[row].w};
#pragma unroll
          for (int k = 0; k < many; k++)
            if (o + k >= low && o + k < high) {
              if constexpr (sizeof(T) == 4)
                store_4(at + o + k, __uint_as_float(words[k]));
              else
                store_2(at + o + k, words[k / 2] >> k % 2 * 16);
            }
        }
      }
    }
  }
}

// Rows of a warp's 32 positions, all classes, by way of shared memory, a channel of each t at a time. low, high:
// outputs of a row that exist, from its first position's on.
template <int period, int columns>
__device__ __forceinline__ void results_by_rows(const float (&d)[2][columns], int64_t length, const float* bias,
                                                float* y, int64_t j, int channels, float* staging, int g, int t) {
  constexpr int all = 32 * period, pitch = all + 8;
  const int low = static_cast<int>(max(int64_t{0}, -j)), high = static_cast<int>(min(int64_t{all}, length - j));
#pragma unroll
  for (int channel = 0; channel < columns / 2 / period; channel++) {
    const int r = channel * 4 + t;
    const float b = bias && r < channels ? bias[r] : 0.0f;
    float* to = staging + t * pitch + (words_after_boundary(y + r * length + j) & 3) + g * period;
#pragma unroll
    for (int h = 0; h < 4; h++)
#pragma unroll
      for (int k = 0; k < period; k++) to[h * 8 * period + k] = activated(result_of(d, channel * period + k, h) + b);
    __syncwarp();
    rows_leave<float>(staging, pitch, all, y + channel * 4 * length + j, length, min(channels - channel * 4, 4), low,
                      high);
    __syncwarp();
  }
}

// The same in 16 bits.
template <bool bf16, int period, int columns>
__device__ __forceinline__ void results_by_rows(const float (&d)[2][columns], int64_t length, const uint16_t* bias,
                                                uint16_t* y, int64_t j, int channels, uint16_t* staging, int g, int t) {
  constexpr int all = 32 * period, pitch = all + 16;
  const int low = static_cast<int>(max(int64_t{0}, -j)), high = static_cast<int>(min(int64_t{all}, length - j));
  auto after_boundary = [](const uint16_t* p) { return static_cast<int>(reinterpret_cast<uintptr_t>(p) >> 1 & 7); };
#pragma unroll
  for (int channel = 0; channel < columns / 2 / period; channel++) {
    const int r = channel * 4 + t;
    const float b = bias && r < channels ? widened(bf16, bias[r]) : 0.0f;
    uint16_t* to = staging + t * pitch + after_boundary(y + r * length + j) + g * period;
    auto value = [&](int h, int k) { return activated(result_of(d, channel * period + k, h) + b); };
    const auto place = static_cast<int>(reinterpret_cast<uintptr_t>(to) & 7);
    if (period % 4 == 0 && !__any_sync(~0u, place)) {
#pragma unroll
      for (int h = 0; h < 4; h++)
#pragma unroll
        for (int k = 0; k < period; k += 4)
          *reinterpret_cast<uint2*>(to + h * 8 * period + k) = make_uint2(
              rounded_pair(bf16, value(h, k), value(h, k + 1)), rounded_pair(bf16, value(h, k + 2), value(h, k + 3)));
    } else if (period % 2 == 0 && !__any_sync(~0u, place & 3)) {
#pragma unroll
      for (int h = 0; h < 4; h++)
#pragma unroll
        for (int k = 0; k < period; k += 2)
          *reinterpret_cast<uint32_t*>(to + h * 8 * period + k) = rounded_pair(bf16, value(h, k), value(h, k + 1));
    } else {
#pragma unroll
      for (int h = 0; h < 4; h++)
#pragma unroll
        for (int k = 0; k < period; k++)
          to[h * 8 * period + k] = static_cast<uint16_t>(rounded_pair(bf16, value(h, k), 0));
    }
    __syncwarp();
    rows_leave<uint16_t>(staging, pitch, all, y + channel * 4 * length + j, length, min(channels - channel * 4, 4), low,
                         high);
    __syncwarp();
  }
}

// Channels of a warpgroup's whole tile, whose positions are all of one sequence, by way of shared memory: the copy
// engine writes each row from its first 16-byte boundary to its last one, while others are staged or multiplied (all
// blocks store at the same time, and would wait for the memory: 6.6 of 23 µs a unit of dac.d2); what lies before and
// behind these is stored word by word. to: row 0; rows lie as far behind a boundary as they do there.
template <int period, int columns>
__device__ __forceinline__ void rows_by_copies(const float (&d)[2][columns], int64_t length, const float* bias,
                                               float* to, int channels, float* staging, int g, int t) {
  constexpr int all = hopper_positions * period, pitch = all + 8, rows = columns / 2 / period * 4;
  const int warp = static_cast<int>(threadIdx.x) / 32 % 4, lane = static_cast<int>(threadIdx.x) % 32;
  auto after = [&](int row) { return words_after_boundary(to + row * length) & 3; };
  boxes_read();
  warpgroup_barrier();  // those who ordered copies have seen that what was here has been read
  const bool aligned = !__any_sync(~0u, (after(0) | static_cast<int>(length)) & 3);
  const bool even = !__any_sync(~0u, (after(0) | static_cast<int>(length)) & 1);
#pragma unroll
  for (int channel = 0; channel < columns / 2 / period; channel++) {
    const int r = channel * 4 + t;
    const float b = bias && r < channels ? bias[r] : 0.0f;
    float* at = staging + r * pitch + (aligned ? 0 : after(r)) + (warp * 32 + g) * period;
    auto value = [&](int h, int k) { return activated(result_of(d, channel * period + k, h) + b); };
#pragma unroll
    for (int h = 0; h < 4; h++) {
      float* here = at + h * 8 * period;
      if (period % 4 == 0 && aligned) {
        float4 v[(period + 3) / 4];
#pragma unroll
        for (int k = 0; k < period / 4; k++)
          v[k] = make_float4(value(h, 4 * k), value(h, 4 * k + 1), value(h, 4 * k + 2), value(h, 4 * k + 3));
        auto* pieces = reinterpret_cast<float4*>(here);
        if constexpr (period == 8) {  // odd lanes store the second piece first: other banks
          const bool odd = g % 2;
          pieces[odd] = odd ? v[1] : v[0], pieces[!odd] = odd ? v[0] : v[1];
        } else {
          pieces[0] = v[0];
        }
      } else if (period % 2 == 0 && even) {
#pragma unroll
        for (int k = 0; k < period; k += 2)
          *reinterpret_cast<float2*>(here + k) = make_float2(value(h, k), value(h, k + 1));
      } else {
#pragma unroll
        for (int k = 0; k < period; k++) here[k] = value(h, k);
      }
    }
  }
  shared_stores_seen();
  warpgroup_barrier();
  constexpr int mine = rows / 4;  // of a warp, a lane each
  const int row = warp * mine + lane;
  if (lane < mine && row < channels) {
    const int ends = after(row), skip = -ends & 3;
    float* y = to + row * length;
    const float* from = staging + row * pitch + ends;
    write_bytes(y + skip, shared_address(from + skip), static_cast<uint32_t>(all - (skip ? 4 : 0)) * 4);
    for (int i = 0; i < (skip ? 4 : 0); i++) {
      const int o = i < skip ? i : all - 4 + i;
      store_4(y + o, from[o]);
    }
  }
  boxes_ordered();
}

// results_sectors where a warp's positions are all inside their row, and rows begin on 16 bytes, all as far from a
// sector: no store has to ask.
template <bool positions, int columns>
__device__ __forceinline__ void inner_sectors(const float (&d)[2][columns], int64_t length, const float* bias, float* y,
                                              int channels, int g, int t) {
  const bool odd = g % 2;
  float* row = y + t * length;
  float* first = row + (positions ? (odd ? -4 : 0) : (odd ? 0 : 4));
  float* second = row + (positions ? (odd ? 4 : 8) : (odd ? 4 : 0));
#pragma unroll
  for (int channel = 0; channel < columns / 16; channel++, first += 4 * length, second += 4 * length) {
    const int r = channel * 4 + t;
    const bool mine = r < channels;
    const float b = bias && mine ? bias[r] : 0.0f;
#pragma unroll
    for (int h = 0; h < 4; h++) {
      float a[4], z[4];
#pragma unroll
      for (int k = 0; k < 4; k++) {
        const float low = activated(result_of(d, channel * 8 + k, h) + b);
        const float high = activated(result_of(d, channel * 8 + 4 + k, h) + b);
        const float own = odd ? high : low, other = odd ? low : high;
        if (positions) {
          const float got = __shfl_xor_sync(~0u, other, 4);
          a[k] = odd ? got : own, z[k] = odd ? own : got;
        } else {
          a[k] = other, z[k] = own;
        }
      }
      if (mine) {
        store_16(first + h * 64, a[0], a[1], a[2], a[3]);
        store_16(second + h * 64, z[0], z[1], z[2], z[3]);
      }
    }
  }
}
#endif
