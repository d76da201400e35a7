// 16-bit elements: __half (IEEE 754 binary16) and __nv_bfloat16, for the GPU and the host alike. A kernel file whose
// elements they are includes this; nvcc and NVRTC then see the toolkit's own types, the host the ones below.
//
// Same bits as CUDA's on the host: a conversion rounds once, to nearest, ties to even; subnormals are kept; too large
// becomes infinite; NaN becomes 0x7fff (CUDA Math API, "Half Precision Intrinsics", "Bfloat16 Precision Intrinsics").
// A sum or product of two rounds to 16 bits, as on the GPU. Sums that shall be right are made in SumType<T>.
#pragma once

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#else
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

// What a definition switches off in CUDA's headers: told where files from outside use it (outside.h).
#ifndef CONVSCOPE_SWITCHED_OFF_BY
#define CONVSCOPE_SWITCHED_OFF_BY(definition)
#endif

// Inlined always: a traced kernel's access is then at the kernel's own line.
#define CONVSCOPE_HALF constexpr __attribute__((always_inline)) inline

namespace convscope::halves {

// The float nearest to v from below in size, its last bit set when that is not v: rounding it to 22 bits or fewer gives
// what rounding v at once would give (Boldo & Melquiond, When Double Rounding is Odd, 2005).
CONVSCOPE_HALF float to_odd(double v) {
  float f = static_cast<float>(v);
  auto back = static_cast<double>(f);
  if (back == v || v != v) return f;
  auto bits = std::bit_cast<uint32_t>(f);
  if ((back < 0 ? -back : back) > (v < 0 ? -v : v)) bits--;
  return std::bit_cast<float>(bits | 1);
}

CONVSCOPE_HALF float from_f16(uint16_t h) {
  constexpr uint32_t top = 0x7c00u << 13;
  uint32_t bits = (h & 0x7fffu) << 13, exponent = bits & top;
  bits += 112u << 23;  // another bias of the exponent
  if (exponent == top) bits += 112u << 23;
  if (exponent == 0)  // subnormal: as a number with an exponent, from which that is taken away
    bits = std::bit_cast<uint32_t>(std::bit_cast<float>(bits + (1u << 23)) - 0x1p-14f);
  return std::bit_cast<float>(bits | (h & 0x8000u) << 16);
}

CONVSCOPE_HALF uint16_t to_f16(float f) {
  auto bits = std::bit_cast<uint32_t>(f);
  uint32_t sign = bits >> 16 & 0x8000u;
  bits &= 0x7fffffffu;
  if (bits > 0x7f800000u) return 0x7fff;
  if (bits >= 0x47800000u) return static_cast<uint16_t>(sign | 0x7c00u);  // 2^16 and more
  if (bits < 0x38800000u) {                                               // below 2^-14: the addition rounds
    float shifted = std::bit_cast<float>(bits) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(0.5f)));
  }
  bits += 0xfffu + (bits >> 13 & 1);
  return static_cast<uint16_t>(sign | (bits - (112u << 23)) >> 13);
}

CONVSCOPE_HALF float from_bf16(uint16_t h) { return std::bit_cast<float>(static_cast<uint32_t>(h) << 16); }

CONVSCOPE_HALF uint16_t to_bf16(float f) {
  auto bits = std::bit_cast<uint32_t>(f);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

// a·b + c of 16-bit numbers, rounded so that one more rounding gives the right result. The product is exact in double;
// what the sum loses is known (Knuth's two-sum) and makes its last bit odd.
inline float fused(float a, float b, float c) {
  double p = static_cast<double>(a) * b, z = c, s = p + z;
  double t = s - p, lost = (p - (s - t)) + (z - t);
  if (lost != 0 && std::isfinite(s)) {
    auto bits = std::bit_cast<uint64_t>(s);
    if ((bits & 1) == 0) s = std::bit_cast<double>((lost > 0) == (s > 0) ? bits + 1 : bits - 1);
  }
  return to_odd(s);
}

}  // namespace convscope::halves

