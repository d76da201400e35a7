// What files from outside say in asm() that the emulator has in other words: ptx_words.h writes these in its place.
// Source: PTX ISA 9.0, "ld", "st", "cp.async", "ldmatrix", "mma", "cvt". Host compiler only.
#pragma once
#include <atomic>
#include <iterator>

#include "convscope/mma.h"
#include "convscope/pipeline.h"

namespace convscope::ptx {

// Addresses of shared memory have 32 bits there. Here they are the lower halves of pointers: the upper one is that of
// the pointer that was converted nearest to it. Of all workers, whose shared memory lies apart: what is thread_local
// here is shared memory itself.
inline constinit std::atomic<uintptr_t> converted[64] = {};
inline constinit std::atomic<unsigned> conversions{0};

CONVSCOPE_UNTRACED inline size_t to_shared(const void* p) {
  const auto address = reinterpret_cast<uintptr_t>(p);
  constexpr int region = 20;  // bits
  for (const auto& known : converted)
    if (known.load(std::memory_order_relaxed) >> region == address >> region) return address;
  converted[conversions.fetch_add(1) % std::size(converted)].store(address, std::memory_order_relaxed);
  return address;
}
CONVSCOPE_UNTRACED inline char* shared_at(uint64_t given) {
  const auto address = static_cast<uint32_t>(given);
  uintptr_t best = address;
  int64_t distance = INT64_MAX;
  for (const auto& known : converted) {
    const uintptr_t p = known.load(std::memory_order_relaxed);
    const int64_t off = static_cast<int32_t>(address - static_cast<uint32_t>(p));
    if (p && (off < 0 ? -off : off) < distance) distance = off < 0 ? -off : off, best = p + static_cast<uintptr_t>(off);
  }
  return reinterpret_cast<char*>(best);
}
// "l" takes a pointer and a number.
template <class A>
__forceinline__ char* at(A address) {
  return (char*)address;
}

// `n` values of type T from there, in outputs that have as many bytes, or more.
template <class T, class... Out>
__forceinline__ void load(const char* from, Out&... out) {
  constexpr size_t n = sizeof...(Out), bytes = n * sizeof(T);
  alignas(16) T v[n];
  if constexpr (bytes == 16) {
    const float4 whole = *reinterpret_cast<const float4*>(from);
    __builtin_memcpy(v, &whole, 16);
  } else if constexpr (bytes == 8 && n > 1) {
    const float2 whole = *reinterpret_cast<const float2*>(from);
    __builtin_memcpy(v, &whole, 8);
  } else {
    for (size_t i = 0; i < n; i++) v[i] = reinterpret_cast<const T*>(from)[i];
  }
  size_t i = 0;
  auto put = [&](auto& to) {
    using To = std::remove_reference_t<decltype(to)>;
    if constexpr (sizeof(To) == sizeof(T))
      __builtin_memcpy(&to, &v[i++], sizeof(T));
    else
      to = static_cast<To>(v[i++]);
  };
  (put(out), ...);
}
template <class T, class... In>
__forceinline__ void store(char* to, const In&... in) {
  constexpr size_t n = sizeof...(In), bytes = n * sizeof(T);
  alignas(16) T v[n];
  size_t i = 0;
  auto take = [&](const auto& from) {
    if constexpr (sizeof(from) == sizeof(T))
      __builtin_memcpy(&v[i++], &from, sizeof(T));
    else
      v[i++] = static_cast<T>(from);
  };
  (take(in), ...);
  if constexpr (bytes == 16) {
    float4 whole;
    __builtin_memcpy(&whole, v, 16);
    *reinterpret_cast<float4*>(to) = whole;
  } else if constexpr (bytes == 8 && n > 1) {
    float2 whole;
    __builtin_memcpy(&whole, v, 8);
    *reinterpret_cast<float2*>(to) = whole;
  } else {
    for (size_t k = 0; k < n; k++) reinterpret_cast<T*>(to)[k] = v[k];
  }
}

template <class T>
__forceinline__ uint32_t word(const T& v) {
  static_assert(sizeof(T) == 4);
  uint32_t w;
  __builtin_memcpy(&w, &v, 4);
  return w;
}
using simt::Site;
__forceinline__ void mma_tf32(float& d0, float& d1, float& d2, float& d3, const uint32_t (&a)[4],
                              const uint32_t (&b)[2], float c0, float c1, float c2, float c3,
                              const Site& at_line = Site::current()) {
  float d[1][4] = {{c0, c1, c2, c3}};
  const uint32_t each[1][2] = {{b[0], b[1]}};
  ::mma_m16n8k8_tf32<1>(d, a, each, at_line);
  d0 = d[0][0], d1 = d[0][1], d2 = d[0][2], d3 = d[0][3];
}
template <class T>
__forceinline__ void mma_16(float& d0, float& d1, float& d2, float& d3, const uint32_t (&a)[4], const uint32_t (&b)[2],
                            float c0, float c1, float c2, float c3, const Site& at_line = Site::current()) {
  float d[1][4] = {{c0, c1, c2, c3}};
  const uint32_t each[1][2] = {{b[0], b[1]}};
  ::mma_m16n8k16<T>(d, a, each, at_line);
  d0 = d[0][0], d1 = d[0][1], d2 = d[0][2], d3 = d[0][3];
}

// Lane 8m + r gives row r of matrix m; turned: rows and columns exchanged.
template <bool turned, class... Out>
__forceinline__ void load_matrices(uint64_t from, const Site& at_line, Out&... out) {
  constexpr int n = sizeof...(Out);
  struct Slot {
    uint16_t row[8];
    uint32_t v[4];
  } slot{};
  if (static_cast<int>((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32) < 8 * n) {
    const float4 row = *reinterpret_cast<const float4*>(shared_at(from));
    __builtin_memcpy(slot.row, &row, 16);
  }
  simt::collective(
      ~0u, &slot,
      [](void* const* lanes, uint32_t) CONVSCOPE_UNTRACED {
        for (int lane = 0; lane < 32; lane++)
          for (int m = 0; m < n; m++) {
            auto element = [&](int r, int c) { return static_cast<Slot*>(lanes[8 * m + r])->row[c]; };
            const int r = lane / 4, c = lane % 4 * 2;
            const uint16_t low = turned ? element(c, r) : element(r, c),
                           high = turned ? element(c + 1, r) : element(r, c + 1);
            static_cast<Slot*>(lanes[lane])->v[m] = static_cast<uint32_t>(high) << 16 | low;
          }
      },
      "ldmatrix", at_line);
  int m = 0;
  ((__builtin_memcpy(&out, &slot.v[m++], 4)), ...);
}

}  // namespace convscope::ptx
