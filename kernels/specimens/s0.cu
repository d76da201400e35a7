// Specimen S0: the padding is missing from the index. Wrong on purpose; kept as an exhibit.
//
// Written for KernelBench #79 (stride 2, padding 1, dilation 2). It computes i = (j − k·d)/s where (j + p − k·d)/s is
// right, so y[j] holds what belongs at j − p: the whole signal is shifted by p, and at s = 2, p = 1 the empty and the
// full phase change places. It tests divisibility, so it has no ghost taps. It also ignores output_padding and groups.
// Why the usual gate can pass such a kernel: at p = 0 it is right, and a gate with one fixed problem never moves p. On
// #79 itself it fails, loudly: 96.5 % by atol = rtol = 1e-2; the rest is small enough to hide inside the tolerance.
#include "convscope/kernel.h"

extern "C" __global__ void specimen_s0(const ConvArgs c, const float* x, const float* w, const float* b, float* y) {
  const int N = c.batch, Cin = c.in_channels, Cout = c.out_channels, K = c.kernel_size, L = c.length,
            Lout = c.out_length;
  const int s = c.stride, d = c.dilation;
  long long id = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (id >= static_cast<long long>(N) * Cout * Lout) return;
  int j = id % Lout, co = id / Lout % Cout, n = id / Lout / Cout;

  float sum = b ? b[co] : 0.0f;
  for (int ci = 0; ci < Cin; ci++)
    for (int k = 0; k < K; k++) {
      int t = j - k * d;
      if (t % s != 0) continue;
      int i = t / s;
      if (i >= 0 && i < L) sum += x[(n * Cin + ci) * L + i] * w[(ci * Cout + co) * K + k];
    }
  y[id] = sum;
}

#ifndef __CUDACC__
CONVSCOPE_KERNEL(S0) {
  specimen("kernelbench-79",
           [](const ConvProblem& p) { return p.padding == 0 && p.output_padding == 0 && p.groups == 1; });
  idea("wrong: the padding is missing from the index");
  supports([](const ConvProblem& p) { return p.dtype == DType::f32 ? "" : "is written for f32 only"; });
  plan([](const ConvProblem& p, Plan& plan) {
    ConvArgs c = p.args();
    c.out_length = (c.length - 1) * c.stride - 2 * c.padding + c.dilation * (c.kernel_size - 1) + 1;
    plan.out_length(c.out_length);
    int64_t outputs = c.batch * c.out_channels * c.out_length;
    if (outputs > 0)
      plan.launch(ENTRY(specimen_s0), {ceil_div(outputs, 256)}, {256}).args(c, plan.x(), plan.w(), plan.b(), plan.y());
  });
}
#endif
