// The sizes of a map of products by the names that formulas have for them (private to the structure of a map).
#pragma once
#include "kernels/verify/index_map.h"

namespace convscope {

struct MapSizes {
  int64_t N, Cin, Cig, Cog, Cout, K, L, J, G, stride;
  explicit MapSizes(const IndexMap& m)
      : N(m.problem.batch),
        Cin(m.problem.in_channels),
        Cig(m.problem.in_per_group()),
        Cog(m.problem.out_per_group()),
        Cout(m.problem.out_channels),
        K(m.problem.kernel_size),
        L(m.problem.length),
        J(m.out_length),
        G(m.problem.groups),
        stride(m.problem.stride) {}
};

}  // namespace convscope
