// Barriers of a block that are objects in shared memory, copies that arrive at them, and pipelines made of both, for
// the emulator: what kernel files from outside get as <cuda/barrier> and <cuda/pipeline> (CUDA C++ Programming Guide,
// "Asynchronous Barriers", "Asynchronous Data Copies", "Pipelines"). Each thread of a group copies its part, which
// arrives when somebody has waited for it (convscope/late_copies.h).
#pragma once
#include <cstddef>

#include "convscope/cooperative_groups.h"

namespace convscope::simt {

// How often all have arrived, how many are still missing, how many there are of them. The mark tells it from memory
// that nobody has initialised.
struct BlockBarrier {
  static constexpr uint64_t phases = 1 << 24;  // are counted
  uint64_t phase : 24, pending : 12, arrivals : 12, marked : 8;
};
CONVSCOPE_SIMT_API void block_barrier_init(BlockBarrier* b, int64_t arrivals, const Site& at);
// Returns the phase that it arrives for. drops: it does not take part from the next one on.
CONVSCOPE_SIMT_API uint64_t block_barrier_arrive(BlockBarrier* b, int64_t times, bool drops, const Site& at);
// Until this phase has ended.
CONVSCOPE_SIMT_API void block_barrier_wait(BlockBarrier* b, uint64_t phase, const Site& at);
CONVSCOPE_SIMT_API bool block_barrier_ended(BlockBarrier* b, uint64_t phase, const Site& at);

}  // namespace convscope::simt

namespace cuda {

using convscope::simt::Site;

enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };

// A number of bytes that both addresses are a multiple of.
template <size_t alignment>
struct aligned_size_t {
  size_t value;
  constexpr explicit aligned_size_t(size_t bytes) : value(bytes) {}
  constexpr operator size_t() const { return value; }
};

template <thread_scope scope>
class barrier {
  static_assert(scope == thread_scope_block, "barriers of more than one block are not emulated");

 public:
  class arrival_token {
    friend barrier;
    uint64_t phase_ = 0;
  };
  barrier() = default;
  barrier(const barrier&) = delete;
  CONVSCOPE_UNTRACED explicit barrier(ptrdiff_t arrivals, const Site& at = Site::current()) {
    convscope::simt::block_barrier_init(&own_, arrivals, at);
  }
  CONVSCOPE_UNTRACED friend void init(barrier* b, ptrdiff_t arrivals, const Site& at = Site::current()) {
    convscope::simt::block_barrier_init(&b->own_, arrivals, at);
  }
  CONVSCOPE_UNTRACED arrival_token arrive(ptrdiff_t times = 1, const Site& at = Site::current()) {
    arrival_token token;
    token.phase_ = convscope::simt::block_barrier_arrive(&own_, times, false, at);
    return token;
  }
  CONVSCOPE_UNTRACED void wait(arrival_token&& token, const Site& at = Site::current()) {
    convscope::simt::block_barrier_wait(&own_, token.phase_, at);
  }
  CONVSCOPE_UNTRACED void wait_parity(bool parity, const Site& at = Site::current()) {
    convscope::simt::block_barrier_wait(&own_, own_.phase % 2 == parity ? own_.phase : own_.phase - 1, at);
  }
  CONVSCOPE_UNTRACED void arrive_and_wait(const Site& at = Site::current()) { wait(arrive(1, at), at); }
  CONVSCOPE_UNTRACED void arrive_and_drop(const Site& at = Site::current()) {
    convscope::simt::block_barrier_arrive(&own_, 1, true, at);
  }
  static constexpr ptrdiff_t max() { return 1023; }
  const convscope::simt::BlockBarrier* own() const { return &own_; }

 private:
  convscope::simt::BlockBarrier own_;
};

// ---- pipelines: of stages that producers fill and consumers read

enum class pipeline_role { producer, consumer };

template <thread_scope scope, uint8_t stages>
class pipeline_shared_state {
 public:
  pipeline_shared_state() = default;
  pipeline_shared_state(const pipeline_shared_state&) = delete;
  convscope::simt::BlockBarrier filled[stages], read[stages];
};

