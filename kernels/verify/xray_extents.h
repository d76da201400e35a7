// What the threads of a kernel reach and leave, on problems of several sizes (private to xray).
#pragma once
#include <vector>

#include "kernels/verify/index_extent.h"
#include "kernels/verify/index_map.h"

namespace convscope {

// What its threads reach beside y, and what they leave, on the small problem that was mapped.
Extent extent_of(const IndexMap& m, const Plan& plan);

// A kernel whose grid is rounded down has no block on small problems, and one whose grid does not grow enough for them:
// what is left of longer ones, and of p itself where that is soon run. Errors: Cancelled; DeviceError when the device
// cannot be used again.
std::vector<Extent> extents_of_longer(Device& device, const KernelDefinition& kernel, const ConvProblem& p,
                                      Activity& activity);

}  // namespace convscope
