// CUDA's device language on the host compiler: what a kernel may name, implemented by the emulator.
//
// Semantics follow the CUDA C++ Programming Guide, chapter "C++ Language Extensions". What is not here does not compile
// on the host, so a kernel never runs with a silently different meaning.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <source_location>
#include <type_traits>

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __forceinline__ inline __attribute__((always_inline))
// Nothing: a macro with content would break the __attribute__((__noinline__)) of system headers that come after it.
#define __noinline__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))
// One OS thread runs one block at a time, so a block's shared memory is that thread's (block scope: static by itself).
#define __shared__ constinit thread_local
#define CONVSCOPE_SIMT_API __attribute__((visibility("default")))
// Parts of the emulator that are inlined into a traced kernel stay out of the trace, and their steps are none of the
// kernel's. Never together with always_inline.
#define CONVSCOPE_UNTRACED __attribute__((no_sanitize("thread"), no_sanitize_coverage))

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};

// constinit on the declaration: no call of a wrapper at each use. initial-exec: they are the program's own, and modules
// find them without a call of the loader.
#define CONVSCOPE_OF_THE_PROGRAM CONVSCOPE_SIMT_API __attribute__((tls_model("initial-exec")))
extern constinit thread_local CONVSCOPE_OF_THE_PROGRAM uint3 threadIdx, blockIdx;
extern constinit thread_local CONVSCOPE_OF_THE_PROGRAM dim3 blockDim, gridDim;
constexpr int warpSize = 32;

// A copy of a vector type is one access of its full width in the trace, as on the GPU; a plain struct would be several.
#define CONVSCOPE_VECTOR(name, T, n, alignment, members, parameters, initialisers, names) \
  struct alignas(alignment) name {                                                        \
    typedef T Whole __attribute__((vector_size(n * sizeof(T)), may_alias));               \
    union {                                                                               \
      struct {                                                                            \
        T members;                                                                        \
      };                                                                                  \
      Whole whole;                                                                        \
    };                                                                                    \
    name() = default;                                                                     \
    constexpr name parameters : initialisers {}                                           \
    name(const name& o) : whole(o.whole) {}                                               \
    name& operator=(const name& o) {                                                      \
      whole = o.whole;                                                                    \
      return *this;                                                                       \
    }                                                                                     \
  };                                                                                      \
  inline name make_##name parameters { return name names; }
#define CONVSCOPE_COMMA ,
#define CONVSCOPE_VECTOR2(name, T) \
  CONVSCOPE_VECTOR(name, T, 2, 2 * sizeof(T), x CONVSCOPE_COMMA y, (T a, T b), x(a) CONVSCOPE_COMMA y(b), (a, b))
#define CONVSCOPE_VECTOR4(name, T)                                                                \
  CONVSCOPE_VECTOR(name, T, 4, (4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16),                         \
                   x CONVSCOPE_COMMA y CONVSCOPE_COMMA z CONVSCOPE_COMMA w, (T a, T b, T c, T d), \
                   x(a) CONVSCOPE_COMMA y(b) CONVSCOPE_COMMA z(c) CONVSCOPE_COMMA w(d), (a, b, c, d))
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
CONVSCOPE_VECTOR2(float2, float)
CONVSCOPE_VECTOR4(float4, float)
CONVSCOPE_VECTOR2(int2, int)
CONVSCOPE_VECTOR4(int4, int)
CONVSCOPE_VECTOR2(uint2, unsigned)
CONVSCOPE_VECTOR4(uint4, unsigned)
CONVSCOPE_VECTOR2(double2, double)
#pragma GCC diagnostic pop
#undef CONVSCOPE_VECTOR
#undef CONVSCOPE_VECTOR2
#undef CONVSCOPE_VECTOR4
#undef CONVSCOPE_COMMA

