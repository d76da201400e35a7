// The small problems on which the x-ray maps a kernel's products.
#pragma once
#include <vector>

#include "kernels/runtime/device.h"

namespace convscope {

// The asked problem made small, then others whose terms differ from each other; none where the first does not exist.
std::vector<ConvProblem> small_problems(const KernelDefinition& kernel, const ConvProblem& p);

// Each of them, a longer one of it with more sequences (several blocks along each side), and that with more output
// channels than anything else: no two sizes are alike on all of them.
std::vector<ConvProblem> small_and_longer_problems(const KernelDefinition& kernel, const ConvProblem& p);

// Problems as large as can be mapped: a warp, a tile or a part of a sum ends within none of the small ones.
struct LargerProblem {
  // A long row of the channels that the first small problem has; a longer one of one channel a group; few positions and
  // as many input channels of a group as p has; p itself, on fewer positions.
  enum Kind { row, one_channel, channels, as_asked } kind;
  ConvProblem problem;
};
// Those that the kernel takes.
std::vector<LargerProblem> larger_problems(const KernelDefinition& kernel, const ConvProblem& p);

}  // namespace convscope
