// Which thread wrote an output element, and what it read for it: seen by running the traced twin of a kernel.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/base/activity.h"
#include "kernels/problem/inputs.h"
#include "kernels/runtime/device.h"

namespace convscope {

struct ElementWriter {
  int launch = 0;
  uint64_t block = 0;   // linear index in the grid
  uint32_t thread = 0;  // linear index in the block
  std::string file;
  int line = 0;
};

struct ElementRead {
  char tensor = 'x';  // x, w, b, or y when the output itself is read
  int64_t index = 0;  // flat; negative or beyond the tensor: outside of it
  std::string file;
  int line = 0;
};

struct ElementTrace {
  std::string reason;                  // why there is none; the rest is empty then
  std::vector<ElementWriter> writers;  // in the order seen, at most 8
  int64_t writes = 0;                  // to the element, in all
  std::vector<ElementRead> reads;      // of the first writer before its write, at most 4096
  int64_t reads_total = 0;
  // Other threads may have fetched what it used, or prepared it in the plan's workspace.
  bool through_shared = false, through_workspace = false;
};

// Runs the kernel twice, traced, on the emulator; too large a problem is a reason, not an error.
// Errors: InputError when n, co or j is outside the output; KernelFault; Cancelled.
ElementTrace trace_element(const KernelDefinition& kernel, const ConvProblem& p, const InputSpec& inputs, int64_t n,
                           int64_t co, int64_t j, Activity& activity);

}  // namespace convscope
