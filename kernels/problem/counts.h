// Exact counts: how many taps land, how many outputs no tap reaches, how few bytes must move.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/problem/conv_problem.h"

namespace convscope {

// (i, k) pairs with 0 ≤ i·s − p + k·d < Lout: what one pair of channels of one sequence really multiplies. O(K).
int64_t landing_pairs(const ConvProblem& p);

// Multiply-adds that land, of the whole problem: N · Cin · (Cout/groups) · landing_pairs. Saturates at max_taps, which
// no machine could compute.
inline constexpr int64_t max_taps = int64_t{1} << 62;
int64_t useful_taps(const ConvProblem& p);

// 2 · useful_taps. Counting Lout·K taps instead over-counts by about s.
inline double flops(const ConvProblem& p) { return 2.0 * static_cast<double>(useful_taps(p)); }

// Products that the plainest kernel walks, those that do not land among them: output elements × taps × channels of a
// group. In double, for nobody has checked that it fits.
inline double walked_products(const ConvProblem& p) {
  return static_cast<double>(p.y_elements()) * static_cast<double>(p.kernel_size) *
         static_cast<double>(p.in_per_group());
}

// x, w and b read once, y written once.
int64_t least_bytes(const ConvProblem& p);

// One residue class of (j + p) mod s that taps reach, in the order of its residue: the polyphase view.
struct PolyphaseClass {
  int64_t residue;            // (j + p) mod s
  std::vector<int64_t> taps;  // the k with k·d ≡ residue (mod s), ascending
};

// The classes that taps reach, at most min(s, K) of them; all others are empty, and their outputs exactly the bias.
// There are s / gcd(s, d) classes at most that any tap can reach.
std::vector<PolyphaseClass> polyphase_classes(const ConvProblem& p);

// The taps k (and with them i = (j + p − k·d)/s) that reach output position j.
struct Tap {
  int64_t k, i;
};
std::vector<Tap> taps_at(const ConvProblem& p, int64_t j);

// How many taps k reach position j; the terms of an output element are this times Cin/groups.
int64_t taps_reaching(const ConvProblem& p, int64_t j);

// Output elements (over all N and Cout) that no tap reaches: whole empty classes, and positions at the borders.
int64_t structural_zeros(const ConvProblem& p);

}  // namespace convscope
