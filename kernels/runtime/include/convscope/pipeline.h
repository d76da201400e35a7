// What <cuda_pipeline.h> has, for the emulator: copies that a thread orders and waits for later (CUDA C++ Programming
// Guide, "Pipeline primitives").
#pragma once
#include "convscope/late_copies.h"

// 4, 8 or 16 bytes, of which the last `zeros` are not read, and are 0.
__forceinline__ void __pipeline_memcpy_async(void* to, const void* from, size_t bytes, size_t zeros = 0,
                                             const convscope::simt::Site& at_line = convscope::simt::Site::current()) {
  if (bytes != 4 && bytes != 8 && bytes != 16)
    convscope::simt::trap(at_line, "__pipeline_memcpy_async copies 4, 8 or 16 bytes");
  const size_t read = zeros < bytes ? bytes - zeros : 0;
  alignas(16) char v[16] = {};
  if (read == 16) {
    *reinterpret_cast<float4*>(v) = *static_cast<const float4*>(from);
  } else {
    const auto* f = static_cast<const char*>(from);
    size_t at = 0;
    for (; at + 4 <= read; at += 4) {
      const float word = *reinterpret_cast<const float*>(f + at);
      __builtin_memcpy(v + at, &word, 4);
    }
    for (; at < read; at++) v[at] = f[at];
  }
  convscope::simt::late_copy(to, v, static_cast<unsigned>(bytes), static_cast<unsigned>(bytes));
}
inline void __pipeline_commit() { convscope::simt::late_copies_commit(); }
inline void __pipeline_wait_prior(size_t prior) { convscope::simt::late_copies_wait(prior); }
