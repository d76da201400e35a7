// Two outputs of one problem against each other: a kernel's and another's, or a reference's.
#pragma once
#include <optional>
#include <string>

#include "kernels/verify/compare.h"
#include "kernels/verify/pyramid.h"

namespace convscope {

struct OutputDifference {
  int64_t elements = 0;
  int64_t identical = 0;  // of the same bits, or NaN in both
  int64_t beyond = 0;     // further apart than two right kernels can be: more than twice the rounding bound
  double max_abs = 0;     // of pairs of which both are finite
  std::optional<ElementReport> first;  // that is beyond: got is the one's, expected the other's
  std::string where;                   // what those beyond have in common, "" where nothing is
};

// Fills `apart`: output is the one's, error = one − other (the other's value where the one's is not finite), ratio =
// |error| over twice the rounding bound, infinite where one of the two is not finite and the other is something else.
// All tensors are [N·Cout, Lout] of the problem. The oracle gives Σ|x·w|, which the bound needs.
OutputDifference output_difference(const ConvProblem& p, Oracle& oracle, const ResultTensors& one,
                                   const ResultTensors& other, Accuracy accuracy, ResultTensors& apart,
                                   Activity* activity);

// Host bytes of what output_difference fills, with its pyramid.
uint64_t difference_bytes(const ConvProblem& p);

}  // namespace convscope
