// A block an output element; its threads share the input channels and add up in shared memory. Written with the
// registration that the kernels of kernels/ladder have, which can say more than a line of a comment.
#include "convscope/kernel.h"

extern "C" __global__ void shared_sum(const ConvArgs c, const float* x, const float* w, const float* b, float* y) {
  CONVSCOPE_DYNAMIC_SHARED(float, part);
  const int64_t id = blockIdx.x;
  const int j = id % c.out_length, co = id / c.out_length % c.out_channels, n = id / c.out_length / c.out_channels;
  const int in_group = c.in_channels / c.groups, out_group = c.out_channels / c.groups;

  float sum = 0;
  for (int q = threadIdx.x; q < in_group; q += blockDim.x) {
    const int ci = co / out_group * in_group + q;
    for (int k = 0; k < c.kernel_size; k++) {
      const int64_t t = j + c.padding - k * c.dilation;
      if (t < 0 || t % c.stride != 0 || t / c.stride >= c.length) continue;
      sum += x[(n * c.in_channels + ci) * c.length + t / c.stride] * w[(ci * out_group + co % out_group) * c.kernel_size + k];
    }
  }
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[id] = part[0] + (b ? b[co] : 0.0f);
}

#ifndef __CUDACC__
CONVSCOPE_KERNEL(shared_sum) {
  idea("a block an output element, channels shared among its threads");
  supports([](const ConvProblem& p) { return p.dtype == DType::f32 ? "" : "is written for f32 only"; });
  plan([](const ConvProblem& p, Plan& plan) {
    constexpr int threads = 64;
    plan.launch(ENTRY(shared_sum), {p.y_elements()}, {threads}, threads * sizeof(float))
        .args(p.args(), plan.x(), plan.w(), plan.b(), plan.y());
  });
}
#endif
