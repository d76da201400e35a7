// Specimen S2: the padding stands outside the division and has the wrong sign, and nothing asks whether the stride
// divides. Wrong on purpose; kept as an exhibit.
//
// Written for KernelBench #74 (stride 1, no padding, dilation 3). It computes i = (j − k·d)/s − p where (j + p − k·d)/s
// is right, and takes every quotient whether it is exact or not. It ignores bias, output_padding and groups. Why the
// usual gate passes it: at s = 1 every quotient is exact and at p = 0 its place does not matter; dilation, the one
// thing #74 has, is right.
#include "convscope/kernel.h"

template <class T>
__device__ __forceinline__ void s2(const ConvArgs& c, const T* x, const T* w, T* y) {
  const int Cin = c.in_channels, Cout = c.out_channels, K = c.kernel_size, L = c.length, Lout = c.out_length;
  const int s = c.stride, p = c.padding, d = c.dilation;
  int n = blockIdx.x, co = blockIdx.y, j = blockIdx.z * blockDim.x + threadIdx.x;
  if (j >= Lout) return;

  T sum = 0;
  for (int ci = 0; ci < Cin; ci++)
    for (int k = 0; k < K; k++) {
      int i = (j - k * d) / s - p;
      if (i >= 0 && i < L) sum += x[(n * Cin + ci) * L + i] * w[(ci * Cout + co) * K + k];
    }
  y[(n * Cout + co) * Lout + j] = sum;
}

extern "C" __global__ void specimen_s2_f32(const ConvArgs c, const float* x, const float* w, float* y) {
  s2(c, x, w, y);
}
extern "C" __global__ void specimen_s2_f64(const ConvArgs c, const double* x, const double* w, double* y) {
  s2(c, x, w, y);
}

#ifndef __CUDACC__
#include "same_taps.h"

static int64_t s2_length(const ConvProblem& p) {
  return (p.length - 1) * p.stride - 2 * p.padding + p.dilation * (p.kernel_size - 1) + 1;
}

CONVSCOPE_KERNEL(S2) {
  specimen("kernelbench-74", [](const ConvProblem& p) {
    if (p.bias || s2_length(p) != p.out_length()) return false;
    if (p.stride == 1 && p.padding == 0 && p.groups == 1) return true;  // in general
    return convscope::same_taps(p, false,
                                [&](int64_t j, int64_t k) { return (j - k * p.dilation) / p.stride - p.padding; });
  });
  idea("wrong: padding outside the division with the wrong sign, no divisibility test");
  supports([](const ConvProblem& p) { return convscope::is_half(p.dtype) ? "is written for f32 and f64 only" : ""; });
  plan([](const ConvProblem& p, Plan& plan) {
    ConvArgs c = p.args();
    c.out_length = s2_length(p);
    plan.out_length(c.out_length);
    if (c.out_length <= 0) return;
    Shape grid{c.batch, c.out_channels, ceil_div(c.out_length, 256)};
    if (p.dtype == DType::f64)
      plan.launch(ENTRY(specimen_s2_f64), grid, {256}).args(c, plan.x(), plan.w(), plan.y());
    else
      plan.launch(ENTRY(specimen_s2_f32), grid, {256}).args(c, plan.x(), plan.w(), plan.y());
  });
}
#endif
