// The kernels of matrix products (products.h), compiled as those of host_kernels.h are.
#pragma once
#include "convscope/half_functions.h"
#include "convscope/product.h"

template <class T, class Sum>
__device__ inline void convscope_multiply(T* c, const T* a, const T* b, const convscope::host::Product& p) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= p.m * p.n * p.batch) return;
  // Neighbouring threads have neighbouring results.
  const long long rest = i % (p.m * p.n), batch = i / (p.m * p.n);
  const long long m = p.c_m == 1 ? rest % p.m : rest / p.n, n = p.c_m == 1 ? rest / p.m : rest % p.n;
  a += batch * p.a_batch + m * p.a_m, b += batch * p.b_batch + n * p.b_n,
      c += batch * p.c_batch + m * p.c_m + n * p.c_n;
  Sum sum = 0;
  for (long long k = 0; k < p.k; k++) sum += static_cast<Sum>(a[k * p.a_k]) * static_cast<Sum>(b[k * p.b_k]);
  sum *= static_cast<Sum>(p.alpha);
  if (p.beta != 0) sum += static_cast<Sum>(p.beta) * static_cast<Sum>(*c);  // else it need not have been written
  *c = static_cast<T>(sum);
}
extern "C" __global__ void convscope_product_f32(float* c, const float* a, const float* b, convscope::host::Product p) {
  convscope_multiply<float, float>(c, a, b, p);
}
extern "C" __global__ void convscope_product_f64(double* c, const double* a, const double* b,
                                                 convscope::host::Product p) {
  convscope_multiply<double, double>(c, a, b, p);
}
extern "C" __global__ void convscope_product_f16(__half* c, const __half* a, const __half* b,
                                                 convscope::host::Product p) {
  convscope_multiply<__half, float>(c, a, b, p);
}
extern "C" __global__ void convscope_product_bf16(__nv_bfloat16* c, const __nv_bfloat16* a, const __nv_bfloat16* b,
                                                  convscope::host::Product p) {
  convscope_multiply<__nv_bfloat16, float>(c, a, b, p);
}
