// What <cuda_fp16.h> and <cuda_bf16.h> have beyond half.h and half_pairs.h, for the emulator: CUDA's short names,
// comparisons, minima, functions, shuffles and atomic additions (CUDA Math API, "Half Precision Intrinsics", "Bfloat16
// Precision Intrinsics"). Each result is rounded once, to nearest, ties to even.
#pragma once
#include "convscope/half_pairs.h"

#if !defined(__CUDACC__)
#include "convscope/intrinsics.h"

using half = __half;
using half2 = __half2;
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;
using __nv_half = __half;
using __nv_half2 = __half2;
using nv_half = __half;
using nv_half2 = __half2;

// Of one, with the pair's beside it. Comparisons with NaN are false, but "not equal"; those with u at their end are
// then true.
#define CONVSCOPE_HALF_COMPARISON(T, Pair, name, expression)                                   \
  constexpr bool __h##name(T a, T b) { return expression; }                                    \
  constexpr bool __h##name##u(T a, T b) { return __hisnan(a) || __hisnan(b) || (expression); } \
  constexpr Pair __h##name##2(Pair a, Pair b) {                                                \
    return {T(__h##name(a.x, b.x) ? 1.0f : 0.0f), T(__h##name(a.y, b.y) ? 1.0f : 0.0f)};       \
  }                                                                                            \
  constexpr unsigned __h##name##2_mask(Pair a, Pair b) {                                       \
    return (__h##name(a.x, b.x) ? 0xffffu : 0u) | (__h##name(a.y, b.y) ? 0xffff0000u : 0u);    \
  }                                                                                            \
  constexpr bool __hb##name##2(Pair a, Pair b) { return __h##name(a.x, b.x) && __h##name(a.y, b.y); }
#define CONVSCOPE_HALF_FUNCTION(T, Pair, name, expression) \
  inline T h##name(T v) {                                  \
    const double d = static_cast<float>(v);                \
    return T(expression);                                  \
  }                                                        \
  inline Pair h2##name(Pair v) { return {h##name(v.x), h##name(v.y)}; }
#define CONVSCOPE_HALF_ROUNDED(T, word, suffix, To, name) \
  inline To __##word##2##name##suffix(T v) { return __float2##name##suffix(static_cast<float>(v)); }
#define CONVSCOPE_HALF_TO_INTEGER(T, word, name, To) \
  CONVSCOPE_HALF_ROUNDED(T, word, _rn, To, name)     \
  CONVSCOPE_HALF_ROUNDED(T, word, _rz, To, name)     \
  CONVSCOPE_HALF_ROUNDED(T, word, _rd, To, name)     \
  CONVSCOPE_HALF_ROUNDED(T, word, _ru, To, name)
#define CONVSCOPE_HALF_SHUFFLE(T, name, operand)                                                         \
  CONVSCOPE_UNTRACED inline T name(unsigned mask, T value, operand by, int width = 32,                   \
                                   const convscope::simt::Site& at = convscope::simt::Site::current()) { \
    const unsigned moved = std::bit_cast<unsigned short>(value);                                         \
    return std::bit_cast<T>(static_cast<unsigned short>(name<unsigned>(mask, moved, by, width, at)));    \
  }
