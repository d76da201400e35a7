// Of a kernel whose products are the definition's on small problems: whether its sizes are what it is wrong by. Pieces
// of the problem that was asked about are judged, and the first that fails is made as small as it goes.
#pragma once
#include <optional>
#include <string>

#include "kernels/base/activity.h"
#include "kernels/runtime/device.h"
#include "kernels/verify/accuracy.h"
#include "kernels/verify/index_map.h"

namespace convscope {

struct SizeFault {
  ConvProblem smallest;  // on which it was seen to be wrong
  bool least = false;    // no smaller one fails; else the time was over
  // "only input channels 0–15 of 17 are summed", "y[0, 0, 0] lacks x[0, 16, 0]·w[16, 0, 0]"; "" where its products are
  // the definition's there, too, or cannot be mapped (mapped)
  std::string what;
  bool mapped = false;
  std::optional<IndexMap> odd;  // of products that have no structure
  std::string beside;  // "reads element 3 of x, …", "has a race …": what the verdict says of memory or order there
  int launches = 0;    // of the map
};

// Of a kernel that is wrong on p, or on a shorter problem where p takes long.
struct SeenBeside {
  std::string carried;  // how sums go on from one output to another (Pattern::carried)
  std::string race;     // "a race in block 0: …"
  std::string unset;    // a variable, or shared memory, that is used before anything was put into it
};
// Errors: as below.
SeenBeside seen_beside(Device& device, const KernelDefinition& kernel, const ConvProblem& p, Accuracy accuracy,
                       Activity& activity);

// What a bias that is added once for each channel of a small problem is with 16: "4 times with 16 input channels", of a
// sum in parts; "" where it is once for each there, too, or cannot be told. Errors: as below.
std::string bias_of_more_channels(Device& device, const KernelDefinition& kernel, ConvProblem p, Accuracy accuracy,
                                  Activity& activity);

// Whether its sums are right on q. Nothing where it cannot be run there, or is wrong beside its sums, of which the
// x-ray says nothing. Errors: as below.
std::optional<bool> sums_are_right(Device& device, const KernelDefinition& kernel, const ConvProblem& q,
                                   Accuracy accuracy, Activity& activity);

// Nothing where no piece fails. limit_s: no further problem is begun after so long. Errors: Cancelled; DeviceError when
// the device cannot be used again.
std::optional<SizeFault> size_fault(Device& device, const KernelDefinition& kernel, const ConvProblem& p,
                                    Accuracy accuracy, double limit_s, Activity& activity);

}  // namespace convscope
