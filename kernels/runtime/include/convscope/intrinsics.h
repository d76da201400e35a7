// Functions of CUDA that kernels from outside use and the program's own do not, for the emulator (CUDA C++ Programming
// Guide, "C++ Language Extensions"; CUDA Math API, "Integer Intrinsics", "Single Precision Intrinsics", "Type Casting
// Intrinsics"). The approximations among them (__expf, __fdividef, …) are as exact here as their exact counterparts.
#pragma once
#include <cmath>
#include <ctime>
#include <limits>

#include "convscope/simt.h"

#define __maxnreg__(...)
#define __builtin_assume(condition) static_cast<void>(0)
#define __managed__ static_assert(false, "__managed__ memory is not emulated; give the kernel a pointer");

namespace convscope::simt {

// Of a kernel: ends it as __trap() does. Of host code: throws.
[[noreturn]] CONVSCOPE_SIMT_API void assertion_failed(const char* condition, const char* file, unsigned line);

// The lanes of a mask fold their values by f; each gets the result. For what __reduce_…_sync are.
template <class T, class F>
CONVSCOPE_UNTRACED T reduced(uint32_t mask, T value, F, const char* what, const Site& at) {
  static_assert(std::is_empty_v<F>, "only a function without a state can be called for other lanes");
  T slot = value;
  collective(
      mask, &slot,
      [](void* const* lanes, uint32_t set) CONVSCOPE_UNTRACED {
        const uint32_t all = set;
        T result = *static_cast<T*>(lanes[std::countr_zero(set)]);
        while (set &= set - 1) result = F{}(result, *static_cast<T*>(lanes[std::countr_zero(set)]));
        for (set = all; set; set &= set - 1) *static_cast<T*>(lanes[std::countr_zero(set)]) = result;
      },
      what, at);
  return slot;
}

template <class T>
struct MatchSlot {
  T value;
  uint32_t same;
};

// The lanes of a mask that gave the same bits as this one.
template <class T>
CONVSCOPE_UNTRACED uint32_t matching(uint32_t mask, T value, const char* what, const Site& at) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "values of 4 or 8 bytes are compared");
  MatchSlot<T> slot{value, 0};
  collective(
      mask, &slot,
      [](void* const* lanes, uint32_t set) CONVSCOPE_UNTRACED {
        for (uint32_t q = set; q; q &= q - 1) {
          auto* mine = static_cast<MatchSlot<T>*>(lanes[std::countr_zero(q)]);
          for (uint32_t r = set; r; r &= r - 1) {
            const auto* other = static_cast<MatchSlot<T>*>(lanes[std::countr_zero(r)]);
            if (__builtin_memcmp(&mine->value, &other->value, sizeof(T)) == 0) mine->same |= 1u << std::countr_zero(r);
          }
        }
      },
      what, at);
  return slot.same;
}

