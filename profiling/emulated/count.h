// What a GPU's counters of memory would say of a kernel, counted on the emulator by tracing every access.
#pragma once
#include <string>

#include "kernels/problem/inputs.h"
#include "kernels/runtime/device.h"
#include "profiling/emulated/warps.h"
#include "profiling/metrics/metrics.h"

namespace convscope {

struct EmulatedCounters {
  Counters values;                     // by the names of the set `memory`
  int64_t blocks = 0, all_blocks = 0;  // those that were counted; all others are taken to be like them
  std::string missing;                 // why there is nothing
};

// Runs the kernel's traced twin on an emulator. Errors: as a run's; Cancelled.
EmulatedCounters count_emulated(const KernelDefinition& kernel, const ConvProblem& p, const Inputs& inputs,
                                Activity& activity);

}  // namespace convscope
