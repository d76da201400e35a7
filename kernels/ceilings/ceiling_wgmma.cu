// How fast Hopper's tensor cores are: wgmma, in TF32 and f16 with sums in f32.
//
// Idea: two warp groups a block, each with 64 × 256 sums in registers and both operands in shared memory (128-byte
// swizzle, K-major: PTX ISA, "Matrix-descriptor"), four products of one group on their way, the next behind them. The
// operands are drawn and not zero: a matrix product of zeros takes less power, and runs faster than any of real data.
#include "convscope/wgmma.h"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// d += A · B, 64 × 256 sums; `type`: shape and types, `modes`: what the instruction takes behind its operands.
#define CONVSCOPE_CEILING_PRODUCT(type, modes)                                                                     \
  asm volatile("wgmma.mma_async.sync.aligned." type " {" CONVSCOPE_NAMES_64                                        \
               ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, " \
               "%83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, " \
               "%102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, "  \
               "%118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, %128, %129, " modes ";"               \
               : CONVSCOPE_SUMS_64(d, 0), CONVSCOPE_SUMS_64(d, 64)                                                 \
               : "l"(a), "l"(b))
template <bool f16>
__device__ __forceinline__ void ceiling_product(float (&d)[128], uint64_t a, uint64_t b) {
  if constexpr (f16)
    CONVSCOPE_CEILING_PRODUCT("m64n256k16.f32.f16.f16", "1, 1, 1, 0, 0");
  else
    CONVSCOPE_CEILING_PRODUCT("m64n256k8.f32.tf32.tf32", "1, 1, 1");
}

template <bool f16>
__device__ __forceinline__ void multiply(int rounds, float* y) {
  constexpr int words_a = 64 * 32, words_b = 256 * 32;  // rows of 128 bytes
  __shared__ __align__(1024) uint32_t data[2 * words_a + words_b];
  for (uint32_t i = threadIdx.x; i < 2 * words_a + words_b; i += 256) {
    // A word of a hash (finalizer of MurmurHash3, Appleby), as values in ±[1, 2).
    uint32_t n = blockIdx.x * 0x9e3779b9u + i;
    n ^= n >> 16, n *= 0x85ebca6bu, n ^= n >> 13, n *= 0xc2b2ae35u, n ^= n >> 16;
    data[i] = f16 ? (n & 0x83ff83ffu) | 0x3c003c00u : (n & 0x807fe000u) | 0x3f800000u;
  }
  shared_stores_seen();
  __syncthreads();
  auto matrix = [](const void* p) {
    uint64_t at = shared_address(p);
    return (at & 0x3ffff) >> 4 | uint64_t{1} << 16 | uint64_t{1024 >> 4} << 32 | uint64_t{1} << 62;
  };
  uint64_t a = matrix(data + (threadIdx.x / 128) * words_a), b = matrix(data + 2 * words_a);
  float d[128] = {};
  for (int r = 0; r < rounds; r++) {
    products_begin();
#pragma unroll
    for (int k = 0; k < 4; k++)  // 32 bytes of each row
      ceiling_product<f16>(d, a + 2 * k, b + 2 * k);
    products_commit();
    products_wait<1>();
  }
  products_wait<0>();
  float all = 0;
#pragma unroll
  for (int i = 0; i < 128; i++) all += d[i];
  if (all == -1) y[threadIdx.x] = all;
}
#endif

extern "C" __global__ void __launch_bounds__(256, 1) ceiling_wgmma_tf32(const int rounds, float* y) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  multiply<false>(rounds, y);
#endif
}
extern "C" __global__ void __launch_bounds__(256, 1) ceiling_wgmma_f16(const int rounds, float* y) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  multiply<true>(rounds, y);
#endif
}

#ifndef __CUDACC__
#include "kernels/ceilings/ceilings.h"

CONVSCOPE_KERNEL(ceiling_wgmma) {
  internal();
  requires_("sm_90a", "wgmma");
  idea("what Hopper's tensor cores reach through wgmma");
  plan([](const ConvProblem&, Plan&) {});
}

namespace convscope {

Plan wgmma_tf32_ceiling(const RoundsWork& w) {
  Plan plan(ConvProblem{});
  plan.launch(ENTRY(ceiling_wgmma_tf32), {w.blocks}, {256}).args(w.rounds, plan.y());
  return plan;
}
Plan wgmma_f16_ceiling(const RoundsWork& w) {
  Plan plan(ConvProblem{});
  plan.launch(ENTRY(ceiling_wgmma_f16), {w.blocks}, {256}).args(w.rounds, plan.y());
  return plan;
}

}  // namespace convscope
#endif
