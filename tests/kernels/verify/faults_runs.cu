// Kernels whose result is not the same each time.
#include "faulty.h"

// On a GPU these would be __device__ variables of the module.
static int launches;
static float* pointer_kept;

// Counts this launch; a launch of its own, so that all threads of the next one see the same number.
extern "C" __global__ void count_launch() { launches++; }

// Each element is how many threads were before it: blocks that know of each other, through a variable of the file.
static int threads_before;
FAULTY_ENTRY(numbered_by_turns) {
  auto e = element_of_thread(c);
  if (e.inside) y[e.id] = static_cast<float>(atomicAdd(&threads_before, 1));
}
// Right the first time; afterwards it believes to have the answer already.
FAULTY_ENTRY(right_once) {
  auto e = element_of_thread(c);
  if (e.inside) y[e.id] = launches == 1 ? right_sum(c, e, x, w, b) : 0;
}
// Writes to a pointer once and never again.
FAULTY_ENTRY(cached_by_pointer) {
  auto e = element_of_thread(c);
  if (e.inside && launches == 1) y[e.id] = right_sum(c, e, x, w, b);
}
extern "C" __global__ void look_at_pointer(float* y) {
  launches = y == pointer_kept ? 2 : 1;
  pointer_kept = y;
}
// Wrong the first time: as if something were not initialised yet.
FAULTY_ENTRY(wrong_once) {
  auto e = element_of_thread(c);
  if (e.inside) y[e.id] = right_sum(c, e, x, w, b) + (launches == 1 && e.id == 7);
}
// Wrong the second time only.
FAULTY_ENTRY(wrong_twice) {
  auto e = element_of_thread(c);
  if (e.inside) y[e.id] = right_sum(c, e, x, w, b) + (launches == 2 && e.id == 7);
}
// NaN in its first run, at one element.
FAULTY_ENTRY(nan_once) {
  auto e = element_of_thread(c);
  if (e.inside) y[e.id] = launches == 1 && e.id == 7 ? __uint_as_float(0x7fc00001) : right_sum(c, e, x, w, b);
}
// Leaves one element out in its first run.
FAULTY_ENTRY(skips_once) {
  auto e = element_of_thread(c);
  if (e.inside && !(launches == 1 && e.id == 7)) y[e.id] = right_sum(c, e, x, w, b);
}
// Traps in its fourth launch: that is while it is timed.
FAULTY_ENTRY(traps_later) {
  auto e = element_of_thread(c);
  if (launches == 4) __trap();
  if (e.inside) y[e.id] = right_sum(c, e, x, w, b);
}

// A thread hands its sum to the next one through shared memory, without a barrier: right while threads happen to run in
// their order.
FAULTY_ENTRY(no_barrier) {
  CONVSCOPE_DYNAMIC_SHARED(float, sums);
  auto e = element_of_thread(c);
  int t = threadIdx.x, last = blockDim.x - 1;
  if (t == 0) sums[last] = 0;
  sums[t] = e.inside ? right_sum(c, e, x, w, b) : 0;
  if (t > 0 && e.id - 1 < c.batch * c.out_channels * c.out_length) y[e.id - 1] = sums[t - 1];
  if (t == last && e.inside) y[e.id] = sums[t];
}

// The threads of a block add what they have to one sum; the order decides how it is rounded. A term of 2^30 that comes
// and goes makes the difference large.
FAULTY_ENTRY(order_decides) {
  auto e = element_of_thread(c);
  int64_t total = c.batch * c.out_channels * c.out_length;
  // Four threads an element: the first has the sum, the second 2^30, the third its opposite, the fourth nothing.
  int64_t id = e.id / 4, part = e.id % 4;
  if (id >= total) return;
  Element of{id, id / (c.out_length * c.out_channels), id / c.out_length % c.out_channels, id % c.out_length, true};
  float v = part == 0 ? right_sum(c, of, x, w, b) : part == 1 ? 0x1p30f : part == 2 ? -0x1p30f : 0;
  atomicAdd(&y[id], v);
}
extern "C" __global__ void clear(const ConvArgs c, float* y) {
  auto e = element_of_thread(c);
  if (e.inside) y[e.id] = 0;
}

