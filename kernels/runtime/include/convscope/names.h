// What kernel files that register themselves call by its short name (host compiler only). Not before other files from
// outside, which may have a struct Shape, a Plan or a ceil_div of their own; what is generated behind them says
// ::convscope:: (kernels/runtime/compile/launch_lines.cpp, host_code.cpp).
#pragma once
#include "convscope/plan.h"
#if defined(CONVSCOPE_OUTSIDE)  // for which half.h has left it out
#include "convscope/sum_type.h"
#endif

using convscope::ceil_div;
using convscope::ConvProblem;
using convscope::DType;
using convscope::for_type;
using convscope::Plan;
using convscope::Shape;
using convscope::TensorView;
