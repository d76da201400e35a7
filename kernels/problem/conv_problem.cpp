#include "kernels/problem/conv_problem.h"

#include <algorithm>
#include <fmt/format.h>

namespace convscope {

const std::vector<ProblemField>& problem_fields() {
  using P = ConvProblem;
  static const std::vector<ProblemField> fields = {
      {"batch", &P::batch, 1, max_parameter, "N: sequences in the batch"},
      {"in_channels", &P::in_channels, 1, max_parameter, "Cin: channels of the input"},
      {"out_channels", &P::out_channels, 1, max_parameter, "Cout: channels of the output"},
      {"kernel_size", &P::kernel_size, 1, max_kernel_size, "K: taps of the filter"},
      {"length", &P::length, 1, max_parameter, "L: positions of the input"},
      {"stride", &P::stride, 1, max_parameter, "s: outputs between two inputs"},
      {"padding", &P::padding, 0, max_parameter, "p: outputs cut off at each end"},
      {"output_padding", &P::output_padding, 0, max_parameter, "op: outputs added at the right end"},
      {"dilation", &P::dilation, 1, max_parameter, "d: outputs between two taps"},
      {"groups", &P::groups, 1, max_parameter, "g: independent blocks of channels"},
  };
  return fields;
}

std::vector<InputError> broken_rules(const ConvProblem& p) {
  std::vector<InputError> broken;
  auto text = [](auto v) { return fmt::format("{}", v); };
  auto in_range = [&p](int64_t ConvProblem::*value) {
    return std::any_of(problem_fields().begin(), problem_fields().end(), [&](const ProblemField& f) {
      return f.value == value && p.*value >= f.minimum && p.*value <= f.maximum;
    });
  };
  using P = ConvProblem;
  for (const auto& f : problem_fields()) {
    int64_t v = p.*f.value;
    if (v < f.minimum) broken.emplace_back(f.name, text(v), fmt::format("must be at least {}", f.minimum));
    if (v > f.maximum) broken.emplace_back(f.name, text(v), fmt::format("must be at most {}", f.maximum));
  }
  if (in_range(&P::output_padding) && in_range(&P::stride) && in_range(&P::dilation))
    if (const int64_t limit = std::max(p.stride, p.dilation); p.output_padding >= limit)
      broken.emplace_back("output_padding", text(p.output_padding),
                          fmt::format("must be smaller than max(stride, dilation) = {}", limit));
  if (in_range(&P::groups)) {
    if (in_range(&P::in_channels) && p.in_channels % p.groups)
      broken.emplace_back("groups", text(p.groups), fmt::format("must divide in_channels = {}", p.in_channels));
    if (in_range(&P::out_channels) && p.out_channels % p.groups)
      broken.emplace_back("groups", text(p.groups), fmt::format("must divide out_channels = {}", p.out_channels));
  }
  if (!broken.empty()) return broken;

  __int128 s = p.stride, lout = (p.length - 1) * s - 2 * static_cast<__int128>(p.padding) +
                                static_cast<__int128>(p.dilation) * (p.kernel_size - 1) + p.output_padding + 1;
  auto length = [&](const std::string& rule) {
    broken.emplace_back("out_length", text(static_cast<int64_t>(lout)),
                        fmt::format("{}: (L - 1)*s - 2p + d*(K - 1) + op + 1 with L {}, s {}, p {}, d {}, K {}, op {}",
                                    rule, p.length, p.stride, p.padding, p.dilation, p.kernel_size, p.output_padding));
    return broken;
  };
  if (lout < 1) return length("must be at least 1");
  if (lout > max_parameter) return length(fmt::format("must be at most {}", max_parameter));

  struct Tensor {
    const char* field;
    const char* shape;
    __int128 a, b, c;
  };
  for (const Tensor& t : {Tensor{"input", "N*Cin*L", p.batch, p.in_channels, p.length},
                          Tensor{"weight", "Cin*(Cout/groups)*K", p.in_channels, p.out_per_group(), p.kernel_size},
                          Tensor{"output", "N*Cout*Lout", p.batch, p.out_channels, lout}}) {
    __int128 n = t.a * t.b * t.c;
    if (n > max_elements)
      broken.emplace_back(t.field, fmt::format("{}", n),
                          fmt::format("elements ({}) must be at most {}", t.shape, max_elements));
  }
  return broken;
}

std::optional<InputError> check(const ConvProblem& p) {
  const auto broken = broken_rules(p);
  return broken.empty() ? std::nullopt : std::optional(broken.front());
}

std::string describe(const ConvProblem& p) {
  std::string s = fmt::format("{} × {}→{}, K {}, L {}, s {}, p {}, d {}", p.batch, p.in_channels, p.out_channels,
                              p.kernel_size, p.length, p.stride, p.padding, p.dilation);
  if (p.output_padding) s += fmt::format(", op {}", p.output_padding);
  if (p.groups > 1) s += fmt::format(", groups {}", p.groups);
  if (p.bias) s += ", bias";
  if (p.dtype != DType::f32) s += fmt::format(", {}", name_of(p.dtype));
  return s;
}

}  // namespace convscope
