// Inputs made to be judged with: integers whose sums are exact in the type that sums are made in.
#pragma once
#include <optional>

#include "kernels/problem/inputs.h"

namespace convscope {

// Integers from −r to r but never 0, r as large as exactness allows and 127 at most (7 bits: exact in TF32 and in every
// half type): every partial sum in any order stays below 2^24 (f32) or 2^53 (f64), so the only right result is the
// oracle's (rounded once to 16 bits in f16 and bf16), bit for bit, and one dropped tap among 50,000 shows. At a million
// terms r is 3. A product that is zero could be dropped unseen; and the more values there are, the more seldom do wrong
// sums meet the right ones (w = 2, −2 hides much). Nothing when even ±1 would not be exact.
std::optional<Inputs> exact_inputs(const ConvProblem& p, uint64_t seed);

// Integers that need all of `bits` bits, times −1, 0 or 1: exact as well, unless the kernel rounds its inputs to fewer
// bits (TF32 has 11, bfloat16 8), or sums in 16 bits. Even input channels of a group carry the wide numbers in x and
// odd ones in w, or the other way round (weights_first): with a single channel a group that decides which of the two is
// looked at.
std::optional<Inputs> precision_inputs(const ConvProblem& p, uint64_t seed, int bits, bool weights_first);

// For f16 and bf16: integers of 8 bits in x and in w (counted in 2^-4), so that products have 16: sums in f32 are
// exact, products or sums in 16 bits are not. Nothing when an element has too many terms.
std::optional<Inputs> product_inputs(const ConvProblem& p, uint64_t seed);

// Random numbers of both signs whose sums are a few units (three, rms), as a function that is applied to them shows
// best.
Inputs value_inputs(const ConvProblem& p, uint64_t seed);

// Enough bits to show that inputs were rounded to anything less than their type. Of 16-bit types it is all they have:
// then a sum in 16 bits is rounded at its first addition.
constexpr int wide_bits(DType t) { return t == DType::f64 ? 27 : is_half(t) ? traits(t).significand_bits : 13; }
inline constexpr int tf32_bits = 11;

}  // namespace convscope
