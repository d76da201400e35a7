// Copies from device memory to shared memory that a thread orders and does not wait for (cp.async), for the GPU and the
// emulator alike. Before sm_80 they are plain copies, done when the call returns.
//
//   copy_async<16>(to, from, true)   4, 8 or 16 bytes, both addresses aligned to that; false: zeros instead, and
//                                    `from` is not read
//   copies_commit()                  what this thread ordered so far is one group
//   copies_wait<n>()                 until at most n of this thread's groups are on their way; a barrier then shows
//                                    everyone's copies to all
#pragma once
#include "convscope/late_copies.h"

template <int bytes>
__device__ __forceinline__ void copy_async(void* to, const void* from, bool valid) {
  static_assert(bytes == 4 || bytes == 8 || bytes == 16, "what cp.async can copy");
#ifndef __CUDACC__
  using Words = std::conditional_t<bytes == 16, float4, std::conditional_t<bytes == 8, double, float>>;
  Words v{};
  if (valid) v = *static_cast<const Words*>(from);
  convscope::simt::late_copy(to, &v, bytes, bytes);
#else
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile(
      "cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))),
      "l"(from), "n"(bytes), "r"(valid ? bytes : 0)
      : "memory");
#else
  if constexpr (bytes == 16)
    *static_cast<float4*>(to) = valid ? *static_cast<const float4*>(from) : make_float4(0, 0, 0, 0);
  else if constexpr (bytes == 8)
    *static_cast<double*>(to) = valid ? *static_cast<const double*>(from) : 0.0;
  else
    *static_cast<float*>(to) = valid ? *static_cast<const float*>(from) : 0.0f;
#endif
#endif
}

__device__ __forceinline__ void copies_commit() {
#ifndef __CUDACC__
  convscope::simt::late_copies_commit();
#else
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
#endif
}

template <int pending>
__device__ __forceinline__ void copies_wait() {
#ifndef __CUDACC__
  convscope::simt::late_copies_wait(pending);
#else
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
#endif
#endif
}
