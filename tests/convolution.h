// Problems to try, what they must give, and a run on the emulator that lets no fault hide.
#pragma once
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "convscope/plan.h"
#include "kernels/problem/conv_problem.h"
#include "kernels/problem/tensor.h"

namespace convscope::test {

using Random = std::mt19937_64;
inline int64_t between(Random& r, int64_t low, int64_t high) {
  return low + static_cast<int64_t>(r() % static_cast<uint64_t>(high - low + 1));
}

struct Ranges {
  int64_t batch = 3, channels_per_group = 4, groups = 4, kernel_size = 30, length = 40, stride = 12, dilation = 9;
  bool halves = false;  // of f16 and bf16 instead of f32 and f64
};
// Legal by construction and never by asking check(): every parameter appears, with groups up to depthwise, stride > K,
// K·d far beyond L, gcd(s, d) > 1, padding up to the longest that leaves one output, and output_padding up to its
// limit.
ConvProblem random_problem(Random& r, const Ranges& upto = {});

// Uniform values in [−1, 1) that are not exact in few bits.
HostTensor random_tensor(Random& r, DType dtype, std::vector<int64_t> shape);

struct Tensors {
  HostTensor x, w, b;  // b has no elements without a bias
};
Tensors random_tensors(Random& r, const ConvProblem& p);
// Whole numbers from −3 to 3: their sums are exact in f32 and in TF32, as long as these tests make them.
Tensors integer_tensors(Random& r, const ConvProblem& p);

// The definition (notes: scatter view), one loop a letter, in long double: y, the sum of |x·w| and the number of terms
// of each element.
struct Expected {
  std::vector<long double> y, magnitude;
  std::vector<int64_t> terms;
};
Expected expected_result(const ConvProblem& p, const Tensors& t);

// "" or the first element of `got` that is not within (terms + 2)·u·(Σ|x·w| + |b|) of the definition, u the unit
// round-off of the problem's type. This is the classical bound for a sum in any order with rounded or fused products
// (Higham, Accuracy and Stability of Numerical Algorithms, 3.1), so a correct kernel cannot fail it. f16 and bf16 are
// summed in f32: u is f32's, and one rounding to 16 bits is added. Elements without a term must be exactly the bias.
std::string first_wrong(const ConvProblem& p, const Tensors& t, const Expected& e, const HostTensor& got);

// Runs a kernel on the emulator. Every tensor stands between red zones of NaN, and y is NaN before: what is read
// outside or never written shows. Throws std::runtime_error when a red zone or an input was written.
HostTensor run_kernel(const KernelDefinition& kernel, const ConvProblem& p, const Tensors& t, uint32_t order_seed = 0);

}  // namespace convscope::test
