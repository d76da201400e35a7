// Rung 2, scatter: one thread an input element, atomic adds.
//
// Idea: turn the definition round. Input i and tap k always land on output j = i·s − p + k·d: no division, no test for
// divisibility, no wasted tap. The price: several inputs land on one output, so the sums are atomic, the output must be
// filled first, and the order of the additions (so the last bits) changes from run to run. 16-bit outputs would be
// rounded at every addition: their sums are made in f32 in a workspace, and a third launch rounds them once.
// Right for: every legal problem. Needs: nothing.
// Source: the scatter view of the same sum, as "col2im" in im2col implementations (Chellapilla et al. 2006).
#include "convscope/half.h"
#include "convscope/kernel.h"

template <class T>
__device__ __forceinline__ void scatter_fill(const ConvArgs& c, const T* b, SumType<T>* y) {
  int64_t id = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (id >= c.batch * c.out_channels * c.out_length) return;
  y[id] = b ? static_cast<SumType<T>>(b[id / c.out_length % c.out_channels]) : SumType<T>(0);
}

template <class T>
__device__ __forceinline__ void scatter(const ConvArgs& c, const T* x, const T* w, SumType<T>* y) {
  int64_t id = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (id >= c.batch * c.in_channels * c.length) return;
  int64_t i = id % c.length, ci = id / c.length % c.in_channels, n = id / (c.length * c.in_channels);
  int64_t cin = c.in_channels / c.groups, cout = c.out_channels / c.groups, first = ci / cin * cout;

  using S = SumType<T>;
  S v = static_cast<S>(x[id]);
  for (int64_t co = 0; co < cout; co++)
    for (int64_t k = 0; k < c.kernel_size; k++) {
      int64_t j = i * c.stride - c.padding + k * c.dilation;
      if (j >= 0 && j < c.out_length)
        atomicAdd(&y[(n * c.out_channels + first + co) * c.out_length + j],
                  v * static_cast<S>(w[(ci * cout + co) * c.kernel_size + k]));
    }
}

template <class T>
__device__ __forceinline__ void scatter_round(const ConvArgs& c, const float* sums, T* y) {
  int64_t id = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (id < c.batch * c.out_channels * c.out_length) y[id] = static_cast<T>(sums[id]);
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
extern "C" __global__ void __launch_bounds__(256) scatter_fill_f16(const ConvArgs c, const __half* b, float* sums) {
  scatter_fill(c, b, sums);
}
extern "C" __global__ void __launch_bounds__(256)
    scatter_fill_bf16(const ConvArgs c, const __nv_bfloat16* b, float* sums) {
  scatter_fill(c, b, sums);
}
extern "C" __global__ void __launch_bounds__(256)
    scatter_f16(const ConvArgs c, const __half* x, const __half* w, float* sums) {
  scatter(c, x, w, sums);
}
extern "C" __global__ void __launch_bounds__(256)
    scatter_bf16(const ConvArgs c, const __nv_bfloat16* x, const __nv_bfloat16* w, float* sums) {
  scatter(c, x, w, sums);
}
extern "C" __global__ void __launch_bounds__(256) scatter_round_f16(const ConvArgs c, const float* sums, __half* y) {
  scatter_round(c, sums, y);
}
extern "C" __global__ void __launch_bounds__(256)
    scatter_round_bf16(const ConvArgs c, const float* sums, __nv_bfloat16* y) {
  scatter_round(c, sums, y);
}

#ifndef __CUDACC__
CONVSCOPE_KERNEL(scatter) {
  rung(2);
  idea("one thread an input element, atomic adds to the outputs it lands on");
  plan([](const ConvProblem& p, Plan& plan) {
    int64_t outputs = ceil_div(p.y_elements(), 256), inputs = ceil_div(p.x_elements(), 256);
    const bool round = convscope::is_half(p.dtype);
    if (round) plan.need_workspace(static_cast<size_t>(p.y_elements()) * sizeof(float));
    auto sums = round ? plan.workspace() : plan.y();
    for_type(
        p.dtype, [&](auto entry) { plan.launch(entry, {outputs}, {256}).args(p.args(), plan.b(), sums); },
        ENTRY(scatter_fill_f32), ENTRY(scatter_fill_f64), ENTRY(scatter_fill_f16), ENTRY(scatter_fill_bf16));
    for_type(
        p.dtype, [&](auto entry) { plan.launch(entry, {inputs}, {256}).args(p.args(), plan.x(), plan.w(), sums); },
        ENTRY(scatter_f32), ENTRY(scatter_f64), ENTRY(scatter_f16), ENTRY(scatter_bf16));
    if (p.dtype == DType::f16) plan.launch(ENTRY(scatter_round_f16), {outputs}, {256}).args(p.args(), sums, plan.y());
    if (p.dtype == DType::bf16) plan.launch(ENTRY(scatter_round_bf16), {outputs}, {256}).args(p.args(), sums, plan.y());
  });
}
#endif
