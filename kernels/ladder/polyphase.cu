// Rung 3, polyphase: one thread an output element, only the taps that land.
//
// Idea: whether a tap lands depends only on the residue r = (j + p) mod s. So each output finds its first tap once, by
// a modular inverse, and then steps from landing tap to landing tap: no test and no division inside the loops, and no
// tap is looked at in vain. The ends of the walk (0 ≤ i < L) are worked out before it starts as well.
// Right for: every legal problem. Needs: nothing.
// Source: polyphase decomposition of interpolators (Crochiere & Rabiner, Multirate Digital Signal Processing, 3.3).
#include "convscope/activation.h"
#include "convscope/half.h"
#include "phases.h"

template <class T>
__device__ __forceinline__ void polyphase(const ConvArgs& c, const Phases& f, const T* x, const T* w, const T* b,
                                          T* y) {
  int64_t id = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (id >= c.batch * c.out_channels * c.out_length) return;
  int64_t j = id % c.out_length, co = id / c.out_length % c.out_channels, n = id / (c.out_length * c.out_channels);
  int64_t cin = c.in_channels / c.groups, cout = c.out_channels / c.groups, first = co / cout * cin;

  using S = SumType<T>;
  S sum = b ? static_cast<S>(b[co]) : S(0);
  int64_t r = (j + c.padding) % c.stride;
  if (r % f.gcd == 0) {
    int64_t k0 = (r / f.gcd) * f.inverse % f.period;
    int64_t start =
        j + c.padding - k0 * c.dilation;  // a multiple of s; below 0 when even the first tap is too far left
    if (start >= 0 && k0 < c.kernel_size) {
      int64_t i0 = start / c.stride;
      // Tap number m of the class reads i0 − m·back: from the first one inside the input to the last one.
      int64_t low = i0 < c.length ? 0 : (i0 - c.length) / f.back + 1;
      int64_t high = min(i0 / f.back, (c.kernel_size - 1 - k0) / f.period);
      for (int64_t ci = first; ci < first + cin; ci++) {
        const T* xs = x + (n * c.in_channels + ci) * c.length + i0;
        const T* ws = w + (ci * cout + co % cout) * c.kernel_size + k0;
        for (int64_t m = low; m <= high; m++) sum += static_cast<S>(xs[-m * f.back]) * static_cast<S>(ws[m * f.period]);
      }
    }
  }
  y[id] = static_cast<T>(activated(sum));
}

extern "C" __global__ void __launch_bounds__(256)
    polyphase_f32(const ConvArgs c, const Phases f, const float* x, const float* w, const float* b, float* y) {
  polyphase(c, f, x, w, b, y);
}
extern "C" __global__ void __launch_bounds__(256)
    polyphase_f64(const ConvArgs c, const Phases f, const double* x, const double* w, const double* b, double* y) {
  polyphase(c, f, x, w, b, y);
}
extern "C" __global__ void __launch_bounds__(256)
    polyphase_f16(const ConvArgs c, const Phases f, const __half* x, const __half* w, const __half* b, __half* y) {
  polyphase(c, f, x, w, b, y);
}
extern "C" __global__ void __launch_bounds__(256)
    polyphase_bf16(const ConvArgs c, const Phases f, const __nv_bfloat16* x, const __nv_bfloat16* w,
                   const __nv_bfloat16* b, __nv_bfloat16* y) {
  polyphase(c, f, x, w, b, y);
}

#ifndef __CUDACC__
CONVSCOPE_KERNEL(polyphase) {
  rung(3);
  idea("one thread an output element, steps only through the taps that land");
  activates();
  plan([](const ConvProblem& p, Plan& plan) {
    int64_t blocks = ceil_div(p.y_elements(), 256);
    Phases f = phases_of(p);
    for_type(
        p.dtype,
        [&](auto entry) {
          plan.launch(entry, {blocks}, {256}).args(p.args(), f, plan.x(), plan.w(), plan.b(), plan.y());
        },
        ENTRY(polyphase_f32), ENTRY(polyphase_f64), ENTRY(polyphase_f16), ENTRY(polyphase_bf16));
  });
}
#endif
