// Kernels in the words of CUB and of <cuda/barrier>: reductions and scans of a block and a warp, barriers that are
// objects, pipelines, copies that are waited for.
#include "convscope/block_barrier.h"
#include "convscope/copy.h"
#include "convscope/cub.h"
#include "convscope/kernel.h"
#include "convscope/outside.h"
#include "convscope/pipeline.h"

namespace cg = cooperative_groups;

// Of each thread 4 numbers, of which those of reductions are the first thread's alone.
template <int threads>
__device__ __forceinline__ void tell_folds(const int* in, int* out, int valid) {
  using Reduce = cub::BlockReduce<int, threads>;
  using Scan = cub::BlockScan<int, threads>;
  __shared__ union {
    typename Reduce::TempStorage reduce;
    typename Scan::TempStorage scan;
  } temp;
  const int t = static_cast<int>(threadIdx.x), own = in[t];
  const int sum = Reduce(temp.reduce).Sum(own, valid);
  __syncthreads();
  const int most = Reduce(temp.reduce).Reduce(own, cub::Max());
  __syncthreads();
  int up_to, before, all;
  Scan(temp.scan).InclusiveSum(own, up_to);
  __syncthreads();
  Scan(temp.scan).ExclusiveSum(own, before, all);
  const int row[] = {sum, most, up_to, before, all};
  for (int i = 0; i < 5; i++) out[t * 5 + i] = row[i];
}
extern "C" __global__ void folds_of_96(const int* in, int* out, int valid) { tell_folds<96>(in, out, valid); }
extern "C" __global__ void folds_of_40(const int* in, int* out, int valid) { tell_folds<40>(in, out, valid); }

// Of each thread the sum of its 8 lanes (the first one's), the sum up to it and before it; then a tile of 3 by each
// thread, doubled.
extern "C" __global__ void parts_of_warps(const int* in, int* out, const int* tile, int* doubled, int valid) {
  using Load = cub::BlockLoad<int, 64, 3, cub::BLOCK_LOAD_TRANSPOSE>;
  using Store = cub::BlockStore<int, 64, 3, cub::BLOCK_STORE_STRIPED>;
  __shared__ typename Load::TempStorage load;
  const int t = static_cast<int>(threadIdx.x);
  int up_to, before, items[3];
  const int sum = cub::WarpReduce<int, 8>().Sum(in[t]);
  cub::WarpScan<int, 8>().InclusiveSum(in[t], up_to);
  cub::WarpScan<int, 8>().ExclusiveSum(in[t], before);
  out[t * 3] = sum, out[t * 3 + 1] = up_to, out[t * 3 + 2] = before;
  Load(load).Load(tile, items, valid, 7);
  for (int& item : items) item *= 2;
  Store().Store(doubled, items);
}

using block_barrier = cuda::barrier<cuda::thread_scope_block>;

// Half of the threads arrive and go on, half wait for them, again and again; the last to come says how often.
extern "C" __global__ void arrivals(int* seen, int rounds) {
  __shared__ block_barrier filled, read;
  __shared__ int box;
  if (threadIdx.x == 0) init(&filled, 32), init(&read, 32);
  __syncthreads();
  for (int i = 0; i < rounds; i++) {
    if (threadIdx.x < 32) {
      if (threadIdx.x == 31) box = i;
      filled.wait(filled.arrive());
      read.wait(read.arrive());
    } else {
      filled.wait_parity(i % 2);
      if (threadIdx.x == 40) seen[i] = box;
    }
    __syncthreads();
  }
}

// Through two stages: the first `producers` threads bring, the others read; without, all do both.
extern "C" __global__ void stages(const int* in, int* out, int rounds, int producers) {
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  __shared__ int stage[2][64];
  const auto block = cg::this_thread_block();
  const int t = static_cast<int>(threadIdx.x);
  const auto role = t < producers ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
  auto pipe = producers ? cuda::make_pipeline(block, &state, role) : cuda::make_pipeline(block, &state);
  for (int i = 0; i < rounds; i++) {
    if (t < producers || !producers) {
      pipe.producer_acquire();
      if (producers)
        cuda::memcpy_async(stage[i % 2] + t, in + i * 64 + t, sizeof(int), pipe);
      else
        cuda::memcpy_async(block, stage[i % 2], in + i * 64, cuda::aligned_size_t<16>(64 * sizeof(int)), pipe);
      pipe.producer_commit();
    }
    if (t < producers) continue;
    pipe.consumer_wait();
    const int reads = t - producers;
    out[i * 64 + reads] = stage[i % 2][producers ? reads % producers : reads];
    pipe.consumer_release();
  }
}

