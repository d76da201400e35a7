// Floats as f16 numbers of a common scale, for tensor cores that multiply f16 twice as fast as TF32.
//
// f16 has TF32's 11 significant bits, but a narrow range: 2^-14 to 2^16 with all its bits, down to 2^-24 with fewer. A
// power of two brings the values of a sum into it, and the sum is divided by it afterwards, both without an error.
// - Weights have one scale, found when they are packed: their largest lies between 2^14 and 2^15.
// - x has a scale for each four neighbouring positions of a tile (the rows of A that four lanes have): the largest that
//   their taps meet in the first 16 channels is brought near f16's end. If a value of later channels is beyond it the
//   scale is lowered, and the sums so far with it, as softmax's are in FlashAttention (Dao et al., 2022).
// - Where f32's accuracy is asked for a value is the sum of two f16 numbers, high and low.
// A value is rounded to 11 bits, or 22 with two halves, but at the end of f16's range: no finer than 2^-36 (2^-39 with
// two halves) of the largest value that taps of the same four positions meet; weights 2^-39 of the largest one. So
// outputs are as accurate as others are unless all they are made of is smaller than its neighbours in x by 2^-25
// (2^-15, 90 dB, with two halves), or than other weights by 2^-28 (2^-15).
// Source of the halves: Ootomo & Yokota, Recovering single precision accuracy from Tensor Cores while surpassing the
// FP32 theoretical peak performance, IJHPCA 36, 2022; there without a scale of each few positions.
#pragma once
#include "half_products.h"

constexpr int scaled_blocks = 256;  // that look for the largest weight
// To which power of two the largest is brought. Of x with one half, later channels may be 2^4 larger; low halves need
// the room.
constexpr int scaled_w = 14, scaled_x = 11, scaled_split_x = 14;

#if defined(CONVSCOPE_HAS_HOPPER)

// The power of two that brings a value to 2^to … 2^(to + 1); of zeros the largest there is.
__device__ __forceinline__ float scale_of(float largest, int to) {
  int exponent = static_cast<int>(__float_as_uint(largest) >> 23);
  return __uint_as_float(static_cast<uint32_t>(min(max(254 + to - exponent, 1), 253)) << 23);
}
// 1/scale, of a power of two between 2^-126 and 2^126.
__device__ __forceinline__ float inverse(float scale) { return __uint_as_float((254u << 23) - __float_as_uint(scale)); }

// The largest magnitudes of two pairs of f16 numbers. What is no number does not count.
__device__ __forceinline__ uint32_t largest_pair(uint32_t magnitudes, uint32_t w) {
#if defined(__CUDACC__)
  uint32_t r;
  asm("{\n.reg .b32 m;\nabs.f16x2 m, %2;\nmax.f16x2 %0, %1, m;\n}\n" : "=r"(r) : "r"(magnitudes), "r"(w));
  return r;
#else  // as integers they are in the same order
  w &= 0x7fff7fffu;
  return max(magnitudes & 0xffffu, w & 0xffffu) | max(magnitudes >> 16, w >> 16) << 16;
#endif
}

// Two values as high halves, and what these leave as low ones.
__device__ __forceinline__ uint32_t high_pair(float a, float b) { return rounded_pair(false, a, b); }
__device__ __forceinline__ uint32_t low_pair(float a, float b, uint32_t high) {
  return rounded_pair(false, a - widened(false, static_cast<uint16_t>(high)),
                      b - widened(false, static_cast<uint16_t>(high >> 16)));
}

// ---- the weights

// The largest of a block of 256 threads.
__device__ __forceinline__ float largest_of_block(float most) {
  __shared__ float found[8];
  for (int lanes = 16; lanes; lanes /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, lanes));
  if (threadIdx.x % 32 == 0) found[threadIdx.x / 32] = most;
  __syncthreads();
  for (int i = 0; i < 8; i++) most = fmaxf(most, found[i]);
  return most;
}

