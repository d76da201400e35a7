// The parts that faulty kernels are made of: where a thread is, and the sum of one element with its products in the
// hands of the fault.
#pragma once
#include "convscope/kernel.h"

// One thread an output element.
struct Element {
  int64_t id, n, co, j;
  bool inside;
};
__device__ __forceinline__ Element element_of_thread(const ConvArgs& c) {
  int64_t id = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  return {id, id / (c.out_length * c.out_channels), id / c.out_length % c.out_channels, id % c.out_length,
          id < c.batch * c.out_channels * c.out_length};
}

// f(ci, k, i) for each product of an element; the taps outside, so that there is one division a tap. anywhere: also of
// taps whose input lies outside of x.
template <bool anywhere = false, class F>
__device__ __forceinline__ void each_product(const ConvArgs& c, int64_t co, int64_t j, F f) {
  int64_t cin = c.in_channels / c.groups, first = co / (c.out_channels / c.groups) * cin;
  for (int64_t k = 0; k < c.kernel_size; k++) {
    int64_t t = j + c.padding - k * c.dilation;
    if (t % c.stride != 0 || (!anywhere && (t < 0 || t / c.stride >= c.length))) continue;
    for (int64_t ci = first; ci < first + cin; ci++) f(ci, k, t / c.stride);
  }
}

__device__ __forceinline__ int64_t x_at(const ConvArgs& c, int64_t n, int64_t ci, int64_t i) {
  return (n * c.in_channels + ci) * c.length + i;
}
__device__ __forceinline__ int64_t w_at(const ConvArgs& c, int64_t ci, int64_t co, int64_t k) {
  int64_t cout = c.out_channels / c.groups;
  return (ci * cout + co % cout) * c.kernel_size + k;
}

// The right answer; anywhere: of a kernel that does not ask where an input lies.
template <bool anywhere = false, class T>
__device__ __forceinline__ T right_sum(const ConvArgs& c, const Element& e, const T* x, const T* w, const T* b) {
  T sum = b ? b[e.co] : T(0);
  each_product<anywhere>(c, e.co, e.j,
               [&](int64_t ci, int64_t k, int64_t i) { sum += x[x_at(c, e.n, ci, i)] * w[w_at(c, ci, e.co, k)]; });
  return sum;
}

#ifndef __CUDACC__
// One launch of an entry with the usual arguments (c, x, w, b, y), one thread an output element. For test kernels only.
#define FAULTY_KERNEL(name, what)                                                                          \
  CONVSCOPE_KERNEL(name) {                                                                                 \
    test_only();                                                                                           \
    idea(what);                                                                                            \
    plan([](const ConvProblem& p, Plan& plan) {                                                            \
      plan.launch(ENTRY(name##_f32), {ceil_div(p.y_elements(), 64)}, {64})                                 \
          .args(p.args(), plan.x(), plan.w(), plan.b(), plan.y());                                         \
    });                                                                                                    \
    supports([](const ConvProblem& p) { return p.dtype == DType::f32 ? "" : "is written for f32 only"; }); \
  }
#endif
#define FAULTY_ENTRY(name) \
  extern "C" __global__ void name##_f32(const ConvArgs c, const float* x, const float* w, const float* b, float* y)
