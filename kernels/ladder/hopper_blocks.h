// How results leave in blocks: a tile stores whole 256-byte blocks of y, while the next tile's products run.
//
// Rows of y begin anywhere. A block of 256 bytes of which two tiles write a part costs the memory more than one that
// is written at once: reading x and writing y of #79 with nothing computed takes 0.399 ms in pieces that end on 32, 64
// or 128 bytes, and 0.376 in such that end on 256 (tests/bench/write_limit.cu, H200). So tiles overlap by a block, and
// each stores from the first boundary behind its block number 0 to the last one within its outputs.
// - How far a row of a tile begins behind a boundary is the same in all tiles of a sequence, so that outputs which no
//   tap reaches stay in shared memory from tile to tile and are put there once.
// - Rows wait in shared memory until the next tile's products are on their way, which they hide: so many more of them
//   there are.
#pragma once
#include "hopper_results.h"

constexpr int block_words = 64;  // 256 bytes
// Positions of a tile until the next one begins, where outputs are `stride` positions.
constexpr int positions_of_blocks(int stride) { return hopper_positions - block_words / stride; }

__device__ __forceinline__ int words_after_block(const float* p) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(p) >> 2) & (block_words - 1);
}

// Of a row of a tile in shared memory: what is stored, from the second boundary on. (Before the first one, 0, and
// behind the last, `tile`, lies what other tiles store.)
template <int tile>
struct BlockRow {
  static constexpr int pitch = tile - block_words, parts = (pitch + 127) / 128;
};

// A warp's rows of a tile that wait to be stored, every fourth one; two leave at a time.
template <int tile>
struct WaitingRows {
  using Row = BlockRow<tile>;
  const float* from;  // the next row in shared memory
  float* row;         // where this tile's part of it begins in y
  int after;          // words from a boundary to there
  int rows = 0;       // from the next one to the last, the other warps' rows counted

  __device__ __forceinline__ void two(int64_t length) {
    if (rows <= 0) return;
    const int lane = threadIdx.x % 32, further = static_cast<int>(length) * 4;
    float4 v[2][Row::parts];
    auto is = [&](int part) { return 128 * part + 4 * lane < Row::pitch; };
#pragma unroll
    for (int k = 0; k < 2; k++)
#pragma unroll
      for (int i = 0; i < Row::parts; i++)
        if (is(i)) v[k][i] = *reinterpret_cast<const float4*>(from + 4 * k * Row::pitch + 128 * i + 4 * lane);
#pragma unroll
    for (int k = 0; k < 2; k++) {
      if (4 * k >= rows) break;
      float* to = row + 4 * k * length - ((after + k * further) & (block_words - 1)) + block_words + 4 * lane;
      if (is(0)) store_16(to, v[k][0].x, v[k][0].y, v[k][0].z, v[k][0].w);
      if constexpr (Row::parts > 1)
        if (is(1)) store_16<512>(to, v[k][1].x, v[k][1].y, v[k][1].z, v[k][1].w);
    }
    row += 8 * length, from += 8 * Row::pitch, after += 2 * further, rows -= 8;
  }
  __device__ __forceinline__ void some(int64_t length) { two(length), two(length); }
  __device__ __forceinline__ void all(int64_t length) {
    while (rows > 0) two(length);
  }
};

// Outputs that no tap reaches: those of a row have one value.
template <int gcd, int pitch>
__device__ __forceinline__ void put_untouched(float* staging, const float* bias, int begin, int further, int rows) {
  for (int row = threadIdx.x / 32 % 4; row < rows; row += 4) {
    float value = activated(bias ? bias[row] : 0.0f);
    for (int i = threadIdx.x % 32; i < pitch; i += 32)
      if ((i - begin - row * further) % gcd) staging[row * pitch + i] = value;
  }
}

// A tile's results into shared memory, from where they are stored later; where a row begins or ends, into y.
// j: its first output in y's row. put: how far behind a boundary row 0 began when untouched outputs were put there.
template <int period, int gcd, int tile, int columns>
__device__ __forceinline__ void results_in_blocks(WaitingRows<tile>& waiting, int& put, const float (&d)[2][columns],
                                                  const float* bias, float* y, float* staging, int64_t length,
                                                  int64_t j, int channels, int g, int t) {
  constexpr int stride = period * gcd, all = columns / 2 / period, pitch = BlockRow<tile>::pitch;
  static_assert(block_words % gcd == 0);
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
  if (j <= 0 || j + tile >= length) {
    quads([&](const float(&v)[4], int channel, int at) {
      if (channel * 4 + t >= channels) return;
      int64_t low = j > 0 ? block_words - after : -j, high = j + tile < length ? tile - after : length - j;
#pragma unroll
      for (int i = 0; i < 4; i++)
        if (at + i >= low && at + i < high) store_4(y + (channel * 4 + t) * length + j + at + i, v[i]);
    });
    return;
  }
  warpgroup_barrier();  // all have stored what was there
  if (gcd > 1 && put != begin) {
    put_untouched<gcd, pitch>(staging, bias, begin, further, min(channels, all * 4));
    put = begin;
  }
  // Word by word: in odd rows lanes t begin in different banks by themselves.
  quads([&](const float(&v)[4], int channel, int at) {
#pragma unroll
    for (int i = 0; i < 4; i += gcd) {
      int to = after + at + i - block_words;
      if (to >= 0 && to < pitch) staging[(channel * 4 + t) * pitch + to] = v[i];
    }
  });
  warpgroup_barrier();
  waiting = {staging + warp * pitch, y + warp * length + j, begin + warp * further, min(channels, all * 4) - warp};
}