// As cvt of the PTX ISA: what does not fit is the nearest number that does, and NaN is 0.
template <class To, class From>
constexpr To clamped(From v) {
  if (v != v) return 0;
  if (v <= static_cast<From>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  if (v >= static_cast<From>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  return static_cast<To>(v);
}

}  // namespace convscope::simt

// ---- time and assertions

// CUDA's clocks count up, at no rate that is promised. (clock() is that of <ctime>.)
inline long long clock64() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

// <assert.h> comes again and again: its own version is in the stub of that name (workshop.cpp).
#define CONVSCOPE_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : convscope::simt::assertion_failed(#condition, __FILE__, __LINE__))
#undef assert
#ifdef NDEBUG
#define assert(...) static_cast<void>(0)
#else
#define assert(...) CONVSCOPE_ASSERT((__VA_ARGS__))
#endif

// ---- across a warp

#define CONVSCOPE_REDUCE(name, T, expression)                                                            \
  CONVSCOPE_UNTRACED inline T name(unsigned mask, T v,                                                   \
                                   const convscope::simt::Site& at = convscope::simt::Site::current()) { \
    return convscope::simt::reduced(                                                                     \
        mask, v, [](T a, T b) CONVSCOPE_UNTRACED { return static_cast<T>(expression); }, #name, at);     \
  }
CONVSCOPE_REDUCE(__reduce_add_sync, unsigned, a + b)
CONVSCOPE_REDUCE(__reduce_add_sync, int, static_cast<unsigned>(a) + static_cast<unsigned>(b))
CONVSCOPE_REDUCE(__reduce_max_sync, unsigned, a < b ? b : a)
CONVSCOPE_REDUCE(__reduce_max_sync, int, a < b ? b : a)
CONVSCOPE_REDUCE(__reduce_and_sync, unsigned, a& b)
CONVSCOPE_REDUCE(__reduce_or_sync, unsigned, a | b)
CONVSCOPE_REDUCE(__reduce_xor_sync, unsigned, a ^ b)
#undef CONVSCOPE_REDUCE

template <class T>
CONVSCOPE_UNTRACED unsigned __match_any_sync(unsigned mask, T value,
                                             const convscope::simt::Site& at = convscope::simt::Site::current()) {
  return convscope::simt::matching(mask, value, "__match_any_sync", at);
}
// The mask and 1 in *all where all its lanes gave the same, else 0 and 0.
template <class T>
CONVSCOPE_UNTRACED unsigned __match_all_sync(unsigned mask, T value, int* all,
                                             const convscope::simt::Site& at = convscope::simt::Site::current()) {
  *all = convscope::simt::matching(mask, value, "__match_all_sync", at) == mask;
  return *all ? mask : 0;
}

// ---- memory

#define CONVSCOPE_LOAD(name)           \
  template <class T>                   \
  __forceinline__ T name(const T* p) { \
    return *p;                         \
  }
CONVSCOPE_LOAD(__ldca)
CONVSCOPE_LOAD(__ldlu)
CONVSCOPE_LOAD(__ldcv)
#undef CONVSCOPE_LOAD
#define CONVSCOPE_STORE(name)                                  \
  template <class T>                                           \
  __forceinline__ void name(T* p, std::type_identity_t<T> v) { \
    *p = v;                                                    \
  }
CONVSCOPE_STORE(__stwb)
CONVSCOPE_STORE(__stwt)
#undef CONVSCOPE_STORE
inline size_t __cvta_generic_to_shared(const void* p) { return reinterpret_cast<size_t>(p); }
inline size_t __cvta_generic_to_global(const void* p) { return reinterpret_cast<size_t>(p); }

// Of a block and of the whole system: atomic among more than they must be.
#define CONVSCOPE_ATOMIC_SCOPES(name)                                \
  template <convscope::simt::AtomicWord T>                           \
  __forceinline__ T name##_block(T* p, std::type_identity_t<T> v) {  \
    return name(p, v);                                               \
  }                                                                  \
  template <convscope::simt::AtomicWord T>                           \
  __forceinline__ T name##_system(T* p, std::type_identity_t<T> v) { \
    return name(p, v);                                               \
  }
CONVSCOPE_ATOMIC_SCOPES(atomicAdd)
CONVSCOPE_ATOMIC_SCOPES(atomicSub)
CONVSCOPE_ATOMIC_SCOPES(atomicExch)
CONVSCOPE_ATOMIC_SCOPES(atomicMin)
CONVSCOPE_ATOMIC_SCOPES(atomicMax)
CONVSCOPE_ATOMIC_SCOPES(atomicAnd)
CONVSCOPE_ATOMIC_SCOPES(atomicOr)
CONVSCOPE_ATOMIC_SCOPES(atomicXor)
#undef CONVSCOPE_ATOMIC_SCOPES
template <convscope::simt::AtomicWord T>
__forceinline__ T atomicCAS_block(T* p, std::type_identity_t<T> expected, std::type_identity_t<T> v) {
  return atomicCAS(p, expected, v);
}
template <convscope::simt::AtomicWord T>
__forceinline__ T atomicCAS_system(T* p, std::type_identity_t<T> expected, std::type_identity_t<T> v) {
  return atomicCAS(p, expected, v);
}
__forceinline__ unsigned atomicDec(unsigned* p, unsigned limit) {
  return convscope::simt::atomic_update(p, [=](unsigned old) { return old == 0 || old > limit ? limit : old - 1; });
}

// ---- integers

inline int __popcll(unsigned long long v) { return std::popcount(v); }
inline int __clzll(long long v) { return std::countl_zero(static_cast<unsigned long long>(v)); }
inline int __ffsll(long long v) { return v ? std::countr_zero(static_cast<unsigned long long>(v)) + 1 : 0; }
inline unsigned long long __brevll(unsigned long long v) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(v))) << 32 |
         __brev(static_cast<unsigned>(v >> 32));
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((uint64_t{high} << 32 | low) << (shift & 31) >> 32);
}
// The low 24 bits of both.
inline int __mul24(int a, int b) {
  auto low = [](int v) { return int64_t{static_cast<int>(static_cast<unsigned>(v) << 8) >> 8}; };
  return static_cast<int>(low(a) * low(b));
}
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
inline int __mulhi(int a, int b) { return static_cast<int>(int64_t{a} * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
inline long long __mul64hi(long long a, long long b) {
  return static_cast<long long>(static_cast<__int128>(a) * b >> 64);
}
inline unsigned __sad(int a, int b, unsigned c) {
  return c + static_cast<unsigned>(a < b ? int64_t{b} - a : int64_t{a} - b);
}
// c plus the products of the four bytes.
inline int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 32; i += 8) c += static_cast<int8_t>(a >> i) * static_cast<int8_t>(b >> i);
  return c;
}

