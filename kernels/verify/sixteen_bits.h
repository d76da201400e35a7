// Of a kernel of f16 or bf16 whose products are the definition's: what is rounded to 16 bits that should not be. Sums
// of three products whose results tell: 2048 + 1 − 2048 is 1 in f32 and 0 in f16.
#pragma once
#include <string>

#include "kernels/base/activity.h"
#include "kernels/problem/conv_problem.h"
#include "kernels/runtime/device.h"

namespace convscope {

// "sums are kept in f16, where f32 belongs: 2048 + 1 − 2048 comes out as 0"; products that are rounded before they are
// added, results that are cut off and not rounded, the largest number for infinity alike. "": none of these, or p is of
// another type, or the kernel takes no problem like it that has three products for an output. Errors: Cancelled;
// DeviceError when the device cannot be used again.
std::string rounded_to_sixteen_bits(Device& device, const KernelDefinition& kernel, ConvProblem p, Activity& activity);

}  // namespace convscope
