// What wrong values themselves have in common, where no shift and no exchange explains them (private to the pattern).
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "kernels/verify/pattern.h"

namespace convscope {

// Wrong values that are the right ones but for a small part, as sums have that were rounded or scaled on the way: the
// largest difference, relative to its value or to a usual one where that is larger. Nothing when they are no such. A
// dropped tap is none, however many there are: it differs by a tap's part of a usual value.
std::optional<double> find_nearness(const ConvProblem& p, const Comparison& exact, const std::vector<SampleRow>& wrong);

// "the bias is added twice", "the bias is added once a tap" …: how often each channel's bias is in its values, where it
// should be once; "" when that says nothing. Never added is a missing bias, and not said here.
std::string find_bias_times(const ConvProblem& p, const std::vector<SampleRow>& wrong);

// "sums go on from the position before …": to what belongs there another output of the same thread is added, whose sum
// is not reset in between; "" where that is not so. biases: of all channels, empty without a bias. first: the first
// wrong output, flat.
std::string find_carried_sum(const ConvProblem& p, const std::vector<SampleRow>& wrong,
                             const std::vector<double>& biases, int64_t first, const WholeOutput& y);

// Whether each wrong row is off by one number all along.
bool find_added_constant(const std::vector<SampleRow>& wrong);

// "where j mod 64 = 63" (a tile's halo, say): wrong places that come again and again; "" when they do not.
std::string find_period(const ConvProblem& p, const std::vector<SampleRow>& wrong);

// "0–3, 7, …"
std::string ranges(const std::vector<int64_t>& list);

}  // namespace convscope
