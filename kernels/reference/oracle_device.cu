// The oracle as a kernel, for problems too large for the CPU: one thread an output element, double precision.
//
// Idea: polyphase gather with the taps outside and the channels inside, so that the division is done once a tap. The
// sum of products and the sum of their sizes are carried together. f64 carries the sum in two doubles (Dot2; Ogita,
// Rump & Oishi 2005), with explicitly rounded operations that the compiler does not fuse.
//
// Right for: every legal problem. Needs: w in double precision.
#include "convscope/half.h"
#include "convscope/kernel.h"

// A rectangle of the output; results are [rows, columns].
struct OracleBlock {
  int64_t row, rows, column, columns;
};

template <class T>
struct OracleSum;
template <>
struct OracleSum<float> {  // products of floats are exact in double
  double sum;
  __device__ __forceinline__ void add(double a, double b) { sum = fma(a, b, sum); }
  __device__ __forceinline__ double result() const { return sum; }
};
template <>
struct OracleSum<double> {
  double sum, low = 0;
  __device__ __forceinline__ void add(double a, double b) {
    double product = __dmul_rn(a, b), error = fma(a, b, -product);
    double t = __dadd_rn(sum, product), z = __dadd_rn(t, -sum);
    low = __dadd_rn(low, __dadd_rn(__dadd_rn(__dadd_rn(sum, -__dadd_rn(t, -z)), __dadd_rn(product, -z)), error));
    sum = t;
  }
  __device__ __forceinline__ double result() const { return __dadd_rn(sum, low); }
};

template <class T>
__device__ __forceinline__ void oracle(const ConvArgs& c, const OracleBlock& block, const T* x, const double* w,
                                       const T* b, double* value, double* magnitude) {
  int64_t column = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (column >= block.columns) return;
  int64_t row = block.row + blockIdx.y, j = block.column + column;
  int64_t co = row % c.out_channels, n = row / c.out_channels;
  int64_t cin = c.in_channels / c.groups, cout = c.out_channels / c.groups, first = co / cout * cin;

  using S = SumType<T>;  // also what a 16-bit number is read as
  double bias = b ? static_cast<double>(static_cast<S>(b[co])) : 0, size = fabs(bias);
  OracleSum<S> sum{bias};
  for (int64_t k = 0; k < c.kernel_size; k++) {
    int64_t t = j + c.padding - k * c.dilation;
    if (t < 0) break;
    int64_t i = t / c.stride;
    if (i * c.stride != t || i >= c.length) continue;
    const T* xs = x + (n * c.in_channels + first) * c.length + i;
    const double* ws = w + (first * cout + co % cout) * c.kernel_size + k;
    for (int64_t ci = 0; ci < cin; ci++) {
      double v = static_cast<double>(static_cast<S>(xs[ci * c.length])), g = ws[ci * cout * c.kernel_size];
      sum.add(v, g);
      size = fma(fabs(v), fabs(g), size);
    }
  }
  int64_t at = static_cast<int64_t>(blockIdx.y) * block.columns + column;
  value[at] = sum.result();
  if (magnitude) magnitude[at] = size;
}

extern "C" __global__ void __launch_bounds__(256)
    oracle_f32(const ConvArgs c, const OracleBlock block, const float* x, const double* w, const float* b,
               double* value, double* magnitude) {
  oracle(c, block, x, w, b, value, magnitude);
}
extern "C" __global__ void __launch_bounds__(256)
    oracle_f64(const ConvArgs c, const OracleBlock block, const double* x, const double* w, const double* b,
               double* value, double* magnitude) {
  oracle(c, block, x, w, b, value, magnitude);
}
extern "C" __global__ void __launch_bounds__(256)
    oracle_f16(const ConvArgs c, const OracleBlock block, const __half* x, const double* w, const __half* b,
               double* value, double* magnitude) {
  oracle(c, block, x, w, b, value, magnitude);
}
extern "C" __global__ void __launch_bounds__(256)
    oracle_bf16(const ConvArgs c, const OracleBlock block, const __nv_bfloat16* x, const double* w,
                const __nv_bfloat16* b, double* value, double* magnitude) {
  oracle(c, block, x, w, b, value, magnitude);
}

#ifndef __CUDACC__
#include "kernels/reference/oracle_device.h"

CONVSCOPE_KERNEL(oracle_device) {
  internal();
  idea("the oracle on a device");
  plan([](const ConvProblem&, Plan&) {});
}

namespace convscope {

// y becomes the values, the workspace the magnitudes.
Plan oracle_plan(const ConvProblem& p, const OutputBlock& block) {
  Plan plan(p);
  OracleBlock where{block.row, block.rows, block.column, block.columns};
  Shape grid{ceil_div(block.columns, 256), block.rows};
  for_type(
      p.dtype,
      [&](auto entry) {
        plan.launch(entry, grid, {256}).args(p.args(), where, plan.x(), plan.w(), plan.b(), plan.y(), plan.workspace());
      },
      ENTRY(oracle_f32), ENTRY(oracle_f64), ENTRY(oracle_f16), ENTRY(oracle_bf16));
  return plan;
}

}  // namespace convscope
#endif
