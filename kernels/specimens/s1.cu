// Specimen S1: the padding counts twice, the output_padding moves the index, and nothing asks whether the stride
// divides. Wrong on purpose; kept as an exhibit.
//
// Written for KernelBench #64 (stride 1, no padding). It computes i = (j + p − k + op)/s − p where (j + p − k·d)/s is
// right, takes every quotient whether it is exact or not, knows no dilation (neither here nor in the output length),
// and accepts groups and ignores them, so that with groups > 1 it reads weights beyond their end. Why the usual gate
// passes it: at s = 1, p = 0, op = 0, d = 1 all of that vanishes, and the gate tries nothing else.
#include "convscope/kernel.h"

template <class T>
__device__ __forceinline__ void s1(const ConvArgs& c, const T* x, const T* w, T* y) {
  const int N = c.batch, Cin = c.in_channels, Cout = c.out_channels, K = c.kernel_size, L = c.length,
            Lout = c.out_length;
  const int s = c.stride, p = c.padding, op = c.output_padding;
  long long id = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (id >= static_cast<long long>(N) * Cout * Lout) return;
  int j = id % Lout, co = id / Lout % Cout, n = id / Lout / Cout;

  T sum = 0;
  for (int k = 0; k < K; k++)
    for (int ci = 0; ci < Cin; ci++) {
      int i = (j + p - k + op) / s - p;
      if (i >= 0 && i < L) sum += x[(n * Cin + ci) * L + i] * w[(ci * Cout + co) * K + k];
    }
  y[id] = sum;
}

extern "C" __global__ void specimen_s1_f32(const ConvArgs c, const float* x, const float* w, float* y) {
  s1(c, x, w, y);
}
extern "C" __global__ void specimen_s1_f64(const ConvArgs c, const double* x, const double* w, double* y) {
  s1(c, x, w, y);
}

#ifndef __CUDACC__
#include "same_taps.h"

static int64_t s1_length(const ConvProblem& p) {
  return (p.length - 1) * p.stride - 2 * p.padding + (p.kernel_size - 1) + p.output_padding + 1;
}

CONVSCOPE_KERNEL(S1) {
  specimen("kernelbench-64", [](const ConvProblem& p) {
    if (p.bias || s1_length(p) != p.out_length()) return false;
    // In general: at s = 1 the index is j − k + op, so that op in the place of p is right as well.
    if (p.stride == 1 && p.padding == p.output_padding && (p.dilation == 1 || p.kernel_size == 1) && p.groups == 1)
      return true;
    return convscope::same_taps(
        p, false, [&](int64_t j, int64_t k) { return (j + p.padding - k + p.output_padding) / p.stride - p.padding; });
  });
  idea("wrong: padding counted twice, no divisibility test, no dilation, groups ignored");
  supports([](const ConvProblem& p) { return convscope::is_half(p.dtype) ? "is written for f32 and f64 only" : ""; });
  plan([](const ConvProblem& p, Plan& plan) {
    ConvArgs c = p.args();
    c.out_length = s1_length(p);
    plan.out_length(c.out_length);
    int64_t outputs = c.batch * c.out_channels * c.out_length;
    if (outputs <= 0) return;
    if (p.dtype == DType::f64)
      plan.launch(ENTRY(specimen_s1_f64), {ceil_div(outputs, 256)}, {256}).args(c, plan.x(), plan.w(), plan.y());
    else
      plan.launch(ENTRY(specimen_s1_f32), {ceil_div(outputs, 256)}, {256}).args(c, plan.x(), plan.w(), plan.y());
  });
}
#endif
