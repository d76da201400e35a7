// What <cuda_pipeline.h> has, for the emulator: copies that a thread orders and waits for later (CUDA C++ Programming
// Guide, "Pipeline primitives"). They are done when the call returns: a wait that is missing is not seen.
#pragma once
#include "convscope/kernel.h"

// 4, 8 or 16 bytes, of which the last `zeros` are not read, and are 0.
inline void __pipeline_memcpy_async(void* to, const void* from, size_t bytes, size_t zeros = 0) {
  const size_t read = zeros < bytes ? bytes - zeros : 0;
  if (read == 16) {
    *static_cast<float4*>(to) = *static_cast<const float4*>(from);
  } else {
    auto* t = static_cast<float*>(to);
    const auto* f = static_cast<const float*>(from);
    size_t at = 0;
    for (; at + 4 <= read; at += 4) *t++ = *f++;
    for (; at < read; at++) reinterpret_cast<char*>(to)[at] = static_cast<const char*>(from)[at];
    for (; at < bytes; at++) reinterpret_cast<char*>(to)[at] = 0;
  }
}
inline void __pipeline_commit() {}
inline void __pipeline_wait_prior(size_t) {}
