// Floats in two TF32 halves, and the three products of the tensor cores that replace one in f32 (rungs 9 and 11).
#pragma once
#include "hopper_block.h"

#if defined(CONVSCOPE_HAS_HOPPER)

template <int shifts>
struct Halves {
  uint32_t high[shifts][4], low[shifts][4];
};

// d += the products of 64 positions with the weights of k values from `round` on, whose low image lies `low` further
// on.
template <int width, int shifts>
__device__ __forceinline__ void add_products(float (&sum)[width / 2], const Halves<shifts>& a, uint64_t weights,
                                             uint64_t low, int k) {
  products_begin();
#pragma unroll
  for (int u = 0; u < shifts; u++) product(sum, a.low[u], weights_at<width>(weights, k + u), u > 0);
#pragma unroll
  for (int u = 0; u < shifts; u++) product(sum, a.high[u], weights_at<width>(weights + low, k + u), 1);
#pragma unroll
  for (int u = 0; u < shifts; u++) product(sum, a.high[u], weights_at<width>(weights, k + u), 1);
  products_commit();
}

#endif
