#include "kernels/runtime/simt/late_copies.h"

#include <cstring>

#include "convscope/block_barrier.h"
#include "kernels/runtime/simt/block.h"
#include "kernels/runtime/simt/trace.h"
#include "kernels/runtime/simt/trace_hooks.h"

namespace convscope::simt {

void LateCopies::begin(uint32_t random) {
  random_ = random;
  if (!any_) return;
  any_ = false;
  for (Thread& t : threads_) t.copies.clear(), t.groups.clear(), t.committed = 0;
  arrivals_.clear();
}

LateCopies::Thread& LateCopies::mine() {
  const size_t self = block_.current_thread();
  if (threads_.size() <= self) threads_.resize(self + 1);
  return threads_[self];
}

void LateCopies::arrive(const Copy& c) {
  record_copy(c.to, c.bytes, nullptr, true, c.pc);
  std::memcpy(c.to, c.value.data(), c.bytes);
}

void LateCopies::order(void* to, const void* value, unsigned bytes, unsigned alignment, const void* pc) {
  Copy c{to, {}, pc, bytes};
  std::memcpy(c.value.data(), value, bytes);
  if (alignment > 1 && reinterpret_cast<uintptr_t>(to) % alignment)
    record_misaligned(to, bytes, static_cast<uint8_t>(AccessKind::write), pc);
  record_copy(to, bytes, c.value.data(), false, pc);
  if (random_) {
    random_ = (random_ * 1664525u + 1013904223u) | 1;
    if (random_ >> 31) return arrive(c);
  }
  any_ = true;
  mine().copies.push_back(c);
}

void LateCopies::commit() {
  Thread& t = mine();
  t.groups.push_back(t.copies.size() - t.committed);
  t.committed = t.copies.size();
  any_ = true;
}

void LateCopies::wait(size_t pending) {
  if (!any_) return;
  Thread& t = mine();
  if (t.groups.size() <= pending) return;
  const auto groups = static_cast<std::ptrdiff_t>(t.groups.size() - pending);
  size_t n = 0;
  for (auto g = t.groups.begin(); g != t.groups.begin() + groups; ++g) n += *g;
  for (size_t i = 0; i < n; i++) arrive(t.copies[i]);
  t.groups.erase(t.groups.begin(), t.groups.begin() + groups);
  t.copies.erase(t.copies.begin(), t.copies.begin() + static_cast<std::ptrdiff_t>(n));
  t.committed -= n;
}

void LateCopies::arrive_at(const void* barrier, uint64_t phase) {
  if (!any_) return;
  Thread& t = mine();
  for (size_t i = t.committed; i < t.copies.size(); i++) {
    const Copy& c = t.copies[i];
    // To the tracer they are there: its thread arrives at the barrier after them.
    record_copy(c.to, c.bytes, nullptr, true, c.pc);
    arrivals_.push_back({barrier, phase, c});
  }
  t.copies.resize(t.committed);
}

void LateCopies::waited_for(const void* barrier, uint64_t phase) {
  if (arrivals_.empty()) return;
  std::erase_if(arrivals_, [&](const Arrival& a) {
    if (a.barrier != barrier || ((phase - a.phase) % BlockBarrier::phases) >= BlockBarrier::phases / 2) return false;
    std::memcpy(a.copy.to, a.copy.value.data(), a.copy.bytes);
    return true;
  });
}

// ---- the calls of convscope/late_copies.h

namespace {
LateCopies& late_copies() { return Block::current()->late_copies(); }
}  // namespace

void late_copy(void* to, const void* value, unsigned bytes, unsigned alignment) {
  late_copies().order(to, value, bytes, alignment, __builtin_return_address(0));
}
void late_copies_commit() { late_copies().commit(); }
void late_copies_wait(uint64_t pending) { late_copies().wait(pending); }
void late_copies_arrive_at(const BlockBarrier* b) { late_copies().arrive_at(b, b->phase); }

}  // namespace convscope::simt