// ---- floating-point numbers: rounded to nearest

inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __frcp_rn(float a) { return 1 / a; }
inline float __fsqrt_rn(float a) { return std::sqrt(a); }
inline float __frsqrt_rn(float a) { return static_cast<float>(1 / std::sqrt(static_cast<double>(a))); }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __drcp_rn(double a) { return 1 / a; }
inline double __dsqrt_rn(double a) { return std::sqrt(a); }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
inline float __saturatef(float a) { return a > 0 ? (a < 1 ? a : 1.0f) : 0.0f; }  // NaN: 0
inline double rsqrt(double v) { return 1 / std::sqrt(v); }
inline float rcbrtf(float v) { return 1 / std::cbrt(v); }
// glibc declares functions of these names for itself.
extern "C" {
inline float __expf(float v) noexcept { return std::exp(v); }
inline float __exp10f(float v) noexcept { return std::pow(10.0f, v); }
inline float __logf(float v) noexcept { return std::log(v); }
inline float __log2f(float v) noexcept { return std::log2(v); }
inline float __log10f(float v) noexcept { return std::log10(v); }
inline float __powf(float a, float b) noexcept { return std::pow(a, b); }
inline float __sinf(float v) noexcept { return std::sin(v); }
inline float __cosf(float v) noexcept { return std::cos(v); }
inline float __tanf(float v) noexcept { return std::tan(v); }
inline float __tanhf(float v) noexcept { return std::tanh(v); }
inline void __sincosf(float v, float* sine, float* cosine) noexcept { *sine = std::sin(v), *cosine = std::cos(v); }
}

// To integers by each of the roundings, and from them to nearest.
#define CONVSCOPE_TO_INTEGER(from, From, name, To)                                                     \
  inline To __##from##2##name##_rn(From v) { return convscope::simt::clamped<To>(std::nearbyint(v)); } \
  inline To __##from##2##name##_rz(From v) { return convscope::simt::clamped<To>(std::trunc(v)); }     \
  inline To __##from##2##name##_rd(From v) { return convscope::simt::clamped<To>(std::floor(v)); }     \
  inline To __##from##2##name##_ru(From v) { return convscope::simt::clamped<To>(std::ceil(v)); }
#define CONVSCOPE_TO_INTEGERS(from, From)          \
  CONVSCOPE_TO_INTEGER(from, From, int, int)       \
  CONVSCOPE_TO_INTEGER(from, From, uint, unsigned) \
  CONVSCOPE_TO_INTEGER(from, From, ll, long long)  \
  CONVSCOPE_TO_INTEGER(from, From, ull, unsigned long long)
CONVSCOPE_TO_INTEGERS(float, float)
CONVSCOPE_TO_INTEGERS(double, double)
#undef CONVSCOPE_TO_INTEGERS
#undef CONVSCOPE_TO_INTEGER
inline float __int2float_rn(int v) { return static_cast<float>(v); }
inline float __uint2float_rn(unsigned v) { return static_cast<float>(v); }
inline float __ll2float_rn(long long v) { return static_cast<float>(v); }
inline float __ull2float_rn(unsigned long long v) { return static_cast<float>(v); }
inline float __double2float_rn(double v) { return static_cast<float>(v); }
inline double __int2double_rn(int v) { return v; }
inline double __uint2double_rn(unsigned v) { return v; }
inline double __ll2double_rn(long long v) { return static_cast<double>(v); }
inline double __ull2double_rn(unsigned long long v) { return static_cast<double>(v); }
inline long long __double_as_longlong(double v) { return std::bit_cast<long long>(v); }
inline double __longlong_as_double(long long v) { return std::bit_cast<double>(v); }
inline int __double2hiint(double v) { return static_cast<int>(std::bit_cast<uint64_t>(v) >> 32); }
inline int __double2loint(double v) { return static_cast<int>(std::bit_cast<uint64_t>(v)); }
inline double __hiloint2double(int high, int low) {
  return std::bit_cast<double>(uint64_t{static_cast<unsigned>(high)} << 32 | static_cast<unsigned>(low));
}
