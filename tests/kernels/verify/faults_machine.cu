// Kernels that break a rule of the machine, do not take a problem, or work out another length. The marks (FAULT name)
// are looked up by the tests.
#include "faulty.h"

// A sum over the lanes of a warp, with a full mask, after threads outside have left.
FAULTY_ENTRY(shuffle_after_return) {
  auto e = element_of_thread(c);
  if (!e.inside) return;
  float sum = right_sum(c, e, x, w, b);
  float largest = sum;
  for (int step = 16; step; step /= 2)
    largest = fmax(largest, __shfl_xor_sync(0xffffffffu, largest, step));  // FAULT shuffle
  y[e.id] = largest > 1e30f ? largest : sum;
}

FAULTY_ENTRY(barrier_in_branch) {
  auto e = element_of_thread(c);
  if (!e.inside) return;
  __syncthreads();
  y[e.id] = right_sum(c, e, x, w, b);
}

// Tiles of x in shared memory, read by the global position: right in the first tile only.
FAULTY_ENTRY(tile_by_global_position) {
  CONVSCOPE_DYNAMIC_SHARED(float, tile);  // 64 positions and 64 of a halo before them
  int64_t tiles = (c.out_length + 63) / 64, row = blockIdx.x / tiles, first = blockIdx.x % tiles * 64;
  int64_t n = row / c.out_channels, co = row % c.out_channels, j = first + threadIdx.x;
  float sum = b ? b[co] : 0;
  for (int64_t ci = 0; ci < c.in_channels; ci++) {
    __syncthreads();
    for (int64_t o = threadIdx.x; o < 128; o += 64) {
      int64_t i = first - 64 + o;
      tile[o] = i >= 0 && i < c.length ? x[x_at(c, n, ci, i)] : 0;
    }
    __syncthreads();
    for (int64_t k = 0; k < c.kernel_size; k++) sum += tile[64 + j - k] * w[w_at(c, ci, co, k)];  // first is missing
  }
  if (j < c.out_length) y[row * c.out_length + j] = sum;
}

FAULTY_ENTRY(another_length) {
  auto e = element_of_thread(c);
  if (e.inside) y[e.id] = right_sum(c, e, x, w, b);
}

extern "C" __global__ void too_wide_f32(float* y) { y[0] = 0; }

#ifndef __CUDACC__
FAULTY_KERNEL(shuffle_after_return, "wrong: full mask after an early return")
FAULTY_KERNEL(barrier_in_branch, "a barrier that those who have an element reach")

CONVSCOPE_KERNEL(tile_by_global_position) {
  test_only();
  idea("wrong: the tile is indexed by the global position");
  plan([](const ConvProblem& p, Plan& plan) {
    plan.launch(ENTRY(tile_by_global_position_f32), {p.batch * p.out_channels * ceil_div(p.out_length(), 64)}, {64},
                128 * 4)
        .args(p.args(), plan.x(), plan.w(), plan.b(), plan.y());
  });
}

// The output is `by` positions longer than the problem's; right where both have one.
template <int by>
void plan_of_length(const ConvProblem& p, Plan& plan) {
  ConvArgs c = p.args();
  c.out_length += by;
  plan.out_length(c.out_length);
  if (c.out_length > 0)
    plan.launch(ENTRY(another_length_f32), {ceil_div(c.batch * c.out_channels * c.out_length, 64)}, {64})
        .args(c, plan.x(), plan.w(), plan.b(), plan.y());
}
#define LENGTH_KERNEL(name, by, what) \
  CONVSCOPE_KERNEL(name) {            \
    test_only();                      \
    idea(what);                       \
    plan(plan_of_length<by>);         \
  }
LENGTH_KERNEL(one_longer, 1, "wrong: one position too many")
LENGTH_KERNEL(one_shorter, -1, "wrong: one position too few")
LENGTH_KERNEL(much_shorter, -1000000, "wrong: no output at all")

CONVSCOPE_KERNEL(launches_nothing) {
  test_only();
  idea("wrong: never launched");
  plan([](const ConvProblem&, Plan&) {});
}
CONVSCOPE_KERNEL(too_wide) {
  test_only();
  idea("wrong: a grid that no device takes");
  plan([](const ConvProblem&, Plan& plan) { plan.launch(ENTRY(too_wide_f32), {1, 70000}, {1}).args(plan.y()); });
}
CONVSCOPE_KERNEL(no_groups) {
  test_only();
  idea("right, for one group only");
  supports([](const ConvProblem& p) { return p.groups == 1 ? "" : "takes one group only"; });
  plan(plan_of_length<0>);
}
CONVSCOPE_KERNEL(needs_blackwell) {
  test_only();
  idea("needs a GPU");
  requires_("sm_100a", "tcgen05");
  plan(plan_of_length<0>);
}
#endif
