// How fast tensor cores are through mma.sync, in TF32 and f16 with sums in f32. On Hopper that is some 60 % of what
// wgmma reaches (ceiling_wgmma.cu).
//
// Idea: eight products a warp that do not wait for each other. The operands are drawn and not zero: a matrix product of
// zeros takes less power, and runs faster than any of real data. Source: PTX ISA, "Matrix multiply-accumulate
// operation".
#include "convscope/kernel.h"

// A word of a hash, different for each thread and number (finalizer of MurmurHash3, Appleby).
__device__ __forceinline__ uint32_t drawn_word(uint32_t n) {
  n ^= n >> 16, n *= 0x85ebca6bu, n ^= n >> 13, n *= 0xc2b2ae35u;
  return n ^ n >> 16;
}
// In ±[1, 2): as float, and as two halves.
__device__ __forceinline__ uint32_t drawn_float(uint32_t n) { return (drawn_word(n) & 0x807fe000u) | 0x3f800000u; }
__device__ __forceinline__ uint32_t drawn_halves(uint32_t n) { return (drawn_word(n) & 0x83ff83ffu) | 0x3c003c00u; }

extern "C" __global__ void __launch_bounds__(256) ceiling_mma_tf32(const int rounds, float* y) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  uint32_t first = (blockIdx.x * 256 + threadIdx.x) * 8, a[4], b[2];
  for (int i = 0; i < 4; i++) a[i] = drawn_float(first + i);
  for (int i = 0; i < 2; i++) b[i] = drawn_float(first + 4 + i);
  float d[8][4] = {};
  for (int r = 0; r < rounds; r++)
#pragma unroll
    for (int i = 0; i < 8; i++)
      asm volatile(
          "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, "
          "%2, %3};"
          : "+f"(d[i][0]), "+f"(d[i][1]), "+f"(d[i][2]), "+f"(d[i][3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  float all = 0;  // without a use the assembler leaves products out
#pragma unroll
  for (int i = 0; i < 8; i++) all += (d[i][0] + d[i][1]) + (d[i][2] + d[i][3]);
  if (all == -1) y[threadIdx.x] = all;
#endif
}

extern "C" __global__ void __launch_bounds__(256) ceiling_mma_f16(const int rounds, float* y) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  uint32_t first = (blockIdx.x * 256 + threadIdx.x) * 8, a[4], b[2];
  for (int i = 0; i < 4; i++) a[i] = drawn_halves(first + i);
  for (int i = 0; i < 2; i++) b[i] = drawn_halves(first + 4 + i);
  float d[8][4] = {};
  for (int r = 0; r < rounds; r++)
#pragma unroll
    for (int i = 0; i < 8; i++)
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, "
          "%2, %3};"
          : "+f"(d[i][0]), "+f"(d[i][1]), "+f"(d[i][2]), "+f"(d[i][3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  float all = 0;  // without a use the assembler leaves products out
#pragma unroll
  for (int i = 0; i < 8; i++) all += (d[i][0] + d[i][1]) + (d[i][2] + d[i][3]);
  if (all == -1) y[threadIdx.x] = all;
#endif
}

#ifndef __CUDACC__
#include "kernels/ceilings/ceilings.h"

CONVSCOPE_KERNEL(ceiling_mma) {
  internal();
  requires_("sm_80");
  idea("what the tensor cores reach through mma.sync");
  plan([](const ConvProblem&, Plan&) {});
}

namespace convscope {

Plan mma_tf32_ceiling(const RoundsWork& w) {
  Plan plan(ConvProblem{});
  plan.launch(ENTRY(ceiling_mma_tf32), {w.blocks}, {256}).args(w.rounds, plan.y());
  return plan;
}
Plan mma_f16_ceiling(const RoundsWork& w) {
  Plan plan(ConvProblem{});
  plan.launch(ENTRY(ceiling_mma_f16), {w.blocks}, {256}).args(w.rounds, plan.y());
  return plan;
}

}  // namespace convscope
#endif
