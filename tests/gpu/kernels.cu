// Kernels of the GPU tests: faults that only a GPU shows, and tensor-core fragments.
#include "convscope/half.h"
#include "convscope/mma.h"

// One warp: y[16][8] = Σ over k-steps of A · B with A from x [16, 8·steps] and B from w [8·steps, 8].
extern "C" __global__ void gpu_test_mma(const float* x, const float* w, float* y, int steps) {
  int g = threadIdx.x / 4, t = threadIdx.x % 4;
  float d[1][4] = {};
  for (int s = 0; s < steps; s++) {
    const float *a0 = x + g * 8 * steps + 8 * s, *a1 = x + (g + 8) * 8 * steps + 8 * s, *b0 = w + (8 * s + t) * 8 + g;
    uint32_t a[4] = {to_tf32(a0[t]), to_tf32(a1[t]), to_tf32(a0[t + 4]), to_tf32(a1[t + 4])};
    uint32_t b[1][2] = {{to_tf32(b0[0]), to_tf32(b0[32])}};
    mma_m16n8k8_tf32(d, a, b);
  }
  y[g * 8 + 2 * t] = d[0][0];
  y[g * 8 + 2 * t + 1] = d[0][1];
  y[(g + 8) * 8 + 2 * t] = d[0][2];
  y[(g + 8) * 8 + 2 * t + 1] = d[0][3];
}

extern "C" __global__ void gpu_test_wild(float* y) { y[int64_t(1) << 40] = 1; }

extern "C" __global__ void gpu_test_forever(volatile float* y) {
  while (y[0] != 12345.0f) {
  }
}

extern "C" __global__ void gpu_test_trap(float* y) {
  if (y) __trap();
}

template <class T>
__device__ __forceinline__ void round_trip(const float* x, float* y, int64_t n) {
  int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] = static_cast<float>(static_cast<T>(x[i]));
}
extern "C" __global__ void gpu_test_round_f16(const float* x, float* y, int64_t n) { round_trip<__half>(x, y, n); }
extern "C" __global__ void gpu_test_round_bf16(const float* x, float* y, int64_t n) {
  round_trip<__nv_bfloat16>(x, y, n);
}

#ifndef __CUDACC__
CONVSCOPE_KERNEL(gpu_round_f16) {
  test_only();
  idea("test: floats through f16");
  plan([](const ConvProblem& p, Plan& plan) {
    plan.launch(ENTRY(gpu_test_round_f16), {ceil_div(p.length, 256)}, {256}).args(plan.x(), plan.y(), p.length);
  });
}
CONVSCOPE_KERNEL(gpu_round_bf16) {
  test_only();
  idea("test: floats through bf16");
  plan([](const ConvProblem& p, Plan& plan) {
    plan.launch(ENTRY(gpu_test_round_bf16), {ceil_div(p.length, 256)}, {256}).args(plan.x(), plan.y(), p.length);
  });
}
CONVSCOPE_KERNEL(gpu_mma) {
  test_only();
  idea("test: a warp's tensor-core product; x [16, L], w [L, 8]");
  requires_("sm_80");
  plan([](const ConvProblem& p, Plan& plan) {
    plan.launch(ENTRY(gpu_test_mma), {1}, {32}).args(plan.x(), plan.w(), plan.y(), static_cast<int>(p.length / 8));
  });
}
CONVSCOPE_KERNEL(gpu_wild) {
  test_only();
  idea("test: writes far outside");
  plan([](const ConvProblem&, Plan& plan) { plan.launch(ENTRY(gpu_test_wild), {1}, {32}).args(plan.y()); });
}
CONVSCOPE_KERNEL(gpu_forever) {
  test_only();
  idea("test: never ends");
  plan([](const ConvProblem&, Plan& plan) { plan.launch(ENTRY(gpu_test_forever), {1}, {1}).args(plan.y()); });
}
CONVSCOPE_KERNEL(gpu_trap) {
  test_only();
  idea("test: traps");
  plan([](const ConvProblem&, Plan& plan) { plan.launch(ENTRY(gpu_test_trap), {1}, {1}).args(plan.y()); });
}
#endif
