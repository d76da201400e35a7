// A launch of nothing: what any kernel takes at least.
//
// Idea: one warp that ends at once. What its launch takes, timed as kernels are, no floor by bytes or operations knows
// of, and of a small problem it is most of the time. Needs: nothing.
#include "convscope/kernel.h"

extern "C" __global__ void empty_launch_nothing() {}

#ifndef __CUDACC__
#include "kernels/reference/empty_launch.h"

CONVSCOPE_KERNEL(empty_launch) {
  internal();
  idea("a launch of nothing");
  plan([](const ConvProblem&, Plan&) {});
}

namespace convscope {

Plan empty_launch_plan() {
  Plan plan(ConvProblem{});
  plan.launch(ENTRY(empty_launch_nothing), {1}, {32});
  return plan;
}

}  // namespace convscope
#endif
