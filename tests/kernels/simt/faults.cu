// Kernels that break a rule of the machine, each in its own way. The marks (FAULT name) are looked up by the tests,
// which expect the fault to name the line that the mark stands on.
#include "convscope/kernel.h"

#ifndef __CUDACC__
#include <stdexcept>

// Objects of a kernel that a fault leaves behind would show here.
inline int objects_made = 0, objects_gone = 0;
struct Counted {
  Counted() { __atomic_fetch_add(&objects_made, 1, __ATOMIC_RELAXED); }
  ~Counted() { __atomic_fetch_add(&objects_gone, 1, __ATOMIC_RELAXED); }
};
#endif

// No fault: a barrier waits for the threads that have not exited. Twice, so that who has gone on does not count for the
// next one.
extern "C" __global__ void exit_before_barrier(unsigned who, int* out) {
  __shared__ int left[64];
  if (threadIdx.x == who) return;
  left[threadIdx.x] = 1;
  int voted = __syncthreads_count(1);
  int sum = 0;
  for (unsigned i = 0; i < 64; i++) sum += i == who ? 0 : left[i];
  __syncthreads();
  left[threadIdx.x] = 0;
  voted += __syncthreads_count(threadIdx.x % 2);
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum * 1000 + voted;
}

extern "C" __global__ void two_barriers(unsigned border) {
  if (threadIdx.x < border) {
    __syncthreads();  // FAULT first_barrier
  } else {
    __syncthreads();  // FAULT second_barrier
  }
}

extern "C" __global__ void warp_exits() {
  if (threadIdx.x / 32 == 1) return;
  __syncthreads();
}

__device__ __forceinline__ int* cell(int* out) { return out + blockIdx.x * blockDim.x + threadIdx.x; }

extern "C" __global__ void mask_of_ended_lane(int* out, int who) {
  int t = threadIdx.x;
  if (t == who) return;
  *cell(out) = __shfl_sync(0xffffffffu, t, 0);  // FAULT mask_of_ended_lane
}

extern "C" __global__ void mask_of_missing_lane(int* out) {
  *cell(out) = __ballot_sync(0xffffffffu, 1);  // FAULT mask_of_missing_lane
}

extern "C" __global__ void mask_without_caller(int* out) {
  *cell(out) = __shfl_xor_sync(0x0000fffeu, 1, 1);  // FAULT mask_without_caller
}

extern "C" __global__ void different_operations(int* out) {
  int t = threadIdx.x;
  if (t % 2) {
    *cell(out) = __shfl_sync(0xffffffffu, t, 0);  // FAULT shuffle_side
  } else {
    *cell(out) = __ballot_sync(0xffffffffu, t);  // FAULT ballot_side
  }
}

// Both are shuffles of the same type, and still not one operation.
extern "C" __global__ void different_shuffles(int* out) {
  int t = threadIdx.x;
  if (t % 2) {
    *cell(out) = __shfl_up_sync(0xffffffffu, t, 1);  // FAULT up_side
  } else {
    *cell(out) = __shfl_down_sync(0xffffffffu, t, 1);  // FAULT down_side
  }
}

extern "C" __global__ void different_masks(int* out) {
  int t = threadIdx.x;
  if (t == 0) {
    *cell(out) = __shfl_sync(0x00000003u, t, 0);  // FAULT small_mask
  } else {
    *cell(out) = __shfl_sync(0xffffffffu, t, 0);  // FAULT large_mask
  }
}

// Lane 0 waits for lane 1, which waits for the block.
extern "C" __global__ void circular_wait() {
  __syncthreads();                        // one that all reach
  if (threadIdx.x == 0) __syncwarp(0x3);  // FAULT waits_for_lane
  __syncthreads();                        // FAULT waits_for_block
}

extern "C" __global__ void trap_at(unsigned block, unsigned thread) {
  if (blockIdx.x == block && threadIdx.x == thread) __trap();  // FAULT trap
  __syncthreads();
}

