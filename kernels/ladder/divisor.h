// Division by a number that is known before the launch, as a multiplication: the GPU has no instruction that divides
// integers, and what replaces it is a chain in which each waits for the one before. Source: Granlund and Montgomery,
// "Division by Invariant Integers using Multiplication", 1994.
#pragma once
#include "convscope/kernel.h"

struct Divisor {
  int32_t by;
  uint32_t factor;  // ⌊2^(31 + s) / by⌋ + 1 with s = ⌈log2 by⌉; 0: by is 1
  int32_t shift;    // s − 1

  // ⌊n / by⌋ of 0 ≤ n < 2^31
  __device__ __forceinline__ int of(int n) const {
    int q = static_cast<int>(__umulhi(static_cast<uint32_t>(n), factor) >> shift);
    return factor ? q : n;
  }
};

#ifndef __CUDACC__
inline Divisor divisor_of(int64_t by) {
  int s = 0;
  while ((int64_t{1} << s) < by) s++;
  if (s == 0) return {1, 0, 0};
  return {static_cast<int32_t>(by), static_cast<uint32_t>((uint64_t{1} << (31 + s)) / static_cast<uint64_t>(by) + 1),
          s - 1};
}
#endif
