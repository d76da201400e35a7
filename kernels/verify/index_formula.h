// Formulas of an index in the terms that people get wrong, fitted to maps of which product reaches which output.
//
// The definition: y[n, co, j] = b[co] + Σ x[n, ci, i] · w[ci, co, k], over the channels ci of co's group and the taps k
// for which i = (j + p − k·d)/s is whole and 0 ≤ i < L (PyTorch's ConvTranspose1d, solved for the input).
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/verify/index_map.h"

namespace convscope {

inline constexpr const char* only_the_last_tap = "of the taps that land the last one's product alone stays";

// Ends the fault of numbers that stand in a term's place.
inline constexpr const char* fixed_in_it = " fixed in it, whatever is asked";

// Of a map whose products are the same for all channels and sequences: which input each tap takes at each position.
struct TapMap {
  ConvProblem problem;
  int64_t positions = 0;
  std::vector<int32_t> i;    // [K, positions]; IndexMap::none; below 0 or from L on where a row beside is read
  std::vector<float> times;  // likewise
  int32_t at(int64_t k, int64_t j) const { return i[static_cast<size_t>(k * positions + j)]; }
};

// One choice a term: 0 is the definition's, others are faults.
struct IndexFormula {
  int offset = 0, tap = 0, divisor = 0, rounding = 0, outside = 0, weight = 0, taps = 0, inputs = 0;
  bool convolution = false;  // i = j·s − p + k·d: no term of the definition is left
  // Numbers that stand in a term's place, whatever the problem is: of a kernel that was written for one.
  struct Fixed {
    std::optional<int64_t> offset, tap, divisor, taps;  // taps: k is below it
    bool any() const { return offset || tap || divisor || taps; }
    bool operator==(const Fixed&) const = default;
  } fixed = {};
  bool right() const { return *this == IndexFormula{}; }
  bool operator==(const IndexFormula&) const = default;
  // "i = (j + p − k·d)/s"
  std::string text() const;
  // "the padding is missing", …: one for each term that is not the definition's; numbers are one fault together,
  // "stride 2 and padding 1 are fixed in it, whatever is asked".
  std::vector<std::string> faults() const;
  // The parameters that numbers stand for, by their names on the command line; where one does, a term that is missing
  // is a number as well.
  std::vector<std::pair<std::string, int64_t>> fixed_parameters() const;
};

// The input that a formula takes, or IndexMap::none.
int64_t input_of(const IndexFormula& f, const ConvProblem& p, int64_t k, int64_t j);

// What the definition takes through a weight (flat) to an output: the flat input, or IndexMap::none.
int64_t flat_input(const ConvProblem& p, int64_t weight, int64_t n, int64_t co, int64_t j);

// The simplest formula that gives all these maps; nothing when none does. Of equally simple ones the likelier.
std::optional<IndexFormula> fit(const std::vector<TapMap>& maps);

}  // namespace convscope
