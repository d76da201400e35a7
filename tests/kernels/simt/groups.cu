// Kernels in the words of files from outside: cooperative groups, functions of a warp, atomic additions of 16 bits,
// matrices.
#include "convscope/cooperative_groups.h"
#include "convscope/half_functions.h"
#include "convscope/kernel.h"
#include "convscope/outside.h"
#include "convscope/wmma.h"

namespace cg = cooperative_groups;

// Of each thread: what tiles of Size say of it and give it, 10 numbers.
template <unsigned Size>
__device__ __forceinline__ void tell_tile(int* out, int operand) {
  const cg::thread_block block = cg::this_thread_block();
  const cg::thread_block_tile<Size> tile = cg::tiled_partition<Size>(block);
  const auto part = cg::tiled_partition<Size / 2>(cg::tiled_partition<Size>(block));
  const int own = static_cast<int>(block.thread_rank());
  const int row[] = {static_cast<int>(tile.thread_rank()),
                     static_cast<int>(tile.meta_group_rank() * 100 + tile.meta_group_size()),
                     tile.shfl(own, operand),
                     tile.shfl_down(own, static_cast<unsigned>(operand)),
                     tile.shfl_up(own, static_cast<unsigned>(operand)),
                     static_cast<int>(tile.shfl_xor(static_cast<double>(own), static_cast<unsigned>(operand))),
                     static_cast<int>(tile.ballot(own % 3 == 0)),
                     cg::reduce(tile, own, cg::plus<int>()) * 1000 + cg::reduce(tile, own, cg::greater<int>()),
                     tile.any(own == 5) * 2 + tile.all(own < 40),
                     static_cast<int>(part.meta_group_rank() * 100 + part.size() + part.thread_rank())};
  block.sync();
  for (int i = 0; i < 10; i++) out[own * 10 + i] = row[i];
}
extern "C" __global__ void tiles_of_16(int* out, int operand) { tell_tile<16>(out, operand); }
extern "C" __global__ void tiles_of_32(int* out, int operand) { tell_tile<32>(out, operand); }

// Lanes of whose warp the odd ones are here together.
extern "C" __global__ void odd_lanes(int* out) {
  const int t = threadIdx.x;
  if (t % 2 == 0) return;
  const cg::coalesced_group g = cg::coalesced_threads();
  out[t] = static_cast<int>(g.size() * 1000000 + g.thread_rank() * 10000) + g.shfl_down(t, 1) * 100 + g.shfl(t, 2);
}

// A group whose kind is known when it runs.
__device__ void wait_and_tell(const cg::thread_group& g, int* out) {
  g.sync();
  out[threadIdx.x] += static_cast<int>(g.size() * 100 + g.thread_rank());
}
extern "C" __global__ void any_group(int* out) {
  out[threadIdx.x] = 0;
  wait_and_tell(cg::this_thread_block(), out);
  wait_and_tell(cg::tiled_partition(cg::this_thread_block(), 8), out);
}

extern "C" __global__ void one_lane_misses(int* out) {
  const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  if (threadIdx.x != 3) out[threadIdx.x] = tile.shfl(1, 0);
}

// What is said of lanes that gave the same, and of all.
extern "C" __global__ void warp_words(const int* in, unsigned mask, unsigned* out) {
  const unsigned t = threadIdx.x;
  if (!(mask >> t & 1)) return;
  int all = -1;
  const unsigned words[] = {__match_any_sync(mask, in[t]),
                            __match_any_sync(mask, in[t] * 1e10),
                            __match_all_sync(mask, static_cast<int>(in[t] < 100), &all),
                            static_cast<unsigned>(all),
                            static_cast<unsigned>(__reduce_add_sync(mask, in[t])),
                            static_cast<unsigned>(__reduce_max_sync(mask, in[t])),
                            static_cast<unsigned>(__reduce_min_sync(mask, in[t])),
                            __reduce_or_sync(mask, static_cast<unsigned>(in[t])),
                            __reduce_xor_sync(mask, static_cast<unsigned>(in[t]))};
  for (int i = 0; i < 9; i++) out[t * 9 + static_cast<unsigned>(i)] = words[i];
}

// 2048 + 1 is 2048 in f16, and 256 + 1 is 256 in bf16: a sum that is kept wider would show.
extern "C" __global__ void add_halves(half* f16, nv_bfloat16* bf16, half2* pair) {
  atomicAdd(f16, half(1.0f));
  atomicAdd(bf16, nv_bfloat16(1.0f));
  atomicAdd(pair, make_half2(half(1.0f), half(2.0f)));
}

extern "C" __global__ void assert_it(int limit) {
  CONVSCOPE_ASSERT((static_cast<int>(threadIdx.x) < limit));  // assert(), which test programs are compiled without
}

using namespace nvcuda;

// d = a · b + d of whole matrices by one warp, b and d by columns.
extern "C" __global__ void matrix_half(const half* a, const half* b, float* d) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fd;
  wmma::load_matrix_sync(fa, a, 16);
  wmma::load_matrix_sync(fb, b, 24);
  wmma::load_matrix_sync(fd, d, 16, wmma::mem_col_major);
  wmma::mma_sync(fd, fa, fb, fd);
  for (int i = 0; i < fd.num_elements; i++) fd.x[i] *= 2;
  wmma::store_matrix_sync(d, fd, 16, wmma::mem_col_major);
}

#ifndef __CUDACC__
CONVSCOPE_KERNEL(test_groups) {
  test_only();
  idea("says what files from outside say");
  plan([](const ConvProblem&, Plan& plan) {
    plan.launch(ENTRY(tiles_of_16), {1}, {1}).args(plan.y(), 0);
    plan.launch(ENTRY(tiles_of_32), {1}, {1}).args(plan.y(), 0);
    plan.launch(ENTRY(odd_lanes), {1}, {1}).args(plan.y());
    plan.launch(ENTRY(any_group), {1}, {1}).args(plan.y());
    plan.launch(ENTRY(one_lane_misses), {1}, {1}).args(plan.y());
    plan.launch(ENTRY(warp_words), {1}, {1}).args(plan.x(), 0, plan.y());
    plan.launch(ENTRY(add_halves), {1}, {1}).args(plan.x(), plan.w(), plan.y());
    plan.launch(ENTRY(assert_it), {1}, {1}).args(0);
    plan.launch(ENTRY(matrix_half), {1}, {1}).args(plan.x(), plan.w(), plan.y());
  });
}
#endif