#define CONVSCOPE_HALF_FUNCTIONS(T, Pair, word, make, from_int, from_uint)                                       \
  CONVSCOPE_HALF_COMPARISON(T, Pair, eq, a == b)                                                                 \
  CONVSCOPE_HALF_COMPARISON(T, Pair, ne, a < b || b < a)                                                         \
  CONVSCOPE_HALF_COMPARISON(T, Pair, lt, a < b)                                                                  \
  CONVSCOPE_HALF_COMPARISON(T, Pair, le, a <= b)                                                                 \
  CONVSCOPE_HALF_COMPARISON(T, Pair, gt, a > b)                                                                  \
  CONVSCOPE_HALF_COMPARISON(T, Pair, ge, a >= b)                                                                 \
  /* A number wins over NaN, and +0 is more than -0. */                                                          \
  constexpr T __hmax(T a, T b) {                                                                                 \
    return __hisnan(a) || a < b || (a == b && std::bit_cast<unsigned short>(a)) ? b : a;                         \
  }                                                                                                              \
  constexpr T __hmin(T a, T b) {                                                                                 \
    return __hisnan(a) || b < a || (a == b && std::bit_cast<unsigned short>(b)) ? b : a;                         \
  }                                                                                                              \
  constexpr T __hmax_nan(T a, T b) { return __hisnan(a) || __hisnan(b) ? T(NAN) : __hmax(a, b); }                \
  constexpr T __hmin_nan(T a, T b) { return __hisnan(a) || __hisnan(b) ? T(NAN) : __hmin(a, b); }                \
  constexpr T __habs(T v) {                                                                                      \
    return std::bit_cast<T>(static_cast<unsigned short>(std::bit_cast<unsigned short>(v) & 0x7fff));             \
  }                                                                                                              \
  constexpr T __hneg(T v) { return -v; }                                                                         \
  constexpr T __hdiv(T a, T b) { return a / b; }                                                                 \
  constexpr T& operator/=(T& a, T b) { return a = a / b; }                                                       \
  constexpr int __hisinf(T v) {                                                                                  \
    return std::bit_cast<unsigned short>(__habs(v)) ==                                                           \
                   std::bit_cast<unsigned short>(std::numeric_limits<T>::infinity())                             \
               ? (v > T(0.0f) ? 1 : -1)                                                                          \
               : 0;                                                                                              \
  }                                                                                                              \
  constexpr T __hadd_rn(T a, T b) { return a + b; }                                                              \
  constexpr T __hsub_rn(T a, T b) { return a - b; }                                                              \
  constexpr T __hmul_rn(T a, T b) { return a * b; }                                                              \
  constexpr T __hsaturated(T v) { return __hmin(__hmax(v, T(0.0f)), T(1.0f)); }                                  \
  constexpr T __hadd_sat(T a, T b) { return __hsaturated(a + b); }                                               \
  constexpr T __hsub_sat(T a, T b) { return __hsaturated(a - b); }                                               \
  constexpr T __hmul_sat(T a, T b) { return __hsaturated(a * b); }                                               \
  inline T __hfma_sat(T a, T b, T c) { return __hsaturated(__hfma(a, b, c)); }                                   \
  inline T __hfma_relu(T a, T b, T c) { return __hmax_nan(__hfma(a, b, c), T(0.0f)); }                           \
  constexpr Pair make(T x, T y) { return {x, y}; }                                                               \
  constexpr Pair __hmax2(Pair a, Pair b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }                        \
  constexpr Pair __hmin2(Pair a, Pair b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }                        \
  constexpr Pair __habs2(Pair v) { return {__habs(v.x), __habs(v.y)}; }                                          \
  constexpr Pair __hneg2(Pair v) { return {-v.x, -v.y}; }                                                        \
  constexpr Pair operator-(Pair v) { return __hneg2(v); }                                                        \
  constexpr Pair __h2div(Pair a, Pair b) { return {a.x / b.x, a.y / b.y}; }                                      \
  constexpr Pair operator/(Pair a, Pair b) { return __h2div(a, b); }                                             \
  constexpr Pair& operator-=(Pair& a, Pair b) { return a = a - b; }                                              \
  constexpr Pair& operator/=(Pair& a, Pair b) { return a = a / b; }                                              \
  constexpr bool operator==(Pair a, Pair b) { return __hbeq2(a, b); }                                            \
  constexpr bool operator!=(Pair a, Pair b) { return __hneu(a.x, b.x) && __hneu(a.y, b.y); } /* as __hbneu2 */   \
  CONVSCOPE_HALF_FUNCTION(T, Pair, sqrt, std::sqrt(d))                                                           \
  CONVSCOPE_HALF_FUNCTION(T, Pair, rsqrt, 1 / std::sqrt(d))                                                      \
  CONVSCOPE_HALF_FUNCTION(T, Pair, rcp, 1 / d)                                                                   \
  CONVSCOPE_HALF_FUNCTION(T, Pair, exp, std::exp(d))                                                             \
  CONVSCOPE_HALF_FUNCTION(T, Pair, exp2, std::exp2(d))                                                           \
  CONVSCOPE_HALF_FUNCTION(T, Pair, log, std::log(d))                                                             \
  CONVSCOPE_HALF_FUNCTION(T, Pair, log2, std::log2(d))                                                           \
  CONVSCOPE_HALF_FUNCTION(T, Pair, sin, std::sin(d))                                                             \
  CONVSCOPE_HALF_FUNCTION(T, Pair, cos, std::cos(d))                                                             \
  CONVSCOPE_HALF_FUNCTION(T, Pair, tanh, std::tanh(d))                                                           \
  CONVSCOPE_HALF_FUNCTION(T, Pair, ceil, std::ceil(d))                                                           \
  CONVSCOPE_HALF_FUNCTION(T, Pair, floor, std::floor(d))                                                         \
  CONVSCOPE_HALF_FUNCTION(T, Pair, trunc, std::trunc(d))                                                         \
  CONVSCOPE_HALF_FUNCTION(T, Pair, rint, std::nearbyint(d))                                                      \
  CONVSCOPE_HALF_TO_INTEGER(T, word, int, int)                                                                   \
  CONVSCOPE_HALF_TO_INTEGER(T, word, uint, unsigned)                                                             \
  CONVSCOPE_HALF_TO_INTEGER(T, word, ll, long long)                                                              \
  constexpr T from_int(int v) { return T(v); }                                                                   \
  constexpr T from_uint(unsigned v) { return T(v); }                                                             \
  CONVSCOPE_HALF_SHUFFLE(T, __shfl_sync, int)                                                                    \
  CONVSCOPE_HALF_SHUFFLE(T, __shfl_up_sync, unsigned)                                                            \
  CONVSCOPE_HALF_SHUFFLE(T, __shfl_down_sync, unsigned)                                                          \
  CONVSCOPE_HALF_SHUFFLE(T, __shfl_xor_sync, int)                                                                \
  /* One rounding for each addition, as on the GPU. */                                                           \
  __forceinline__ T atomicAdd(T* p, T v) {                                                                       \
    auto* word_of = reinterpret_cast<uint16_t*>(p);                                                              \
    uint16_t old = __atomic_load_n(word_of, __ATOMIC_RELAXED);                                                   \
    while (!__atomic_compare_exchange_n(word_of, &old, std::bit_cast<uint16_t>(std::bit_cast<T>(old) + v), true, \
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {                                   \
    }                                                                                                            \
    return std::bit_cast<T>(old);                                                                                \
  }                                                                                                              \
  /* Each half is added atomically, the pair is not. */                                                          \
  __forceinline__ Pair atomicAdd(Pair* p, Pair v) {                                                              \
    const T x = atomicAdd(&p->x, v.x), y = atomicAdd(&p->y, v.y);                                                \
    return {x, y};                                                                                               \
  }
CONVSCOPE_HALF_FUNCTIONS(__half, __half2, half, make_half2, __int2half_rn, __uint2half_rn)
CONVSCOPE_HALF_FUNCTIONS(__nv_bfloat16, __nv_bfloat162, bfloat16, make_bfloat162, __int2bfloat16_rn, __uint2bfloat16_rn)
#undef CONVSCOPE_HALF_FUNCTIONS
#undef CONVSCOPE_HALF_SHUFFLE
#undef CONVSCOPE_HALF_TO_INTEGER
#undef CONVSCOPE_HALF_ROUNDED
#undef CONVSCOPE_HALF_FUNCTION
#undef CONVSCOPE_HALF_COMPARISON

#define CONVSCOPE_HALF_PARTS(T, Pair, as_short, from_short, lows, highs, both_low, both_high) \
  constexpr short as_short(T v) { return std::bit_cast<short>(v); }                           \
  constexpr T from_short(short v) { return std::bit_cast<T>(v); }                             \
  constexpr Pair lows(Pair a, Pair b) { return {a.x, b.x}; }                                  \
  constexpr Pair highs(Pair a, Pair b) { return {a.y, b.y}; }                                 \
  constexpr Pair both_low(Pair v) { return {v.x, v.x}; }                                      \
  constexpr Pair both_high(Pair v) { return {v.y, v.y}; }
CONVSCOPE_HALF_PARTS(__half, __half2, __half_as_short, __short_as_half, __lows2half2, __highs2half2, __low2half2,
                     __high2half2)
CONVSCOPE_HALF_PARTS(__nv_bfloat16, __nv_bfloat162, __bfloat16_as_short, __short_as_bfloat16, __lows2bfloat162,
                     __highs2bfloat162, __low2bfloat162, __high2bfloat162)
#undef CONVSCOPE_HALF_PARTS
#endif