// The largest weight that each block finds: the first of two launches that pack them.
__device__ __forceinline__ void scaled_largest(const ConvArgs& c, const float* w, float* largest) {
  next_launch_may_begin();
  const int64_t all = c.in_channels * (c.out_channels / c.groups) * c.kernel_size;
  float most = 0;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * 256 + threadIdx.x; i < all; i += int64_t{scaled_blocks} * 256)
    most = fmaxf(most, fabsf(w[i]));
  most = largest_of_block(most);
  if (threadIdx.x == 0) largest[blockIdx.x] = most;
}

// The scale of all weights, of a block of 256 threads; the first one leaves its inverse for the products.
__device__ __forceinline__ float scale_of_weights(const float* largest, float* left) {
  float scale = scale_of(largest_of_block(largest[threadIdx.x]), scaled_w);
  if (blockIdx.x == 0 && threadIdx.x == 0) *left = inverse(scale);
  return scale;
}

// Two weights, of channels ci and ci + 8, at `to`: high halves, and low ones at to[low] if there are any.
__device__ __forceinline__ void pack_scaled(float a, float b, float scale, uint32_t* to, int64_t low) {
  uint32_t high = high_pair(a * scale, b * scale);
  to[0] = high;
  if (low) to[low] = low_pair(a * scale, b * scale, high);
}

// For each column tile its stages, each with its image, or its high and its low one: put(of, at, low) is called for
// each word, with of(0) and of(8) the weights in it, where it is among all words, and how much further its low half.
template <class T, class Tiles, class Put>
__device__ __forceinline__ void pack_stages(const ConvArgs& c, const Tiles& tiles, const ShiftTable& table, const T* w,
                                            Put put) {
  const int image = tiles.chunk / 4 / tiles.parts, stages = tiles.rounds / tiles.deep;
  const int64_t all = static_cast<int64_t>(image) * stages * tiles.column_tiles * c.groups;
  for (int64_t id = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; id < all;
       id += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    const int64_t stage = id / image;  // of all tiles
    const int e = static_cast<int>(id % image);
    const ImagePlace at = image_place(e, tiles.width);
    const int step = at.k / 8, round = static_cast<int>(stage % stages) * (tiles.deep / 2) + step / tiles.shifts;
    const bool there = step < tiles.deep / 2 * tiles.shifts;
    auto of = [&](int further) {
      const int64_t ci = static_cast<int64_t>(round) * 16 + at.k % 8 + further;
      return there ? hopper_weight_of(c, tiles, table, w, stage / stages, at.column, ci, step % tiles.shifts) : T(0);
    };
    put(of, stage * tiles.parts * image + e, tiles.parts == 2 ? image : 0);
  }
}
// flags: words at `ready` that are zeroed, behind which the weights' scale is left.
template <class Tiles>
__device__ __forceinline__ void pack_scaled_stages(const ConvArgs& c, const Tiles& tiles, const ShiftTable& table,
                                                   const float* w, const float* largest, uint32_t* packed, int* ready,
                                                   int flags) {
  const float scale = scale_of_weights(largest, reinterpret_cast<float*>(ready + flags));
  if (blockIdx.x == 0)
    for (int i = threadIdx.x; i < flags; i += blockDim.x) ready[i] = 0;
  pack_stages(c, tiles, table, w,
              [&](auto of, int64_t at, int low) { pack_scaled(of(0), of(8), scale, packed + at, low); });
}

// Sums as they are without scales. Of far scales the product may be beyond f32 where the result is not.
template <int columns>
__device__ __forceinline__ void unscale_sums(float (&d)[2][columns], float of_x, float of_weights) {
  float of_both = of_weights * of_x;
  if (__any_sync(~0u, !(of_both >= 0x1p-126f && of_both <= 0x1p126f))) {
#pragma unroll
    for (int i = 0; i < columns; i++) d[0][i] *= of_weights, d[1][i] *= of_weights;
    of_both = of_x;
  }
#pragma unroll
  for (int i = 0; i < columns; i++) d[0][i] *= of_both, d[1][i] *= of_both;
}

// ---- x