extern "C" __global__ void throw_at(unsigned thread, int kind) {
#ifndef __CUDACC__
  if (threadIdx.x == thread) {
    if (kind == 0) throw std::runtime_error("planted in a kernel");
    throw 7;
  }
#endif
  __syncthreads();
}

// Threads that stand inside the kernel when another one fails.
extern "C" __global__ void fault_with_objects() {
#ifndef __CUDACC__
  Counted one;
  Counted two;
#endif
  if (threadIdx.x == 40) __trap();
  __syncwarp(threadIdx.x < 32 ? 0xffffffffu : 1u << (threadIdx.x % 32));
  __syncthreads();
}
extern "C" __global__ void count_objects(int* made, int* gone) {
#ifndef __CUDACC__
  *made = objects_made, *gone = objects_gone;
#endif
}

// 64 floats are asked for.
extern "C" __global__ void outside_dynamic(int by) {
  CONVSCOPE_DYNAMIC_SHARED(float, line);
  line[threadIdx.x] = 1;
  if (threadIdx.x == 3 && blockIdx.x == 1) line[by] = 1;
}
// Each block adds to what it finds.
extern "C" __global__ void dynamic_not_cleared(float* out) {
  CONVSCOPE_DYNAMIC_SHARED(float, sums);
  sums[threadIdx.x] += 1;
  out[blockIdx.x * blockDim.x + threadIdx.x] = sums[threadIdx.x];
}

// Nothing wrong: what runs after a fault.
extern "C" __global__ void healthy(int* out) {
  __shared__ int cell[256];
  int t = threadIdx.x, n = blockDim.x;
  cell[t] = __shfl_xor_sync(0xffffffffu, t, 1);
  __syncthreads();
  out[blockIdx.x * n + t] = cell[n - 1 - t];
}

#ifndef __CUDACC__
CONVSCOPE_KERNEL(test_faults) {
  test_only();
  idea("breaks a rule of the machine");
  plan([](const ConvProblem&, Plan& plan) {
    plan.launch(ENTRY(exit_before_barrier), {1}, {1}).args(0, plan.y());
    plan.launch(ENTRY(two_barriers), {1}, {1}).args(0);
    plan.launch(ENTRY(warp_exits), {1}, {1}).args();
    plan.launch(ENTRY(mask_of_ended_lane), {1}, {1}).args(plan.y(), 0);
    plan.launch(ENTRY(mask_of_missing_lane), {1}, {1}).args(plan.y());
    plan.launch(ENTRY(mask_without_caller), {1}, {1}).args(plan.y());
    plan.launch(ENTRY(different_operations), {1}, {1}).args(plan.y());
    plan.launch(ENTRY(different_shuffles), {1}, {1}).args(plan.y());
    plan.launch(ENTRY(different_masks), {1}, {1}).args(plan.y());
    plan.launch(ENTRY(circular_wait), {1}, {1}).args();
    plan.launch(ENTRY(trap_at), {1}, {1}).args(0, 0);
    plan.launch(ENTRY(throw_at), {1}, {1}).args(0, 0);
    plan.launch(ENTRY(fault_with_objects), {1}, {1}).args();
    plan.launch(ENTRY(count_objects), {1}, {1}).args(plan.y(), plan.y());
    plan.launch(ENTRY(outside_dynamic), {1}, {1}).args(0);
    plan.launch(ENTRY(dynamic_not_cleared), {1}, {1}).args(plan.y());
    plan.launch(ENTRY(healthy), {1}, {1}).args(plan.y());
  });
}

// Declares hardware that the emulator does not have.
CONVSCOPE_KERNEL(test_needs_hardware) {
  test_only();
  idea("needs what only a GPU has");
  requires_("sm_100a", "tcgen05");
  plan([](const ConvProblem&, Plan& plan) { plan.launch(ENTRY(healthy), {1}, {256}).args(plan.y()); });
}
#endif
