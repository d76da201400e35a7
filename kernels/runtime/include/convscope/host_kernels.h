// The kernels by which what PyTorch and the CUDA runtime do to memory is done (host_code.h). nvcc compiles them with
// each file; for the emulator they are the same for every file, and compiled once (host_operations.cpp). Included after
// host_code.h.
#pragma once
#include "convscope/host_code.h"

// torch::zeros and cudaMemset, in 2-byte elements.
extern "C" __global__ void convscope_clear(unsigned short* to, long long elements) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < elements) to[i] = 0;
}

// cudaMemcpy from device to device; likewise.
extern "C" __global__ void convscope_copy(unsigned short* to, const unsigned short* from, long long elements) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < elements) to[i] = from[i];
}

// contiguous() and clone(), an element a thread, of `halves` times 2 bytes.
extern "C" __global__ void convscope_turn(unsigned short* to, const unsigned short* from, long long elements,
                                          int halves, convscope::host::Order order) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= elements) return;
  long long rest = i, at = 0;
  for (int d = order.dims - 1; d >= 0; d--) at += rest % order.sizes[d] * order.strides[d], rest /= order.sizes[d];
  for (int h = 0; h < halves; h++) to[i * halves + h] = from[at * halves + h];
}

// Sums of tensors, copies into parts of one, and what is filled with another number than 0.
template <class T, class Real>
__device__ inline void convscope_add_up(T* to, const T* a, const T* b, long long i, const convscope::host::Sum& s) {
  long long rest = i, at = 0, of_a = 0, of_b = 0;
  for (int d = s.dims - 1; d >= 0; d--) {
    const long long e = rest % s.sizes[d];
    at += e * s.to[d], of_a += e * s.a[d], of_b += e * s.b[d], rest /= s.sizes[d];
  }
  if (a && !b && s.constant == 0) {
    to[at] = a[of_a];
    return;
  }
  Real sum = a ? static_cast<Real>(a[of_a]) : 0;
  if (b) sum += static_cast<Real>(s.alpha) * static_cast<Real>(b[of_b]);
  to[at] = static_cast<T>(sum + static_cast<Real>(s.constant));
}
extern "C" __global__ void convscope_sum(void* to, const void* a, const void* b, long long elements,
                                         convscope::host::Sum s) {
  using convscope::host::ScalarType;
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= elements) return;
  auto as = [&]<class T, class Real>(T*, Real) {
    convscope_add_up<T, Real>(static_cast<T*>(to), static_cast<const T*>(a), static_cast<const T*>(b), i, s);
  };
  if (s.type == ScalarType::Float) as(static_cast<float*>(nullptr), 0.f);
  if (s.type == ScalarType::Double) as(static_cast<double*>(nullptr), 0.0);
  if (s.type == ScalarType::Half) as(static_cast<__half*>(nullptr), 0.f);
  if (s.type == ScalarType::BFloat16) as(static_cast<__nv_bfloat16*>(nullptr), 0.f);
}

// Tensor::to(): by way of float, as PyTorch's conversions of 16-bit types go.
extern "C" __global__ void convscope_convert(void* to, const void* from, long long elements,
                                             convscope::host::ScalarType to_type,
                                             convscope::host::ScalarType from_type) {
  using convscope::host::ScalarType;
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= elements) return;
  const float v = from_type == ScalarType::Float    ? static_cast<const float*>(from)[i]
                  : from_type == ScalarType::Double ? static_cast<float>(static_cast<const double*>(from)[i])
                  : from_type == ScalarType::Half   ? static_cast<float>(static_cast<const __half*>(from)[i])
                                                    : static_cast<float>(static_cast<const __nv_bfloat16*>(from)[i]);
  if (to_type == ScalarType::Float) static_cast<float*>(to)[i] = v;
  if (to_type == ScalarType::Double) static_cast<double*>(to)[i] = v;
  if (to_type == ScalarType::Half) static_cast<__half*>(to)[i] = static_cast<__half>(v);
  if (to_type == ScalarType::BFloat16) static_cast<__nv_bfloat16*>(to)[i] = static_cast<__nv_bfloat16>(v);
}

// torch.clamp(): what is no number stays none.
template <class T, class Real>
__device__ inline void convscope_limit(T* to, const T* from, Real low, Real high) {
  const Real v = static_cast<Real>(*from);
  *to = v < low ? static_cast<T>(low) : v > high ? static_cast<T>(high) : *from;
}
extern "C" __global__ void convscope_clamp(void* to, const void* from, long long elements,
                                           convscope::host::ScalarType type, double low, double high) {
  using convscope::host::ScalarType;
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= elements) return;
  auto as = [&]<class T, class Real>(T*, Real) {
    convscope_limit(static_cast<T*>(to) + i, static_cast<const T*>(from) + i, static_cast<Real>(low),
                    static_cast<Real>(high));
  };
  if (type == ScalarType::Float) as(static_cast<float*>(nullptr), 0.f);
  if (type == ScalarType::Double) as(static_cast<double*>(nullptr), 0.0);
  if (type == ScalarType::Half) as(static_cast<__half*>(nullptr), 0.f);
  if (type == ScalarType::BFloat16) as(static_cast<__nv_bfloat16*>(nullptr), 0.f);
}

// Products and the like, element by element; what is no number stays none. how: host::Tensor::Combine.
template <class T, class Real>
__device__ inline void convscope_combine_one(T* to, Real a, Real b, int how) {
  *to = static_cast<T>(how == 0   ? a * b
                       : how == 1 ? a / b
                       : how == 2 ? (a != a || a > b ? a : b)
                                  : (a != a || a < b ? a : b));
}
extern "C" __global__ void convscope_combine(void* to, const void* a, const void* b, long long elements,
                                             convscope::host::ScalarType type, int how) {
  using convscope::host::ScalarType;
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= elements) return;
  auto as = [&]<class T, class Real>(T*, Real) {
    convscope_combine_one<T, Real>(static_cast<T*>(to) + i, static_cast<Real>(static_cast<const T*>(a)[i]),
                                   static_cast<Real>(static_cast<const T*>(b)[i]), how);
  };
  if (type == ScalarType::Float) as(static_cast<float*>(nullptr), 0.f);
  if (type == ScalarType::Double) as(static_cast<double*>(nullptr), 0.0);
  if (type == ScalarType::Half) as(static_cast<__half*>(nullptr), 0.f);
  if (type == ScalarType::BFloat16) as(static_cast<__nv_bfloat16*>(nullptr), 0.f);
}

// To memory that a file declares, four bytes by each thread; zeros from a null pointer.
extern "C" __global__ void convscope_fill(unsigned char* to, const unsigned char* from, long long bytes) {
  const long long begin = 4 * (static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x);
  for (long long i = begin; i < begin + 4 && i < bytes; i++) to[i] = from ? from[i] : 0;
}

// Bytes that the host has: as many as an argument holds.
struct alignas(8) convscope_bytes {
  unsigned char all[248];
};
extern "C" __global__ void convscope_set(unsigned char* to, convscope_bytes from, long long bytes) {
  if (threadIdx.x < bytes) to[threadIdx.x] = from.all[threadIdx.x];
}
