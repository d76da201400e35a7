// Times of calls whose weights were packed before, as inference has them, beside those of whole plans.
//
// The calls of a sample follow each other as they do in a model. So a launch that may begin early (Launch::early) does
// so while the call before it ends, also where packing stood before it: that is how an export runs, and is kept.
// Samples are apart: an event lies between them, which no launch passes.
#pragma once
#include <functional>
#include <string>

#include "kernels/runtime/device.h"
#include "kernels/verify/guarded.h"

namespace convscope {

struct PackedTimes {
  bool packs = false;          // whether the plan packs weights in launches of their own
  Timing hot = {}, cold = {};  // measured: of the plan without the launches that pack
  Timing packing = {};         // measured: of these launches alone, hot
  std::string missing;         // why there are none; "" where there are
};

// Why a plan has no such times on this device, or "".
std::string no_packed_times(const Plan& plan, const Device& device);

// All three; without any where no_packed_times() has a reason. The workspace is that of a whole call, which runs first.
// Errors: those of Device::time.
PackedTimes packed_times(Device& device, const KernelDefinition& kernel, const Plan& plan, const Bindings& at,
                         const TimingOptions& options, Activity* activity);

// What is odd of packed calls, or "". With the weights as they are and other values of x, a packed call must give what
// the whole plan gives: else a launch that packs does more, which packed times would leave out. Where two whole calls
// give different sums, packed ones may be off by about as much. `whole` and `packed` run a call each. x is left
// changed.
std::string packed_calls_look_honest(GuardedTensor& x, GuardedTensor& y, DType dtype,
                                     const std::function<void()>& whole, const std::function<void()>& packed,
                                     Activity* activity);

}  // namespace convscope
