// Whether a kernel of which maps say "right here, but not in general" is right on the problem itself (private to xray).
#pragma once
#include "kernels/verify/xray.h"

namespace convscope {

// What follows the small problems, in the order of their places among XrayLimits::left_out.
enum XrayStep : size_t {
  longer_ones,
  sizes,
  other_sizes,
  judged_ones,
  larger_ones,
  other_launches,
  behind_it,
  asked_one
};

// What xray() says before that is asked: a small problem, or a piece, has stood for the asked one.
Xray xray_by_stand_ins(Device& device, const KernelDefinition& kernel, const ConvProblem& p, Accuracy accuracy,
                       const XrayLimits& limits, Activity& activity);

}  // namespace convscope
