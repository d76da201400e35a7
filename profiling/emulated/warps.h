// Single accesses put together again into what a warp's instruction does: requests, sectors and shared memory cycles.
//
// The emulator runs a block's threads one after another. What the threads of a warp access at one place of the source
// in the same rounds of their loops counts as one instruction of the warp, as a GPU brings threads together again after
// each branch. Where a round has several accesses at one place (a call that is not inlined), the n-th of each thread
// belong together.
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
// Different bytes that its threads touch: those of threads that share an address count once.
uint64_t bytes_of(const WarpInstruction& w);
// Cycles of shared memory, and how many of them only repeat because threads met in a bank.
struct Wavefronts {
  int all = 0, conflicts = 0;
};
Wavefronts wavefronts_of(const WarpInstruction& w);

struct WarpCounts {
  uint64_t load_requests = 0, load_sectors = 0, store_requests = 0, store_sectors = 0;
  uint64_t load_bytes = 0, store_bytes = 0;            // that threads asked for
  uint64_t load_used_bytes = 0, store_used_bytes = 0;  // different ones among those of a request
  uint64_t load_lanes = 0, store_lanes = 0;            // threads that took part in requests
  uint64_t shared_requests = 0, shared_lanes = 0;
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
    struct Thread {
      uint64_t round = 0;
      uint32_t times = 0;  // in this round
      size_t next = 0;     // the instruction that is likely to be its next one
    };
    struct Warp {
      std::vector<WarpInstruction> list;
      std::vector<uint64_t> keys;                   // of each: round and times
      std::unordered_map<uint64_t, size_t> places;  // in the list
    };
    std::vector<Thread> threads;
    std::vector<Warp> warps;
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
