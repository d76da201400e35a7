// Rung 1, direct: one thread an output element, every tap tested.
//
// Idea: write the definition down. Output (n, co, j) asks each tap k of each input channel ci whether an input lands on
// it: i = (j + p − k·d)/s, taken only if s divides the numerator exactly and 0 ≤ i < L. The divisibility test is what
// wrong kernels leave out: without it every output gets about s times too many taps. Right for: every legal problem
// (64-bit indices). Needs: nothing. Cost: (s − 1)/s of the tests fail, and a 64-bit remainder is dozens of
// instructions. The next rungs remove that. Source: the definition of ConvTranspose1d (PyTorch documentation).
#include "convscope/activation.h"
#include "convscope/half.h"
#include "convscope/kernel.h"

template <class T>
__device__ __forceinline__ void direct(const ConvArgs& c, const T* x, const T* w, const T* b, T* y) {
  int64_t id = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (id >= c.batch * c.out_channels * c.out_length) return;
  int64_t j = id % c.out_length, co = id / c.out_length % c.out_channels, n = id / (c.out_length * c.out_channels);
  int64_t cin = c.in_channels / c.groups, cout = c.out_channels / c.groups, first = co / cout * cin;

  using S = SumType<T>;
  S sum = b ? static_cast<S>(b[co]) : S(0);
  for (int64_t ci = first; ci < first + cin; ci++)
    for (int64_t k = 0; k < c.kernel_size; k++) {
      int64_t t = j + c.padding - k * c.dilation;
      if (t < 0 || t % c.stride != 0) continue;
      int64_t i = t / c.stride;
      if (i < c.length)
        sum += static_cast<S>(x[(n * c.in_channels + ci) * c.length + i]) *
               static_cast<S>(w[(ci * cout + co % cout) * c.kernel_size + k]);
    }
  y[id] = static_cast<T>(activated(sum));
}

extern "C" __global__ void __launch_bounds__(256)
    direct_f32(const ConvArgs c, const float* x, const float* w, const float* b, float* y) {
  direct(c, x, w, b, y);
}
extern "C" __global__ void __launch_bounds__(256)
    direct_f64(const ConvArgs c, const double* x, const double* w, const double* b, double* y) {
  direct(c, x, w, b, y);
}
extern "C" __global__ void __launch_bounds__(256)
    direct_f16(const ConvArgs c, const __half* x, const __half* w, const __half* b, __half* y) {
  direct(c, x, w, b, y);
}
extern "C" __global__ void __launch_bounds__(256)
    direct_bf16(const ConvArgs c, const __nv_bfloat16* x, const __nv_bfloat16* w, const __nv_bfloat16* b,
                __nv_bfloat16* y) {
  direct(c, x, w, b, y);
}

#ifndef __CUDACC__
CONVSCOPE_KERNEL(direct) {
  rung(1);
  idea("one thread an output element, every tap tested for divisibility");
  activates();
  plan([](const ConvProblem& p, Plan& plan) {
    int64_t blocks = ceil_div(p.y_elements(), 256);
    for_type(
        p.dtype,
        [&](auto entry) { plan.launch(entry, {blocks}, {256}).args(p.args(), plan.x(), plan.w(), plan.b(), plan.y()); },
        ENTRY(direct_f32), ENTRY(direct_f64), ENTRY(direct_f16), ENTRY(direct_bf16));
  });
}
#endif
