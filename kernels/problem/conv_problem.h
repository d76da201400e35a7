// One transposed convolution: its parameters, its rules, its sizes and its exact work.
//
// Names, the output-length formula and the set of legal values are PyTorch's ConvTranspose1d
// (https://pytorch.org/docs/stable/generated/torch.nn.ConvTranspose1d.html).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "convscope/conv_args.h"
#include "kernels/base/error.h"
#include "kernels/problem/dtype.h"

namespace convscope {

struct ConvProblem {
  int64_t batch = 1, in_channels = 1, out_channels = 1, kernel_size = 1, length = 1;
  int64_t stride = 1, padding = 0, output_padding = 0, dilation = 1, groups = 1;
  bool bias = false;
  DType dtype = DType::f32;

  bool operator==(const ConvProblem&) const = default;

  // Lout = (L − 1)·s − 2p + d·(K − 1) + op + 1; only meaningful for a problem that check() passed.
  int64_t out_length() const {
    return (length - 1) * stride - 2 * padding + dilation * (kernel_size - 1) + output_padding + 1;
  }
  int64_t in_per_group() const { return in_channels / groups; }
  int64_t out_per_group() const { return out_channels / groups; }

  int64_t x_elements() const { return batch * in_channels * length; }                 // x [N, Cin, L]
  int64_t w_elements() const { return in_channels * out_per_group() * kernel_size; }  // w [Cin, Cout/groups, K]
  int64_t b_elements() const { return bias ? out_channels : 0; }                      // b [Cout]
  int64_t y_elements() const { return batch * out_channels * out_length(); }          // y [N, Cout, Lout]

  // What a kernel gets, by value (convscope/conv_args.h).
  ConvArgs args() const {
    return {batch,  in_channels, out_channels,   kernel_size, length, out_length(),
            stride, padding,     output_padding, dilation,    groups};
  }
};

// One parameter, for tables, command lines and messages.
struct ProblemField {
  const char* name;  // in_channels
  int64_t ConvProblem::*value;
  int64_t minimum, maximum;
  const char* meaning;
};
const std::vector<ProblemField>& problem_fields();

// The largest value of a parameter (of kernel_size: tables of taps are kept), and the most elements of a tensor. Beyond
// them 64-bit sizes could overflow.
inline constexpr int64_t max_kernel_size = int64_t{1} << 20;
inline constexpr int64_t max_parameter = (int64_t{1} << 31) - 1;
inline constexpr int64_t max_elements = int64_t{1} << 36;

// Every broken rule that stands by itself, in the words every interface uses: one on several numbers is asked where
// each of them can be taken. A field that no single parameter has (out_length, input, weight, output) is of what
// follows from them, and only looked at where they are all legal.
std::vector<InputError> broken_rules(const ConvProblem& p);
// The first of them; nothing if the problem is legal.
std::optional<InputError> check(const ConvProblem& p);
inline void require_legal(const ConvProblem& p) {
  if (auto e = check(p)) throw *e;
}

// "16 × 32→64, K 3, L 131072, s 2, p 1, d 2"
std::string describe(const ConvProblem& p);

}  // namespace convscope
