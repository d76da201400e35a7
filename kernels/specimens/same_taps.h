// When a wrong index is right all the same. Each specimen says in a line for which problems that is so in general; on
// very small ones (a single position, a stride beyond the whole output) more can be right by accident, so those are
// gone through tap by tap.
#pragma once
#include <cstdint>

#include "kernels/problem/conv_problem.h"

namespace convscope {

// Whether index(j, k), dropped where it is outside the input, is what belongs there for every output and tap. One that
// ignores groups is right only where it reads nothing.
template <class Index>
bool same_taps(const ConvProblem& p, bool has_groups, Index index) {
  for (int64_t j = 0; j < p.out_length(); j++)
    for (int64_t k = 0; k < p.kernel_size; k++) {
      int64_t i = index(j, k), t = j + p.padding - k * p.dilation;
      bool reads = i >= 0 && i < p.length, should = t >= 0 && t % p.stride == 0 && t / p.stride < p.length;
      if (reads != should || (reads && (i * p.stride != t || (p.groups > 1 && !has_groups)))) return false;
    }
  return true;
}

}  // namespace convscope
