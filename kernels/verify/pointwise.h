// What is done to every result behind the layer: an activation, a limit, a scale, as kernels have it that were written
// for a layer and what follows it in a model. A result depends on the right one alone then, and which function of it it
// is can be read off random sums.
#pragma once
#include <string>
#include <vector>

#include "kernels/base/activity.h"
#include "kernels/runtime/device.h"
#include "kernels/verify/pattern.h"

namespace convscope {

// "negative values are 0, as behind a ReLU, which is not of the layer". rows: of sums of a few units (value_inputs()),
// in `type`. "" where they are right, or no function of the right ones gives nearly all of them.
std::string find_pointwise(DType type, const std::vector<SampleRow>& rows);

// The same of integers, as the exact pass has them: too large to tell apart what is nearly a ReLU, and all that there
// is where no other inputs are asked.
std::string find_activation(const std::vector<SampleRow>& rows);

// The same as find_pointwise() of a kernel that is run on p, which is small, or on a longer one like it. "" where it
// cannot be run, too. Errors: Cancelled; DeviceError when the device cannot be used again.
std::string behind_the_layer(Device& device, const KernelDefinition& kernel, ConvProblem p, Activity& activity);

}  // namespace convscope
