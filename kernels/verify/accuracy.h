// How wrong an element may be and still be right: the bound of the rounding pass.
//
//   bound = λ·√n·u·Σ|x·w| + one rounding of the output            (strict)
//   bound = 2·u₁₁·Σ|x·w| + λ·√n·u·Σ|x·w| + one rounding           (TF32 allowed)
//
// f16 and bf16 problems are summed in f32 (u is f32's), what inputs and weights hold is exact, and so are the products
// of two; only the output is rounded to 16 bits, once. A result beyond the largest finite number must be infinite where
// the oracle, rounded, is.
//
// n: terms of the element. u: unit round-off of the arithmetic that was asked for. Σ includes |bias|.
//
// Why √n: rounding errors of a sum behave as independent, mean-zero variables, and then the error of an inner product
// stays below λ·√n·u·Σ|x·w| with probability at least 1 − 2·exp(−λ²/2) for every λ (Higham & Mary, A New Approach to
// Probabilistic Rounding Error Analysis, SIAM J. Sci. Comput. 41, 2019, theorem 3.1). The worst-case bound n·u·Σ|x·w|
// would let a missing tap pass at a few thousand terms.
//
// Why λ = 4: the model's worst case, a sequential sum of terms of one sign, has a standard deviation of √n·u·Σ/3
// (partial sums grow linearly, so Σ sₖ² = n·Σ²/3, and one rounding has standard deviation u/√3 of its partial sum).
// With λ = 4 the bound is 12 of these, out of reach for any number of elements; random signs are further away still.
//
// TF32 keeps 10 fraction bits: rounding both factors of a product to nearest costs 2·2^-11 of it, cutting them off, as
// the hardware does with unrounded inputs, 2·2^-10. That error is of the inputs and not of the sum, so it is taken at
// its worst; the sum itself is in f32.
#pragma once
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/base/error.h"
#include "kernels/problem/dtype.h"

namespace convscope {

enum class Accuracy { strict, tf32x3, tf32 };

constexpr std::string_view name_of(Accuracy a) {
  return a == Accuracy::strict ? "strict" : a == Accuracy::tf32x3 ? "3xtf32" : "tf32";
}
constexpr std::optional<Accuracy> accuracy_from(std::string_view s) {
  for (Accuracy a : {Accuracy::strict, Accuracy::tf32x3, Accuracy::tf32})
    if (name_of(a) == s) return a;
  return std::nullopt;
}

// Nothing, or why this accuracy cannot be asked of problems of a type: only f32 has others than strict.
inline std::optional<InputError> check_accuracy(DType t, Accuracy a) {
  if (t == DType::f32 || a == Accuracy::strict) return std::nullopt;
  return InputError("accuracy", std::string(name_of(a)),
                    "is for f32 problems; " + std::string(name_of(t)) + " is always strict");
}

inline constexpr double bound_lambda = 4;
// Root mean square over all elements of error/bound beyond which the arithmetic is less accurate than asked, even if no
// single element fails: the model's worst case is 1/(3λ) = 0.083; products rounded to TF32 give 0.24 at n = 6400.
inline constexpr double rms_limit = 0.15;

class BoundModel {
 public:
  BoundModel(DType dtype, Accuracy accuracy) : t_(traits(dtype)), sums_(traits(is_half(dtype) ? DType::f32 : dtype)) {
    if (accuracy == Accuracy::tf32) input_error_ = 2 * 0x1p-10;
    // Three TF32 products a pair recover 21 of 24 bits or more; the small parts' own product is dropped: 2^-21.
    if (accuracy == Accuracy::tf32x3) input_error_ = 2 * 0x1p-22;
  }

  double bound(double magnitude, int64_t terms, double oracle) const {
    double sum = sum_error(magnitude, terms);
    double output = t_.unit_roundoff * (t_.dtype == DType::f64 ? 2 : 1);  // in f64 the oracle is rounded once as well
    if (is_half(t_.dtype)) return sum + output * (std::fabs(oracle) + sum) + t_.smallest / 2;
    return sum + output * std::fabs(oracle) + t_.smallest;
  }

  // Whether a right sum may, and whether every right sum must, round to infinity.
  struct Overflow {
    bool may, must;
  };
  Overflow overflow(double magnitude, int64_t terms, double oracle) const {
    // Halfway to what would come next: the largest is (2 − 2u)·2^e, and the half of its last bit u·2^e.
    double from = t_.largest + t_.largest / (2 - 2 * t_.unit_roundoff) * t_.unit_roundoff;
    double size = std::fabs(oracle), error = sum_error(magnitude, terms);
    return {size + error >= from, size - error >= from};
  }

 private:
  double sum_error(double magnitude, int64_t terms) const {
    double sum = bound_lambda * std::sqrt(static_cast<double>(terms)) * sums_.unit_roundoff;
    return (sum + input_error_) * magnitude + static_cast<double>(terms) * sums_.smallest;
  }

  const DTypeTraits &t_, &sums_;  // of the elements, and of what they are summed in
  double input_error_ = 0;
};

}  // namespace convscope
