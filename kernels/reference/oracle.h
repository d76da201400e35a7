// The oracle: what every element should be, in double precision or better, and how large a rounding error is excusable.
//
// f32 problems, and those of f16 and bf16, whose numbers are floats as well: products of two floats are exact in
// double, sums round at 2^-53, so the oracle's own error is some 2^-29 of the excusable one. f64 problems: sums are
// carried in two doubles (algorithm Dot2 of Ogita, Rump & Oishi, Accurate Sum and Dot Product, 2005), as if computed in
// 106 bits and rounded once.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/base/activity.h"
#include "kernels/problem/conv_problem.h"
#include "kernels/problem/inputs.h"
#include "kernels/runtime/device.h"

namespace convscope {

// A rectangle of the output: rows are n·Cout + co over all batches, columns are positions j.
struct OutputBlock {
  int64_t row = 0, rows = 0, column = 0, columns = 0;
  int64_t elements() const { return rows * columns; }
};

class Oracle {
 public:
  virtual ~Oracle() = default;

  // value [rows, columns]: bias + Σ x·w. magnitude [rows, columns], unless null: |bias| + Σ |x·w|.
  virtual void compute(const OutputBlock& block, double* value, double* magnitude) = 0;
  virtual std::string where() const = 0;  // "CPU", "NVIDIA H200"
  // Elements to ask for at a time, at most: on a CPU what its caches hold.
  virtual int64_t most_elements() const { return int64_t{1} << 22; }
};

// The number of terms of an element at position j, for all j of [column, column + columns): taps · Cin/groups, and one
// more with a bias. The same in every row.
std::vector<int64_t> term_counts(const ConvProblem& p, int64_t column, int64_t columns);

// On the CPU, on all cores. Keeps the tensors (copies in f32 of 16-bit ones).
std::unique_ptr<Oracle> make_cpu_oracle(const ConvProblem& p, const Inputs& in);

// On a device that has x and b at the given addresses; w is taken from the host and copied in double precision. Meant
// for the GPU, where large problems are; runs on the emulator too, which is how it is tested without one.
std::unique_ptr<Oracle> make_device_oracle(const ConvProblem& p, const Inputs& in, Device& device, const Bindings& at);

// The two must agree: compares them on `samples` elements spread over the output and returns the largest difference in
// units of the CPU oracle's own rounding, 2^-53 · magnitude (a handful at most when both are right).
double oracle_disagreement(const ConvProblem& p, Oracle& a, Oracle& b, int samples, uint64_t seed);

}  // namespace convscope
