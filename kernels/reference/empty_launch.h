// Between the kernel file of the launch of nothing and who times it (kernels/verify/judge_run.cpp).
#pragma once
#include "convscope/plan.h"

namespace convscope {

Plan empty_launch_plan();

}  // namespace convscope
