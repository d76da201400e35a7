// Races between blocks: two of them write the same output in one launch, and nothing orders the two.
//
// Told from the writes of all blocks, not from what came out: the emulator runs blocks to their ends, so that an update
// that a GPU loses (`y += …` where two blocks have a part of a sum each) is not lost here. Only of y, where every
// writer should be alone or atomic. Two that write the same value are none, and nothing is said of launches in which
// blocks share words by atomics beside y, which may order them (a lock, a ticket).
#pragma once
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "kernels/runtime/simt/trace.h"

namespace convscope {

class BlockRaceFinder {
 public:
  struct Side {
    uint64_t block = 0, pc = 0;  // pc 0: nobody
    uint16_t thread = 0;
    bool atomic = false;
  };
  struct Found {
    int64_t element = 0;
    Side first, second;  // in the order in which they were seen
  };
  struct Range {
    uint64_t begin = 0, bytes = 0;
  };

  // y: memory of this process, of elements of 2, 4 or 8 bytes, as it is before the launch. Accesses are of a trace with
  // meetings, and may be without reads.
  BlockRaceFinder(Range y, uint64_t element_bytes);
  void take(std::span<const simt::Access> part);  // from any thread
  // When the launch has ended and all has been taken: the first element that two blocks wrote.
  std::optional<Found> found() const;
  // Whether blocks share words by atomics beside y; whether they write any memory beside it.
  bool shares_words() const { return ordered_; }
  bool writes_beside() const { return beside_; }

 private:
  // What stood in an element before its writes, of what had not stood there before the launch.
  enum Values : uint8_t { none, one, several, unknown };
  uint64_t now(uint64_t element) const;
  void write(const simt::Access& a, uint64_t element);

  Range y_;
  uint64_t element_bytes_;
  std::vector<uint64_t> before_, seen_;  // of each element: its bits before the launch, and the one value
  std::vector<Values> values_;
  std::vector<Side> first_;
  std::unordered_map<uint64_t, Side> second_;  // of another block, where not both are atomic
  bool ordered_ = false, beside_ = false;
  std::mutex mutex_;
};

}  // namespace convscope
