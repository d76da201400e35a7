// Kernels that are launched by their own plans: how a plan's arguments arrive, and kernels that touch what is not
// theirs.
#include "convscope/kernel.h"

// What a launch's arguments become: 10 numbers.
extern "C" __global__ void see_arguments(const float* x, const float* w, const float* b, float* y, char* scratch,
                                         int small, double real, const ConvArgs c) {
  y[0] = x[0], y[1] = w[0], y[2] = b ? b[0] : -1.0f;
  y[3] = small, y[4] = static_cast<float>(real), y[5] = c.groups;
  // The second launch finds what the first one left.
  y[6] = small == 2 ? scratch[0] : 0;
  if (small == 1) scratch[0] = 77;
  y[7] = reinterpret_cast<unsigned long long>(scratch) % 256;
}

// mode: 0 right · 1 before y · 2 behind y · 3 changes x · 4 changes w · 5 reads behind x · 6 leaves the last element
// out
extern "C" __global__ void touch(int64_t outputs, int64_t inputs, int mode, float* x, float* w, float* y) {
  int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < outputs - (mode == 6)) y[i] = mode == 5 && i == 0 ? x[inputs] : 0.0f;
  if (i != 0) return;
  if (mode == 1) y[-1] = 0;
  if (mode == 2) y[outputs] = 0;
  if (mode == 3) x[inputs - 1] += 1;
  if (mode == 4) w[0] += 1;
}

#ifndef __CUDACC__
CONVSCOPE_KERNEL(test_plan) {
  test_only();
  idea("shows what a plan's arguments become");
  supports([](const ConvProblem& p) { return p.groups == 1 ? "" : "takes one group only"; });
  plan([](const ConvProblem& p, Plan& plan) {
    plan.need_workspace(1000);
    for (int launch = 1; launch <= 2; launch++)
      plan.launch(ENTRY(see_arguments), {1}, {1})
          .args(plan.x(), plan.w(), plan.b(), plan.y(), plan.workspace(512), launch, 1, p.args());
  });
}

// The mode is the problem's padding.
CONVSCOPE_KERNEL(test_touch) {
  test_only();
  idea("touches what is not its own");
  plan([](const ConvProblem& p, Plan& plan) {
    plan.launch(ENTRY(touch), {ceil_div(p.y_elements(), 32)}, {32})
        .args(p.y_elements(), p.x_elements(), p.padding, plan.x(), plan.w(), plan.y());
  });
}
#endif
