// Arithmetic on __half2 and __nv_bfloat162 for the emulator, with CUDA's names (CUDA Math API, "Half2 Arithmetic
// Functions", "Bfloat162 Arithmetic Functions"): what kernel files from outside get as <cuda_fp16.h>.
#pragma once
#include "convscope/half.h"
#include "convscope/kernel.h"

#if !defined(__CUDACC__)
// Each half by itself.
#define CONVSCOPE_HALF_PAIRS(name, T, both_of, low, high, swapped, to_float2, from_float2, from_one, operation)      \
  constexpr __attribute__((always_inline)) inline name both_of(T v) { return {v, v}; }                               \
  constexpr __attribute__((always_inline)) inline name from_one(float v) { return {T(v), T(v)}; }                    \
  constexpr __attribute__((always_inline)) inline T low(name v) { return v.x; }                                      \
  constexpr __attribute__((always_inline)) inline T high(name v) { return v.y; }                                     \
  constexpr __attribute__((always_inline)) inline name swapped(name v) { return {v.y, v.x}; }                        \
  constexpr __attribute__((always_inline)) inline name __hadd2(name a, name b) { return {a.x + b.x, a.y + b.y}; }    \
  constexpr __attribute__((always_inline)) inline name __hsub2(name a, name b) { return {a.x - b.x, a.y - b.y}; }    \
  constexpr __attribute__((always_inline)) inline name __hmul2(name a, name b) { return {a.x * b.x, a.y * b.y}; }    \
  inline name __hfma2(name a, name b, name c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }             \
  operation constexpr __attribute__((always_inline)) inline name operator+(name a, name b) { return __hadd2(a, b); } \
  operation constexpr __attribute__((always_inline)) inline name operator-(name a, name b) { return __hsub2(a, b); } \
  operation constexpr __attribute__((always_inline)) inline name operator*(name a, name b) { return __hmul2(a, b); } \
  operation constexpr __attribute__((always_inline)) inline name& operator+=(name& a, name b) { return a = a + b; }  \
  operation constexpr __attribute__((always_inline)) inline name& operator*=(name& a, name b) { return a = a * b; }  \
  inline float2 to_float2(name v) { return {static_cast<float>(v.x), static_cast<float>(v.y)}; }                     \
  inline name from_float2(float2 v) { return {T(v.x), T(v.y)}; }
CONVSCOPE_HALF_PAIRS(__half2, __half, __half2half2, __low2half, __high2half, __lowhigh2highlow, __half22float2,
                     __float22half2_rn, __float2half2_rn, CONVSCOPE_SWITCHED_OFF_BY("__CUDA_NO_HALF2_OPERATORS__"))
CONVSCOPE_HALF_PAIRS(__nv_bfloat162, __nv_bfloat16, __bfloat162bfloat162, __low2bfloat16, __high2bfloat16,
                     __lowhigh2highlow, __bfloat1622float2, __float22bfloat162_rn, __float2bfloat162_rn, )
#undef CONVSCOPE_HALF_PAIRS
#endif
