// What a block on Hopper has beyond threads: barriers in shared memory, the copy engine, named barriers, and the
// products that its warpgroups have ordered. What kernels call is in convscope/hopper.h and convscope/wgmma.h.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "convscope/plan.h"
#include "convscope/wgmma.h"

namespace convscope::simt {

class Block;

// A tensor as the copy engine reads or writes it, of which `address` is the first element.
TensorMap encoded(const TensorView& view, uint64_t address);

class Hopper {
 public:
  explicit Hopper(Block& block) : block_(block) {}

  void begin();  // of a block
  void end();    // of one that was not abandoned: what is still to be written is
  // Copies that are on their way arrive: nobody can go on without them. False: there are none.
  bool deliver();

  unsigned char* shared_at(uint32_t address, uint32_t bytes, uint32_t alignment, const char* what, const Site& at);
  void init(uint32_t barrier, int arrivals, const Site& at);
  void arrive(uint32_t barrier, uint32_t expected_bytes, const Site& at);
  void wait(uint32_t barrier, uint32_t parity, const Site& at);
  void copy(uint32_t to, const void* from, uint32_t bytes, uint32_t barrier, const void* pc, const Site& at);
  void load(uint32_t to, const TensorMap& map, const int* place, int rank, uint32_t barrier, const void* pc,
            const Site& at);
  void store(const TensorMap& map, const int* place, int rank, uint32_t from, const void* pc, const Site& at);
  void write(void* to, uint32_t from, uint32_t bytes, const void* pc, const Site& at);
  void wait_stores();
  void meet(int id, int threads, bool waits, const Site& at);

  void fence();
  void order(const Wgmma& product, const Site& at);
  void commit(const Site& at);
  void wait_products(int pending, const Site& at);
  // Where a thread ordered products that it has not waited for; null: there are none.
  const Site* unfinished(unsigned thread) const;

 private:
  struct Named {
    int arrived = 0, threads = 0;
  };
  // On its way to shared memory: neighbouring bytes, or a box.
  struct Copy {
    uint32_t to, bytes, barrier;
    bool box;
    const void* from;
    TensorMap map;  // the thread that orders it may end before it arrives
    std::array<int, 5> place;
    unsigned thread;
    const void* pc;  // for the tracer
    Site at;
  };
  // A box, or neighbouring bytes, on their way out of shared memory.
  struct Store {
    uint32_t from;
    TensorMap map;
    std::array<int, 5> place;
    unsigned thread;
    const void* pc;  // for the tracer
    Site at;
    void* to = nullptr;  // of bytes
    uint32_t bytes = 0;
  };
  // Of a thread: products that are not done yet, and how many of them each group that was closed has.
  struct Queue {
    std::vector<Wgmma> products;
    std::vector<size_t> groups;  // where they end
    int done = 0;                // groups, since the block began
    bool fenced = false;         // products may be ordered
    Site at;
    int all_groups() const { return done + static_cast<int>(groups.size()); }
  };
  struct Warpgroup {
    int closed = 0;            // groups that all of its threads have closed
    std::vector<int> arrived;  // threads that have closed the next ones
  };
  Queue& queue();
  void ordered(const Copy& copy);
  void arrive_copy(const Copy& copy);
  void arrives_for(uint32_t barrier, unsigned thread, const Site& at);
  void leave(const Store& store);
  void complete(uint32_t barrier, int arrivals, int64_t bytes, const Site& at);
  void multiply(unsigned warpgroup, int groups, const Site& at);
  void multiply_one(std::array<Queue*, 128>& threads, size_t product, const Site& at);

  Block& block_;
  std::array<Named, 16> named_{};
  std::vector<Copy> copies_;
  std::vector<Store> stores_;
  std::vector<Queue> queues_;  // of threads
  std::array<Warpgroup, 8> warpgroups_;
  bool multiplies_ = false;  // the block has ordered products
  struct Operands {
    float a[64][16], b[16][160], c[64][160];
  };
  std::unique_ptr<Operands> operands_;  // too large for a fibre's stack
};

}  // namespace convscope::simt
