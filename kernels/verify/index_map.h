// Which products x·w a kernel adds to which outputs, found from outside on a small problem.
//
// The operator is bilinear: with one weight 1 and all others 0, each output is the sum of the inputs that reach it
// through that weight. Inputs are different primes, so that the sum tells which one, and how often. One launch a
// weight, and one for the biases.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "kernels/base/activity.h"
#include "kernels/runtime/device.h"

namespace convscope {

struct IndexMap {
  // Nothing reaches the output. No index is that far below 0: one that is not asked for may lie before its row.
  static constexpr int32_t none = std::numeric_limits<int32_t>::min();
  // Not one input: several, or something else; times is what stands there, NaN where that is no number, and infinite
  // where nothing was written.
  static constexpr int32_t unclear = none + 1;
  struct Read {
    int32_t at = none;  // flat index of x (of b for a bias)
    float times = 0;    // how often: 1; -1 where it is subtracted
    bool unwritten() const { return at == unclear && std::isinf(times); }
  };
  ConvProblem problem;
  int64_t out_length = 0;        // the kernel's own
  std::vector<Read> reads;       // [weights, outputs]: through that weight to that output, both flat
  std::vector<Read> biases;      // [outputs]; empty without a bias
  std::vector<int64_t> added;    // outputs whose sum is added to what stood there: it was zeros for the reads above
  std::vector<int64_t> unset;    // outputs that depend on what stood in memory of the kernel's own; likewise zeros
  int64_t behind = 0;            // outputs that are written behind y's end, up to the furthest
  bool products_behind = false;  // a product is among them
  std::string operation;         // "x + w": what is summed in the place of x·w; "" where it is that, or not known
  int launches = 0;

  int64_t outputs() const { return problem.batch * problem.out_channels * out_length; }
  const Read& read(int64_t weight, int64_t output) const {
    return reads[static_cast<size_t>(weight * outputs() + output)];
  }
};

// The most elements that x may have, and b: there are no more primes that f16 and TF32 hold.
inline constexpr int64_t most_mapped = 140;
// Of a type: of these primes bf16 holds those up to 256.
constexpr int64_t most_mapped_of(DType type) { return type == DType::bf16 ? 29 : most_mapped; }

// The number that stands for an element of x (or b) while its products are mapped. Sums of several may be another's, or
// twice that: what a sum is read as is known by them alone.
int input_code(int64_t element);

// Errors: InputError when the kernel does not take the problem, or x is larger than most_mapped; MissingError;
// KernelFault; DeviceError; Cancelled.
IndexMap index_map(Device& device, const KernelDefinition& kernel, const ConvProblem& p, Activity& activity);

// The outputs that a launch leaves, flat, in order, on a problem of any size. Errors: as above, but for the size.
std::vector<int64_t> outputs_left(Device& device, const KernelDefinition& kernel, const ConvProblem& p,
                                  Activity& activity);

}  // namespace convscope