// Each of 64 threads orders a copy of a number, by one of the ways that there are, and reads another thread's behind a
// barrier; -1 where it is not there. Who does not wait may get it, or not.
enum LateWay { cp_async, cp_async_16, primitives, of_a_group, at_a_barrier, of_a_pipeline, late_ways };
extern "C" __global__ void late_copies(const int* in, int* out, int way, int waits) {
  __shared__ __align__(16) int stage[64];
  __shared__ block_barrier bar;
  const auto block = cg::this_thread_block();
  const int t = static_cast<int>(threadIdx.x);
  stage[t] = -1;
  if (t == 0) init(&bar, 64);
  __syncthreads();
  if (way == cp_async) {
    copy_async<4>(stage + t, in + t, true), copies_commit();
    if (waits) copies_wait<0>();
  } else if (way == cp_async_16) {
    if (t % 4 == 0) copy_async<16>(stage + t, in + t, true), copies_commit();
    if (waits) copies_wait<0>();
  } else if (way == primitives) {
    __pipeline_memcpy_async(stage + t, in + t, 4), __pipeline_commit();
    if (waits) __pipeline_wait_prior(0);
  } else if (way == of_a_group) {
    cg::memcpy_async(block, stage, in, 64 * sizeof(int));
    if (waits) cg::wait(block);
  } else if (way == at_a_barrier) {
    cuda::memcpy_async(block, stage, in, 64 * sizeof(int), bar);
    if (waits) bar.arrive_and_wait();
  } else if (way == of_a_pipeline) {
    auto pipe = cuda::make_pipeline();
    cuda::memcpy_async(stage + t, in + t, sizeof(int), pipe);
    pipe.producer_commit();
    if (waits) pipe.consumer_wait();
  }
  __syncthreads();
  out[t] = stage[t ^ 32];
}

// Four groups of a thread, of which all but `pending` are waited for; the last is not committed. What is there of each.
extern "C" __global__ void groups_of_copies(const int* in, int* out, int pending) {
  __shared__ int stage[4];
  for (int i = 0; i < 4; i++) stage[i] = -1;
  for (int i = 0; i < 4; i++) {
    copy_async<4>(stage + i, in + i, i != 1);
    if (i < 3) copies_commit();
  }
  if (pending == 2) copies_wait<2>();
  if (pending == 1) copies_wait<1>();
  if (pending == 0) copies_wait<0>();
  for (int i = 0; i < 4; i++) out[i] = stage[i];
}

extern "C" __global__ void copy_of_12_bytes(const int* in, int* out) {
  __shared__ __align__(16) int stage[4];
  __pipeline_memcpy_async(stage, in, 12);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  out[0] = stage[0];
}

extern "C" __global__ void too_many_arrive(int* out) {
  __shared__ block_barrier all;
  if (threadIdx.x == 0) init(&all, 16);
  __syncthreads();
  if (threadIdx.x < 15) all.arrive();
  __syncthreads();
  if (threadIdx.x == 20) out[0] = 1, all.arrive(2);
}

#ifndef __CUDACC__
CONVSCOPE_KERNEL(collectives) {
  idea("CUB's collectives, and barriers that are objects");
  test_only();
  plan([](const ConvProblem&, Plan& plan) {
    plan.launch(ENTRY(folds_of_96), {1}, {96}).args(plan.x(), plan.y(), 0);
    plan.launch(ENTRY(folds_of_40), {1}, {40}).args(plan.x(), plan.y(), 0);
    plan.launch(ENTRY(parts_of_warps), {1}, {64}).args(plan.x(), plan.y(), plan.x(), plan.y(), 0);
    plan.launch(ENTRY(arrivals), {1}, {64}).args(plan.y(), 0);
    plan.launch(ENTRY(stages), {1}, {64}).args(plan.x(), plan.y(), 0, 0);
    plan.launch(ENTRY(late_copies), {1}, {64}).args(plan.x(), plan.y(), 0, 0);
    plan.launch(ENTRY(groups_of_copies), {1}, {1}).args(plan.x(), plan.y(), 0);
    plan.launch(ENTRY(copy_of_12_bytes), {1}, {1}).args(plan.x(), plan.y());
    plan.launch(ENTRY(too_many_arrive), {1}, {64}).args(plan.y());
  });
}
#endif
