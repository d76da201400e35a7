// Specimen S3: the padding has the wrong sign, dilation is unknown, and nothing asks whether the stride divides.
// Wrong on purpose; kept as an exhibit.
//
// Written for KernelBench #64 (stride 1, no padding). It computes i = (j − k − p)/s where (j + p − k·d)/s is right, and
// takes every quotient whether it is exact or not. Its output length knows output_padding but no dilation. It is the
// only one of the five that handles groups. It ignores the bias. Why the usual gate passes it: at s = 1, p = 0, d = 1
// the index is right, and the gate tries nothing else.
#include "convscope/kernel.h"

extern "C" __global__ void specimen_s3(const ConvArgs c, const float* x, const float* w, float* y) {
  const int N = c.batch, Cin = c.in_channels, Cout = c.out_channels, K = c.kernel_size, L = c.length,
            Lout = c.out_length;
  const int s = c.stride, p = c.padding, in_group = Cin / static_cast<int>(c.groups),
            out_group = Cout / static_cast<int>(c.groups);
  long long id = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (id >= static_cast<long long>(N) * Cout * Lout) return;
  int j = id % Lout, co = id / Lout % Cout, n = id / Lout / Cout;
  int group = co / out_group, first = group * in_group;

  float sum = 0.0f;
  for (int ci = first; ci < first + in_group; ci++)
    for (int k = 0; k < K; k++) {
      int i = (j - k - p) / s;
      if (i >= 0 && i < L) sum += x[(n * Cin + ci) * L + i] * w[(ci * out_group + co % out_group) * K + k];
    }
  y[id] = sum;
}

#ifndef __CUDACC__
#include "same_taps.h"

static int64_t s3_length(const ConvProblem& p) {
  return (p.length - 1) * p.stride - 2 * p.padding + (p.kernel_size - 1) + p.output_padding + 1;
}

CONVSCOPE_KERNEL(S3) {
  specimen("kernelbench-64", [](const ConvProblem& p) {
    if (p.bias || s3_length(p) != p.out_length()) return false;
    if (p.stride == 1 && p.padding == 0 && (p.dilation == 1 || p.kernel_size == 1)) return true;  // in general
    return convscope::same_taps(p, true, [&](int64_t j, int64_t k) { return (j - k - p.padding) / p.stride; });
  });
  idea("wrong: padding with the wrong sign, no divisibility test, no dilation");
  supports([](const ConvProblem& p) { return p.dtype == DType::f32 ? "" : "is written for f32 only"; });
  plan([](const ConvProblem& p, Plan& plan) {
    ConvArgs c = p.args();
    c.out_length = s3_length(p);
    plan.out_length(c.out_length);
    int64_t outputs = c.batch * c.out_channels * c.out_length;
    if (outputs > 0)
      plan.launch(ENTRY(specimen_s3), {ceil_div(outputs, 256)}, {256}).args(c, plan.x(), plan.w(), plan.y());
  });
}
#endif
