// Tensor-core products of a warp, for the GPU and the emulator alike. The only place with inline PTX for them.
//
// mma.sync m16n8k8, TF32 (PTX ISA, "Matrix Fragments for mma.m16n8k8"): D = A · B + D with A [16, 8] row-major, B [8,
// 8], D [16, 8] in f32. With g = lane / 4 and t = lane % 4 a lane holds
//   a[0..3]: A[g][t], A[g + 8][t], A[g][t + 4], A[g + 8][t + 4]      b[0..1]: B[t][g], B[t + 4][g]
//   d[0..3]: D[g][2t], D[g][2t + 1], D[g + 8][2t], D[g + 8][2t + 1]
// All 32 lanes must call it. Inputs are f32 bit patterns of which the hardware ignores the low 13 bits: round them with
// to_tf32() first. Needs sm_80.
//
// mma.sync m16n8k16, f16 and bf16 ("Matrix Fragments for mma.m16n8k16"): the same with A [16, 16] and B [16, 8], two
// values of k in each word, the lower half first: where A[g][t] stands above, k = 2t and 2t + 1; where t + 4 stands,
// k = 2t + 8 and 2t + 9. Needs sm_80.
#pragma once
#include "convscope/kernel.h"

#if defined(__CUDACC__)
#define CONVSCOPE_MMA __device__ __forceinline__
#else
#define CONVSCOPE_MMA CONVSCOPE_UNTRACED inline
namespace convscope::simt {
struct MmaSlot {
  uint32_t a[4], b[2];
  float d[4];
};
CONVSCOPE_SIMT_API void mma_m16n8k8_tf32(MmaSlot* const* lanes);
CONVSCOPE_SIMT_API void mma_m16n8k16(MmaSlot* const* lanes, bool bf16);
}  // namespace convscope::simt
#endif

// Whether T is bf16, of whose kind a file may have none: __half and __nv_bfloat16 are in half.h.
struct __nv_bfloat16;
template <class T>
inline constexpr bool is_bfloat16 = false;
template <>
inline constexpr bool is_bfloat16<__nv_bfloat16> = true;

// Rounds to TF32: to nearest, ties away from zero (cvt.rna.tf32.f32). Infinities stay; a NaN stays a NaN.
CONVSCOPE_MMA uint32_t to_tf32(float v) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  uint32_t r;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(v));
  return r;
#else
  uint32_t u = __float_as_uint(v);
  if ((u & 0x7f800000u) == 0x7f800000u) return u & 0x007fffffu ? (u & 0xffffe000u) | 0x00400000u : u;
  return (u + 0x1000u) & 0xffffe000u;
#endif
}

// The same in one instruction, given that the tensor cores cut off the low 13 bits: between a third and two thirds of a
// unit in the last place is added first. What TF32 can hold stays as it is; else the error is at most two thirds of a
// unit, and has no bias.
CONVSCOPE_MMA uint32_t nearly_tf32(float v) { return __float_as_uint(v * (1 + 0x1p-10f / 3)); }

// v = high + low, each rounded to TF32: to nearest, half a unit away from zero. Of low the tensor cores cut off what is
// beyond TF32 themselves.
CONVSCOPE_MMA void split_tf32(float v, uint32_t& high, uint32_t& low) {
  high = (__float_as_uint(v) + 0x1000) & 0xffffe000;
  low = __float_as_uint(v - __uint_as_float(high)) + 0x1000;
}

#ifndef __CUDACC__
namespace convscope::simt {
// The n products of a warp by multiply(lanes' slots), one exchange between the lanes for all of them.
template <int n, auto multiply>
CONVSCOPE_MMA void exchange_products(float (&d)[n][4], const uint32_t (&a)[4], const uint32_t (&b)[n][2],
                                     const Site& at) {
  MmaSlot slots[n];
  for (int i = 0; i < n; i++)
    slots[i] = {{a[0], a[1], a[2], a[3]}, {b[i][0], b[i][1]}, {d[i][0], d[i][1], d[i][2], d[i][3]}};
  collective(
      ~0u, slots,
      [](void* const* lanes, uint32_t) CONVSCOPE_UNTRACED {
        MmaSlot* product[32];
        for (int i = 0; i < n; i++) {
          for (int l = 0; l < 32; l++) product[l] = static_cast<MmaSlot*>(lanes[l]) + i;
          multiply(product);
        }
      },
      "mma.sync", at);
  for (int i = 0; i < n; i++)
    for (int r = 0; r < 4; r++) d[i][r] = slots[i].d[r];
}
}  // namespace convscope::simt
#endif

// n products with one A: d[i] += A · b[i]. One exchange between the lanes for all of them in the emulator.
template <int n>
CONVSCOPE_MMA void mma_m16n8k8_tf32(float (&d)[n][4], const uint32_t (&a)[4], const uint32_t (&b)[n][2]
#if !defined(__CUDACC__)
                                    ,
                                    const convscope::simt::Site& at = convscope::simt::Site::current()
#endif
) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  __trap();  // for this architecture the code is there to be compiled, not to be run
#elif defined(__CUDACC__)
#pragma unroll
  for (int i = 0; i < n; i++)
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};"
        : "+f"(d[i][0]), "+f"(d[i][1]), "+f"(d[i][2]), "+f"(d[i][3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[i][0]), "r"(b[i][1]));
#else
  convscope::simt::exchange_products<n, [](convscope::simt::MmaSlot* const* lanes) CONVSCOPE_UNTRACED {
    convscope::simt::mma_m16n8k8_tf32(lanes);
  }>(d, a, b, at);
#endif
}

// The same of 16-bit values: T is __half or __nv_bfloat16 (half.h), products and sums are f32's.
template <class T, int n>
CONVSCOPE_MMA void mma_m16n8k16(float (&d)[n][4], const uint32_t (&a)[4], const uint32_t (&b)[n][2]
#if !defined(__CUDACC__)
                                ,
                                const convscope::simt::Site& at = convscope::simt::Site::current()
#endif
) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  __trap();
#elif defined(__CUDACC__)
#define CONVSCOPE_MMA_16(type)                                                        \
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." type "." type                 \
               ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
               : "+f"(d[i][0]), "+f"(d[i][1]), "+f"(d[i][2]), "+f"(d[i][3])           \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[i][0]), "r"(b[i][1]))
#pragma unroll
  for (int i = 0; i < n; i++) {
    if constexpr (is_bfloat16<T>)
      CONVSCOPE_MMA_16("bf16");
    else
      CONVSCOPE_MMA_16("f16");
  }
#undef CONVSCOPE_MMA_16
#else
  convscope::simt::exchange_products<n, [](convscope::simt::MmaSlot* const* lanes) CONVSCOPE_UNTRACED {
    convscope::simt::mma_m16n8k16(lanes, is_bfloat16<T>);
  }>(d, a, b, at);
#endif
}
#undef CONVSCOPE_MMA
