// How rows of 16-bit results leave Hopper's rungs: in shared memory they lie as far from a 32-byte boundary as in y,
// and leave in whole sectors, 16 bytes a lane, and the few values at their ends one by one.
#pragma once
#include "hopper_block.h"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Two sums, rounded to nearest even; a in the low half.
__device__ __forceinline__ uint32_t rounded_pair(bool bf16, float a, float b) {
  uint32_t r;
  if (bf16)
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a));
  else
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a));
  return r;
}
__device__ __forceinline__ float widened(bool bf16, uint16_t v) {
  if (bf16) return __uint_as_float(static_cast<uint32_t>(v) << 16);
  float r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(v));
  return r;
}

// Where a tile's results go and come through.
struct HalfResults {
  uint16_t* y;               // channel 0 of the column tile, of the tile's first sequence
  const float* bias;         // of channel 0, in shared memory; null: none
  int64_t length, sequence;  // values from row to row, and from sequence to sequence
  int64_t j;                 // the tile's first output in its rows
  int channels, sequences;   // that exist
  uint16_t* staging;
  int pitch;
  // Values after a 32-byte boundary at which a row begins, in y as in shared memory.
  __device__ __forceinline__ int phase(int s, int r) const {
    return static_cast<int>(reinterpret_cast<uintptr_t>(y + s * sequence + r * length + j) >> 1 & 15);
  }
};

// Where a lane reads a row's values in shared memory and stores them in y, for a row that begins `phase` values after a
// 32-byte boundary in both: whole sectors, 16 bytes a lane, and the few values at its ends one by one. Of the row
// [low, high) is written.
struct HalfRowPlace {
  int read, to, left;             // bytes from the row's first sector in shared memory, values from its first output in
                                  // y, values from there to the last whole sector's end
  int read_front, front, fronts;  // the same of the values before the first whole sector: how many from the lane's on
  int read_back, back, backs;     // and of those behind the last one
  __device__ __forceinline__ HalfRowPlace(int phase, int low, int high, int l) {
    int first = max(low, -phase), begin = first + (-(phase + first) & 15), end = high - ((phase + high) & 15);
    if (end < begin) end = begin = min(begin, high);
    to = begin + 8 * l, read = (phase + to) * 2, left = end - to;
    front = first + l, read_front = (phase + front) * 2, fronts = begin - front;
    back = end + l, read_back = (phase + back) * 2, backs = high - back;
  }
};

// Rows from shared memory to y: `left` of them for this half of a warp, every eighth one. Two of these are a whole
// number of sectors apart, so that there are two places. stride 0: any.
template <int stride, int together, bool ends>
__device__ __forceinline__ void write_rows(const HalfRowPlace (&places)[2], const char* row, int row_bytes,
                                           uint16_t* to, int64_t further, int left) {
  constexpr int parts = stride ? stride : 1;
  auto some = [&](auto count, int parity) {
    constexpr int n = decltype(count)::value;
    uint4 v[n][parts];
    uint16_t first[n], last[n];
#pragma unroll
    for (int k = 0; k < n; k++, row += row_bytes) {
      const HalfRowPlace& at = places[(k + parity) % 2];
      if (stride) {
#pragma unroll
        for (int i = 0; i < parts; i++)
          if (128 * i < at.left) v[k][i] = *reinterpret_cast<const uint4*>(row + at.read + 256 * i);
      } else {
        for (int i = 0; i < at.left; i += 128)
          *reinterpret_cast<uint4*>(to + k * further + at.to + i) =
              *reinterpret_cast<const uint4*>(row + at.read + 2 * i);
      }
      if (ends && at.fronts > 0) first[k] = *reinterpret_cast<const uint16_t*>(row + at.read_front);
      if (ends && at.backs > 0) last[k] = *reinterpret_cast<const uint16_t*>(row + at.read_back);
    }
#pragma unroll
    for (int k = 0; k < n; k++, to += further) {
      const HalfRowPlace& at = places[(k + parity) % 2];
      if (stride)
#pragma unroll
        for (int i = 0; i < parts; i++)
          if (128 * i < at.left) *reinterpret_cast<uint4*>(to + at.to + 128 * i) = v[k][i];
      if (ends && at.fronts > 0) to[at.front] = first[k];
      if (ends && at.backs > 0) to[at.back] = last[k];
    }
  };
  if constexpr (together > 1)
#pragma unroll 1
    for (; left >= together; left -= together) some(Count<together>{}, 0);
#pragma unroll 1
  for (; left > 0; left -= 2) {
    some(Count<1>{}, 0);
    if (left > 1) some(Count<1>{}, 1);
  }
}

// From shared memory to y: half a warp a row. most: parts of rows in registers at a time.
template <int stride, int most = 8>
__device__ __forceinline__ void write_half(const HalfResults& from, int positions, int all_rows, int warp) {
  constexpr int together =
      stride == 0 || stride > most / 2 ? 1 : most / stride;  // rows that are loaded before any is stored
  int side = threadIdx.x % 32 / 16, l = threadIdx.x % 16;
  int low = static_cast<int>(max(int64_t{0}, -from.j));
  int high = static_cast<int>(min(static_cast<int64_t>(positions), from.length - from.j));
  int rows = min(from.channels, all_rows), left = (rows - warp * 2 - side + 7) / 8;
  const int64_t further = 8 * from.length;
  for (int s = 0; s < from.sequences; s++) {
    auto* staged = reinterpret_cast<char*>(from.staging + s * all_rows * from.pitch);
    const char* row = staged + (warp * 2 + side) * from.pitch * 2;
    uint16_t* to = from.y + s * from.sequence + from.j + (warp * 2 + side) * from.length;
    int phase = static_cast<int>(reinterpret_cast<uintptr_t>(to) >> 1 & 15);
    const HalfRowPlace places[2] = {{phase, low, high, l}, {(phase + static_cast<int>(further)) & 15, low, high, l}};
    if (__any_sync(~0u, max(max(places[0].fronts, places[0].backs), max(places[1].fronts, places[1].backs)) > 0))
      write_rows<stride, (together > 4 ? 4 : together), true>(places, row, 16 * from.pitch, to, further, left);
    else
      write_rows<stride, together, false>(places, row, 16 * from.pitch, to, further, left);
  }
}
#endif
