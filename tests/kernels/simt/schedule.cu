// Kernels whose result depends on the order of threads or blocks: wrong on purpose, to show that seeds change the
// order.
#include "convscope/kernel.h"

// Each thread reads its neighbour's cell without waiting for it.
extern "C" __global__ void race_in_block(int* out) {
  __shared__ int cell[256];
  int t = threadIdx.x, n = blockDim.x;
  cell[t] = -1;
  __syncthreads();
  cell[t] = t;
  out[blockIdx.x * n + t] = cell[(t + 1) % n];  // no barrier between
}

// The same with the barrier: no race.
extern "C" __global__ void no_race_in_block(int* out) {
  __shared__ int cell[256];
  int t = threadIdx.x, n = blockDim.x;
  cell[t] = -1;
  __syncthreads();
  cell[t] = t;
  __syncthreads();
  out[blockIdx.x * n + t] = cell[(t + 1) % n];
}

// Which turn each warp, lane or block gets, counted in one shared word.
extern "C" __global__ void turns(unsigned* counter, unsigned* turn) {
  turn[blockIdx.x * blockDim.x + threadIdx.x] = atomicAdd(counter, 1u);
}

// A float sum whose last bits depend on the order of the blocks.
extern "C" __global__ void order_dependent_sum(const float* in, float* sum) {
  atomicAdd(sum, in[blockIdx.x * blockDim.x + threadIdx.x]);
}

// Lanes exchange, warps wait, blocks add: everything at once, and still one result.
extern "C" __global__ void busy(const int* in, int* out, unsigned long long* total) {
  __shared__ int part[8];
  int t = threadIdx.x, n = blockDim.x, v = in[blockIdx.x * n + t];
  for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
  if (t % 32 == 0) part[t / 32] = v;
  __syncthreads();
  int sum = 0;
  for (int w = 0; w < n / 32; w++) sum += part[w];
  unsigned odd = __ballot_sync(0xffffffffu, in[blockIdx.x * n + t] & 1);
  out[blockIdx.x * n + t] = sum + __popc(odd);
  if (t == 0) atomicAdd(total, static_cast<unsigned long long>(sum));
}

#ifndef __CUDACC__
CONVSCOPE_KERNEL(test_schedule) {
  test_only();
  idea("depends on the order of threads");
  plan([](const ConvProblem&, Plan& plan) {
    plan.launch(ENTRY(race_in_block), {1}, {1}).args(plan.y());
    plan.launch(ENTRY(no_race_in_block), {1}, {1}).args(plan.y());
    plan.launch(ENTRY(turns), {1}, {1}).args(plan.y(), plan.y());
    plan.launch(ENTRY(order_dependent_sum), {1}, {1}).args(plan.x(), plan.y());
    plan.launch(ENTRY(busy), {1}, {1}).args(plan.x(), plan.y(), plan.y());
  });
}
#endif
