// Elements against the oracle: counts, worst cases, and where the wrong ones lie.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/base/activity.h"
#include "kernels/problem/conv_problem.h"
#include "kernels/reference/oracle.h"
#include "kernels/verify/accuracy.h"

namespace convscope {

// The usual test |y − reference| ≤ atol + rtol·|reference|, shown beside the verdict and never part of it.
struct Gate {
  double atol = 0, rtol = 0;
  int64_t failing = 0;
};

struct ElementReport {
  int64_t n = 0, co = 0, j = 0;
  double got = 0, expected = 0, bound = 0;
};

// A kernel's output as it lies in host memory: [N·Cout, own_length]. own_length differs from the problem's Lout when
// the kernel worked out another one; then only the overlap can be compared.
struct OutputView {
  DType dtype = DType::f32;
  const std::byte* data = nullptr;
  int64_t own_length = 0;
};

// Where a comparison puts error and error/bound of each element, [N·Cout, Lout]; null where not wanted. An element that
// is not finite has no error: the expected value stands in its place, so that the reference can always be shown.
// As ResultTensors keeps them (pyramid.h); of one alone errors are errors, and no ratio is negative.
struct ErrorSink {
  float* error = nullptr;
  float* ratio = nullptr;
};

// Wrong elements by place. Everything is counted over the compared elements.
struct Places {
  static constexpr int64_t most_residues = 4096;
  static constexpr int64_t border = 64;
  std::vector<int64_t> residue_wrong, residue_total;  // by j mod s; empty when s is 1 or more than most_residues
  std::vector<int64_t> channel_wrong;                 // by co
  std::vector<int64_t> batch_wrong;                   // by n
  std::vector<int64_t> left_wrong, right_wrong;       // by distance from either end, up to `border`
  int64_t unreached_wrong = 0, unreached_total = 0;   // elements that no tap reaches
  int64_t first_column = -1, last_column = -1;        // of the wrong ones
};

struct Comparison {
  int64_t elements = 0, failing = 0, nan = 0, inf = 0, unwritten = 0;  // inf: those that should be finite
  int64_t not_infinite = 0;  // f16, bf16: finite, where the oracle rounded is infinite
  std::vector<Gate> gates;
  double max_abs = 0;       // of finite errors
  double max_ratio = 0;     // error/bound; infinite for NaN
  double rms_ratio = 0;     // over finite errors
  double rms_relative = 0;  // ‖error‖/‖expected‖, finite errors
  std::optional<ElementReport> first_failing, worst;
  Places places;
};

enum class Exactness {
  bound,    // an element is right within its bound
  bitwise,  // it must be the oracle's value rounded to the output type (zeros of either sign are the same)
};

struct CompareOptions {
  Exactness exactness = Exactness::bound;
  Accuracy accuracy = Accuracy::strict;
  std::vector<Gate> gates = {{1e-2, 1e-2, 0}, {1e-4, 1e-4, 0}};
  uint64_t unwritten_pattern = 0;  // elements with these bits count as never written (0: none do)
  double bounds = 1;               // how many rounding bounds an element may be off: 2 between two kernels
  ErrorSink sink;
};

Comparison compare(const ConvProblem& p, Oracle& oracle, const OutputView& y, const CompareOptions& options,
                   Activity* activity);

}  // namespace convscope
