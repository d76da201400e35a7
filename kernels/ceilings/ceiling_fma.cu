// How fast multiply-adds are outside the tensor cores, in f32 and f64.
//
// Idea: sixteen sums a thread that do not wait for each other, and nothing else. The factors come with the launch, so
// that the compiler knows nothing of them; the sums are written only when one of them is what it never is.
#include "convscope/kernel.h"

template <class T>
__device__ __forceinline__ void multiply_add(T a, T b, int rounds, T* y) {
#ifdef __CUDACC__
  T sum[16];
#pragma unroll
  for (int i = 0; i < 16; i++) sum[i] = static_cast<T>(threadIdx.x + i);
  for (int r = 0; r < rounds; r++)
#pragma unroll
    for (int repeat = 0; repeat < 16; repeat++)
#pragma unroll
      for (int i = 0; i < 16; i++) sum[i] = sum[i] * a + b;
  T all = 0;
#pragma unroll
  for (int i = 0; i < 16; i++) all += sum[i];
  if (all == T(-1)) y[threadIdx.x] = all;
#endif
}

extern "C" __global__ void __launch_bounds__(256)
    ceiling_ffma(const float a, const float b, const int rounds, float* y) {
  multiply_add(a, b, rounds, y);
}
extern "C" __global__ void __launch_bounds__(256)
    ceiling_dfma(const double a, const double b, const int rounds, double* y) {
  multiply_add(a, b, rounds, y);
}

#ifndef __CUDACC__
#include "kernels/ceilings/ceilings.h"

CONVSCOPE_KERNEL(ceiling_fma) {
  internal();
  idea("what multiply-adds outside the tensor cores reach");
  plan([](const ConvProblem&, Plan&) {});
}

namespace convscope {

Plan ffma_ceiling(const RoundsWork& w) {
  Plan plan(ConvProblem{});
  plan.launch(ENTRY(ceiling_ffma), {w.blocks}, {256}).args(0.9999f, 0.001f, w.rounds, plan.y());
  return plan;
}
Plan dfma_ceiling(const RoundsWork& w) {
  Plan plan(ConvProblem{});
  plan.launch(ENTRY(ceiling_dfma), {w.blocks}, {256}).args(0.9999, 0.001, w.rounds, plan.y());
  return plan;
}

}  // namespace convscope
#endif
