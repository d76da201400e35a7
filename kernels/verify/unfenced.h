// What a block reads of another block of the same launch. Where that one has told of it by an atomic, and has no fence
// before it: the last block of a reduction reads parts of sums that need not be there yet. Atomics order nothing else
// by themselves (CUDA C++ Programming Guide, "Memory Fence Functions"). On the emulator, and on most runs of a GPU, the
// results are right. And where nobody has told anything: blocks of one launch run in any order.
#pragma once
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "kernels/runtime/simt/trace.h"
#include "kernels/verify/memory_cells.h"

namespace convscope {

class UnfencedFinder {
 public:
  struct Found {
    uint64_t cell = 0, writer_pc = 0, reader_pc = 0, writer_block = 0, reader_block = 0;
    uint16_t writer_thread = 0, reader_thread = 0;
    bool told = true;  // by an atomic without a fence; else not at all
  };
  explicit UnfencedFinder(const MemoryCells& cells) : memory_(cells), cells_(cells.count()) {}
  // Of a trace with reads and meetings; of each block in its order.
  void take(std::span<const simt::Access> part);  // from any thread
  // When the launch has ended: the lowest cell of them.
  std::optional<Found> found() const;

 private:
  struct Side {
    uint64_t block = 0, pc = 0;  // pc 0: nobody
    uint32_t when = 0;           // of the block's own accesses
    uint16_t thread = 0;
    bool tells = false;  // what is written first after a fence: a flag
  };
  struct Cell {
    Side writer, reader, other_reader;  // readers of different blocks
    bool several = false;               // blocks write it: another finder's, but where
    bool updated = false;               // one of them has read it before
  };
  struct Block {
    // When it did what last. published: the last fence that an atomic or a write follows.
    uint32_t now = 0, fence = 0, published = 0, atomic = 0, write = 0;
  };
  bool is_fenced(const Side& write) const;
  // Neither side has a fence or an atomic anywhere.
  bool nothing_orders(const Side& write, const Side& read) const;

  const MemoryCells& memory_;
  std::vector<Cell> cells_;
  std::unordered_map<uint64_t, Block> blocks_;
  std::mutex mutex_;
};

}  // namespace convscope
