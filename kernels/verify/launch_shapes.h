// Whether another grid or block makes a wrong kernel right: sides that are exchanged, or are another number than they
// should be. Seen from outside, by launching it so; a kernel that is right with one change of its launch alone on
// problems whose sizes all differ has its fault there.
#pragma once
#include <optional>
#include <string>

#include "kernels/base/activity.h"
#include "kernels/runtime/device.h"

namespace convscope {

struct LaunchShapeFault {
  // "grid.x and grid.y of its launch are exchanged: with them the other way round it is right on 9 small problems"
  std::string what;
  std::string is, right;  // "grid.y = Cin", "grid.y = Cout"; "" of sides that are exchanged
  int launches = 0;
};

// On the emulator, on small problems like p and on longer ones. Nothing where it is right on all of them, or no one
// change makes it so. Another launch of a kernel that asks for no bounds writes far beside its tensors: in the engine
// that ends the launch (crash.h), and elsewhere the process. Errors: Cancelled.
std::optional<LaunchShapeFault> launch_shape_fault(const KernelDefinition& kernel, const ConvProblem& p,
                                                   Activity& activity);

}  // namespace convscope