// What a lane reads of 16 channels, for all shifts u·step: its positions and those before them in channels t, t + 4,
// t + 8 and t + 12 (Window in hopper_block.h). Word r of a position is two channels, t + 4r and t + 4r + 8.
template <int step, int shifts, int near, int parts>
struct ScaledWindow : Window<step, shifts, near, 4> {
  using Values = Window<step, shifts, near, 4>;
  using Values::before, Values::size, Values::runs, Values::v;
  static constexpr int first = before - (shifts - 1) * step;  // those before it are read with others
  uint32_t words[parts][2][runs][size];
  uint32_t most;  // of the words, by magnitude
  int zero;       // HopperTiles::zero
  float scale;

  // As words; most: the largest pair, for go_on().
  __device__ __forceinline__ void convert() {
    most = 0;
#pragma unroll
    for (int r = 0; r < 2; r++)
#pragma unroll
      for (int run = 0; run < runs; run++)
#pragma unroll
        for (int i = first; i < size; i++) {
          float a = v[r][run][i] * scale, b = v[r + 2][run][i] * scale;
          uint32_t high = high_pair(a, b);
          words[0][r][run][i] = high, most = largest_pair(most, high);
          if constexpr (parts == 2) words[1][r][run][i] = low_pair(a, b, high);
        }
  }
  // A lower scale for the warp's lanes: by how much lower. Four lanes have the same positions.
  __device__ __forceinline__ float lower() {
    float largest = 0;
#pragma unroll
    for (int r = 0; r < 4; r++)
#pragma unroll
      for (int run = 0; run < runs; run++)
#pragma unroll
        for (int i = first; i < size; i++) largest = fmaxf(largest, fabsf(v[r][run][i]));
    largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, 1));
    largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, 2));
    float before_it = scale;
    scale = fminf(scale, scale_of(largest, parts == 2 ? scaled_split_x : scaled_x));
    return scale * inverse(before_it);
  }
  // Of the first channels: there are no sums yet.
  __device__ __forceinline__ void begin(const HopperTiles& tiles) {
    scale = 0x1p126f, zero = tiles.zero;
    lower();
    convert();
  }
  // Whether a value of the warp's was beyond f16, among the words that come next.
  __device__ __forceinline__ bool beyond() const {
    return __any_sync(~0u, (most & 0xffffu) >= 0x7c00u || most >= 0x7c000000u);
  }
  // Then: its sums so far go with the scale.
  template <int columns>
  __device__ __forceinline__ void go_on(float (&d)[2][columns]) {
    float less = lower();
#pragma unroll
    for (int i = 0; i < columns; i++) d[0][i] *= less, d[1][i] *= less;
    convert();
  }
  template <int columns>
  __device__ __forceinline__ void unscale(float (&d)[2][columns], float of_weights) const {
    unscale_sums(d, inverse(scale), of_weights);
  }
  // The A operand of 64 positions and shift u. It is a value of its own, which takes an instruction: of a copy the
  // compiler thinks that it has been read once a product is ordered, and wrote the next round's words into its
  // registers while products ran (wrong results, of which the emulator knows nothing; tests/kernels/ladder/operands.py
  // reads the machine code for such).
  __device__ __forceinline__ void fragment(uint32_t (&a)[4], int part, int half, int u) const {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      int h = 2 * half + i % 2;
      const uint32_t& word = words[part][i / 2][h / near][before + h % near - u * step];
#if defined(__CUDACC__)
      asm volatile("or.b32 %0, %1, %2;" : "=r"(a[i]) : "r"(word), "r"(zero));
#else
      a[i] = word | static_cast<uint32_t>(zero);
#endif
    }
  }
};

// Rounds of 16 channels one after the other, out of the ring's stages (which count rounds of 8), with weights that
// stay.
template <int step, int shifts, int near, int parts>
struct ScaledRounds {
  const HopperTiles& tiles;
  const float* x;  // the lane's place in the first stage
  uint64_t image;  // of the weights
  Ring& ring;
  ScaledWindow<step, shifts, near, parts> window;
  const float* from = nullptr;
  int sub = 0;     // round of the stage
  uint32_t k = 0;  // steps of the weights before the round

