#include "kernels/runtime/simt/block.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <exception>
#include <fmt/format.h>
#include <stdexcept>
#include <thread>

#include "convscope/intrinsics.h"
#include "kernels/base/error.h"
#include "kernels/runtime/simt/trace.h"
#include "kernels/runtime/simt/trace_hooks.h"

constinit thread_local uint3 threadIdx{}, blockIdx{};
constinit thread_local dim3 blockDim{}, gridDim{};

namespace convscope::simt {
namespace {

constinit thread_local Block* current_block_object = nullptr;

std::string line(const Site& at) { return fmt::format("{}:{}", at.file_name(), at.line()); }

bool same_word(const char* a, const char* b) { return a == b || std::strcmp(a, b) == 0; }

bool same_site(const Site& a, const Site& b) {
  return a.line() == b.line() && a.column() == b.column() && same_word(a.file_name(), b.file_name());
}

}  // namespace

Block*& Block::current() { return current_block_object; }

Block::Block()
    : shared_storage_(zone_before + 1024 + max_dynamic_shared + zone_after), fibres_([this] { on_fibre(); }) {
  auto address = reinterpret_cast<uintptr_t>(shared_storage_.data()) + zone_before;
  dynamic_shared_ = reinterpret_cast<unsigned char*>((address + 1023) & ~uintptr_t{1023});
}

void Block::prepare(const Entry& kernel, dim3 grid, dim3 block, size_t dynamic_shared_bytes, void* const* args,
                    uint32_t order_seed, const std::atomic<bool>& given_up, bool all_blocks, Activity* activity) {
  kernel_ = kernel;
  given_up_ = &given_up, all_blocks_ = all_blocks, activity_ = activity;
  dynamic_shared_bytes_ = dynamic_shared_bytes;
  args_ = args;
  seed_ = order_seed;
  threads_ = block.x * block.y * block.z;
  warps_ = (threads_ + 31) / 32;
  gridDim = grid;
  blockDim = block;
  for (unsigned t = 0; t < threads_; t++)
    thread_index_[t] = {t % block.x, t / block.x % block.y, t / (block.x * block.y)};
  lay_red_zones();
  static_shared_ = static_shared_of(reinterpret_cast<const void*>(kernel.loop));
  static_before_.assign(static_shared_.begin, static_shared_.begin + static_shared_.bytes);
}

void Block::finish() {
  if (static_shared_.bytes) std::memcpy(static_shared_.begin, static_before_.data(), static_shared_.bytes);
  static_shared_ = {};
}

// What is read there is NaN; what is written there is seen when the block has ended.
void Block::lay_red_zones() {
  std::memset(dynamic_shared_ - zone_before, 0xff, zone_before);
  std::memset(dynamic_shared_ + dynamic_shared_bytes_, 0xff, zone_after);
}

std::string Block::shared_damage() const {
  static const auto untouched = [] {
    std::array<unsigned char, std::max(zone_before, zone_after)> all{};
    all.fill(0xff);
    return all;
  }();
  const unsigned char *after = dynamic_shared_ + dynamic_shared_bytes_, *before = dynamic_shared_ - zone_before;
  // After every block: as fast as memcmp.
  if (std::memcmp(after, untouched.data(), zone_after) == 0 && std::memcmp(before, untouched.data(), zone_before) == 0)
    return "";
  auto touched = [](unsigned char byte) { return byte != 0xff; };
  if (const auto* first = std::find_if(after, after + zone_after, touched); first != after + zone_after)
    return fmt::format("writes beyond its {} bytes of dynamic shared memory: {}", dynamic_shared_bytes_,
                       first == after ? "from their end on" : fmt::format("{} bytes behind their end", first - after));
  return fmt::format("writes before its dynamic shared memory: {} bytes before its start",
                     dynamic_shared_ - std::find_if(before, before + zone_before, touched));
}

std::string Block::leaves_shared(const void* p, size_t size) const {
  const auto* at = static_cast<const unsigned char*>(p);
  const unsigned char *begin = dynamic_shared_, *end = begin + dynamic_shared_bytes_;
  std::string name = "its dynamic shared memory";
  if (const DeclaredShared* v = static_shared_.left(p, size)) {
    begin = static_shared_.begin + v->offset, end = begin + v->bytes;
    name = own_name(*v);
  } else if (at < begin - zone_before || at >= end + zone_after || (at >= begin && at + size <= end)) {
    return "";
  }
  const std::ptrdiff_t from = at - begin, all = end - begin, n = static_cast<std::ptrdiff_t>(size);
  if (from % n || all % n)
    return fmt::format("{} bytes at byte {} of {}, which has {} bytes of shared memory", size, from, name, all);
  return fmt::format("element {} of {}, which has {} of {} bytes each", from / n, name, all / n, size);
}

void Block::run(uint64_t index) {
  index_ = index;
  live_ = threads_;
  arrived_ = 0;
  votes_ = 0;
  beats_ = 0;
  polling_ = false;
  // A signalling pattern: a kernel that reads shared memory before it wrote it gets NaN, not what the block before
  // left.
  std::memset(dynamic_shared_, 0xff, dynamic_shared_bytes_);
  if (static_shared_.bytes) std::memset(static_shared_.begin, 0xff, static_shared_.bytes);
  random_ = seed_ ? static_cast<uint32_t>(scrambled(uint64_t{seed_} << 32 ^ index)) | 1 : 0;  // 0: no shuffling
  for (unsigned i = 0; i < warps_; i++) {
    unsigned lanes = std::min(32u, threads_ - i * 32);
    Warp& w = warp_[i];
    w.fresh = w.ready = w.live = lanes == 32 ? ~0u : (1u << lanes) - 1;
    w.at_barrier = w.waiting = w.converging = w.parked = w.suspended = 0;
  }
  hopper_.begin();
  late_copies_.begin(random_);
  while (live_ && !abandoned_) {
    bool any = false;
    unsigned first = random_ ? (random_ >> 8) % warps_ : 0;
    for (unsigned i = 0; i < warps_ && !abandoned_; i++) any |= run_warp((first + i) % warps_);
    // Nobody can go on but those who look again and again at what another block writes.
    if ((!any || polling_) && !abandoned_) any |= hopper_.deliver();
    if (polling_ && !abandoned_) {
      std::this_thread::yield();
      polling_ = false, any = true;
      wake(&polling_);
    }
    if (!any && !abandoned_) {
      fault_ = fmt::format("deadlock in kernel {}, block ({}, {}, {}): {}", kernel_.name, blockIdx.x, blockIdx.y,
                           blockIdx.z, who_waits());
      abandoned_ = true;
    }
  }
  if (!abandoned_) hopper_.end();
  if (abandoned_) abandon();
  if (auto damage = shared_damage(); !damage.empty()) {
    lay_red_zones();
    throw KernelFault(
        fmt::format("kernel {}, block ({}, {}, {}): {}", kernel_.name, blockIdx.x, blockIdx.y, blockIdx.z, damage));
  }
}

// Runs the lanes of a warp until all of them wait or have ended. False if none could run.
bool Block::run_warp(unsigned number) {
  Warp& w = warp_[number];
  bool any = false;
  while (!abandoned_) {
    if (!w.ready && !converge(w)) return any;
    any = true;
    turn_ = w.ready, turn_warp_ = number;
    while ((turn_ &= w.ready) && !abandoned_) {  // those that wait go on with it
      uint32_t l = pick(turn_);
      turn_ &= ~(1u << l);
      if (w.fresh >> l & 1) {
        begin(number * 32 + l);
        fibres_.start();
      } else {
        current_ = number * 32 + l;
        threadIdx = thread_index_[current_];
        fibres_.resume(w.lane[l].fibre);
      }
    }
  }
  return any;
}

// What a fibre does: threads one after another, until none is left to start or one has to wait.
void Block::on_fibre() {
  try {
    const char* sp;
    asm volatile("mov %%rsp, %0" : "=r"(sp));
    constexpr size_t saved = 64;  // the return address, and the registers that a function keeps (System V ABI, AMD64)
    fibres_.frames_begin_at(sp - saved);
    kernel_.loop(args_);
  } catch (const Abandon&) {
  } catch (const std::exception& e) {
    if (!abandoned_) fault_ = fmt::format("kernel {} threw an exception in {}: {}", kernel_.name, place(), e.what());
    abandoned_ = true;
  } catch (...) {
    if (!abandoned_)
      fault_ = fmt::format("kernel {} threw something that is no exception in {}", kernel_.name, place());
    abandoned_ = true;
  }
}

void Block::begin(unsigned thread) {
  warp_[thread >> 5].fresh &= ~(1u << (thread & 31));
  current_ = thread;
  threadIdx = thread_index_[thread];
}

bool Block::next_thread() {
  unsigned ended = current_;
  Warp& w = warp_[ended >> 5];
  uint32_t bit = 1u << (ended & 31);
  w.live &= ~bit;
  w.ready &= ~bit;
  live_--;
  // A barrier waits for the threads that have not exited (CUDA C++ Programming Guide, "Independent Thread Scheduling":
  // so from sm_70 on).
  if (arrived_ && arrived_ == live_) release_barrier();
  if (const Site* ordered = hopper_.unfinished(ended))
    fault("this thread has ended with wgmma products that it has not waited for", *ordered);
  for (uint32_t q = w.waiting; q; q &= q - 1) {
    const auto& other = w.lane[std::countr_zero(q)];
    if (other.mask & bit)
      fault(fmt::format("{} with mask {:#010x} names lane {}, which has ended", other.what, other.mask, ended & 31),
            other.at);
  }
  if (w.fresh) {
    begin((ended & ~31u) | pick(w.fresh));
    return true;
  }
  uint32_t warps = 0;
  for (unsigned i = 0; i < warps_; i++) warps |= static_cast<uint32_t>(warp_[i].fresh != 0) << i;
  if (!warps) return false;
  // Few bits of 32: the n-th of them, since pick() would nearly always take the lowest.
  if (random_)
    for (uint32_t n = (random_ >> 8) % static_cast<uint32_t>(std::popcount(warps)); n; n--) warps &= warps - 1;
  auto next = static_cast<unsigned>(std::countr_zero(warps));
  begin(next * 32 + pick(warp_[next].fresh));
  return true;
}

// The current lane cannot go on: the next one in its turn that stands inside the kernel does, else the scheduler.
inline void Block::wait() {
  Warp& w = warp_[current_ >> 5];
  const uint32_t bit = 1u << lane();
  w.ready &= ~bit;
  w.lane[lane()].fibre = fibres_.running();
  w.suspended |= bit;
  Warp& now = warp_[turn_warp_];
  if ((turn_ &= now.ready) && !(turn_ & now.fresh) && !abandoned_) {
    const uint32_t next = pick(turn_);
    turn_ &= ~(1u << next);
    current_ = turn_warp_ * 32 + next;
    threadIdx = thread_index_[current_];
    fibres_.pass(now.lane[next].fibre);
  } else {
    fibres_.suspend();
  }
  w.suspended &= ~bit;
  if (abandoned_) throw Abandon{};
}

int Block::barrier(const Site& at, int predicate) {
  if (arrived_ && !same_site(barrier_at_, at))
    fault(fmt::format("threads of one block wait at different barriers: {} of {} wait at {}", arrived_, threads_,
                      line(barrier_at_)),
          at);
  barrier_at_ = at;
  if (is_traced()) record_meeting(&arrived_, false, current_);
  votes_ += predicate != 0;
  if (++arrived_ == live_) {
    release_barrier();
  } else {
    Warp& w = warp_[current_ >> 5];
    w.at_barrier |= 1u << lane();
    w.lane[lane()].at = at;
    wait();
  }
  return vote_result_;
}

void Block::release_barrier() {
  if (is_traced())
    for (unsigned t = 0; t < threads_; t++) record_meeting(&arrived_, true, t);
  arrived_ = 0;
  vote_result_ = std::exchange(votes_, 0);
  for (unsigned i = 0; i < warps_; i++) warp_[i].ready |= std::exchange(warp_[i].at_barrier, 0u);
}

void Block::park(void* key, const char* what, const Site& at) {
  Warp& w = warp_[current_ >> 5];
  w.lane[lane()] = {0, key, nullptr, 0, what, at};
  w.parked |= 1u << lane();
  wait();
}

void Block::poll(const char* what, const Site& at) {
  if (given_up()) fault("another block has ended the launch", at);
  if (activity_ && activity_->cancelled()) fault("cancelled", at);
  polling_ = true;
  park(&polling_, what, at);
}

void Block::beat(const Site& at) {
  // A loop without end must not seem to be alive for ever.
  constexpr uint64_t most = 5'000'000;
  if (!activity_ || ++beats_ % 64) return;
  if (activity_->cancelled()) fault("cancelled", at);
  if (beats_ < most) activity_->advance(0);
}

void Block::look_for_cancel() {
  if (!activity_ || !activity_->cancelled()) return;
  if (!abandoned_) fault_ = fmt::format("kernel {}, {}: cancelled", kernel_.name, place());
  abandoned_ = true;
  fibres_.lose();
}

void Block::leave(const char* why, bool access, uint64_t pc) {
  if (!abandoned_) {
    const SourceLine at = source_line(pc + 1);  // it looks before what it is given
    const std::string where = at.file.empty() ? "" : fmt::format(", at {}:{}", at.file, at.line);
    fault_ = fmt::format("kernel {}, {}{}: {}", kernel_.name, place(), where, why), access_ = access;
  }
  abandoned_ = true;
  fibres_.lose();
}

void Block::wake(const void* key) {
  for (unsigned i = 0; i < warps_; i++) {
    Warp& w = warp_[i];
    for (uint32_t q = w.parked; q; q &= q - 1) {
      auto l = static_cast<unsigned>(std::countr_zero(q));
      if (w.lane[l].mine == key) w.parked &= ~(1u << l), w.ready |= 1u << l;
    }
  }
}

void Block::collective(uint32_t mask, void* mine, Exchange exchange, const char* what, const Site& at) {
  Warp& w = warp_[current_ >> 5];
  unsigned self = lane();
  if (mask & ~w.live)
    fault(fmt::format("{} with mask {:#010x} names lane {}, which {}", what, mask, std::countr_zero(mask & ~w.live),
                      (current_ & ~31u) + std::countr_zero(mask & ~w.live) < threads_ ? "has ended" : "does not exist"),
          at);
  if (!(mask >> self & 1))
    fault(fmt::format("{} with mask {:#010x} leaves out the calling lane {}", what, mask, self), at);
  w.lane[self] = {mask, mine, exchange, 0, what, at};
  w.waiting |= 1u << self;
  if (!meet(w, self)) wait();
}

// Are all the lanes there that `self` waits for, and wait for it in the same operation? Then it is done, for all of
// them.
bool Block::meet(Warp& w, unsigned self) {
  const Warp::Lane& me = w.lane[self];
  if ((w.waiting & me.mask) != me.mask) return false;
  void* published[32] = {};
  for (uint32_t q = me.mask; q; q &= q - 1) {
    unsigned l = static_cast<unsigned>(std::countr_zero(q));
    if (w.lane[l].mask != me.mask || w.lane[l].exchange != me.exchange || !same_word(w.lane[l].what, me.what))
      fault(
          fmt::format("lanes {} and {} wait for each other in different operations: {} with mask {:#010x}, and {} with "
                      "mask {:#010x} at {}",
                      self, l, me.what, me.mask, w.lane[l].what, w.lane[l].mask, line(w.lane[l].at)),
          me.at);
    published[l] = w.lane[l].mine;
  }
  if (me.exchange) me.exchange(published, me.mask);
  // The others exchange values and promise nothing about memory.
  const bool traced = is_traced();
  if (traced && same_word(me.what, "__syncwarp")) {
    for (bool goes_on : {false, true})
      for (uint32_t q = me.mask; q; q &= q - 1)
        record_meeting(&w, goes_on, (current_ & ~31u) + static_cast<unsigned>(std::countr_zero(q)));
  } else if (traced) {
    for (uint32_t q = me.mask; q; q &= q - 1)
      record_exchange((current_ & ~31u) + static_cast<unsigned>(std::countr_zero(q)));
  }
  w.waiting &= ~me.mask;
  w.ready |= me.mask;
  return true;
}

// __activemask waits until no lane of the warp can run; then those at one place are together, which is a legal
// schedule.
uint32_t Block::active_mask(const Site& at) {
  Warp& w = warp_[current_ >> 5];
  unsigned self = lane();
  uint32_t together = 0;
  w.lane[self] = {0, &together, nullptr, 0, "__activemask", at};
  w.converging |= 1u << self;
  wait();
  return together;
}

bool Block::converge(Warp& w) {
  if (!w.converging) return false;
  const Site at = w.lane[std::countr_zero(w.converging)].at;
  uint32_t group = 0;
  for (uint32_t q = w.converging; q; q &= q - 1) {
    unsigned l = static_cast<unsigned>(std::countr_zero(q));
    if (same_site(w.lane[l].at, at)) group |= 1u << l;
  }
  for (uint32_t q = group; q; q &= q - 1) *static_cast<uint32_t*>(w.lane[std::countr_zero(q)].mine) = group;
  w.converging &= ~group;
  w.ready |= group;
  return true;
}

uint32_t Block::pick(uint32_t set) {
  if (!random_) return static_cast<uint32_t>(std::countr_zero(set));
  random_ = (random_ * 1664525u + 1013904223u) | 1;
  int turn = static_cast<int>(random_ >> 27);
  return static_cast<uint32_t>(std::countr_zero(std::rotr(set, turn)) + turn) & 31;
}

std::string Block::place() const {
  return fmt::format("block ({}, {}, {}), thread ({}, {}, {})", blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x,
                     threadIdx.y, threadIdx.z);
}

std::string Block::who_waits() const {
  std::string out;
  int shown = 0;
  for (unsigned i = 0; i < warps_ && shown < 4; i++) {
    const Warp& w = warp_[i];
    for (uint32_t q = w.at_barrier | w.waiting | w.parked; q && shown < 4;) {
      unsigned l = static_cast<unsigned>(std::countr_zero(q));
      uint32_t same = 0;
      for (uint32_t r = q; r; r &= r - 1) {
        unsigned m = static_cast<unsigned>(std::countr_zero(r));
        if (same_site(w.lane[m].at, w.lane[l].at) && (w.at_barrier >> m & 1) == (w.at_barrier >> l & 1))
          same |= 1u << m;
      }
      out += fmt::format("{}{} threads of warp {} wait at {} {}", out.empty() ? "" : ", ", std::popcount(same), i,
                         w.at_barrier >> l & 1 ? "__syncthreads" : w.lane[l].what, line(w.lane[l].at));
      q &= ~same;
      shown++;
    }
  }
  return out + "; none of them can go on";
}

void Block::fault(const std::string& what, const Site& at) { fault_at(line(at), what); }

void Block::fault_at(const std::string& line, const std::string& what) {
  if (!abandoned_) fault_ = fmt::format("kernel {}, {}, at {}: {}", kernel_.name, place(), line, what);
  abandoned_ = true;
  throw Abandon{};
}

// After a fault: every suspended thread leaves the kernel by an exception, so that its fibre can be used again.
void Block::abandon() {
  for (unsigned i = 0; i < warps_; i++) {
    Warp& w = warp_[i];
    while (w.suspended) fibres_.resume(w.lane[std::countr_zero(w.suspended)].fibre);
  }
  abandoned_ = false;
  if (std::exchange(access_, false)) throw AccessFault(std::exchange(fault_, {}));
  throw KernelFault(std::exchange(fault_, {}));
}

// ---- the calls of simt.h --------------------------------------------------------------------------------------------

unsigned char* dynamic_shared() { return Block::current()->dynamic_shared(); }
unsigned lane() { return current_block_object->lane(); }
int barrier(const Site& at, int predicate) { return current_block_object->barrier(at, predicate); }
uint32_t active_mask(const Site& at) { return Block::current()->active_mask(at); }
void trap(const Site& at, const char* why) { Block::current()->fault(why, at); }
void assertion_failed(const char* condition, const char* file, unsigned line) {
  Block* b = Block::current();
  if (!b) throw std::runtime_error(fmt::format("its assertion {} fails at {}:{}", condition, file, line));
  b->fault_at(fmt::format("{}:{}", file, line), fmt::format("its assertion {} fails", condition));
}
void collective(uint32_t mask, void* mine, Exchange exchange, const char* what, const Site& at) {
  current_block_object->collective(mask, mine, exchange, what, at);
}
bool next_thread() { return Block::current()->next_thread(); }
unsigned current_thread() { return Block::current()->current_thread(); }
uint64_t current_block() { return Block::current()->current_block(); }

uint32_t ballot(uint32_t mask, int predicate, const char* what, const Site& at) {
  VoteSlot slot{predicate, 0};
  collective(
      mask, &slot,
      [](void* const* lanes, uint32_t set) {
        uint32_t result = 0;
        for (uint32_t q = set; q; q &= q - 1)
          if (static_cast<VoteSlot*>(lanes[std::countr_zero(q)])->predicate) result |= 1u << std::countr_zero(q);
        for (uint32_t q = set; q; q &= q - 1) static_cast<VoteSlot*>(lanes[std::countr_zero(q)])->ballot = result;
      },
      what, at);
  return slot.ballot;
}

int reduced_min(uint32_t mask, int value, const Site& at) {
  int slot = value;
  collective(
      mask, &slot,
      [](void* const* lanes, uint32_t set) {
        int least = *static_cast<int*>(lanes[std::countr_zero(set)]);
        for (uint32_t q = set; q; q &= q - 1) least = std::min(least, *static_cast<int*>(lanes[std::countr_zero(q)]));
        for (uint32_t q = set; q; q &= q - 1) *static_cast<int*>(lanes[std::countr_zero(q)]) = least;
      },
      "__reduce_min_sync", at);
  return slot;
}

bool current_position(Position& out) {
  Block* b = Block::current();
  if (!b) return false;
  out = {b->kernel_name(), blockIdx, threadIdx};
  return true;
}

bool can_leave_kernel(const void* sp) { return current_block_object && current_block_object->can_leave(sp); }
void leave_kernel(const char* why, bool access, uint64_t pc) { current_block_object->leave(why, access, pc); }

}  // namespace convscope::simt
