// Rung 2, scatter: one thread an input element, atomic adds.
//
// Idea: turn the definition round. Input i and tap k always land on output j = i·s − p + k·d: no division, no test for
// divisibility, no wasted tap. The price: several inputs land on one output, so the sums are atomic, the output must be
// filled first, and the order of the additions (so the last bits) changes from run to run.
// Right for: every legal problem. Needs: nothing.
// Source: the scatter view of the same sum, as "col2im" in im2col implementations (Chellapilla et al. 2006).
#include "convscope/kernel.h"

template <class T>
__device__ __forceinline__ void scatter_fill(const ConvArgs& c, const T* b, T* y) {
  int64_t id = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (id >= c.batch * c.out_channels * c.out_length) return;
  y[id] = b ? b[id / c.out_length % c.out_channels] : T(0);
}

template <class T>
__device__ __forceinline__ void scatter(const ConvArgs& c, const T* x, const T* w, T* y) {
  int64_t id = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (id >= c.batch * c.in_channels * c.length) return;
  int64_t i = id % c.length, ci = id / c.length % c.in_channels, n = id / (c.length * c.in_channels);
  int64_t cin = c.in_channels / c.groups, cout = c.out_channels / c.groups, first = ci / cin * cout;

  T v = x[id];
  for (int64_t co = 0; co < cout; co++)
    for (int64_t k = 0; k < c.kernel_size; k++) {
      int64_t j = i * c.stride - c.padding + k * c.dilation;
      if (j >= 0 && j < c.out_length)
        atomicAdd(&y[(n * c.out_channels + first + co) * c.out_length + j],
                  v * w[(ci * cout + co) * c.kernel_size + k]);
    }
}

extern "C" __global__ void __launch_bounds__(256) scatter_fill_f32(const ConvArgs c, const float* b, float* y) {
  scatter_fill(c, b, y);
}
extern "C" __global__ void __launch_bounds__(256) scatter_fill_f64(const ConvArgs c, const double* b, double* y) {
  scatter_fill(c, b, y);
}
extern "C" __global__ void __launch_bounds__(256)
    scatter_f32(const ConvArgs c, const float* x, const float* w, float* y) {
  scatter(c, x, w, y);
}
extern "C" __global__ void __launch_bounds__(256)
    scatter_f64(const ConvArgs c, const double* x, const double* w, double* y) {
  scatter(c, x, w, y);
}

#ifndef __CUDACC__
CONVSCOPE_KERNEL(scatter) {
  rung(2);
  idea("one thread an input element, atomic adds to the outputs it lands on");
  plan([](const ConvProblem& p, Plan& plan) {
    int64_t outputs = ceil_div(p.y_elements(), 256), inputs = ceil_div(p.x_elements(), 256);
    if (p.dtype == DType::f64) {
      plan.launch(ENTRY(scatter_fill_f64), {outputs}, {256}).args(p.args(), plan.b(), plan.y());
      plan.launch(ENTRY(scatter_f64), {inputs}, {256}).args(p.args(), plan.x(), plan.w(), plan.y());
    } else {
      plan.launch(ENTRY(scatter_fill_f32), {outputs}, {256}).args(p.args(), plan.b(), plan.y());
      plan.launch(ENTRY(scatter_f32), {inputs}, {256}).args(p.args(), plan.x(), plan.w(), plan.y());
    }
  });
}
#endif
