// Races between launches: two of them that nothing orders (host code with several streams) touch the same memory, and
// one of them writes it. Told from what all their blocks access: the emulator and the timed runs here have all launches
// in one order, so that no such race ever shows in results.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/base/activity.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/simt/trace.h"
#include "kernels/verify/memory_cells.h"

namespace convscope {

class LaunchRaceFinder {
 public:
  struct Side {
    size_t launch = 0;
    uint64_t pc = 0;  // 0: nobody
    bool writes = false;
  };
  struct Found {
    uint64_t cell = 0;
    Side first, second;
  };
  LaunchRaceFinder(const std::vector<Launch>& launches, const MemoryCells& cells);
  void take(size_t launch, std::span<const simt::Access> part);  // launches in their order; one call at a time
  const std::optional<Found>& found() const { return found_; }   // of the first pair, in the lowest cell that was met

 private:
  // Of each kind the last launch is remembered: a race may be missed, and none is made up. Two that are atomic are
  // none.
  struct Cell {
    Side writer, adder, reader;
  };
  bool unordered(size_t before, size_t launch) const;
  const std::vector<Launch>& launches_;
  const MemoryCells& memory_;
  std::vector<Cell> cells_;
  std::optional<Found> found_;
};

// A sentence, or "". Of plans whose launches are all in one order, at once. Errors: Cancelled, KernelFault.
std::string race_between_launches(Device& emulator, const KernelDefinition& traced, const Plan& plan,
                                  const ConvProblem& p, const Bindings& at, Activity& activity);

// A launch that is given x and does not wait for its caller's stream; of host code that returns a tensor one that that
// stream does not wait for; "". Nothing is run.
std::string launch_nobody_waits_for(const Plan& plan);

}  // namespace convscope
