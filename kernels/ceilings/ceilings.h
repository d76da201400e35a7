// Small kernels that do one thing as fast as a GPU can: what its memory, its caches and its arithmetic reach.
//
// Each plan is one launch, whose work is known to the byte or operation. They run on a GPU only: the loops are PTX,
// which the compiler cannot shorten.
#pragma once
#include "convscope/plan.h"

namespace convscope {

// Copies x to y; `bytes` is a multiple of 2^16, of each. Moves 2·bytes.
Plan copy_ceiling(int64_t bytes);
Plan stream_ceiling(int64_t bytes);  // the same, one piece of 16 bytes a thread, marked as used once
// Reads x again and again past the L1 cache; `bytes` is a power of two that fits the L2 cache.
struct L2Work {
  int64_t bytes;   // of x
  int64_t blocks;  // of 256 threads
  int rounds;      // of 4 loads of 16 bytes by each thread
  double moved() const { return static_cast<double>(blocks) * 256 * 4 * 16 * rounds; }
};
Plan l2_ceiling(const L2Work& w);
// Work that all threads of `blocks` blocks of 256 do `rounds` times.
struct RoundsWork {
  int64_t blocks;
  int rounds;
  double threads() const { return static_cast<double>(blocks) * 256; }
  double times(double of_a_thread) const { return threads() * rounds * of_a_thread; }
};
Plan shared_ceiling(const RoundsWork& w);  // bytes of shared memory: times(8 · 16)
Plan ffma_ceiling(const RoundsWork& w);    // operations in f32: times(2 · 256)
Plan dfma_ceiling(const RoundsWork& w);    // operations in f64: times(2 · 256)
// Tensor cores, operations: mma.sync of a warp, times(8 · 2 · 16 · 8 · k / 32) with k 8 (TF32) or 16 (f16, needs sm_80;
// sums in f32).
Plan mma_tf32_ceiling(const RoundsWork& w);
Plan mma_f16_ceiling(const RoundsWork& w);
// wgmma of a warp group (sm_90a): times(4 · 2 · 64 · 256 · k / 128).
Plan wgmma_tf32_ceiling(const RoundsWork& w);
Plan wgmma_f16_ceiling(const RoundsWork& w);

}  // namespace convscope