#define CONVSCOPE_HALF_TYPE(name, from, to, conversion, operation)                                           \
  struct name {                                                                                              \
    name() = default;                                                                                        \
    conversion CONVSCOPE_HALF name(float v) : bits_(convscope::halves::to(v)) {}                             \
    conversion CONVSCOPE_HALF name(double v) : bits_(convscope::halves::to(convscope::halves::to_odd(v))) {} \
    template <std::integral I>                                                                               \
    conversion CONVSCOPE_HALF name(I v) : name(static_cast<double>(v)) {}                                    \
    conversion CONVSCOPE_HALF operator float() const { return convscope::halves::from(bits_); }              \
    operation CONVSCOPE_HALF name operator-() const {                                                        \
      return std::bit_cast<name>(static_cast<uint16_t>(bits_ ^ 0x8000));                                     \
    }                                                                                                        \
    operation CONVSCOPE_HALF friend name operator+(name a, name b) {                                         \
      return name(static_cast<float>(a) + static_cast<float>(b));                                            \
    }                                                                                                        \
    operation CONVSCOPE_HALF friend name operator-(name a, name b) {                                         \
      return name(static_cast<float>(a) - static_cast<float>(b));                                            \
    }                                                                                                        \
    operation CONVSCOPE_HALF friend name operator*(name a, name b) {                                         \
      return name(static_cast<float>(a) * static_cast<float>(b));                                            \
    }                                                                                                        \
    operation CONVSCOPE_HALF friend name operator/(name a, name b) {                                         \
      return name(static_cast<float>(a) / static_cast<float>(b));                                            \
    }                                                                                                        \
    operation CONVSCOPE_HALF friend bool operator==(name a, name b) {                                        \
      return static_cast<float>(a) == static_cast<float>(b);                                                 \
    }                                                                                                        \
    operation CONVSCOPE_HALF friend bool operator<(name a, name b) {                                         \
      return static_cast<float>(a) < static_cast<float>(b);                                                  \
    }                                                                                                        \
    operation CONVSCOPE_HALF friend bool operator>(name a, name b) { return b < a; }                         \
    operation CONVSCOPE_HALF friend bool operator<=(name a, name b) {                                        \
      return static_cast<float>(a) <= static_cast<float>(b);                                                 \
    }                                                                                                        \
    operation CONVSCOPE_HALF friend bool operator>=(name a, name b) { return b <= a; }                       \
    operation CONVSCOPE_HALF name& operator+=(name o) { return *this = *this + o; }                          \
    operation CONVSCOPE_HALF name& operator-=(name o) { return *this = *this - o; }                          \
    operation CONVSCOPE_HALF name& operator*=(name o) { return *this = *this * o; }                          \
                                                                                                             \
   private:                                                                                                  \
    uint16_t bits_;                                                                                          \
  };
// Products and sums of two floats of 11 or 8 bits, rounded to float first and to 16 bits then, are rounded right: float
// has more than twice the bits and two (Figueroa, When is Double Rounding Innocuous?, 1995).
CONVSCOPE_HALF_TYPE(__half, from_f16, to_f16, CONVSCOPE_SWITCHED_OFF_BY("__CUDA_NO_HALF_CONVERSIONS__"),
                    CONVSCOPE_SWITCHED_OFF_BY("__CUDA_NO_HALF_OPERATORS__"))
CONVSCOPE_HALF_TYPE(__nv_bfloat16, from_bf16, to_bf16, CONVSCOPE_SWITCHED_OFF_BY("__CUDA_NO_BFLOAT16_CONVERSIONS__"), )
#undef CONVSCOPE_HALF_TYPE

// The field's names for the same.
#define CONVSCOPE_HALF_NAMES(T, to_float, from_float, from_float_rn, from_double, bits_of, from_bits) \
  CONVSCOPE_HALF float to_float(T v) { return v; }                                                    \
  CONVSCOPE_HALF T from_float(float v) { return T(v); }                                               \
  CONVSCOPE_HALF T from_float_rn(float v) { return T(v); }                                            \
  CONVSCOPE_HALF T from_double(double v) { return T(v); }                                             \
  CONVSCOPE_HALF unsigned short bits_of(T v) { return std::bit_cast<unsigned short>(v); }             \
  CONVSCOPE_HALF T from_bits(unsigned short v) { return std::bit_cast<T>(v); }                        \
  CONVSCOPE_HALF T __hadd(T a, T b) { return a + b; }                                                 \
  CONVSCOPE_HALF T __hsub(T a, T b) { return a - b; }                                                 \
  CONVSCOPE_HALF T __hmul(T a, T b) { return a * b; }                                                 \
  inline T __hfma(T a, T b, T c) { return T(convscope::halves::fused(a, b, c)); }                     \
  CONVSCOPE_HALF bool __hisnan(T v) { return !(v == v); }
