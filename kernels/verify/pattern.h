// What the wrong elements have in common, in words: residue classes, channels, batches, borders, a shift, a factor, a
// missing bias. States what is seen and nothing that is not.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/problem/conv_problem.h"
#include "kernels/verify/compare.h"

namespace convscope {

// Stretches of some rows, of the kernel and of the oracle, on exact integer inputs (pointwise.h: on others): small
// enough to try explanations on.
struct SampleRow {
  int64_t row = 0;     // n·Cout + co
  int64_t column = 0;  // of the first value
  std::vector<double> got, expected;
  double bias = 0;  // of its channel
};

// All that a kernel wrote on the same inputs, [N, Cout, length] flat.
struct WholeOutput {
  int64_t length = 0;  // of a row, the kernel's own
  std::function<double(int64_t)> at;
};

struct Pattern {
  // What the wrong rows differ by, if one explanation fits nearly all samples of them.
  std::optional<int64_t> shift;    // y[j] holds what belongs at j − shift
  std::optional<double> factor;    // y = factor · expected
  bool factor_of_sums = false;     // y − bias = factor · (expected − bias)
  bool bias_missing = false;       // y = expected − bias
  bool bias_of_others = false;     // y = expected − bias + the bias of some other channel
  std::string bias_times;          // "the bias is added twice", "the bias is subtracted", …
  std::string activation;          // "negative values are 0, …"
  std::string carried;             // "sums go on from the position before …"
  bool constant_added = false;     // in each channel
  std::optional<double> nearness;  // the largest relative difference, when sums or results are rounded or scaled
  std::vector<std::pair<int64_t, int64_t>> exchanged;  // channels that hold what belongs to each other
  std::optional<int64_t> channel_offset;               // channel co holds what belongs to co + offset (around the ends)
  std::optional<double> energy;  // Σ got² / Σ expected², when taps seem to be added that do not land
  std::string where;             // "every even output (j mod 2 = 0), where no tap lands …", or "all channels …"
};

// `exact` is the comparison on integer inputs; `samples` of the same run. Integers meet by chance in a percent of the
// wrong elements, so the pattern is read off them but the fraction is told from the requested inputs. `biases`: of all
// channels on the integer inputs, empty without a bias. `requested`: the comparison on the requested inputs when they
// are random; integers may cancel in a whole residue class of a small problem, and then only those show that it is
// wrong too. `y`: without it sums that go on from other outputs are not looked for. `behind`: what is done to every
// result behind the layer (pointwise.h), asked where that may be so; integers are too large to show it.
Pattern find_pattern(const ConvProblem& p, const Comparison& exact, const std::vector<SampleRow>& samples,
                     const std::vector<double>& biases, const Comparison* requested, const WholeOutput* y = nullptr,
                     const std::function<std::string()>& behind = {});

// A length other than the problem's: "as if dilation were 1", when one or two changed parameters explain it; else "".
std::string explain_length(const ConvProblem& p, int64_t own_length);
// The same of several problems with their lengths: what explains all of them.
std::string explain_lengths(const std::vector<std::pair<ConvProblem, int64_t>>& lengths);

}  // namespace convscope
