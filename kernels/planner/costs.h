// How long a kernel of the ladder takes for a problem, by a small model of what its blocks do.
#pragma once
#include "kernels/planner/target.h"

namespace convscope {

// Milliseconds of a call with weights packed and tensors in the caches, as a benchmark that repeats it has. Times of
// blocks are an H200's: fitted to 200 random layers (tests/bench/results/h200-random.json) and the recordings that come
// with the program, which tests hold it against (cost_quality_test.cpp, recorded_choice_test.cpp). On another GPU they
// stretch with what a multiprocessor computes, and with its share of the memory. The plan says which form of the kernel
// is launched, and in how many blocks.
double predicted_ms(const KernelDefinition& kernel, const Plan& plan, const ConvProblem& p, const Target& target);
double predicted_ms(const KernelDefinition& kernel, const ConvProblem& p, const Target& target);

}  // namespace convscope