namespace convscope::simt {

using Site = std::source_location;  // where in the kernel a call stands, for messages

CONVSCOPE_SIMT_API unsigned char* dynamic_shared();
CONVSCOPE_SIMT_API unsigned lane();                             // 0..31
CONVSCOPE_SIMT_API int barrier(const Site& at, int predicate);  // returns how many threads gave a non-zero predicate
CONVSCOPE_SIMT_API uint32_t active_mask(const Site& at);
[[noreturn]] CONVSCOPE_SIMT_API void trap(const Site& at, const char* why);
CONVSCOPE_SIMT_API void fence();  // blocks see memory in one order anyway: it is noted in traces

// Runs once when all lanes of a mask have arrived, on the last of them. lanes[i] is what lane i published (null outside
// the mask): a struct on its own stack, read and written in place.
using Exchange = void (*)(void* const* lanes, uint32_t mask);
CONVSCOPE_SIMT_API void collective(uint32_t mask, void* mine, Exchange exchange, const char* what, const Site& at);

template <class T>
struct ShuffleSlot {
  T value, result;
  int from;
};

enum class Shuffle { indexed, up, down, butterfly };

template <class T>
CONVSCOPE_UNTRACED T shuffle(uint32_t mask, T value, int operand, int width, Shuffle mode, const char* what,
                             const Site& at) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles move 4 or 8 bytes");
  int self = static_cast<int>(lane()), base = self & ~(width - 1), from = self;
  operand &= 31;  // five bits of it, as shfl.sync of the PTX ISA takes them
  switch (mode) {
    case Shuffle::indexed:
      from = base + (operand & (width - 1));
      break;
    case Shuffle::up:
      from = self - operand;
      break;
    case Shuffle::down:
      from = self + operand;
      break;
    case Shuffle::butterfly:
      from = self ^ operand;
      break;
  }
  // Out of the segment: a lane keeps its own value (for butterfly only towards later segments).
  if (mode == Shuffle::up && from < base) from = self;
  if ((mode == Shuffle::down || mode == Shuffle::butterfly) && from >= base + width) from = self;
  ShuffleSlot<T> slot{value, value, from};
  collective(
      mask, &slot,
      [](void* const* lanes, uint32_t set) CONVSCOPE_UNTRACED {
        for (; set; set &= set - 1) {
          auto* mine = static_cast<ShuffleSlot<T>*>(lanes[std::countr_zero(set)]);
          if (lanes[mine->from]) mine->result = static_cast<ShuffleSlot<T>*>(lanes[mine->from])->value;
        }
      },
      what, at);
  return slot.result;
}

struct VoteSlot {
  int predicate;
  uint32_t ballot;
};
CONVSCOPE_SIMT_API uint32_t ballot(uint32_t mask, int predicate, const char* what, const Site& at);

CONVSCOPE_SIMT_API int reduced_min(uint32_t mask, int value, const Site& at);

// The atomics are inlined, so that the trace names the kernel's line; the hooks record the exchange as atomic.
template <class T>
concept AtomicWord = std::is_same_v<T, int> || std::is_same_v<T, unsigned> || std::is_same_v<T, unsigned long long> ||
    std::is_same_v<T, long long> || std::is_same_v<T, float> || std::is_same_v<T, double>;

// Applies f to the old value atomically and returns the old value.
template <AtomicWord T, class F>
__forceinline__ T atomic_update(T* p, F f) {
  using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  auto* word = reinterpret_cast<Bits*>(p);
  Bits old = __atomic_load_n(word, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(word, &old, std::bit_cast<Bits>(f(std::bit_cast<T>(old))), true, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED)) {
  }
  return std::bit_cast<T>(old);
}

// memcpy of a constant size has no hook of its own: traced kernels call this instead.
CONVSCOPE_SIMT_API void* traced_copy(void* to, const void* from, size_t bytes);

}  // namespace convscope::simt

// ---- synchronisation ------------------------------------------------------------------------------------------------

CONVSCOPE_UNTRACED inline void __syncthreads(const convscope::simt::Site& at = convscope::simt::Site::current()) {
  convscope::simt::barrier(at, 0);
}
CONVSCOPE_UNTRACED inline int __syncthreads_count(int p,
                                                  const convscope::simt::Site& at = convscope::simt::Site::current()) {
  return convscope::simt::barrier(at, p);
}
CONVSCOPE_UNTRACED inline int __syncthreads_or(int p,
                                               const convscope::simt::Site& at = convscope::simt::Site::current()) {
  return convscope::simt::barrier(at, p) != 0;
}
CONVSCOPE_UNTRACED inline int __syncthreads_and(int p,
                                                const convscope::simt::Site& at = convscope::simt::Site::current()) {
  return convscope::simt::barrier(at, !p) == 0;
}
CONVSCOPE_UNTRACED inline void __syncwarp(unsigned mask = ~0u,
                                          const convscope::simt::Site& at = convscope::simt::Site::current()) {
  convscope::simt::collective(mask, nullptr, nullptr, "__syncwarp", at);
}
CONVSCOPE_UNTRACED inline unsigned __activemask(const convscope::simt::Site& at = convscope::simt::Site::current()) {
  return convscope::simt::active_mask(at);
}
CONVSCOPE_UNTRACED inline void __threadfence() { convscope::simt::fence(); }
inline void __threadfence_block() {}
CONVSCOPE_UNTRACED inline void __threadfence_system() { convscope::simt::fence(); }
inline void __nanosleep(unsigned) {}
[[noreturn]] inline void __trap(const convscope::simt::Site& at = convscope::simt::Site::current()) {
  convscope::simt::trap(at, "__trap()");
}

