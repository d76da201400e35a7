// Kernels with the right index and less precise arithmetic than their type has.
#include "faulty.h"

__device__ __forceinline__ float to_tf32(float v) {
  return __uint_as_float((__float_as_uint(v) + 0x1000u) & 0xffffe000u);
}
__device__ __forceinline__ float cut_to_tf32(float v) { return __uint_as_float(__float_as_uint(v) & 0xffffe000u); }
__device__ __forceinline__ float to_bf16(float v) {
  unsigned u = __float_as_uint(v);
  return __uint_as_float((u + 0x7fffu + (u >> 16 & 1)) & 0xffff0000u);
}

template <class X, class W>
__device__ __forceinline__ void rounded(const ConvArgs& c, const float* x, const float* w, const float* b, float* y,
                                        X fx, W fw) {
  auto e = element_of_thread(c);
  if (!e.inside) return;
  float sum = b ? b[e.co] : 0;
  each_product(c, e.co, e.j, [&](int64_t ci, int64_t k, int64_t i) {
    sum += fx(x[x_at(c, e.n, ci, i)]) * fw(w[w_at(c, ci, e.co, k)]);
  });
  y[e.id] = sum;
}

FAULTY_ENTRY(tf32) {
  rounded(
      c, x, w, b, y, [](float v) { return to_tf32(v); }, [](float v) { return to_tf32(v); });
}
FAULTY_ENTRY(tf32_cut) {
  rounded(
      c, x, w, b, y, [](float v) { return cut_to_tf32(v); }, [](float v) { return cut_to_tf32(v); });
}
FAULTY_ENTRY(tf32_weights) {
  rounded(
      c, x, w, b, y, [](float v) { return v; }, [](float v) { return to_tf32(v); });
}
FAULTY_ENTRY(bf16_weights) {
  rounded(
      c, x, w, b, y, [](float v) { return v; }, [](float v) { return to_bf16(v); });
}
FAULTY_ENTRY(bf16_input) {
  rounded(
      c, x, w, b, y, [](float v) { return to_bf16(v); }, [](float v) { return v; });
}
// Three TF32 products in place of one: big·big + big·small + small·big.
FAULTY_ENTRY(three_tf32) {
  auto e = element_of_thread(c);
  if (!e.inside) return;
  float sum = b ? b[e.co] : 0;
  each_product(c, e.co, e.j, [&](int64_t ci, int64_t k, int64_t i) {
    float v = x[x_at(c, e.n, ci, i)], f = w[w_at(c, ci, e.co, k)], vb = to_tf32(v), fb = to_tf32(f);
    float vs = to_tf32(v - vb), fs = to_tf32(f - fb);
    sum += vs * fb;
    sum += vb * fs;
    sum += vb * fb;
  });
  y[e.id] = sum;
}
// The sum itself in bfloat16: small integers are exact in it only while the sums stay small.
FAULTY_ENTRY(bf16_sums) {
  auto e = element_of_thread(c);
  if (!e.inside) return;
  float sum = b ? b[e.co] : 0;
  each_product(c, e.co, e.j, [&](int64_t ci, int64_t k, int64_t i) {
    sum = to_bf16(sum + x[x_at(c, e.n, ci, i)] * w[w_at(c, ci, e.co, k)]);
  });
  y[e.id] = sum;
}

FAULTY_ENTRY(results_in_tf32) {
  auto e = element_of_thread(c);
  if (e.inside) y[e.id] = to_tf32(right_sum(c, e, x, w, b));
}
FAULTY_ENTRY(scaled_a_little) {
  auto e = element_of_thread(c);
  if (e.inside) y[e.id] = right_sum(c, e, x, w, b) * (1 + 1e-6f);
}
FAULTY_ENTRY(adds_a_little) {
  auto e = element_of_thread(c);
  if (e.inside) y[e.id] = right_sum(c, e, x, w, b) + 1e-7f;
}

extern "C" __global__ void double_in_float_f64(const ConvArgs c, const double* x, const double* w, const double* b,
                                               double* y) {
  auto e = element_of_thread(c);
  if (!e.inside) return;
  float sum = b ? static_cast<float>(b[e.co]) : 0;
  each_product(c, e.co, e.j, [&](int64_t ci, int64_t k, int64_t i) {
    sum += static_cast<float>(x[x_at(c, e.n, ci, i)]) * static_cast<float>(w[w_at(c, ci, e.co, k)]);
  });
  y[e.id] = sum;
}
// Sums in double, but of inputs that went through float.
extern "C" __global__ void double_of_floats_f64(const ConvArgs c, const double* x, const double* w, const double* b,
                                                double* y) {
  auto e = element_of_thread(c);
  if (!e.inside) return;
  double sum = b ? b[e.co] : 0;
  each_product(c, e.co, e.j, [&](int64_t ci, int64_t k, int64_t i) {
    sum += static_cast<double>(static_cast<float>(x[x_at(c, e.n, ci, i)])) * w[w_at(c, ci, e.co, k)];
  });
  y[e.id] = sum;
}

// Nothing asks whether i is inside of x.
extern "C" __global__ void d_not_beside_f64(const ConvArgs c, const double* x, const double* w, const double* b,
                                            double* y) {
  auto e = element_of_thread(c);
  if (e.inside) y[e.id] = right_sum<true>(c, e, x, w, b);
}

#ifndef __CUDACC__
FAULTY_KERNEL(tf32, "products of TF32")
FAULTY_KERNEL(tf32_cut, "products of TF32, inputs cut off")
FAULTY_KERNEL(tf32_weights, "TF32 weights")
FAULTY_KERNEL(bf16_weights, "bfloat16 weights")
FAULTY_KERNEL(bf16_input, "bfloat16 input")
FAULTY_KERNEL(three_tf32, "three TF32 products")
FAULTY_KERNEL(bf16_sums, "sums in bfloat16")
FAULTY_KERNEL(results_in_tf32, "results in TF32")
FAULTY_KERNEL(scaled_a_little, "results times 1.000001")
FAULTY_KERNEL(adds_a_little, "results plus 1e-7")

#define DOUBLE_KERNEL(name, what)                                                                          \
  CONVSCOPE_KERNEL(name) {                                                                                 \
    test_only();                                                                                           \
    idea(what);                                                                                            \
    plan([](const ConvProblem& p, Plan& plan) {                                                            \
      plan.launch(ENTRY(name##_f64), {ceil_div(p.y_elements(), 64)}, {64})                                 \
          .args(p.args(), plan.x(), plan.w(), plan.b(), plan.y());                                         \
    });                                                                                                    \
    supports([](const ConvProblem& p) { return p.dtype == DType::f64 ? "" : "is written for f64 only"; }); \
  }
DOUBLE_KERNEL(double_in_float, "f64 computed in f32")
DOUBLE_KERNEL(double_of_floats, "f64 of inputs in f32")
DOUBLE_KERNEL(d_not_beside, "f64, reads beside its rows")
#endif
