// Kernels whose traffic is known: for the tests of the profiler on a GPU.
#include "convscope/kernel.h"

// y = x, 16 bytes a thread at a time: reads and writes each byte once.
extern "C" __global__ void profiled_copy(const float4* x, float4* y, int64_t n) {
  int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) y[i] = x[i];
}

// Each thread of a warp reads another sector: 32 sectors a load.
extern "C" __global__ void profiled_strided(const float* x, float* y, int64_t n) {
  int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i * 8];
}

// A chain of multiply-adds: `links` of them a thread, and next to no memory.
extern "C" __global__ void profiled_arithmetic(const float* x, float* y, int links) {
  float a = x[threadIdx.x], b = a, c = a, d = a;
  for (int i = 0; i < links; i++) {
    a = fmaf(a, 0.5f, 1.0f);
    b = fmaf(b, 0.5f, 2.0f);
    c = fmaf(c, 0.5f, 3.0f);
    d = fmaf(d, 0.5f, 4.0f);
  }
  y[static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x] = a + b + c + d;
}

// About 20 microseconds.
extern "C" __global__ void profiled_short(float* y) {
  float a = y[threadIdx.x];
  for (int i = 0; i < 8000; i++) a = fmaf(a, 0.5f, 1.0f);
  y[static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x] = a;
}

#ifndef __CUDACC__
CONVSCOPE_KERNEL(profiled_copy) {
  test_only();
  idea("test: copies");
  plan([](const ConvProblem& p, Plan& plan) {
    plan.launch(ENTRY(profiled_copy), {1056}, {256}).args(plan.x(), plan.y(), p.x_elements() / 4);
  });
}
CONVSCOPE_KERNEL(profiled_strided) {
  test_only();
  idea("test: reads with a stride");
  plan([](const ConvProblem& p, Plan& plan) {
    int64_t n = p.x_elements() / 8;
    plan.launch(ENTRY(profiled_strided), {ceil_div(n, 256)}, {256}).args(plan.x(), plan.y(), n);
  });
}
CONVSCOPE_KERNEL(profiled_arithmetic) {
  test_only();
  idea("test: multiply-adds");
  plan([](const ConvProblem&, Plan& plan) {
    plan.launch(ENTRY(profiled_arithmetic), {2112}, {256}).args(plan.x(), plan.y(), 4096);
  });
}
CONVSCOPE_KERNEL(profiled_short) {
  test_only();
  idea("test: short");
  plan([](const ConvProblem&, Plan& plan) { plan.launch(ENTRY(profiled_short), {132}, {128}).args(plan.y()); });
}
#endif
