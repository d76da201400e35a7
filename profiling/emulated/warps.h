// Single accesses put together again into what a warp's instruction does: requests, sectors and shared memory cycles.
//
// The emulator runs a block's threads one after another. The n-th access that each thread of a warp makes at one place
// of the source counts as one instruction of the warp. That is exact where the warp's threads go through that place
// equally often and together; where they skip rounds of a loop by themselves, a GPU issues more instructions than are
// counted here, each with fewer threads.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "kernels/runtime/simt/trace.h"

namespace convscope {

// Pieces of memory as a GPU sees them: 32 bytes of global memory, 32 banks of 4 bytes of shared memory.
struct WarpInstruction {
  uint32_t lanes = 0;  // bits of the threads that took part
  std::array<uint64_t, 32> address{};
  uint32_t size = 0;  // bytes of each
};
int sectors_of(const WarpInstruction& w);
// Cycles of shared memory, and how many of them only repeat because threads met in a bank.
struct Wavefronts {
  int all = 0, conflicts = 0;
};
Wavefronts wavefronts_of(const WarpInstruction& w);

struct WarpCounts {
  uint64_t load_requests = 0, load_sectors = 0, store_requests = 0, store_sectors = 0;
  uint64_t load_bytes = 0, store_bytes = 0;  // that threads asked for
  uint64_t shared_wavefronts = 0, shared_conflicts = 0;
  uint64_t accesses = 0;  // of single threads
  void add(const WarpCounts& o);
};
using PlaceCounts = std::unordered_map<uint64_t, WarpCounts>;  // by program counter

// Takes accesses in the order of the emulator's threads, and counts a block when it is over.
class WarpAssembler {
 public:
  // `is_global`: is this address in one of the problem's tensors? Everything else is shared memory.
  explicit WarpAssembler(std::function<bool(uint64_t)> is_global) : is_global_(std::move(is_global)) {}
  void take(const simt::Access& a);
  // The block whose accesses came last; ~0 at the beginning.
  uint64_t in_hand() const { return last_ ? last_->block : ~uint64_t{0}; }
  // Everything that is still open is over.
  const PlaceCounts& finish();

 private:
  struct Site {
    uint64_t pc = 0;
    simt::AccessKind kind = simt::AccessKind::read;
    bool global = false;
    std::vector<uint32_t> rounds;                     // of each thread
    std::vector<std::vector<WarpInstruction>> warps;  // by warp, then by round
  };
  struct Open {
    uint64_t block = 0;
    std::vector<Site> sites;
  };
  void close(Open& open);
  Site& site(Open& open, const simt::Access& a);

  std::function<bool(uint64_t)> is_global_;
  std::unordered_map<uint64_t, Open> open_;
  Open* last_ = nullptr;
  size_t last_site_ = 0;
  PlaceCounts counts_;
};

}  // namespace convscope
