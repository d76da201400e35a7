// How results leave in blocks: a tile stores whole 256-byte blocks of y, while the next tile's products run.
//
// Rows of y begin anywhere. A block of 256 bytes of which two tiles write a part costs the memory more than one that
// is written at once: reading x and writing y of #79 with nothing computed takes 0.401 ms in pieces that end on 32
// bytes, 0.398 on 128 and 0.374 on 256 (tests/bench/write_limit.cu, H200). So tiles overlap by a block, and each stores
// from its second boundary to its last one.
// - How far a row of a tile begins behind a boundary is the same in all tiles of a sequence, so that outputs which no
//   tap reaches stay in shared memory from tile to tile and are put there once.
// - Rows wait in shared memory until the next tile's products are on their way, which they hide: so many more of them
//   there are.
// Where stride is 2, as the one form that is compiled.
#pragma once
#include "hopper_results.h"

constexpr int block_words = 64;                         // 256 bytes
constexpr int block_tile = 2 * hopper_positions;        // outputs of a row of a tile
constexpr int block_row = block_tile - block_words;     // of these are stored, and lie in shared memory
constexpr int block_positions = hopper_positions - 32;  // until the next tile begins

__device__ __forceinline__ int words_after_block(const float* p) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(p) >> 2) & (block_words - 1);
}

// A warp's rows of a tile that wait to be stored, every fourth one; two leave at a time.
struct WaitingRows {
  const float* from;  // the next row in shared memory
  float* row;         // where this tile's part of it begins in y
  int after;          // words from a boundary to there
  int rows = 0;       // from the next one to the last, the other warps' rows counted

  __device__ __forceinline__ void two(int64_t length) {
    if (rows <= 0) return;
    const int lane = threadIdx.x % 32, further = static_cast<int>(length) * 4;
    float4 v[2][2];
    auto is = [&](int part) { return 128 * part + 4 * lane < block_row; };
#pragma unroll
    for (int k = 0; k < 2; k++)
#pragma unroll
      for (int i = 0; i < 2; i++)
        if (is(i)) v[k][i] = *reinterpret_cast<const float4*>(from + 4 * k * block_row + 128 * i + 4 * lane);
#pragma unroll
    for (int k = 0; k < 2; k++) {
      if (4 * k >= rows) break;
      float* to = row + 4 * k * length - ((after + k * further) & (block_words - 1)) + block_words + 4 * lane;
      if (is(0)) store_16(to, v[k][0].x, v[k][0].y, v[k][0].z, v[k][0].w);
      if (is(1)) store_16<512>(to, v[k][1].x, v[k][1].y, v[k][1].z, v[k][1].w);
    }
    row += 8 * length, from += 8 * block_row, after += 2 * further, rows -= 8;
  }
  __device__ __forceinline__ void some(int64_t length) { two(length), two(length); }
  __device__ __forceinline__ void all(int64_t length) {
    while (rows > 0) two(length);
  }
};

// Outputs that no tap reaches: those of a row have one value.
template <int gcd>
__device__ __forceinline__ void put_untouched(float* staging, const float* bias, int begin, int further, int rows) {
  for (int row = threadIdx.x / 32 % 4; row < rows; row += 4) {
    float value = activated(bias ? bias[row] : 0.0f);
    for (int i = threadIdx.x % 32; i < block_row; i += 32)
      if ((i - begin - row * further) % gcd) staging[row * block_row + i] = value;
  }
}

// A tile's results into shared memory, from where they are stored later; where a row begins or ends, into y.
// j: its first output in y's row. put: how far behind a boundary row 0 began when untouched outputs were put there.
template <int period, int gcd, int columns>
__device__ __forceinline__ void results_in_blocks(WaitingRows& waiting, int& put, const float (&d)[2][columns],
                                                  const float* bias, float* y, float* staging, int64_t length,
                                                  int64_t j, int channels, int g, int t) {
  constexpr int stride = period * gcd, all = columns / 2 / period;
  static_assert(stride * hopper_positions == block_tile && block_words % gcd == 0);
  const int warp = threadIdx.x / 32 % 4, further = static_cast<int>(length), begin = words_after_block(y + j);
  const int mine = warp * 32 * stride + 4 * g;  // the lane's first output of a tile
  int after = (begin + t * further) & (block_words - 1);
  auto quads = [&](auto use) {
#pragma unroll
    for (int channel = 0; channel < all; channel++) {
#pragma unroll
      for (int run = 0; run < stride; run++) {
        float v[4];
        quad_of<period, gcd>(v, d, channel, run, bias ? bias + t : nullptr, channels - t);
        use(v, channel, mine + 32 * run);
      }
      after = (after + 4 * further) & (block_words - 1);
    }
  };
  if (j <= 0 || j + block_tile >= length) {
    quads([&](const float(&v)[4], int channel, int at) {
      if (channel * 4 + t >= channels) return;
      int64_t low = j > 0 ? block_words - after : -j, high = j + block_tile < length ? block_tile - after : length - j;
#pragma unroll
      for (int i = 0; i < 4; i++)
        if (at + i >= low && at + i < high) store_4(y + (channel * 4 + t) * length + j + at + i, v[i]);
    });
    return;
  }
  warpgroup_barrier();  // all have stored what was there
  if (gcd > 1 && put != begin) {
    put_untouched<gcd>(staging, bias, begin, further, min(channels, all * 4));
    put = begin;
  }
  // Word by word: in odd rows lanes t begin in different banks by themselves.
  quads([&](const float(&v)[4], int channel, int at) {
#pragma unroll
    for (int i = 0; i < 4; i += gcd) {
      int to = after + at + i - block_words;
      if (to >= 0 && to < block_row) staging[(channel * 4 + t) * block_row + to] = v[i];
    }
  });
  warpgroup_barrier();
  waiting = {staging + warp * block_row, y + warp * length + j, begin + warp * further, min(channels, all * 4) - warp};
}
