// How fast memory is: a copy through DRAM, loads from the L2 cache, loads from shared memory.
//
// Idea: 16 bytes a thread, neighbours side by side, several loads in flight, and nothing else. A copy is larger than
// every cache; reads of L2 go past L1 (ld.global.cg: PTX ISA, "Cache Operators"); shared memory is read without
// conflicts, 128 bytes a cycle and multiprocessor (CUDA C++ Programming Guide, "Shared Memory").
#include "convscope/kernel.h"

extern "C" __global__ void __launch_bounds__(256) ceiling_copy(const float4* x, float4* y) {
  int64_t at = static_cast<int64_t>(blockIdx.x) * (256 * 4) + threadIdx.x;
  float4 v[4];
#pragma unroll
  for (int i = 0; i < 4; i++) v[i] = x[at + i * 256];
#pragma unroll
  for (int i = 0; i < 4; i++) y[at + i * 256] = v[i];
}

extern "C" __global__ void __launch_bounds__(512) ceiling_stream(const float4* x, float4* y) {
#ifdef __CUDACC__
  int64_t at = static_cast<int64_t>(blockIdx.x) * 512 + threadIdx.x;
  __stcs(y + at, __ldcs(x + at));
#endif
}

extern "C" __global__ void __launch_bounds__(256)
    ceiling_l2(const int64_t bytes, const int rounds, const float* x, uint32_t* y) {
#ifdef __CUDACC__
  const char* from = reinterpret_cast<const char*>(x);
  int64_t step = static_cast<int64_t>(gridDim.x) * 256 * 16, mask = bytes - 1;
  int64_t at = (static_cast<int64_t>(blockIdx.x) * 256 + threadIdx.x) * 16;
  uint32_t all = 0;  // without a use the assembler leaves the loads out
  for (int r = 0; r < rounds; r++) {
    uint32_t v[4][4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
      asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(v[i][0]), "=r"(v[i][1]), "=r"(v[i][2]), "=r"(v[i][3])
                   : "l"(from + (at & mask)));
      at += step;
    }
#pragma unroll
    for (int i = 0; i < 4; i++) all += (v[i][0] ^ v[i][1]) ^ (v[i][2] ^ v[i][3]);
  }
  if (all == 0x5eed1234u) y[threadIdx.x] = all;
#endif
}

extern "C" __global__ void __launch_bounds__(256) ceiling_shared(const int rounds, uint32_t* y) {
#ifdef __CUDACC__
  __shared__ __align__(16) uint32_t data[8 * 256 * 4];
  for (uint32_t i = threadIdx.x; i < 8 * 256 * 4; i += 256) data[i] = i;
  __syncthreads();
  uint32_t at = static_cast<uint32_t>(__cvta_generic_to_shared(data)) + threadIdx.x * 16, all = 0;
  for (int r = 0; r < rounds; r++) {
    uint32_t v[8][4];
#pragma unroll
    for (int i = 0; i < 8; i++)
      asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(v[i][0]), "=r"(v[i][1]), "=r"(v[i][2]), "=r"(v[i][3])
                   : "r"(at + i * 4096));
#pragma unroll
    for (int i = 0; i < 8; i++) all += (v[i][0] ^ v[i][1]) ^ (v[i][2] ^ v[i][3]);
  }
  if (all == 0x5eed1234u) y[threadIdx.x] = all;
#endif
}

#ifndef __CUDACC__
#include "kernels/ceilings/ceilings.h"

CONVSCOPE_KERNEL(ceiling_memory) {
  internal();
  idea("what the memory, the L2 cache and shared memory reach");
  plan([](const ConvProblem&, Plan&) {});
}

namespace convscope {

Plan copy_ceiling(int64_t bytes) {
  Plan plan(ConvProblem{});
  plan.launch(ENTRY(ceiling_copy), {bytes / (256 * 4 * 16)}, {256}).args(plan.x(), plan.y());
  return plan;
}
Plan stream_ceiling(int64_t bytes) {
  Plan plan(ConvProblem{});
  plan.launch(ENTRY(ceiling_stream), {bytes / (512 * 16)}, {512}).args(plan.x(), plan.y());
  return plan;
}
Plan l2_ceiling(const L2Work& w) {
  Plan plan(ConvProblem{});
  plan.launch(ENTRY(ceiling_l2), {w.blocks}, {256}).args(w.bytes, w.rounds, plan.x(), plan.y());
  return plan;
}
Plan shared_ceiling(const RoundsWork& w) {
  Plan plan(ConvProblem{});
  plan.launch(ENTRY(ceiling_shared), {w.blocks}, {256}).args(w.rounds, plan.y());
  return plan;
}

}  // namespace convscope
#endif
