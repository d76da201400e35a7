// Kernels with a race between threads, each beside one that does the same with the order that it needs. Traced only.
// Each takes x and y, 64 positions or more; 64 threads a block.
#include "convscope/copy.h"
#include "convscope/half.h"
#include "convscope/hopper.h"
#include "convscope/kernel.h"

namespace {
constexpr int n = 64;

// A neighbour's value: written by one thread, read by another.
template <bool barrier>
__device__ __forceinline__ void neighbour(const float* x, float* y) {
  __shared__ float s[n];
  const int t = threadIdx.x;
  s[t] = x[t];  // RACE written
  if (barrier) __syncthreads();
  y[t] = s[t ^ 32];  // RACE read
}

// A place that is used again in each round: read, and then overwritten by another thread.
template <bool second_barrier>
__device__ __forceinline__ void rounds(const float* x, float* y) {
  __shared__ float s[n];
  const int t = threadIdx.x;
  float sum = 0;
  for (int round = 0; round < 3; round++) {
    s[t] = x[t] + round;
    __syncthreads();
    sum += s[n - 1 - t];
    if (second_barrier) __syncthreads();
  }
  y[t] = sum;
}

// Without end where no other block comes to write. What is left behind by an exception would want its destructor.
struct LeftBehind {
  float* y;
  ~LeftBehind() { *y = 0; }
};
__device__ __forceinline__ void waits(const float* x, float* y, const float* w) {
  LeftBehind last{y + n * blockIdx.x};
  if (threadIdx.x == 0)
    while (atomicAdd(const_cast<float*>(w), 0.0f) < 1e30f) {
    }
  y[n * blockIdx.x + threadIdx.x] = x[threadIdx.x];
}

enum class Order { nothing, warp, shuffle };

// Within a warp, or across warps.
template <Order order, int across>
__device__ __forceinline__ void in_warp(const float* x, float* y) {
  __shared__ float s[n];
  const int t = threadIdx.x;
  s[t] = x[t];
  float other = 0;
  if (order == Order::warp) __syncwarp();
  if (order == Order::shuffle) other = __shfl_xor_sync(~0u, x[t], 1);
  y[t] = s[t ^ across] + other;
}

template <bool atomic, bool barrier>
__device__ __forceinline__ void count(const float* x, float* y) {
  __shared__ int cell[1];
  const int t = threadIdx.x;
  if (t == 0) cell[0] = 0;
  __syncthreads();
  if (atomic)
    atomicAdd(cell, 1);
  else
    cell[0]++;
  if (barrier) __syncthreads();
  if (t == 5) y[t] = static_cast<float>(cell[0]) + x[t];
}

// Each clears a word and adds to its own and to the next thread's: what is cleared is not ordered by what is added.
template <bool barrier>
__device__ __forceinline__ void clear_and_add(const float* x, float* y) {
  __shared__ int cells[64];
  const int t = threadIdx.x;
  cells[t] = 0;
  if (barrier) __syncthreads();
  atomicAdd(&cells[t], 1);
  atomicAdd(&cells[(t + 1) % 64], 1);
  __syncthreads();
  y[t] = static_cast<float>(cells[t]) + x[t];
}

// Half of the block fills, half takes.
template <bool waits>
__device__ __forceinline__ void hand_over(const float* x, float* y) {
  __shared__ float s[32];
  const int t = threadIdx.x;
  if (t < 32) {
    s[t] = x[t];
    if (waits) arrive<n>(1);
  } else {
    if (waits) meet<n>(1);
    y[t] = s[63 - t];
  }
}

// The copy engine fills a stage, 32 threads take it and give it back, twice. Who does not wait for it reads while it is
// written; who does not give it back has it overwritten.
template <bool waits, bool gives_back>
__device__ __forceinline__ void stage(const float* x, float* y) {
  CONVSCOPE_DYNAMIC_SHARED(float, s);
  const uint32_t base = shared_address(s), full = base + 4096, empty = base + 4104;
  const int t = threadIdx.x;
  if (t == 0) {
    barrier_init(full, 1);
    barrier_init(empty, 32);
  }
  __syncthreads();
  for (uint32_t round = 0; round < (waits ? 2 : 1); round++) {
    if (t == 0) {
      if (round) barrier_wait(empty, 0);
      barrier_expect(full, 128);
      copy_bytes(base, x, 128, full);
    } else if (t >= 32) {
      if (waits) barrier_wait(full, round);
      if (!gives_back) barrier_arrive(empty);
      y[t] = s[63 - t];
      if (gives_back) barrier_arrive(empty);
    }
  }
}

// Copies that their threads wait for: in time, behind the barrier, not at all; ordered to where others still read.
enum class Copies { right, late_wait, no_wait, own, overwrites, twice };
template <Copies way>
__device__ __forceinline__ void late(const float* x, float* y) {
  __shared__ float s[2][n];
  const int t = threadIdx.x;
  float sum = 0;
  if (way == Copies::overwrites) {
    s[0][t] = x[t];
    __syncthreads();
    sum = s[0][t ^ 32];
  }
  copy_async<4>(&s[0][way == Copies::twice ? t / 2 : t], x + (way == Copies::twice ? t / 2 : t), true);  // COPY ordered
  copies_commit();
  if (way == Copies::own) {
    y[t] = s[0][t];  // COPY read
    return;
  }
  if (way != Copies::late_wait && way != Copies::no_wait) copies_wait<0>();
  __syncthreads();
  sum += s[0][way == Copies::twice ? t / 2 ^ 16 : t ^ 32];  // COPY taken
  if (way == Copies::late_wait) copies_wait<0>();
  y[t] = sum;
}

// All write a word, each something else, and read it after a barrier.
__device__ __forceinline__ void own(const float* x, float* y) {
  __shared__ float s;
  const int t = threadIdx.x;
  s = x[t] + t;
  __syncthreads();
  y[t] = s;
}

// Right whatever the order: what is read too early is never so large.
__device__ __forceinline__ void unused(const float* x, float* y, const float* w) {
  __shared__ float s[n];
  const int t = threadIdx.x, at = blockIdx.x * n + t;
  s[t] = x[at];
  y[at] = x[at] * w[0] + (s[t ^ 32] > 1e30f ? 1.0f : 0.0f);
}

// What a launch before has left, of each thread its own.
float kept[n];

// What one thread computes, or all of them: then all write the same.
template <bool one>
__device__ __forceinline__ void scale(const float* x, float* y, const float* w) {
  __shared__ float s;
  const int t = threadIdx.x;
  if (!one || t == 0) s = w[0];
  __syncthreads();
  const int at = blockIdx.x * n + t;
  y[at] = x[at] * s;
}

// One place of shared memory is not written, and is read: what was read there is used, or not.
template <bool all, bool dynamic, bool used>
__device__ __forceinline__ void unset(const float* x, float* y, const float* w) {
  __shared__ float fixed[n];
  CONVSCOPE_DYNAMIC_SHARED(float, sized);
  float* s = dynamic ? sized : fixed;
  const int t = threadIdx.x, at = blockIdx.x * n + t;
  if (all || t != 5) s[t] = x[at];
  __syncthreads();
  const float v = *static_cast<volatile float*>(s + t);  // UNSET read
  y[at] = (used || t != 5 ? v : x[at]) * w[0];
}

// Each block writes the last output of the one before it, too, as another.
__device__ __forceinline__ void beyond_its_own(const float* x, float* y, const float* w) {
  const int t = threadIdx.x, at = blockIdx.x * n + t;
  y[at] = x[at] * w[0];
  if (t == 0 && blockIdx.x) y[at - 1] = 2 * x[at] * w[0];
}
}  // namespace

