// What a GPU's counters of memory would say of a kernel, counted on the emulator by tracing every access.
#pragma once
#include <string>
#include <vector>

#include "kernels/problem/inputs.h"
#include "kernels/runtime/device.h"
#include "profiling/emulated/warps.h"
#include "profiling/metrics/metrics.h"

namespace convscope {

// The share of one source line, by the names of line_counters().
struct LineCounts {
  std::string file;  // as the compiler was given it
  int line = 0;
  Counters values;
};
struct LineCounter {
  const char *name, *unit;
  uint64_t WarpCounts::*count;
};
// Requests of warps, sectors of 32 bytes that they touch, bytes that threads asked for, different ones among them
// (used) and threads that took part (lanes), of global loads and stores; requests and cycles of shared memory, and
// those of the cycles that threads met in a bank for; accesses of single threads.
const std::vector<LineCounter>& line_counters();

struct EmulatedCounters {
  Counters values;                     // by the names of the set `memory` and of emulated_metrics()
  std::vector<LineCounts> lines;       // by file and line; those that touch no memory are not there
  int64_t blocks = 0, all_blocks = 0;  // those that were counted; all others are taken to be like them
  std::string missing;                 // why there is nothing
};

// Runs the kernel's traced twin on an emulator: of a large grid only some of the blocks. Errors: as a run's; Cancelled.
EmulatedCounters count_emulated(const KernelDefinition& kernel, const ConvProblem& p, const Inputs& inputs,
                                Activity& activity);

}  // namespace convscope
