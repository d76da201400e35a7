// The products of one stage of columns_tf32: fragments of x out of shared memory as it lies there, shifted, times
// packed weights.
//
// A warp has MW · 16 positions. Where the shifts are 0, 1, 2, … and a product is 8 channels (`near`), a lane has MW
// neighbouring positions in each half of them. What it reads at once then serves as many shifts, and a product's four
// values are four registers that nothing has to be moved into. Where they follow each other in chains (`chained`), a
// lane's positions do as well. Else a lane reads its two positions g and g + 8 of each 16 for every product.
#pragma once
#include "columns_results.h"
#include "convscope/mma.h"

// Words of the packed weights of one product.
template <int parts, int NT>
constexpr int product_words = NT * 64 * parts;

// A value as the products read it: rounded, or in two parts.
template <int parts>
__device__ __forceinline__ void to_parts(float v, uint32_t (&part)[parts]) {
  if constexpr (parts == 1) {
    part[0] = nearly_tf32(v);
  } else {
    split_tf32(v, part[0], part[1]);
  }
}

template <int i>
struct Half {
  static constexpr int value = i;
};

template <int parts, int NT>
struct ColumnWeights {
  uint32_t part[parts][NT][2];

  __device__ __forceinline__ explicit ColumnWeights(const float* ws) {  // ws: the lane's place
    if constexpr (NT == 1 && parts == 1) {
      float2 v = *reinterpret_cast<const float2*>(ws);
      part[0][0][0] = __float_as_uint(v.x), part[0][0][1] = __float_as_uint(v.y);
    } else if constexpr (NT == 1) {
      float4 v = *reinterpret_cast<const float4*>(ws);
      part[0][0][0] = __float_as_uint(v.x), part[0][0][1] = __float_as_uint(v.y);
      part[parts - 1][0][0] = __float_as_uint(v.z), part[parts - 1][0][1] = __float_as_uint(v.w);
    } else {
#pragma unroll
      for (int q = 0; q < NT; q += 2)
#pragma unroll
        for (int p = 0; p < parts; p++) {
          float4 v = *reinterpret_cast<const float4*>(ws + (q / 2 * parts + p) * 128);
          part[p][q][0] = __float_as_uint(v.x), part[p][q][1] = __float_as_uint(v.y);
          part[p][q + 1][0] = __float_as_uint(v.z), part[p][q + 1][1] = __float_as_uint(v.w);
        }
    }
  }
  // Small products first.
  __device__ __forceinline__ void multiply(float (&sum)[NT][4], const uint32_t (&a)[parts][4]) const {
    if constexpr (parts == 2) {
      mma_m16n8k8_tf32(sum, a[1], part[0]);
      mma_m16n8k8_tf32(sum, a[0], part[1]);
    }
    mma_m16n8k8_tf32(sum, a[0], part[0]);
  }
};

// The shifts of a stage: how many products, where x begins in shared memory (so far left of a span's first position),
// where the first shift's x is from there, and the first's remainder of the division by s'.
template <Lanes lanes>
struct ColumnShifts {
  int products, left, at, remainder = 0;
  __device__ __forceinline__ ColumnShifts(const ColumnTiles& tiles, int chunk) {
    int from = chunk * tiles.chunk;
    products = min(tiles.chunk, tiles.shifts - from);
    if constexpr (lanes == Lanes::near) {
      at = (products + 2) & ~3;  // whole 16 bytes; `from` is a multiple of 4
      left = from + at;
    } else {
      int first = from * tiles.product_shifts, last = first + products * tiles.product_shifts - 1;
      if (tiles.rest == 0) {
        first *= tiles.jump, last *= tiles.jump;
      } else {
        int64_t along = static_cast<int64_t>(first) * tiles.back;
        first = static_cast<int>(along / tiles.period), remainder = static_cast<int>(along % tiles.period);
        last = static_cast<int>(static_cast<int64_t>(last) * tiles.back / tiles.period);
      }
      left = last + (tiles.whole ? -last & 3 : 0);  // rows that are copied by 16 bytes begin on such
      at = left - first;
    }
  }
};

