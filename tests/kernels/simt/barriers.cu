// Kernels that wait for their block.
#include "convscope/kernel.h"

// Sums a block's numbers by halving; right only if every barrier holds everyone back.
extern "C" __global__ void block_sum(const int* in, int* out) {
  __shared__ int part[1024];
  unsigned n = blockDim.x * blockDim.y * blockDim.z;
  unsigned t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  part[t] = in[blockIdx.x * n + t];
  __syncthreads();
  for (unsigned width = n; width > 1;) {
    unsigned half = (width + 1) / 2;
    if (t + half < width) part[t] += part[t + half];
    width = half;
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = part[0];
}

// Every thread hands its value to its right neighbour, `rounds` times.
extern "C" __global__ void rotate(int* values, int rounds) {
  __shared__ int ring[1024];
  int n = blockDim.x, t = threadIdx.x, mine = values[blockIdx.x * n + t];
  for (int r = 0; r < rounds; r++) {
    ring[t] = mine;
    __syncthreads();
    mine = ring[(t + n - 1) % n];
    __syncthreads();
  }
  values[blockIdx.x * n + t] = mine;
}

extern "C" __global__ void vote_block(const int* predicate, int* count, int* all, int* any) {
  int t = threadIdx.x;
  count[t] = __syncthreads_count(predicate[t]);
  all[t] = __syncthreads_and(predicate[t]);
  any[t] = __syncthreads_or(predicate[t]);
}

// Votes again and again, so that one result must not be mistaken for the next.
extern "C" __global__ void vote_often(int rounds, int* wrong) {
  int t = threadIdx.x, bad = 0;
  for (int r = 0; r < rounds; r++) {
    int want = min(r, static_cast<int>(blockDim.x));
    bad += __syncthreads_count(t < r) != want;
    if (r % 3 == 0) __syncthreads();
  }
  atomicAdd(wrong, bad);
}

// A barrier in a function that several places of the kernel call.
__device__ __noinline__ int exchange(int* cell, int value) {
  int t = threadIdx.x, n = blockDim.x;
  cell[t] = value;
  __syncthreads();
  int got = cell[n - 1 - t];
  __syncthreads();
  return got;
}
extern "C" __global__ void barrier_in_function(int* out) {
  __shared__ int cell[128];
  int a = exchange(cell, threadIdx.x);
  int b = exchange(cell, a * 2);
  out[threadIdx.x] = b;
}

// What a barrier costs: nothing else happens.
extern "C" __global__ void many_barriers(int rounds) {
  for (int r = 0; r < rounds; r++) __syncthreads();
}

#ifndef __CUDACC__
CONVSCOPE_KERNEL(test_barriers) {
  test_only();
  idea("waits for its block");
  plan([](const ConvProblem&, Plan& plan) {
    plan.launch(ENTRY(block_sum), {1}, {1}).args(plan.x(), plan.y());
    plan.launch(ENTRY(rotate), {1}, {1}).args(plan.y(), 0);
    plan.launch(ENTRY(vote_block), {1}, {1}).args(plan.x(), plan.y(), plan.y(), plan.y());
    plan.launch(ENTRY(vote_often), {1}, {1}).args(0, plan.y());
    plan.launch(ENTRY(barrier_in_function), {1}, {1}).args(plan.y());
    plan.launch(ENTRY(many_barriers), {1}, {1}).args(0);
  });
}
#endif
