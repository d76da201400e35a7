// Races between the threads of a block: two of them touch the same memory, one of them writes, and nothing orders the
// two accesses.
//
// Told from what a traced kernel accesses and where its threads meet, not from what came out: the emulator runs a
// block's threads one after another, so that an order in which a race shows may never happen. Vector clocks, with the
// last access in the place of its clock (Flanagan & Freund, FastTrack: Efficient and Precise Dynamic Race Detection,
// PLDI 2009). What orders: __syncthreads, __syncwarp, named barriers, mbarriers, atomics and words that are waited for.
// Shuffles and votes do not (CUDA C++ Programming Guide, "Warp Shuffle Functions"). An order that a lock's object
// accumulates over all its phases is taken for one of each phase, and of readers two are remembered: a race may be
// missed, and none is made up. Two that write the same value are none, as for compute-sanitizer's racecheck; whether it
// is the same, the next access of that memory shows. What the copy engine writes is its thread's; what it reads of
// shared memory, and what wgmma reads there, is not among the accesses. Copies that a thread waits for later write when
// it has waited; nobody may still read there when they are ordered.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernels/base/activity.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/simt/trace.h"
#include "kernels/verify/shared_rows.h"

namespace convscope {

struct Race {
  struct Side {
    bool writes = false;
    uint16_t thread = 0;
    uint64_t pc = 0;
    bool copies = false;  // by a copy that it waits for later, or that the copy engine makes
  };
  uint64_t block = 0, address = 0;
  Side first, second;       // in the order in which they were seen
  bool on_its_way = false;  // the second reads what the first has ordered a copy of, which is not there yet
};

// A read of shared memory that no thread of the block has written.
struct UnsetRead {
  uint64_t block = 0, pc = 0;
  uint16_t thread = 0;
  uint64_t address = 0;
  uint32_t size = 0;       // bytes
  uint64_t writer_pc = 0;  // of what stands around it, when the block is over
  SharedRows written, read;
};

class RaceFinder {
 public:
  void take(const simt::Access& a);
  uint64_t in_hand() const { return block_; }
  // The first that was met, once all has been taken.
  const std::optional<Race>& race() {
    settle();
    return race_;
  }
  const std::optional<UnsetRead>& unset() {  // as race()
    settle();
    return unset_;
  }
  // Whether all accesses of its blocks were looked at, or of some the first most_accesses.
  bool whole() const { return whole_; }
  static constexpr uint64_t most_accesses = 200'000;

 private:
  static constexpr size_t most_threads = 1024;
  using Clocks = std::array<uint32_t, most_threads>;
  struct Epoch {
    uint32_t clock = 0;  // 0: none
    uint16_t thread = 0;
    bool copies = false;
    uint64_t pc = 0;
  };
  struct Cell {
    Epoch writer, reader, other_reader;
    Epoch ordered;        // a copy that is on its way
    bool atomic = false;  // the writer
    Epoch plain;          // the last that wrote it without an atomic, whatever atomics came since
  };
  struct Thread {
    std::shared_ptr<const Clocks> others;  // what it knows of them
    uint32_t own = 1;
  };
  struct Object {
    Clocks clocks{};
    std::vector<std::shared_ptr<const Clocks>> joined;
    std::shared_ptr<const Clocks> snapshot;  // of clocks; null when they have changed
  };
  void begin(uint64_t block);
  bool before(const Epoch& e, uint16_t thread) const;
  void release(uint16_t thread, Object& to);
  void acquire(uint16_t thread, Object& from);
  void access(const simt::Access& a);
  bool meets_a_plain_write(const simt::Access& atomic);
  static bool copies(const simt::Access& a);
  void found(const simt::Access& a, const Epoch& e, bool it_writes);
  // Two writes that nothing orders: a race, unless the second turns out to have written what the first had.
  struct Suspicion {
    Race race;
    uint16_t first_value = 0;
  };
  void look_again(uint64_t cell, uint16_t value);
  void settle();        // what nobody looked at any more
  void look_at_rows();  // around what was not set

  uint64_t block_ = ~uint64_t{0}, accesses_ = 0;  // of this block
  std::vector<Thread> threads_;
  std::unordered_map<uint64_t, Object> objects_;
  // Cells are of 2 bytes: neighbouring 16-bit elements are different memory. 64 bytes of them lie together.
  static constexpr uint64_t cell_bytes = 2, page_cells = 32;
  using Page = std::array<Cell, page_cells>;
  Cell& cell(uint64_t number);
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
  uint64_t last_page_ = ~uint64_t{0};
  Page* last_ = nullptr;
  std::unordered_map<uint64_t, Object> locks_;          // words that atomics share, while they are few
  std::unordered_map<uint64_t, Suspicion> suspicions_;  // by cell
  bool many_atomics_ = false, whole_ = true;
  std::optional<Race> race_;
  std::optional<UnsetRead> unset_;
};

// Of some blocks of each launch of the plan, run on the emulator with tensors that are there, and of problems that are
// small enough between all of them.
struct RaceSearch {
  std::string race;      // a sentence: which threads, where; "": none was found
  std::string missing;   // why it was not looked for; "": it was
  int64_t blocks = 0;    // that were traced
  bool whole = true;     // all that they access, or the first accesses of each
  bool atomics = false;  // whether any access was atomic: what is added up so may come in another order
  bool between = false;  // blocks as well: whether two of them write one output (block_races.h)
  // Blocks tell each other of what they have written (unfenced.h), and the problem is too large to follow all they
  // read.
  bool fences_unseen = false;
  // A read of shared memory that was never written; "": none was met. No fault by itself: what is read may be of no
  // use.
  std::string unset;
  bool unset_shows = false;  // of a piece: results there are no numbers by it
  // An access at an address that is no multiple of its size, where a GPU ends the launch; "": none was met.
  std::string misaligned;
  // An access that leaves an array of shared memory (simt::Tracing), or a tensor by little (tensor_bounds.h); "": none
  // was met.
  std::string leaves;
  // A variable that is used before anything was put into it (unset_variables.h); "": none was met.
  std::string variable;
  std::string piece;  // of a search on another device: what it was of
};
// between: blocks as well, which for a kernel of one output a thread takes as long as all else of its verdict.
// Errors: Cancelled, KernelFault.
RaceSearch find_races(Device& emulator, const KernelDefinition& kernel, const ConvProblem& p, const Bindings& at,
                      Activity& activity, bool between = true);
// Where a kernel that ended with a fault leaves an array or a tensor, as RaceSearch says it; "". Errors: Cancelled.
std::string where_it_leaves(Device& emulator, const KernelDefinition& kernel, const ConvProblem& p, const Bindings& at,
                            Activity& activity);
// find_races() of a short piece of p, on the emulator, and variables that nothing was put into: for a kernel that runs
// on a GPU. What takes longer than seconds there (blocks that wait for blocks do for ever) is given up. Errors:
// Cancelled.
RaceSearch find_races_of_piece(const KernelDefinition& kernel, const ConvProblem& p, Activity& activity);
// Of a kernel of whose problem fences_unseen is so: the race of the longest piece whose fences can be looked at, or "".
// Errors: Cancelled.
std::string unfenced_in_a_piece(const KernelDefinition& kernel, ConvProblem p, Activity& activity);
// The most products of a problem whose fences are looked at.
inline constexpr double most_products_fenced = 6e6;

}  // namespace convscope
