// The calls of convscope/block_barrier.h: barriers that are objects anywhere in shared memory.
#include "convscope/block_barrier.h"

#include <fmt/format.h>

#include "kernels/runtime/simt/block.h"
#include "kernels/runtime/simt/trace_hooks.h"

namespace convscope::simt {
namespace {

constexpr uint64_t mark = 0xb6;
constexpr uint64_t phases = BlockBarrier::phases;

Block& block_of(const BlockBarrier* b, const Site& at) {
  Block& block = *Block::current();
  if (b->marked != mark) block.fault("a cuda::barrier is used that nobody has initialised with init()", at);
  return block;
}

// For the tracer: who arrives for the next phase is nothing to those who wait for this one.
const void* object(const BlockBarrier* b, uint64_t phase) { return reinterpret_cast<const char*>(b) + phase % 2; }

bool ended(const BlockBarrier* b, uint64_t phase) {
  const uint64_t since = (b->phase - phase) % phases;
  return since != 0 && since < phases / 2;
}

}  // namespace

void block_barrier_init(BlockBarrier* b, int64_t arrivals, const Site& at) {
  if (arrivals < 1 || arrivals > static_cast<int64_t>(max_threads_per_block))
    Block::current()->fault(
        fmt::format("a cuda::barrier for {} arrivals, which must be between 1 and {}", arrivals, max_threads_per_block),
        at);
  const auto n = static_cast<uint64_t>(arrivals) & 0xfff;
  *b = {0, n, n, mark};
}

uint64_t block_barrier_arrive(BlockBarrier* b, int64_t times, bool drops, const Site& at) {
  Block& block = block_of(b, at);
  if (times < 1 || times > static_cast<int64_t>(b->pending))
    block.fault(fmt::format("{} arrivals at a cuda::barrier where {} of {} are missing", times,
                            static_cast<unsigned>(b->pending), static_cast<unsigned>(b->arrivals)),
                at);
  const uint64_t phase = b->phase;
  record_meeting(object(b, phase), false, block.current_thread());
  b->pending = (b->pending - static_cast<uint64_t>(times)) & 0xfff;
  if (drops) b->arrivals = (b->arrivals - 1) & 0xfff;
  if (b->pending) return phase;
  b->phase = (phase + 1) % phases;
  b->pending = b->arrivals;
  block.wake(b);
  block.beat(at);
  return phase;
}

bool block_barrier_ended(BlockBarrier* b, uint64_t phase, const Site& at) {
  Block& block = block_of(b, at);
  if (!ended(b, phase)) return false;
  record_meeting(object(b, phase), true, block.current_thread());
  block.late_copies().waited_for(b, phase);
  return true;
}

void block_barrier_wait(BlockBarrier* b, uint64_t phase, const Site& at) {
  while (!block_barrier_ended(b, phase, at)) Block::current()->park(b, "a cuda::barrier", at);
}

}  // namespace convscope::simt