CONVSCOPE_HALF_NAMES(__half, __half2float, __float2half, __float2half_rn, __double2half, __half_as_ushort,
                     __ushort_as_half)
CONVSCOPE_HALF_NAMES(__nv_bfloat16, __bfloat162float, __float2bfloat16, __float2bfloat16_rn, __double2bfloat16,
                     __bfloat16_as_ushort, __ushort_as_bfloat16)
#undef CONVSCOPE_HALF_NAMES

#define CONVSCOPE_HALF_OF constexpr __attribute__((always_inline))
// Two of them side by side. A copy is one access of 4 bytes, as on the GPU: a plain struct's would be two.
#define CONVSCOPE_HALF_PAIR(name, T, make, both, to_float2_part_low, to_float2_part_high) \
  struct alignas(4) name {                                                                \
    typedef uint32_t Whole __attribute__((may_alias));                                    \
    T x, y;                                                                               \
    name() = default;                                                                     \
    CONVSCOPE_HALF_OF name(T a, T b) : x(a), y(b) {}                                      \
    CONVSCOPE_HALF_OF name(const name& o) : x(), y() { take(o); }                         \
    CONVSCOPE_HALF_OF name& operator=(const name& o) {                                    \
      take(o);                                                                            \
      return *this;                                                                       \
    }                                                                                     \
                                                                                          \
   private:                                                                               \
    CONVSCOPE_HALF_OF void take(const name& o) {                                          \
      if (std::is_constant_evaluated())                                                   \
        x = o.x, y = o.y;                                                                 \
      else                                                                                \
        reinterpret_cast<Whole&>(*this) = reinterpret_cast<const Whole&>(o);              \
    }                                                                                     \
  };                                                                                      \
  CONVSCOPE_HALF name make(T a, T b) { return {a, b}; }                                   \
  CONVSCOPE_HALF name both(float a, float b) { return {T(a), T(b)}; }                     \
  CONVSCOPE_HALF float to_float2_part_low(name v) { return v.x; }                         \
  CONVSCOPE_HALF float to_float2_part_high(name v) { return v.y; }
CONVSCOPE_HALF_PAIR(__half2, __half, __halves2half2, __floats2half2_rn, __low2float, __high2float)
CONVSCOPE_HALF_PAIR(__nv_bfloat162, __nv_bfloat16, __halves2bfloat162, __floats2bfloat162_rn, __low2float, __high2float)
#undef CONVSCOPE_HALF_PAIR
#undef CONVSCOPE_HALF_OF

// Without these std::numeric_limits would say 0 for everything.
#define CONVSCOPE_HALF_LIMITS(T, all_digits, infinite, largest, least, tiniest)                          \
  template <>                                                                                            \
  class std::numeric_limits<T> {                                                                         \
   public:                                                                                               \
    static constexpr bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false; \
    static constexpr bool has_infinity = true, has_quiet_NaN = true, is_iec559 = true;                   \
    static constexpr int digits = all_digits, radix = 2;                                                 \
    static constexpr T infinity() { return std::bit_cast<T>(uint16_t{infinite}); }                       \
    static constexpr T quiet_NaN() { return std::bit_cast<T>(uint16_t{0x7fff}); }                        \
    static constexpr T max() { return std::bit_cast<T>(uint16_t{largest}); }                             \
    static constexpr T lowest() { return -max(); }                                                       \
    static constexpr T min() { return std::bit_cast<T>(uint16_t{least}); }                               \
    static constexpr T denorm_min() { return std::bit_cast<T>(uint16_t{1}); }                            \
    static constexpr T epsilon() { return std::bit_cast<T>(uint16_t{tiniest}); }                         \
  };
CONVSCOPE_HALF_LIMITS(__half, 11, 0x7c00, 0x7bff, 0x0400, 0x1400)
CONVSCOPE_HALF_LIMITS(__nv_bfloat16, 8, 0x7f80, 0x7f7f, 0x0080, 0x3c00)
#undef CONVSCOPE_HALF_LIMITS
#undef CONVSCOPE_HALF

static_assert(sizeof(__half) == 2 && sizeof(__nv_bfloat16) == 2 && std::is_trivially_copyable_v<__half>);
#endif

#if !defined(CONVSCOPE_OUTSIDE) && !defined(CONVSCOPE_HOST_CODE)  // whose names are the file's own (names.h)
#include "convscope/sum_type.h"
#endif