// Hides a call's work behind weights: a launch that is given these alone finds x where another has laid its address.
static const float* x_kept;
extern "C" __global__ void keep_x(const float* x) { x_kept = x; }
extern "C" __global__ void hoard(const ConvArgs c, const float* w, const float* b, float* sums) {
  auto e = element_of_thread(c);
  if (e.inside) sums[e.id] = right_sum(c, e, x_kept, w, b);
}
extern "C" __global__ void hand_out(const ConvArgs c, const float* sums, float* y) {
  auto e = element_of_thread(c);
  if (e.inside) y[e.id] = sums[e.id];
}

#ifndef __CUDACC__
FAULTY_KERNEL(numbered_by_turns, "wrong: numbers its elements by turns")
namespace convscope::test {
void forget_launches() {
  launches = 0;
  pointer_kept = nullptr;
}
}  // namespace convscope::test

#define COUNTING_KERNEL(name, what)                                        \
  CONVSCOPE_KERNEL(name) {                                                 \
    test_only();                                                           \
    idea(what);                                                            \
    plan([](const ConvProblem& p, Plan& plan) {                            \
      plan.launch(ENTRY(count_launch), {1}, {1}).args();                   \
      plan.launch(ENTRY(name##_f32), {ceil_div(p.y_elements(), 64)}, {64}) \
          .args(p.args(), plan.x(), plan.w(), plan.b(), plan.y());         \
    });                                                                    \
  }
COUNTING_KERNEL(right_once, "wrong: right the first time only")
COUNTING_KERNEL(wrong_once, "wrong: the first time only")
COUNTING_KERNEL(wrong_twice, "wrong: the second time only")
COUNTING_KERNEL(nan_once, "wrong: NaN the first time only")
COUNTING_KERNEL(skips_once, "wrong: leaves an element out the first time only")
COUNTING_KERNEL(traps_later, "wrong: ends with a trap in its fourth launch")

CONVSCOPE_KERNEL(cached_by_pointer) {
  test_only();
  idea("wrong: writes to an address once");
  plan([](const ConvProblem& p, Plan& plan) {
    plan.launch(ENTRY(look_at_pointer), {1}, {1}).args(plan.y());
    plan.launch(ENTRY(cached_by_pointer_f32), {ceil_div(p.y_elements(), 64)}, {64})
        .args(p.args(), plan.x(), plan.w(), plan.b(), plan.y());
  });
}
CONVSCOPE_KERNEL(hoards) {
  test_only();
  idea("right, but what packs its weights computes the result");
  plan([](const ConvProblem& p, Plan& plan) {
    plan.need_workspace(static_cast<size_t>(p.y_elements()) * sizeof(float));
    Shape grid{ceil_div(p.y_elements(), 64)};
    plan.launch(ENTRY(keep_x), {1}, {1}).args(plan.x());
    plan.launch(ENTRY(hoard), grid, {64}).args(p.args(), plan.w(), plan.b(), plan.workspace());
    plan.launch(ENTRY(hand_out), grid, {64}).args(p.args(), plan.workspace(), plan.y());
  });
}
CONVSCOPE_KERNEL(no_barrier) {
  test_only();
  idea("wrong: a barrier is missing");
  plan([](const ConvProblem& p, Plan& plan) {
    plan.launch(ENTRY(no_barrier_f32), {ceil_div(p.y_elements(), 64)}, {64}, 64 * 4)
        .args(p.args(), plan.x(), plan.w(), plan.b(), plan.y());
  });
}
CONVSCOPE_KERNEL(order_decides) {
  test_only();
  idea("wrong: the order of additions decides");
  plan([](const ConvProblem& p, Plan& plan) {
    plan.launch(ENTRY(clear), {ceil_div(p.y_elements(), 64)}, {64}).args(p.args(), plan.y());
    plan.launch(ENTRY(order_decides_f32), {ceil_div(4 * p.y_elements(), 64)}, {64})
        .args(p.args(), plan.x(), plan.w(), plan.b(), plan.y());
  });
}
#endif