#define RACE(name, ...) \
  extern "C" __global__ void name##_run(const float* x, const float* w, float* y) { __VA_ARGS__; }
// clang-format off
#define RACES(F)                                                                \
  F(race_no_barrier, neighbour<false>(x, y))                                    \
  F(calm_barrier, neighbour<true>(x, y))                                        \
  F(race_second_round, rounds<false>(x, y))                                     \
  F(calm_second_round, rounds<true>(x, y))                                      \
  F(race_warp, in_warp<Order::nothing, 1>(x, y))                                \
  F(calm_syncwarp, in_warp<Order::warp, 1>(x, y))                               \
  F(race_syncwarp_across, in_warp<Order::warp, 32>(x, y))                       \
  F(race_shuffle, in_warp<Order::shuffle, 1>(x, y))                             \
  F(race_plain_sum, count<false, true>(x, y))                                   \
  F(calm_atomic_sum, count<true, true>(x, y))                                   \
  F(race_atomic_read, count<true, false>(x, y))                                 \
  F(race_clear_and_add, clear_and_add<false>(x, y))                                  \
  F(calm_clear_and_add, clear_and_add<true>(x, y))                                  \
  F(race_no_hand_over, hand_over<false>(x, y))                                  \
  F(calm_hand_over, hand_over<true>(x, y))                                      \
  F(calm_stage, stage<true, true>(x, y))                                   \
  F(race_stage_early, stage<false, true>(x, y))                            \
  F(race_stage_taken, stage<true, false>(x, y))                            \
  F(calm_all_write_it, scale<false>(x, y, w))                                   \
  F(calm_one_writes, scale<true>(x, y, w))                                      \
  F(race_all_write_their_own, own(x, y))                                        \
  F(race_that_does_not_matter, unused(x, y, w))                                 \
  F(calm_copy, late<Copies::right>(x, y))                                       \
  F(race_copy_late_wait, late<Copies::late_wait>(x, y))                         \
  F(race_copy_no_wait, late<Copies::no_wait>(x, y))                             \
  F(race_copy_own, late<Copies::own>(x, y))                                     \
  F(race_copy_overwrites, late<Copies::overwrites>(x, y))                       \
  F(calm_copy_twice, late<Copies::twice>(x, y))                                 \
  F(race_output, y[threadIdx.x / 2] = x[threadIdx.x])                           \
  F(calm_halves, reinterpret_cast<__half*>(y)[threadIdx.x] = __half(1.0f))