// ---- warp shuffles and votes ----------------------------------------------------------------------------------------

#define CONVSCOPE_SHUFFLE(name, operand_type, mode)                                                                \
  template <class T>                                                                                               \
  CONVSCOPE_UNTRACED T name(unsigned mask, T value, operand_type operand, int width = 32,                          \
                            const convscope::simt::Site& at = convscope::simt::Site::current()) {                  \
    return convscope::simt::shuffle(mask, value, static_cast<int>(operand), width, convscope::simt::Shuffle::mode, \
                                    #name, at);                                                                    \
  }
CONVSCOPE_SHUFFLE(__shfl_sync, int, indexed)
CONVSCOPE_SHUFFLE(__shfl_up_sync, unsigned, up)
CONVSCOPE_SHUFFLE(__shfl_down_sync, unsigned, down)
CONVSCOPE_SHUFFLE(__shfl_xor_sync, int, butterfly)
#undef CONVSCOPE_SHUFFLE

CONVSCOPE_UNTRACED inline unsigned __ballot_sync(unsigned mask, int p,
                                                 const convscope::simt::Site& at = convscope::simt::Site::current()) {
  return convscope::simt::ballot(mask, p, "__ballot_sync", at);
}
CONVSCOPE_UNTRACED inline int __any_sync(unsigned mask, int p,
                                         const convscope::simt::Site& at = convscope::simt::Site::current()) {
  return convscope::simt::ballot(mask, p, "__any_sync", at) != 0;
}
CONVSCOPE_UNTRACED inline int __all_sync(unsigned mask, int p,
                                         const convscope::simt::Site& at = convscope::simt::Site::current()) {
  return convscope::simt::ballot(mask, p, "__all_sync", at) == mask;
}

CONVSCOPE_UNTRACED inline int __reduce_min_sync(unsigned mask, int v,
                                                const convscope::simt::Site& at = convscope::simt::Site::current()) {
  return convscope::simt::reduced_min(mask, v, at);
}
CONVSCOPE_UNTRACED inline unsigned __reduce_min_sync(
    unsigned mask, unsigned v, const convscope::simt::Site& at = convscope::simt::Site::current()) {
  return static_cast<unsigned>(convscope::simt::reduced_min(mask, static_cast<int>(v ^ 0x80000000u), at)) ^ 0x80000000u;
}

// ---- atomics --------------------------------------------------------------------------------------------------------

template <convscope::simt::AtomicWord T>
__forceinline__ T atomicAdd(T* p, std::type_identity_t<T> v) {
  return convscope::simt::atomic_update(p, [v](T old) { return static_cast<T>(old + v); });
}
template <convscope::simt::AtomicWord T>
__forceinline__ T atomicSub(T* p, std::type_identity_t<T> v) {
  return convscope::simt::atomic_update(p, [v](T old) { return static_cast<T>(old - v); });
}
template <convscope::simt::AtomicWord T>
__forceinline__ T atomicExch(T* p, std::type_identity_t<T> v) {
  return convscope::simt::atomic_update(p, [v](T) { return v; });
}
template <convscope::simt::AtomicWord T>
__forceinline__ T atomicMin(T* p, std::type_identity_t<T> v) {
  return convscope::simt::atomic_update(p, [v](T old) { return v < old ? v : old; });
}
template <convscope::simt::AtomicWord T>
__forceinline__ T atomicMax(T* p, std::type_identity_t<T> v) {
  return convscope::simt::atomic_update(p, [v](T old) { return old < v ? v : old; });
}
template <convscope::simt::AtomicWord T>
__forceinline__ T atomicAnd(T* p, std::type_identity_t<T> v) {
  return convscope::simt::atomic_update(p, [v](T old) { return static_cast<T>(old & v); });
}
template <convscope::simt::AtomicWord T>
__forceinline__ T atomicOr(T* p, std::type_identity_t<T> v) {
  return convscope::simt::atomic_update(p, [v](T old) { return static_cast<T>(old | v); });
}
template <convscope::simt::AtomicWord T>
__forceinline__ T atomicXor(T* p, std::type_identity_t<T> v) {
  return convscope::simt::atomic_update(p, [v](T old) { return static_cast<T>(old ^ v); });
}
template <convscope::simt::AtomicWord T>
__forceinline__ T atomicCAS(T* p, std::type_identity_t<T> expected, std::type_identity_t<T> v) {
  return convscope::simt::atomic_update(p, [=](T old) { return old == expected ? v : old; });
}
__forceinline__ unsigned atomicInc(unsigned* p, unsigned limit) {
  return convscope::simt::atomic_update(p, [=](unsigned old) { return old >= limit ? 0u : old + 1; });
}

// ---- loads, bits and arithmetic -------------------------------------------------------------------------------------

namespace convscope::simt {
// nvcc loads where such a load stands, whether its value is taken or not. The traced run of a file from outside does so
// too: the compiler would put it off until it is known that the value is needed, and a load beside a tensor with it.
template <class T>
__forceinline__ T loaded(const T* p) {
#if defined(CONVSCOPE_TRACED) && defined(CONVSCOPE_OUTSIDE)
  T v = *p;
  asm volatile("" : "+m"(v));
  return v;
#else
  return *p;
#endif
}
}  // namespace convscope::simt

template <class T>
__forceinline__ T __ldg(const T* p) {
  return convscope::simt::loaded(p);
}
template <class T>
__forceinline__ T __ldcs(const T* p) {
  return convscope::simt::loaded(p);
}
template <class T>
__forceinline__ void __stcs(T* p, std::type_identity_t<T> v) {
  *p = v;
}
template <class T>
__forceinline__ T __ldcg(const T* p) {
  return convscope::simt::loaded(p);
}
template <class T>
__forceinline__ void __stcg(T* p, std::type_identity_t<T> v) {
  *p = v;
}
inline unsigned __float_as_uint(float f) { return std::bit_cast<unsigned>(f); }
inline int __float_as_int(float f) { return std::bit_cast<int>(f); }
inline float __uint_as_float(unsigned u) { return std::bit_cast<float>(u); }
inline float __int_as_float(int i) { return std::bit_cast<float>(i); }
inline int __popc(unsigned v) { return std::popcount(v); }
inline int __clz(int v) { return std::countl_zero(static_cast<unsigned>(v)); }
inline int __ffs(int v) { return v ? std::countr_zero(static_cast<unsigned>(v)) + 1 : 0; }
inline unsigned __brev(unsigned v) {
  unsigned r = 0;
  for (int i = 0; i < 32; i++) r = r << 1 | (v >> i & 1);
  return r;
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned select) {
  const uint64_t both = uint64_t{b} << 32 | a;
  unsigned r = 0;
  for (int i = 0; i < 4; i++) {
    const unsigned s = select >> 4 * i, byte = static_cast<unsigned>(both >> (s & 7) * 8) & 0xff;
    r |= (s & 8 ? (byte & 0x80 ? 0xffu : 0u) : byte) << 8 * i;  // bit 3: the byte's sign instead
  }
  return r;
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((uint64_t{high} << 32 | low) >> (shift & 31));
}
inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>(uint64_t{a} * b >> 32); }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdividef(float a, float b) { return a / b; }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline float rsqrtf(float v) { return 1 / std::sqrt(v); }
using std::abs, std::fabs, std::fma, std::fmax, std::fmin, std::sqrt;
// CUDA's min and max take mixed types; the common type decides, as there. Of floating types they are fmin and fmax: a
// number wins over NaN.
template <class A, class B>
constexpr std::common_type_t<A, B> min(A a, B b) {
  using C = std::common_type_t<A, B>;
  const C p = static_cast<C>(a), q = static_cast<C>(b);
  if constexpr (std::is_floating_point_v<C>)
    return p != p || q < p ? q : p;
  else
    return q < p ? q : p;
}
template <class A, class B>
constexpr std::common_type_t<A, B> max(A a, B b) {
  using C = std::common_type_t<A, B>;
  const C p = static_cast<C>(a), q = static_cast<C>(b);
  if constexpr (std::is_floating_point_v<C>)
    return p != p || p < q ? q : p;
  else
    return p < q ? q : p;
}

#ifdef CONVSCOPE_TRACED
#define memcpy ::convscope::simt::traced_copy
#endif
