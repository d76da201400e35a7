// One block's threads: who may run, who waits for whom. One Block object an OS thread, used for block after block.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "convscope/simt.h"
#include "kernels/base/activity.h"
#include "kernels/problem/tensor.h"
#include "kernels/runtime/simt/executor.h"
#include "kernels/runtime/simt/fibres.h"
#include "kernels/runtime/simt/hopper.h"
#include "kernels/runtime/simt/late_copies.h"
#include "kernels/runtime/simt/static_shared.h"

namespace convscope::simt {

// Spreads a seed over all bits, so that near seeds give unlike orders (splitmix64: Steele, Lea, Flood 2014).
constexpr uint64_t scrambled(uint64_t v) {
  v += 0x9e3779b97f4a7c15u;
  v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9u;
  v = (v ^ v >> 27) * 0x94d049bb133111ebu;
  return v ^ v >> 31;
}

// The 32 lanes of a warp as bit masks.
struct Warp {
  uint32_t fresh = 0;       // not started
  uint32_t ready = 0;       // can run (fresh ones included)
  uint32_t live = 0;        // not ended
  uint32_t at_barrier = 0;  // wait for the whole block
  uint32_t waiting = 0;     // wait for the lanes of their mask
  uint32_t converging = 0;  // wait in __activemask for the rest of the warp to stop
  uint32_t parked = 0;      // wait for something to happen: until it is woken by the address that is `mine`
  uint32_t suspended = 0;   // have a fibre that stands inside the kernel
  struct Lane {
    uint32_t mask;      // whom it waits for
    void* mine;         // what it published
    Exchange exchange;  // what is to be done when all are there
    unsigned fibre;     // where it is suspended
    const char* what;   // __shfl_sync, …
    Site at;
  } lane[32];
};

class Block {
  struct Abandon {};  // thrown on a fibre to leave the kernel after a fault

 public:
  Block();
  ~Block() = default;

  // The shape of the coming blocks.
  void prepare(const Entry& kernel, dim3 grid, dim3 block, size_t dynamic_shared_bytes, void* const* args,
               uint32_t order_seed, const std::atomic<bool>& given_up, bool all_blocks, Activity* activity);
  // Runs one block; blockIdx is set. Throws KernelFault.
  void run(uint64_t index);

  // What kernels call, by way of simt.h.
  int barrier(const Site& at, int predicate);
  void collective(uint32_t mask, void* mine, Exchange exchange, const char* what, const Site& at);
  uint32_t active_mask(const Site& at);
  bool next_thread();
  // Sets the current thread aside until wake(key). what: for what it waits, in words.
  void park(void* key, const char* what, const Site& at);
  void wake(const void* key);
  // f(thread) for those that are set aside by this key.
  template <class F>
  void each_parked(const void* key, F f) const {
    for (unsigned i = 0; i < warps_; i++)
      for (unsigned l = 0; l < 32; l++)
        if (warp_[i].parked >> l & 1 && warp_[i].lane[l].mine == key) f(i * 32 + l);
  }
  Hopper& hopper() { return hopper_; }
  LateCopies& late_copies() { return late_copies_; }
  size_t dynamic_shared_bytes() const { return dynamic_shared_bytes_; }
  bool shuffles() const { return random_ != 0; }
  // Whether the launch is over for others' reasons (a fault, cancelled); whether all blocks run, or some for counting.
  bool given_up() const { return *given_up_; }
  // Ends the block if the launch is cancelled: of traced kernels, which call it as they go. Not by an exception: the
  // compiler takes its hooks to throw none.
  void look_for_cancel();
  bool lost_a_fibre() const { return fibres_.any_lost(); }  // it has not all of its stacks any more
  // The processor ended an instruction of the kernel's at pc, which is therefore left for ever: why, and whether that
  // is an access beside a tensor.
  [[noreturn]] void leave(const char* why, bool access, uint64_t pc);
  bool can_leave(const void* sp) const { return fibres_.has_room(sp); }  // for signal handlers
  // Sets the current thread aside until the others have had a turn: it waits for what another block writes.
  void poll(const char* what, const Site& at);
  // Something has been done, of a block that may work for long: it is said now and then, and a cancel is looked at.
  void beat(const Site& at);
  // Runs f with the current thread taken to be another: for what happens when nobody runs.
  template <class F>
  void in_place_of(unsigned thread, F f) {
    current_ = thread, threadIdx = thread_index_[thread];
    try {
      f();
    } catch (const Abandon&) {
    }
  }
  bool all_blocks_run() const { return all_blocks_; }
  [[noreturn]] void fault(const std::string& what, const Site& at);
  [[noreturn]] void fault_at(const std::string& line, const std::string& what);

  unsigned lane() const { return current_ & 31; }
  unsigned current_thread() const { return current_; }
  uint64_t current_block() const { return index_; }
  const char* kernel_name() const { return kernel_.name; }
  unsigned char* dynamic_shared() const { return dynamic_shared_; }
  bool on_stack(const void* p) const { return fibres_.contains(p); }
  bool in_frames(const void* p) const { return fibres_.in_frames(p); }  // of the thread that runs: its own variables
  bool is_shared(const void* p) const {
    return static_cast<size_t>(static_cast<const unsigned char*>(p) - dynamic_shared_) < dynamic_shared_bytes_ ||
           static_shared_.holds(p);
  }
  // Where `size` bytes at p leave an array of shared memory, in words that follow "reads" or "writes"; "": they do not.
  std::string leaves_shared(const void* p, size_t size) const;
  // The launch has ended on this OS thread: what else lies among the kernel's variables has its values again.
  void finish();

  static Block*& current();  // of this OS thread; null when it runs no kernel

 private:
  bool run_warp(unsigned warp);
  bool converge(Warp& w);
  void begin(unsigned thread);
  [[gnu::always_inline]] void wait();
  void release_barrier();
  bool meet(Warp& w, unsigned lane);
  uint32_t pick(uint32_t set);
  void abandon();
  void on_fibre();
  std::string place() const;
  std::string who_waits() const;
  void lay_red_zones();
  std::string shared_damage() const;  // "" while the red zones are as they were laid

  Entry kernel_{};
  void* const* args_ = nullptr;
  uint64_t index_ = 0;
  unsigned threads_ = 0, warps_ = 0, live_ = 0, current_ = 0;
  unsigned arrived_ = 0;  // at the barrier
  int votes_ = 0, vote_result_ = 0;
  Site barrier_at_;
  uint32_t seed_ = 0, random_ = 0;
  bool abandoned_ = false, access_ = false;  // access_: the fault is an AccessFault
  std::string fault_;
  uint32_t turn_ = 0;       // of the warp that runs: the lanes that are still to have their turn
  unsigned turn_warp_ = 0;  // which it is
  uint3 thread_index_[max_threads_per_block];
  Warp warp_[32];
  // Dynamic shared memory between two red zones. Pages are taken when first touched.
  static constexpr size_t zone_before = 1024, zone_after = 4096;
  HostBytes shared_storage_;
  unsigned char* dynamic_shared_;
  size_t dynamic_shared_bytes_ = 0;
  StaticShared static_shared_;
  std::vector<unsigned char> static_before_;
  const std::atomic<bool>* given_up_ = nullptr;
  bool all_blocks_ = true;
  Activity* activity_ = nullptr;
  uint64_t beats_ = 0;
  bool polling_ = false;  // threads wait for other blocks
  Hopper hopper_{*this};
  LateCopies late_copies_{*this};
  Fibres fibres_;
};

}  // namespace convscope::simt