// Of several blocks, all of which have the same n outputs; and of addresses that are no multiple of what is moved.
#define BLOCKS(F)                                                                                                  \
  F(race_blocks_sum, const float old = y[threadIdx.x];                                                             \
                     y[threadIdx.x] = (old == old ? old : 0) + x[n * blockIdx.x + threadIdx.x])                    \
  F(race_blocks_their_own, y[threadIdx.x] = static_cast<float>(blockIdx.x))                                        \
  F(race_blocks_mixed, if (blockIdx.x) atomicAdd(y + threadIdx.x, 1.0f); else y[threadIdx.x] = x[threadIdx.x])     \
  F(calm_blocks_atomic, atomicAdd(y + threadIdx.x, x[n * blockIdx.x + threadIdx.x]))                               \
  F(calm_blocks_same, y[threadIdx.x] = 3.0f)                                                                       \
  F(calm_blocks_apart, y[n * blockIdx.x + threadIdx.x] = x[threadIdx.x])                                           \
  F(calm_blocks_ticket, atomicAdd(const_cast<float*>(w), 1.0f); y[threadIdx.x] += 1.0f)                            \
  F(race_blocks_beyond, beyond_its_own(x, y, w))                                                                   \
  F(unset_static, unset<false, false, true>(x, y, w))                                                              \
  F(unset_dynamic, unset<false, true, true>(x, y, w))                                                              \
  F(unset_unused, unset<false, false, false>(x, y, w))                                                             \
  F(set_static, unset<true, false, true>(x, y, w))                                                                 \
  F(set_dynamic, unset<true, true, true>(x, y, w))                                                                 \
  F(misaligned_write, reinterpret_cast<float2*>(y + 1)[n / 2 * blockIdx.x] = make_float2(1, 2))                    \
  F(waits_for_others, waits(x, y, w))                                                                              \
  F(remembers, y[threadIdx.x] = x[threadIdx.x] + kept[threadIdx.x]; kept[threadIdx.x] += 1.0f)                     \
  F(aligned_write, reinterpret_cast<float2*>(y + 2)[n / 2 * blockIdx.x % 100] = make_float2(1, 2))
// clang-format on
RACES(RACE)
BLOCKS(RACE)

#ifndef __CUDACC__
#define REGISTER(name, ...)                                                                         \
  CONVSCOPE_KERNEL(name) {                                                                          \
    test_only();                                                                                    \
    idea("for the search for races");                                                               \
    plan([](const ConvProblem& p, Plan& plan) {                                                     \
      plan.launch(ENTRY(name##_run), {p.length / n}, {n}, 8192).args(plan.x(), plan.w(), plan.y()); \
    });                                                                                             \
  }
RACES(REGISTER)
BLOCKS(REGISTER)
#endif
