// What the rungs for f16 and bf16 share: sums in f32 become 16 bits and back.
#pragma once
#include "hopper_block.h"
#ifndef __CUDACC__
#include "convscope/half.h"
#endif

#if defined(CONVSCOPE_HAS_HOPPER)

// Two sums, rounded to nearest even; a in the low half.
__device__ __forceinline__ uint32_t rounded_pair(bool bf16, float a, float b) {
#if defined(__CUDACC__)
  uint32_t r;
  if (bf16)
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a));
  else
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a));
  return r;
#else
  auto bits = [=](float v) -> uint32_t {
    return bf16 ? __bfloat16_as_ushort(__float2bfloat16_rn(v)) : __half_as_ushort(__float2half_rn(v));
  };
  return bits(a) | bits(b) << 16;
#endif
}
__device__ __forceinline__ float widened(bool bf16, uint16_t v) {
  if (bf16) return __uint_as_float(static_cast<uint32_t>(v) << 16);
#if defined(__CUDACC__)
  float r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(v));
  return r;
#else
  return __half2float(__ushort_as_half(v));
#endif
}
#endif
