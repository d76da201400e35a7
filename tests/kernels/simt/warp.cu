// Kernels that talk within a warp.
#include "convscope/kernel.h"

// Lanes of the mask shuffle with one another; the others take no part and leave their output alone.
template <class T>
__device__ __forceinline__ void shuffle_lanes(const T* in, T* out, unsigned mask, int mode, int operand, int width) {
  int t = threadIdx.x;
  if (!(mask >> (t % 32) & 1)) return;
  T v = in[t];
  if (mode == 0)
    v = __shfl_sync(mask, v, operand, width);
  else if (mode == 1)
    v = __shfl_up_sync(mask, v, static_cast<unsigned>(operand), width);
  else if (mode == 2)
    v = __shfl_down_sync(mask, v, static_cast<unsigned>(operand), width);
  else
    v = __shfl_xor_sync(mask, v, operand, width);
  out[t] = v;
}
#define SHUFFLE_OF(T, name)                                                                               \
  extern "C" __global__ void name(const T* in, T* out, unsigned mask, int mode, int operand, int width) { \
    shuffle_lanes(in, out, mask, mode, operand, width);                                                   \
  }
SHUFFLE_OF(int, shuffle_int)
SHUFFLE_OF(unsigned, shuffle_unsigned)
SHUFFLE_OF(float, shuffle_float)
SHUFFLE_OF(double, shuffle_double)
SHUFFLE_OF(long long, shuffle_long)

// Each lane names its own source.
extern "C" __global__ void gather_lanes(const int* in, const int* from, int* out) {
  int t = threadIdx.x;
  out[t] = __shfl_sync(0xffffffffu, in[t], from[t]);
}

// The classical sum over a warp, for the warps of a block whose last one may be short.
extern "C" __global__ void warp_sum(const float* in, float* out) {
  unsigned n = blockDim.x, t = threadIdx.x, first = t & ~31u;
  unsigned mask = n - first >= 32 ? ~0u : (1u << (n - first)) - 1;
  float v = in[t];
  for (int d = 16; d > 0; d /= 2) {
    float other = __shfl_down_sync(mask, v, d);
    if (t % 32 + d < n - first) v += other;
  }
  if (t % 32 == 0) out[t / 32] = v;
}

// The two halves of a warp shuffle at two places, with two masks, interleaved as the schedule likes.
extern "C" __global__ void two_halves(int* out, int rounds) {
  int t = threadIdx.x, v = t;
  if (t < 16)
    for (int r = 0; r < rounds; r++) v = __shfl_sync(0x0000ffffu, v, (t + 1) % 16);
  else
    for (int r = 0; r < 2 * rounds; r++) v = __shfl_sync(0xffff0000u, v, 16 + (t + 15) % 16);
  out[t] = v;
}

// Masks that overlap: a lane takes part in one after the other.
extern "C" __global__ void overlapping_masks(int* out) {
  int t = threadIdx.x, v = t;
  if (t < 20) v = __shfl_sync(0x000fffffu, v, 19 - t);
  __syncwarp();
  if (t >= 10) v = __shfl_sync(0xfffffc00u, v, 41 - t);
  out[t] = v;
}

extern "C" __global__ void votes(const int* predicate, unsigned mask, unsigned* ballot, int* any, int* all) {
  int t = threadIdx.x;
  if (!(mask >> (t % 32) & 1)) return;
  ballot[t] = __ballot_sync(mask, predicate[t]);
  any[t] = __any_sync(mask, predicate[t]);
  all[t] = __all_sync(mask, predicate[t]);
}

// Who is here? Asked by all and in three branches.
extern "C" __global__ void active_lanes(unsigned* straight, unsigned* branch) {
  int t = threadIdx.x;
  straight[t] = __activemask();
  if (t % 3 == 0)
    branch[t] = __activemask();
  else if (t % 3 == 1)
    branch[t] = __activemask();
  else
    branch[t] = __activemask();
}

// In a loop that lanes leave one by one; the last answer of each.
extern "C" __global__ void active_in_loop(unsigned* loop) {
  int t = threadIdx.x;
  for (int r = 0; r <= t % 8; r++) loop[t] = __activemask();
}

// __syncwarp orders what lanes write and read.
extern "C" __global__ void warp_memory(int* out) {
  __shared__ int cell[32];
  int t = threadIdx.x, v = t;
  for (int r = 0; r < 40; r++) {
    cell[t] = v;
    __syncwarp();
    v = cell[(t + 1) % 32];
    __syncwarp();
  }
  out[t] = v;
}

// What a shuffle costs: nothing else happens.
extern "C" __global__ void many_shuffles(int rounds, int* out) {
  int v = threadIdx.x;
  for (int r = 0; r < rounds; r++) v = __shfl_xor_sync(0xffffffffu, v, 1);
  if (v < 0) out[0] = v;
}

#ifndef __CUDACC__
CONVSCOPE_KERNEL(test_warp) {
  test_only();
  idea("talks within a warp");
  plan([](const ConvProblem&, Plan& plan) {
    plan.launch(ENTRY(shuffle_int), {1}, {1}).args(plan.x(), plan.y(), 0, 0, 0, 0);
    plan.launch(ENTRY(shuffle_unsigned), {1}, {1}).args(plan.x(), plan.y(), 0, 0, 0, 0);
    plan.launch(ENTRY(shuffle_float), {1}, {1}).args(plan.x(), plan.y(), 0, 0, 0, 0);
    plan.launch(ENTRY(shuffle_double), {1}, {1}).args(plan.x(), plan.y(), 0, 0, 0, 0);
    plan.launch(ENTRY(shuffle_long), {1}, {1}).args(plan.x(), plan.y(), 0, 0, 0, 0);
    plan.launch(ENTRY(gather_lanes), {1}, {1}).args(plan.x(), plan.w(), plan.y());
    plan.launch(ENTRY(warp_sum), {1}, {1}).args(plan.x(), plan.y());
    plan.launch(ENTRY(two_halves), {1}, {1}).args(plan.y(), 0);
    plan.launch(ENTRY(overlapping_masks), {1}, {1}).args(plan.y());
    plan.launch(ENTRY(votes), {1}, {1}).args(plan.x(), 0, plan.y(), plan.y(), plan.y());
    plan.launch(ENTRY(active_lanes), {1}, {1}).args(plan.y(), plan.y());
    plan.launch(ENTRY(active_in_loop), {1}, {1}).args(plan.y());
    plan.launch(ENTRY(warp_memory), {1}, {1}).args(plan.y());
    plan.launch(ENTRY(many_shuffles), {1}, {1}).args(0, plan.y());
  });
}
#endif
