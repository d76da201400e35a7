// Between the oracle's kernel file and the code that launches it.
#pragma once
#include "convscope/plan.h"
#include "kernels/reference/oracle.h"

namespace convscope {

Plan oracle_plan(const ConvProblem& p, const OutputBlock& block);

}  // namespace convscope
