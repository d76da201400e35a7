// libcu++'s atomics for the emulator: what kernel files from outside get as <cuda/atomic> (CUDA C++ Core Libraries,
// "Extended API: Synchronization Primitives"). Blocks see memory in one order here; what an order of memory promises is
// noted in traces, as a fence is (a release before the access), so that what it does not promise can be missed.
#pragma once
#include <atomic>

#include "convscope/block_barrier.h"

namespace cuda {

using std::memory_order, std::memory_order_relaxed, std::memory_order_acquire, std::memory_order_release,
    std::memory_order_acq_rel, std::memory_order_seq_cst, std::memory_order_consume;

// Of a scope that is wider than a block.
__forceinline__ void convscope_release(memory_order order, thread_scope scope) {
  const bool releases = order == memory_order_release || order == memory_order_acq_rel || order == memory_order_seq_cst;
  if (releases && (scope == thread_scope_device || scope == thread_scope_system)) __threadfence();
}
__forceinline__ void atomic_thread_fence(memory_order order, thread_scope scope = thread_scope_system) {
  convscope_release(order, scope);
}

template <class T, thread_scope scope = thread_scope_system>
class atomic_ref {
 public:
  using value_type = T;
  __forceinline__ explicit atomic_ref(T& word) : p_(&word) {}
  atomic_ref(const atomic_ref&) = default;
  atomic_ref& operator=(const atomic_ref&) = delete;

  __forceinline__ T load(memory_order = memory_order_seq_cst) const {
    return update(memory_order_relaxed, [](T old) { return old; });
  }
  __forceinline__ void store(T v, memory_order o = memory_order_seq_cst) const { exchange(v, o); }
  __forceinline__ operator T() const { return load(); }
  __forceinline__ T operator=(T v) const { return store(v), v; }
  __forceinline__ T exchange(T v, memory_order o = memory_order_seq_cst) const {
    return update(o, [v](T) { return v; });
  }
  __forceinline__ bool compare_exchange_strong(T& expected, T v, memory_order o = memory_order_seq_cst) const {
    const T wanted = expected;
    expected = update(o, [=](T old) { return old == wanted ? v : old; });
    return expected == wanted;
  }
  __forceinline__ bool compare_exchange_strong(T& expected, T v, memory_order success, memory_order) const {
    return compare_exchange_strong(expected, v, success);
  }
  template <class... Orders>
  __forceinline__ bool compare_exchange_weak(T& expected, T v, Orders... orders) const {
    return compare_exchange_strong(expected, v, orders...);
  }
#define CONVSCOPE_FETCH(name, expression)                                    \
  __forceinline__ T name(T v, memory_order o = memory_order_seq_cst) const { \
    return update(o, [v](T old) { return static_cast<T>(expression); });     \
  }
  CONVSCOPE_FETCH(fetch_add, old + v)
  CONVSCOPE_FETCH(fetch_sub, old - v)
  CONVSCOPE_FETCH(fetch_max, old < v ? v : old)
  CONVSCOPE_FETCH(fetch_min, v < old ? v : old)
  CONVSCOPE_FETCH(fetch_and, old& v)
  CONVSCOPE_FETCH(fetch_or, old | v)
  CONVSCOPE_FETCH(fetch_xor, old ^ v)
#undef CONVSCOPE_FETCH
  __forceinline__ T operator+=(T v) const { return static_cast<T>(fetch_add(v) + v); }
  __forceinline__ T operator-=(T v) const { return static_cast<T>(fetch_sub(v) - v); }
  __forceinline__ T operator++() const { return *this += T(1); }
  __forceinline__ T operator++(int) const { return fetch_add(T(1)); }
  __forceinline__ T operator--() const { return *this -= T(1); }
  __forceinline__ T operator--(int) const { return fetch_sub(T(1)); }

 private:
  // uint64_t and size_t are other types than CUDA's words of the same width.
  using Word = std::conditional_t<std::is_same_v<T, unsigned long>, unsigned long long,
                                  std::conditional_t<std::is_same_v<T, long>, long long, T>>;
  template <class F>
  __forceinline__ T update(memory_order o, F f) const {
    convscope_release(o, scope);
    return static_cast<T>(convscope::simt::atomic_update(
        reinterpret_cast<Word*>(p_), [f](Word old) { return static_cast<Word>(f(static_cast<T>(old))); }));
  }
  T* p_;
};

// A word that is its own: in shared memory, or one that a file declares.
template <class T, thread_scope scope = thread_scope_system>
class atomic {
 public:
  atomic() = default;
  constexpr atomic(T v) : word_(v) {}
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;
  __forceinline__ T load(memory_order o = memory_order_seq_cst) { return ref().load(o); }
  __forceinline__ void store(T v, memory_order o = memory_order_seq_cst) { ref().store(v, o); }
  __forceinline__ T exchange(T v, memory_order o = memory_order_seq_cst) { return ref().exchange(v, o); }
  __forceinline__ T fetch_add(T v, memory_order o = memory_order_seq_cst) { return ref().fetch_add(v, o); }
  __forceinline__ T fetch_sub(T v, memory_order o = memory_order_seq_cst) { return ref().fetch_sub(v, o); }
  __forceinline__ T fetch_max(T v, memory_order o = memory_order_seq_cst) { return ref().fetch_max(v, o); }
  __forceinline__ T fetch_min(T v, memory_order o = memory_order_seq_cst) { return ref().fetch_min(v, o); }
  template <class... Orders>
  __forceinline__ bool compare_exchange_strong(T& expected, T v, Orders... orders) {
    return ref().compare_exchange_strong(expected, v, orders...);
  }
  template <class... Orders>
  __forceinline__ bool compare_exchange_weak(T& expected, T v, Orders... orders) {
    return ref().compare_exchange_weak(expected, v, orders...);
  }
  __forceinline__ operator T() { return load(); }
  __forceinline__ T operator=(T v) { return store(v), v; }
  __forceinline__ T operator+=(T v) { return ref() += v; }
  __forceinline__ T operator++() { return ++ref(); }
  __forceinline__ T operator++(int) { return ref()++; }

 private:
  __forceinline__ atomic_ref<T, scope> ref() { return atomic_ref<T, scope>(word_); }
  T word_;
};

}  // namespace cuda
