// The small problems on which the x-ray maps a kernel's products.
#pragma once
#include <vector>

#include "kernels/runtime/device.h"

namespace convscope {

// The asked problem made small, then others whose terms differ from each other; none where the first does not exist.
std::vector<ConvProblem> small_problems(const KernelDefinition& kernel, const ConvProblem& p);

}  // namespace convscope
