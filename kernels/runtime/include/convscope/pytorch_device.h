// What PyTorch's headers give to kernels beside accessors: types of sums, atomic additions, loops over a grid (ATen's
// OpMathType.h, AccumulateType.h, ceil_div.h, cuda/Atomic.cuh, native/cuda/KernelUtils.cuh, c10's macros). For the
// emulator and, by nvcc, for a GPU. Included by host_code.h alone.
#pragma once
#include <cstdint>
#include <type_traits>

#include "convscope/half.h"
#include "convscope/kernel.h"
#include "convscope/pytorch_half.h"

#define C10_HOST_DEVICE __host__ __device__
#define C10_DEVICE __device__
#define C10_HOST __host__
#define C10_LAUNCH_BOUNDS_0 __launch_bounds__(256, 4)
#define C10_LAUNCH_BOUNDS_1(threads) __launch_bounds__(threads)
#define C10_LAUNCH_BOUNDS_2(threads, blocks) __launch_bounds__(threads, blocks)
#define C10_RESTRICT __restrict__
#define C10_WARP_SIZE 32

// For i in [0, n), each thread of the grid in turn.
#define CUDA_KERNEL_LOOP_TYPE(i, n, T)                                                                         \
  for (int64_t convscope_at = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; convscope_at < (n); \
       convscope_at += static_cast<int64_t>(blockDim.x) * gridDim.x)                                           \
    if (const T i = static_cast<T>(convscope_at); true)
#define CUDA_KERNEL_LOOP(i, n) CUDA_KERNEL_LOOP_TYPE(i, n, int)

namespace at {

template <class T>
struct OpMathType {
  using type = std::conditional_t<sizeof(T) == 2 && !std::is_integral_v<T>, float, T>;
};
template <class T>
using opmath_type = typename OpMathType<T>::type;

// What sums are made in: on the GPU float for 16-bit elements and for float, int64_t for integers.
template <class T, bool on_gpu>
struct AccumulateType {
  using type = std::conditional_t<
      std::is_same_v<T, bool>, bool,
      std::conditional_t<std::is_integral_v<T>, int64_t,
                         std::conditional_t<std::is_same_v<T, float> && !on_gpu, double, opmath_type<T>>>>;
};
template <class T, bool on_gpu>
using acc_type = typename AccumulateType<T, on_gpu>::type;

template <class T>
__host__ __device__ constexpr T ceil_div(T a, T b) {
  return (a + b - 1) / b;
}

}  // namespace at

template <class T>
__device__ __forceinline__ T gpuAtomicAdd(T* p, std::type_identity_t<T> v) {
  return atomicAdd(p, v);
}
// PyTorch's own types by way of CUDA's.
__device__ __forceinline__ at::Half gpuAtomicAdd(at::Half* p, at::Half v) {
  return atomicAdd(reinterpret_cast<__half*>(p), static_cast<__half>(v));
}
__device__ __forceinline__ at::BFloat16 gpuAtomicAdd(at::BFloat16* p, at::BFloat16 v) {
  return atomicAdd(reinterpret_cast<__nv_bfloat16*>(p), static_cast<__nv_bfloat16>(v));
}
template <class T>
__device__ __forceinline__ void gpuAtomicAddNoReturn(T* p, std::type_identity_t<T> v) {
  gpuAtomicAdd(p, v);
}
