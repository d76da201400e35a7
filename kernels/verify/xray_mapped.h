// A problem whose products were mapped, and what is to be seen in them (private to xray).
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "kernels/verify/index_channels.h"

namespace convscope {

struct Mapped {
  ConvProblem problem;
  bool right = false;
  std::optional<Structure> structure;
  std::string deviation, length;  // what is wrong, where it is
  IndexMap map = {};
};
Mapped mapped_of(IndexMap m);
std::vector<const IndexMap*> maps_of(const std::vector<Mapped>& all);
// Errors: as those of index_map().
Mapped mapped_on(Device& device, const KernelDefinition& kernel, const ConvProblem& q, Activity& activity);
// Nothing where the kernel does not take it, or fails. Errors: Cancelled; DeviceError when the device cannot be used
// again.
std::optional<Mapped> maybe_mapped_on(Device& device, const KernelDefinition& kernel, const ConvProblem& q,
                                      Activity& activity);
// The input channels that it leaves out on a problem, in words; "". Errors: likewise.
std::string left_on(Device& device, const KernelDefinition& kernel, const ConvProblem& q, Activity& activity);

// The outputs that nobody writes on a problem, in words: "output channels 5, 9 of 11 are never written"; "" where they
// are the last in memory and no whole channels or sequences, or the problem is too large. Errors: likewise.
std::string outputs_left_on(Device& device, const KernelDefinition& kernel, const ConvProblem& p, Activity& activity);

}  // namespace convscope
