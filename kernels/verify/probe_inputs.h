// Inputs made to be judged with: integers whose sums are exact in the output's type.
#pragma once
#include <optional>

#include "kernels/problem/inputs.h"

namespace convscope {

// Small integers, −3…3 (−1…1 when there are very many terms): every partial sum in any order stays below 2^24 (f32) or 2^53
// (f64), so the only right result is the oracle's, bit for bit, and one dropped tap among 50,000 shows.
// Nothing when even that would not be exact.
std::optional<Inputs> exact_inputs(const ConvProblem& p, uint64_t seed);

// Integers that need 13 bits (f32) or 27 bits (f64), times −1, 0 or 1: exact as well, unless the kernel rounds its inputs to
// fewer bits than the type has (TF32: 11; bfloat16: 8). Even input channels of a group carry the wide numbers in x, odd ones
// in w.
std::optional<Inputs> precision_inputs(const ConvProblem& p, uint64_t seed);

}  // namespace convscope