  __device__ __forceinline__ void begin() {
    load();
    window.begin(tiles);
    read();
  }
  __device__ __forceinline__ void load() {
    if (sub == 0) {
      barrier_wait(ring.full(), ring.phase);
      from = x + ring.stage * tiles.deep * 8 * tiles.box;
    }
    window.load(from, tiles.box);
    from += 16 * tiles.box;
  }
  template <int width>
  __device__ __forceinline__ uint64_t weights(uint32_t u) const {
    uint32_t at = k + u;
    return image + (at / 4 * (width * 8) + at % 4 * 2);
  }
  __device__ __forceinline__ void ordered() { k += shifts; }
  __device__ __forceinline__ void read() {
    if ((sub += 2) < tiles.deep) return;
    sub = 0;
    __syncwarp();
    // As in hopper_block.h: until what was loaded last has left shared memory, nobody is told.
    uint32_t loaded =
        __float_as_uint(window.v[3][window.runs - 1][window.size - 1]) & static_cast<uint32_t>(tiles.zero);
    if (threadIdx.x % 32 == 0) barrier_arrive(ring.empty() + loaded);
    ring.advance();
  }
  __device__ __forceinline__ void done() {}
};

// All rounds of a tile, each of 16 channels. x: window, which has the first round's words; load(): reads the next
// round; weights<width>(u): of shift u; ordered(): the products of a round are on their way; read(): what was loaded is
// in registers; done(): the products are done. The next round is read before the products are ordered, and becomes
// words while they run.
template <int width, int shifts, int columns, class X>
__device__ __forceinline__ void scaled_sum(float (&d)[2][columns], X& x, int rounds) {
#pragma unroll
  for (int i = 0; i < columns; i++) d[0][i] = d[1][i] = 0;
  for (int round = 0; round < rounds; round += 2) {
    const bool more = round + 2 < rounds;
    if (more) x.load();
    uint32_t a[shifts * 2][4];
#pragma unroll
    for (int i = 0; i < shifts * 2; i++) x.window.fragment(a[i], 0, i % 2, i / 2);
    products_begin();
#pragma unroll
    for (int i = 0; i < shifts * 2; i++) product_f16(d[i % 2], a[i], x.template weights<width>(i / 2), 1);
    products_commit();
    x.ordered();
    if (more) x.window.convert(), x.read();
    products_wait<0>();
    x.done();
    if (x.window.beyond()) x.window.go_on(d);
  }
}

// The same where fragments of all shifts do not fit beside the sums: in two turns, and the next round is read when the
// first turn's products are done.
template <int width, int shifts, int columns, class X>
__device__ __forceinline__ void scaled_sum_in_turns(float (&d)[2][columns], X& x, int rounds) {
  constexpr int most = (shifts + 1) / 2;
#pragma unroll
  for (int i = 0; i < columns; i++) d[0][i] = d[1][i] = 0;
  for (int round = 0; round < rounds; round += 2) {
    const bool more = round + 2 < rounds;
    auto turn = [&](auto first, auto count) {
      uint32_t a[count.value * 2][4];
#pragma unroll
      for (int i = 0; i < count.value * 2; i++) x.window.fragment(a[i], 0, i % 2, first.value + i / 2);
      products_begin();
#pragma unroll
      for (int i = 0; i < count.value * 2; i++)
        product_f16(d[i % 2], a[i], x.template weights<width>(first.value + i / 2), 1);
      products_commit();
    };
    turn(Count<0>{}, Count<most>{});
    turn(Count<most>{}, Count<shifts - most>{});
    x.ordered();
    products_wait<1>();
    if (more) x.load(), x.window.convert(), x.read();
    products_wait<0>();
    x.done();
    if (x.window.beyond()) x.load_again(), x.window.go_on(d);  // its values were not kept
  }
}

