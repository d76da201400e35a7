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
  char tensor = 'x';  // x, w, b, or y when the output itself is read; '-': shared memory that nobody has written
  int64_t index = 0;  // flat; negative or beyond the tensor: outside of it
  std::string file;
  int line = 0;
  // Where it lay: in the tensor itself, or as a copy, which is known by its value (coded_inputs.h). other: constants
  // and variables of the file.
  enum class Where : uint8_t { tensor, shared, workspace, other } where = Where::tensor;
  // Of a copy in shared memory, the line that wrote it there; "" where that is not known.
  std::string from_file = {};
  int from_line = 0;
  bool awaited = false;  // of '-': that line has ordered a copy to it, which nobody has waited for
  bool unused = false;   // it does not belong to the element, and another value there changes nothing
};

struct ElementTrace {
  std::string reason;                  // why there is none; the rest is empty then
  std::vector<ElementWriter> writers;  // in the order seen, at most 8
  int64_t writes = 0;                  // to the element, in all
  // Of the first writer before its write, at most 4096. Not what it only copied to shared memory: that is read there.
  std::vector<ElementRead> reads;
  int64_t reads_total = 0;
  // Reads of shared memory, a workspace or constants that are no copies of inputs, and values of other lanes (shuffles,
  // votes, matrices of a warp).
  int64_t unknown = 0;
  bool through_shared = false, through_workspace = false;
  // Elements of the output that it wrote together with this one, this one among them, at most 4096: what it read is
  // for all of them. Flat, in the kernel's own output, whose rows are `length` long.
  std::vector<int64_t> together;
  // Where it is written several times, or not all that was read is known: inputs that reach it and do not belong to it,
  // some of them, each with the lines that read it, for whichever thread; whether they were looked for.
  std::vector<ElementRead> reaching;
  bool looked_for_reaching = false;
  bool products = false;  // x and w are read in turn, and what they make in turn was written (f32 and f64)
  int64_t length = 0;
};

// Runs the kernel twice, traced, on the emulator: on these inputs for the writers, then, where it can that block alone,
// on coded ones (coded_inputs.h) for the reads. Too large a problem is a reason, not an error.
// Errors: InputError when n, co or j is outside the output; KernelFault; Cancelled.
ElementTrace trace_element(const KernelDefinition& kernel, const ConvProblem& p, const InputSpec& inputs, int64_t n,
                           int64_t co, int64_t j, Activity& activity);

}  // namespace convscope
