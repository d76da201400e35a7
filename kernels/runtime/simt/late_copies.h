// The copies of a block's threads that are on their way (convscope/late_copies.h).
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace convscope::simt {

class Block;

class LateCopies {
 public:
  explicit LateCopies(Block& block) : block_(block) {}
  // Of a new block, whose random number this is; 0: its order is not shuffled.
  void begin(uint32_t random);
  void order(void* to, const void* value, unsigned bytes, unsigned alignment, const void* pc);
  void commit();
  void wait(size_t pending);
  void arrive_at(const void* barrier, uint64_t phase);
  // Somebody has waited for this phase of a barrier.
  void waited_for(const void* barrier, uint64_t phase);

 private:
  struct Copy {
    void* to;
    std::array<unsigned char, 16> value;
    const void* pc;
    unsigned bytes;
  };
  struct Thread {
    std::vector<Copy> copies;
    std::vector<size_t> groups;  // how many copies each has that is on its way
    size_t committed = 0;        // copies of them all
  };
  struct Arrival {
    const void* barrier;
    uint64_t phase;
    Copy copy;
  };
  Thread& mine();
  void arrive(const Copy& c);

  Block& block_;
  std::vector<Thread> threads_;  // as many as have ordered any
  std::vector<Arrival> arrivals_;
  bool any_ = false;
  uint32_t random_ = 0;
};

}  // namespace convscope::simt
