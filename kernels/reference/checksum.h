// Between the kernel file of checksums and who takes one (kernels/verify/guarded.cpp).
#pragma once
#include <cstdint>

#include "convscope/plan.h"

namespace convscope {

inline constexpr int64_t checksum_threads = 128 * 1024;

// x: the words; y: checksum_threads sums of 8 bytes, whose sum modulo 2⁶⁴ is the checksum.
Plan checksum_plan(int64_t words);
// The same on the host, of words [first, first + count) of a tensor.
uint64_t checksum_of(const uint64_t* words, int64_t first, int64_t count);

}  // namespace convscope