template <int columns>
__device__ __forceinline__ void add_sum(float (&d)[2][columns], float (&sum)[2][columns]) {
#pragma unroll
  for (int half = 0; half < 2; half++)
#pragma unroll
    for (int i = 0; i < columns; i++) {
      settled(sum[half][i]);  // is not read before it is waited for
      d[half][i] += sum[half][i];
    }
}

// The same by high and low halves. Sums of two rounds are added in f32 (hopper_3xtf32 says why). The low image of the
// weights lies `low` further on.
template <int width, int shifts, int columns, class X>
__device__ __forceinline__ void scaled_split_sum(float (&d)[2][columns], X& x, int rounds, uint64_t low) {
#pragma unroll
  for (int i = 0; i < columns; i++) d[0][i] = d[1][i] = 0;
  float sum[2][columns];
  for (int round = 0; round < rounds; round += 2) {
    const bool more = round + 2 < rounds;
    const int second = round & 2;
    if (more) x.load();
    uint32_t high[shifts * 2][4], small[shifts * 2][4];
#pragma unroll
    for (int i = 0; i < shifts * 2; i++)
      x.window.fragment(high[i], 0, i % 2, i / 2), x.window.fragment(small[i], 1, i % 2, i / 2);
    products_begin();
#pragma unroll
    for (int i = 0; i < shifts * 2; i++)
      product_f16(sum[i % 2], small[i], x.template weights<width>(i / 2), i < 2 ? second : 1);
#pragma unroll
    for (int i = 0; i < shifts * 2; i++) product_f16(sum[i % 2], high[i], x.template weights<width>(i / 2) + low, 1);
#pragma unroll
    for (int i = 0; i < shifts * 2; i++) product_f16(sum[i % 2], high[i], x.template weights<width>(i / 2), 1);
    products_commit();
    x.ordered();
    if (more) x.window.convert(), x.read();
    products_wait<0>();
    x.done();
    if (!more || second) add_sum(d, sum);
    if (!x.window.beyond()) continue;
    if (!second) {
      add_sum(d, sum);
#pragma unroll
      for (int i = 0; i < columns; i++) sum[0][i] = sum[1][i] = 0;
    }
    x.window.go_on(d);
  }
}

// The same by two shifts at a time. There are more products in a round's sum: it is added in f32 by itself.
template <int width, int shifts, int columns, class X>
__device__ __forceinline__ void scaled_split_sum_in_turns(float (&d)[2][columns], X& x, int rounds, uint64_t low) {
#pragma unroll
  for (int i = 0; i < columns; i++) d[0][i] = d[1][i] = 0;
  for (int round = 0; round < rounds; round += 2) {
    const bool more = round + 2 < rounds;
    float sum[2][columns];
    auto turn = [&](auto first, auto count) {
      constexpr int n = count.value * 2;
      uint32_t high[n][4], small[n][4];
#pragma unroll
      for (int i = 0; i < n; i++) {
        const int u = first.value + i / 2;
        x.window.fragment(high[i], 0, i % 2, u), x.window.fragment(small[i], 1, i % 2, u);
      }
      auto at = [&](int i) { return x.template weights<width>(first.value + i / 2); };
      products_begin();
#pragma unroll
      for (int i = 0; i < n; i++) product_f16(sum[i % 2], small[i], at(i), first.value + i / 2 ? 1 : 0);
#pragma unroll
      for (int i = 0; i < n; i++) product_f16(sum[i % 2], high[i], at(i) + low, 1);
#pragma unroll
      for (int i = 0; i < n; i++) product_f16(sum[i % 2], high[i], at(i), 1);
      products_commit();
    };
    static_assert(shifts == 7);
    turn(Count<0>{}, Count<2>{});
    products_wait<0>();
    turn(Count<2>{}, Count<2>{});
    products_wait<0>();
    turn(Count<4>{}, Count<2>{});
    products_wait<0>();
    turn(Count<6>{}, Count<1>{});
    x.ordered();
    if (more) x.load(), x.window.convert(), x.read();
    products_wait<0>();
    x.done();
    add_sum(d, sum);
    if (x.window.beyond()) x.load_again(), x.window.go_on(d);
  }
}
#endif
