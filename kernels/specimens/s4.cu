// Specimen S4: the right index, but nothing asks whether the stride divides. Wrong on purpose; kept as an exhibit.
//
// Written for KernelBench #79 (stride 2, padding 1, dilation 2). It computes i = (j + p − k·d)/s, as is right, but
// takes the quotient even when it is not exact, so outputs that a tap does not reach get its neighbour's product: ghost
// taps. On #79, where d is even, no tap reaches an even output: those must be exactly zero and are not; no odd output
// is wrong. Why the usual gate can pass such a kernel: at s = 1 every quotient is exact. On #79 it fails in 48.3 % by
// atol = rtol = 1e-2, and a look at a few odd outputs finds nothing. It ignores bias, output_padding and groups.
#include "convscope/kernel.h"

extern "C" __global__ void specimen_s4(const ConvArgs c, const float* x, const float* w, float* y) {
  const int Cin = c.in_channels, Cout = c.out_channels, K = c.kernel_size, L = c.length, Lout = c.out_length;
  const int s = c.stride, p = c.padding, d = c.dilation;
  int n = blockIdx.x, co = blockIdx.y, j = blockIdx.z * blockDim.x + threadIdx.x;
  if (j >= Lout) return;

  float sum = 0.0f;
  for (int ci = 0; ci < Cin; ci++)
    for (int k = 0; k < K; k++) {
      int i = (j + p - k * d) / s;
      if (i >= 0 && i < L) sum += x[(n * Cin + ci) * L + i] * w[(ci * Cout + co) * K + k];
    }
  y[(n * Cout + co) * Lout + j] = sum;
}

#ifndef __CUDACC__
#include "same_taps.h"

static int64_t s4_length(const ConvProblem& p) {
  return (p.length - 1) * p.stride - 2 * p.padding + p.dilation * (p.kernel_size - 1) + 1;
}

CONVSCOPE_KERNEL(S4) {
  specimen("kernelbench-79", [](const ConvProblem& p) {
    if (p.bias || s4_length(p) != p.out_length()) return false;
    if (p.stride == 1 && p.groups == 1) return true;  // in general
    return convscope::same_taps(p, false,
                                [&](int64_t j, int64_t k) { return (j + p.padding - k * p.dilation) / p.stride; });
  });
  idea("wrong: the right index without the divisibility test");
  supports([](const ConvProblem& p) { return p.dtype == DType::f32 ? "" : "is written for f32 only"; });
  plan([](const ConvProblem& p, Plan& plan) {
    ConvArgs c = p.args();
    c.out_length = s4_length(p);
    plan.out_length(c.out_length);
    if (c.out_length > 0)
      plan.launch(ENTRY(specimen_s4), {c.batch, c.out_channels, ceil_div(c.out_length, 256)}, {256})
          .args(c, plan.x(), plan.w(), plan.y());
  });
}
#endif
