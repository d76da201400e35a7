// The five specimens by the table of the notes, for what they read and when that happens to be right.
#pragma once
#include <optional>
#include <string>

#include "kernels/problem/conv_problem.h"

namespace convscope::test {

struct SpecimenModel {
  const char* name;
  bool bias, groups, doubles;
  int64_t (*out_length)(const ConvProblem& p);
  // The input that output j takes through tap k: nothing where it skips the tap or drops the input.
  std::optional<int64_t> (*index)(const ConvProblem& p, int64_t j, int64_t k);
};

inline const SpecimenModel specimen_models[] = {
    {"S0", true, false, false,
     [](const ConvProblem& p) {
       return (p.length - 1) * p.stride - 2 * p.padding + p.dilation * (p.kernel_size - 1) + 1;
     },
     [](const ConvProblem& p, int64_t j, int64_t k) -> std::optional<int64_t> {
       int64_t t = j - k * p.dilation;
       if (t % p.stride) return std::nullopt;
       return t / p.stride;
     }},
    {"S1", false, false, true,
     [](const ConvProblem& p) {
       return (p.length - 1) * p.stride - 2 * p.padding + p.kernel_size - 1 + p.output_padding + 1;
     },
     [](const ConvProblem& p, int64_t j, int64_t k) -> std::optional<int64_t> {
       return (j + p.padding - k + p.output_padding) / p.stride - p.padding;
     }},
    {"S2", false, false, true,
     [](const ConvProblem& p) {
       return (p.length - 1) * p.stride - 2 * p.padding + p.dilation * (p.kernel_size - 1) + 1;
     },
     [](const ConvProblem& p, int64_t j, int64_t k) -> std::optional<int64_t> {
       return (j - k * p.dilation) / p.stride - p.padding;
     }},
    {"S3", false, true, false,
     [](const ConvProblem& p) {
       return (p.length - 1) * p.stride - 2 * p.padding + p.kernel_size - 1 + p.output_padding + 1;
     },
     [](const ConvProblem& p, int64_t j, int64_t k) -> std::optional<int64_t> {
       return (j - k - p.padding) / p.stride;
     }},
    {"S4", false, false, false,
     [](const ConvProblem& p) {
       return (p.length - 1) * p.stride - 2 * p.padding + p.dilation * (p.kernel_size - 1) + 1;
     },
     [](const ConvProblem& p, int64_t j, int64_t k) -> std::optional<int64_t> {
       return (j + p.padding - k * p.dilation) / p.stride;
     }},
};

// What a specimen reads, or nothing.
inline std::optional<int64_t> reads(const SpecimenModel& m, const ConvProblem& p, int64_t j, int64_t k) {
  auto i = m.index(p, j, k);
  return i && *i >= 0 && *i < p.length ? i : std::nullopt;
}
// What the definition reads.
inline std::optional<int64_t> should_read(const ConvProblem& p, int64_t j, int64_t k) {
  int64_t t = j + p.padding - k * p.dilation;
  return t >= 0 && t % p.stride == 0 && t / p.stride < p.length ? std::optional(t / p.stride) : std::nullopt;
}

// Whether it is right, tap by tap.
inline bool right_by_model(const SpecimenModel& m, const ConvProblem& p) {
  if (m.out_length(p) != p.out_length() || (p.bias && !m.bias)) return false;
  for (int64_t j = 0; j < p.out_length(); j++)
    for (int64_t k = 0; k < p.kernel_size; k++) {
      auto i = reads(m, p, j, k);
      if (i != should_read(p, j, k) || (i && p.groups > 1 && !m.groups)) return false;
    }
  return true;
}

}  // namespace convscope::test
