// Of a kernel that is right on the problem that was asked about, or on a piece of it: with which other sizes it is
// wrong. A kernel that was written for one layer has its numbers in loops and addresses, where a formula of small
// problems does not find them; one that takes its loops' turns in fours, or its tiles whole, leaves the rest.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "kernels/base/activity.h"
#include "kernels/runtime/device.h"
#include "kernels/verify/accuracy.h"

namespace convscope {

struct FixedSizes {
  // "right with 32 input channels, wrong with 33 and 64": one for each size with which it was right, and with nothing
  // else that was tried; "right where the number of input channels is a multiple of 4 (4 and 8 were tried), wrong with
  // 1 and 5". All other sizes are as they were asked for, lengths and batches maybe less.
  std::vector<std::string> faults;
  bool wrong_here = false;  // the problem that was asked about has none of the multiples
  std::vector<std::pair<std::string, int64_t>> parameters;  // whose sizes these are, by names of the command line
};

struct FixedLimits {
  bool all = true;     // kernel size, stride, padding, dilation and output_padding too, not the sizes of tensors alone
  bool pieces = true;  // a shorter problem with fewer sequences may stand for p
  double seconds = 1e9;  // nothing is begun after so long, nor after some seconds anyway
};

// Nothing where no piece that is soon run is right, nor would be with a rounder number of channels. Errors: Cancelled;
// DeviceError when the device cannot be used again.
FixedSizes fixed_sizes(Device& device, const KernelDefinition& kernel, const ConvProblem& p, Accuracy accuracy,
                       const FixedLimits& limits, Activity& activity);

}  // namespace convscope