// All shifts of one round of input channels. x: the lane's place, and from there in each unit of its positions; second:
// how much further the second value of a product lies; weights: the lane's place.
template <int parts, int NT, int MW>
__device__ __forceinline__ void add_near(float (&sum)[MW][NT][4], const float* x, const int (&unit)[2], int second,
                                         const float* weights, int products) {
  uint32_t v[2 * MW][parts][4];  // a ring of neighbours: what MW shifts need, of which half is what the last needed
  auto load = [&](int to, int before) {
#pragma unroll
    for (int r = 0; r < 2; r++)
#pragma unroll
      for (int half = 0; half < 2; half++) {
        const float* from = x + unit[half] + r * second - before;
        float4 four{};
        float2 two{};
        if constexpr (MW == 4)
          four = *reinterpret_cast<const float4*>(from);
        else
          two = *reinterpret_cast<const float2*>(from);
        const float near[4] = {MW == 4 ? four.x : two.x, MW == 4 ? four.y : two.y, four.z, four.w};
#pragma unroll
        for (int k = 0; k < MW; k++) {
          uint32_t part[parts];
          to_parts(near[k], part);
#pragma unroll
          for (int p = 0; p < parts; p++) v[to + k][p][2 * r + half] = part[p];
        }
      }
  };
  // MW shifts, or what is left of them; which: the half of the ring that holds the positions of the first shift.
  auto some = [&](auto which) {
    constexpr int here = decltype(which)::value * MW;
    auto product = [&](int u) {
      ColumnWeights<parts, NT> w(weights);
      weights += product_words<parts, NT>;
#pragma unroll
      for (int m = 0; m < MW; m++) w.multiply(sum[m], v[(here + m - u + 2 * MW) % (2 * MW)]);
    };
    if (products > 1) load(MW - here, MW);
    if (products >= MW) {
#pragma unroll
      for (int u = 0; u < MW; u++) product(u);
      x -= MW, products -= MW;
      return products > 0;
    }
#pragma unroll
    for (int u = 0; u < MW - 1; u++)
      if (u < products) product(u);
    return false;
  };
  load(0, 0);
  while (some(Half<0>{}) && some(Half<1>{})) {
  }
}

// remainder: of the first shift; shifts are `step` apart, and one more where the remainders make up a whole.
template <int parts, int NT, int MW>
__device__ __forceinline__ void add_apart(float (&sum)[MW][NT][4], const float* x, const int (&unit)[MW], int second,
                                          const float* weights, int products, const ColumnTiles& tiles, int remainder) {
  const float* at[MW];
#pragma unroll
  for (int m = 0; m < MW; m++) at[m] = x + unit[m];
  int step = tiles.product_shifts * tiles.jump;
  for (int u = 0; u < products; u++) {
    ColumnWeights<parts, NT> w(weights);
    weights += product_words<parts, NT>;
    remainder += tiles.rest;
    bool one_more = remainder >= tiles.period;
    if (one_more) remainder -= tiles.period;
#pragma unroll
    for (int m = 0; m < MW; m++) {
      float v[4] = {at[m][0], at[m][8], at[m][second], at[m][second + 8]};
      at[m] -= step + one_more;
      uint32_t a[parts][4];
#pragma unroll
      for (int i = 0; i < 4; i++) {
        uint32_t part[parts];
        to_parts(v[i], part);
#pragma unroll
        for (int p = 0; p < parts; p++) a[p][i] = part[p];
      }
      w.multiply(sum[m], a);
    }
  }
}

// Shifts in chains: every s'-th is d' further. A lane's positions m are d' apart as well: what m reads for a shift m +
// 1 reads for the next one of the chain, so that a shift loads the values of one fragment.
template <int parts, int NT, int MW>
__device__ __forceinline__ void add_chained(float (&sum)[MW][NT][4], const float* x, const int (&unit)[2], int second,
                                            const float* weights, int products, const ColumnTiles& tiles,
                                            int remainder) {
  int apart = tiles.back, words = tiles.period * product_words<parts, NT>;
  for (int r = 0; r < min(tiles.period, products); r++, remainder += tiles.back) {
    const float* from = x - remainder / tiles.period;  // how far the chain's first shift is from the first of all
    const float* ws = weights + r * product_words<parts, NT>;
    uint32_t v[MW][parts][4];  // a ring
    auto load = [&](int to, const float* at) {
#pragma unroll
      for (int i = 0; i < 4; i++) {
        uint32_t part[parts];
        to_parts(at[unit[i % 2] + i / 2 * second], part);
#pragma unroll
        for (int p = 0; p < parts; p++) v[to][p][i] = part[p];
      }
    };
    auto product = [&](int k) {
      ColumnWeights<parts, NT> w(ws);
      ws += words;
#pragma unroll
      for (int m = 0; m < MW; m++) w.multiply(sum[m], v[(m - k + MW) % MW]);
    };
#pragma unroll
    for (int m = 1; m < MW; m++) load(m, from + m * apart);
    int left = (products - r + tiles.period - 1) / tiles.period;
    for (; left >= MW; left -= MW)
#pragma unroll
      for (int k = 0; k < MW; k++, from -= apart) load((MW - k) % MW, from), product(k);
#pragma unroll
    for (int k = 0; k < MW - 1; k++, from -= apart)
      if (k < left) load((MW - k) % MW, from), product(k);
  }
}
