// Kernels of f16 and bf16 with the right index: one that sums in f32, and those that do not.
#include "convscope/half.h"
#include "faulty.h"

// How the sum of an element is made.
template <bool anywhere>
struct SumInFloat {
  template <class T>
  __device__ __forceinline__ T operator()(const ConvArgs& c, const Element& e, const T* x, const T* w,
                                          const T* b) const {
    float sum = b ? static_cast<float>(b[e.co]) : 0;
    each_product<anywhere>(c, e.co, e.j, [&](int64_t ci, int64_t k, int64_t i) {
      sum += static_cast<float>(x[x_at(c, e.n, ci, i)]) * static_cast<float>(w[w_at(c, ci, e.co, k)]);
    });
    return static_cast<T>(sum);
  }
};
using InFloat = SumInFloat<false>;  // as it should be
// One rounding to 16 bits. Before sm_80 there is none of bf16's arithmetic: there the sum is in f32.
template <class T>
__device__ __forceinline__ T multiplied(T a, T b, T add) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  return static_cast<T>(static_cast<float>(a) * static_cast<float>(b) + static_cast<float>(add));
#else
  return __hfma(a, b, add);
#endif
}
struct InSixteen {
  template <class T>
  __device__ __forceinline__ T operator()(const ConvArgs& c, const Element& e, const T* x, const T* w,
                                          const T* b) const {
    T sum = b ? b[e.co] : T(0);
    each_product(c, e.co, e.j, [&](int64_t ci, int64_t k, int64_t i) {
      sum = multiplied(x[x_at(c, e.n, ci, i)], w[w_at(c, ci, e.co, k)], sum);
    });
    return sum;
  }
};
struct ProductsInSixteen {
  template <class T>
  __device__ __forceinline__ T operator()(const ConvArgs& c, const Element& e, const T* x, const T* w,
                                          const T* b) const {
    float sum = b ? static_cast<float>(b[e.co]) : 0;
    each_product(c, e.co, e.j, [&](int64_t ci, int64_t k, int64_t i) {
      sum += static_cast<float>(multiplied(x[x_at(c, e.n, ci, i)], w[w_at(c, ci, e.co, k)], static_cast<T>(0.0f)));
    });
    return static_cast<T>(sum);
  }
};
// The largest number where infinity belongs.
struct Saturating {
  template <class T>
  __device__ __forceinline__ T operator()(const ConvArgs& c, const Element& e, const T* x, const T* w,
                                          const T* b) const {
    T y = InFloat()(c, e, x, w, b);
    float v = static_cast<float>(y), most = 65504;
    return v > most ? static_cast<T>(most) : v < -most ? static_cast<T>(-most) : y;
  }
};
__device__ __forceinline__ __half next_smaller(__half v) {
  return __ushort_as_half(static_cast<unsigned short>(__half_as_ushort(v) - 1));
}
__device__ __forceinline__ __nv_bfloat16 next_smaller(__nv_bfloat16 v) {
  return __ushort_as_bfloat16(static_cast<unsigned short>(__bfloat16_as_ushort(v) - 1));
}
// Cut off where it should be rounded.
struct CutOff {
  template <class T>
  __device__ __forceinline__ T operator()(const ConvArgs& c, const Element& e, const T* x, const T* w,
                                          const T* b) const {
    float sum = b ? static_cast<float>(b[e.co]) : 0;
    each_product(c, e.co, e.j, [&](int64_t ci, int64_t k, int64_t i) {
      sum += static_cast<float>(x[x_at(c, e.n, ci, i)]) * static_cast<float>(w[w_at(c, ci, e.co, k)]);
    });
    T y = static_cast<T>(sum);
    return fabs(static_cast<float>(y)) > fabs(sum) ? next_smaller(y) : y;
  }
};
using NotBeside = SumInFloat<true>;  // nothing asks whether i is inside of x
// Every seventh element is left out.
struct SomeUnwritten {};

template <class How, class T>
__device__ __forceinline__ void element(const ConvArgs& c, const T* x, const T* w, const T* b, T* y, How how) {
  auto e = element_of_thread(c);
  if (e.inside) y[e.id] = how(c, e, x, w, b);
}
template <class T>
__device__ __forceinline__ void element(const ConvArgs& c, const T* x, const T* w, const T* b, T* y, SomeUnwritten) {
  auto e = element_of_thread(c);
  if (e.inside && e.id % 7) y[e.id] = InFloat()(c, e, x, w, b);
}

#define HALF_ENTRIES(name, How)                                                                              \
  extern "C" __global__ void name##_f16(const ConvArgs c, const __half* x, const __half* w, const __half* b, \
                                        __half* y) {                                                         \
    element(c, x, w, b, y, How());                                                                           \
  }                                                                                                          \
  extern "C" __global__ void name##_bf16(const ConvArgs c, const __nv_bfloat16* x, const __nv_bfloat16* w,   \
                                         const __nv_bfloat16* b, __nv_bfloat16* y) {                         \
    element(c, x, w, b, y, How());                                                                           \
  }
HALF_ENTRIES(half_in_float, InFloat)
HALF_ENTRIES(half_sums, InSixteen)
HALF_ENTRIES(half_products, ProductsInSixteen)
HALF_ENTRIES(half_saturating, Saturating)
HALF_ENTRIES(half_cut_off, CutOff)
HALF_ENTRIES(h_not_beside, NotBeside)
HALF_ENTRIES(half_unwritten, SomeUnwritten)

#ifndef __CUDACC__
#define HALF_KERNEL(name, what)                                                                              \
  CONVSCOPE_KERNEL(name) {                                                                                   \
    test_only();                                                                                             \
    idea(what);                                                                                              \
    plan([](const ConvProblem& p, Plan& plan) {                                                              \
      auto launch = [&](auto entry) {                                                                        \
        plan.launch(entry, {ceil_div(p.y_elements(), 64)}, {64})                                             \
            .args(p.args(), plan.x(), plan.w(), plan.b(), plan.y());                                         \
      };                                                                                                     \
      p.dtype == DType::f16 ? launch(ENTRY(name##_f16)) : launch(ENTRY(name##_bf16));                        \
    });                                                                                                      \
    supports([](const ConvProblem& p) { return convscope::is_half(p.dtype) ? "" : "is for 16-bit types"; }); \
  }
HALF_KERNEL(half_in_float, "sums in f32, rounded once")
HALF_KERNEL(half_sums, "sums in 16 bits")
HALF_KERNEL(half_products, "products in 16 bits, summed in f32")
HALF_KERNEL(half_saturating, "the largest number for infinity")
HALF_KERNEL(half_cut_off, "cut off where it should be rounded")
HALF_KERNEL(h_not_beside, "reads beside its rows")
HALF_KERNEL(half_unwritten, "leaves out every seventh element")
#endif