template <thread_scope scope>
class pipeline {
 public:
  // Until the stage that comes next is free: read by all since it was filled last.
  CONVSCOPE_UNTRACED void producer_acquire(const Site& at = Site::current()) {
    if (stages_ && head_ >= stages_)
      convscope::simt::block_barrier_wait(read_ + head_ % stages_, head_ / stages_ - 1, at);
  }
  CONVSCOPE_UNTRACED void producer_commit(const Site& at = Site::current()) {
    if (stages_) {
      convscope::simt::late_copies_arrive_at(filled_ + head_ % stages_);
      convscope::simt::block_barrier_arrive(filled_ + head_ % stages_, 1, false, at);
    } else {
      convscope::simt::late_copies_commit();
    }
    head_++;
  }
  CONVSCOPE_UNTRACED void consumer_wait(const Site& at = Site::current()) {
    if (stages_)
      convscope::simt::block_barrier_wait(filled_ + tail_ % stages_, tail_ / stages_, at);
    else
      convscope::simt::late_copies_wait(head_ > tail_ ? head_ - tail_ - 1 : 0);
  }
  CONVSCOPE_UNTRACED void consumer_release(const Site& at = Site::current()) {
    if (stages_) convscope::simt::block_barrier_arrive(read_ + tail_ % stages_, 1, false, at);
    tail_++;
  }
  bool quit() { return true; }

  pipeline() = default;
  pipeline(convscope::simt::BlockBarrier* filled, convscope::simt::BlockBarrier* read, uint64_t stages)
      : filled_(filled), read_(read), stages_(stages) {}

 private:
  convscope::simt::BlockBarrier *filled_ = nullptr, *read_ = nullptr;
  uint64_t stages_ = 0, head_ = 0, tail_ = 0;  // 0 stages: a thread's own
};

inline pipeline<thread_scope_thread> make_pipeline() { return {}; }
template <unsigned prior>
void pipeline_consumer_wait_prior(pipeline<thread_scope_thread>&) {
  convscope::simt::late_copies_wait(prior);
}

namespace of_convscope {
template <class Group, thread_scope scope, uint8_t stages>
CONVSCOPE_UNTRACED pipeline<scope> made(const Group& g, pipeline_shared_state<scope, stages>* state, unsigned producers,
                                        unsigned consumers, const Site& at) {
  if (g.thread_rank() == 0)
    for (unsigned i = 0; i < stages; i++) {
      convscope::simt::block_barrier_init(state->filled + i, producers, at);
      convscope::simt::block_barrier_init(state->read + i, consumers, at);
    }
  g.sync(at);
  return {state->filled, state->read, stages};
}
}  // namespace of_convscope

template <class Group, thread_scope scope, uint8_t stages>
CONVSCOPE_UNTRACED pipeline<scope> make_pipeline(const Group& g, pipeline_shared_state<scope, stages>* state,
                                                 const Site& at = Site::current()) {
  return of_convscope::made(g, state, g.size(), g.size(), at);
}
// Of a block some threads, the first ones or by what each says, are producers.
template <class Group, thread_scope scope, uint8_t stages>
CONVSCOPE_UNTRACED pipeline<scope> make_pipeline(const Group& g, pipeline_shared_state<scope, stages>* state,
                                                 size_t producers, const Site& at = Site::current()) {
  return of_convscope::made(g, state, static_cast<unsigned>(producers), g.size() - static_cast<unsigned>(producers),
                            at);
}
template <thread_scope scope, uint8_t stages>
CONVSCOPE_UNTRACED pipeline<scope> make_pipeline(const cooperative_groups::thread_block& g,
                                                 pipeline_shared_state<scope, stages>* state, pipeline_role role,
                                                 const Site& at = Site::current()) {
  const auto producers = static_cast<unsigned>(__syncthreads_count(role == pipeline_role::producer, at));
  return of_convscope::made(g, state, producers, g.size() - producers, at);
}

// ---- copies, that arrive at a barrier or belong to the stage of a pipeline

namespace of_convscope {
template <class Arrival>
constexpr bool takes_copies = false;
template <thread_scope scope>
constexpr bool takes_copies<barrier<scope>> = true;
template <thread_scope scope>
constexpr bool takes_copies<pipeline<scope>> = true;
// Those of a pipeline's stage arrive when it is committed.
template <thread_scope scope>
void ordered(pipeline<scope>&) {}
template <thread_scope scope>
void ordered(barrier<scope>& b) {
  convscope::simt::late_copies_arrive_at(b.own());
}
}  // namespace of_convscope

template <class Group, class T, class U, class Arrival>
requires of_convscope::takes_copies<Arrival> __forceinline__ void memcpy_async(const Group& g, T* to, const U* from,
                                                                               size_t bytes, Arrival& at) {
  cooperative_groups::of_convscope::copy_in_parts(g, to, from, bytes);
  of_convscope::ordered(at);
}
template <class T, class U, class Arrival>
requires of_convscope::takes_copies<Arrival> __forceinline__ void memcpy_async(T* to, const U* from, size_t bytes,
                                                                               Arrival& at) {
  cooperative_groups::of_convscope::copy_in_parts(cooperative_groups::of_convscope::OneThread(), to, from, bytes);
  of_convscope::ordered(at);
}

}  // namespace cuda
