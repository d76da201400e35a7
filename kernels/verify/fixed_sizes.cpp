#include "kernels/verify/fixed_sizes.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <optional>

#include "kernels/problem/counts.h"
#include "kernels/verify/xray_sizes.h"

namespace convscope {
namespace {

// Of one problem that is judged; where nothing less than the whole problem is right, it may take longer.
constexpr double most_products_judged = 3e7, most_of_all = 1e8, patience_s = 6;

// A size, and how it is said.
struct Size {
  const char *one, *parameter;  // "{} input channels"
  int64_t ConvProblem::*field;
  bool of_groups = false;  // it is a multiple of their number
  bool tensors = true;     // a tensor's alone
};
constexpr Size sizes[] = {
    {"batch {}", "batch", &ConvProblem::batch},
    {"{} input channels", "in_channels", &ConvProblem::in_channels, true},
    {"{} output channels", "out_channels", &ConvProblem::out_channels, true},
    {"length {}", "length", &ConvProblem::length},
    {"kernel size {}", "kernel_size", &ConvProblem::kernel_size, false, false},
    {"stride {}", "stride", &ConvProblem::stride, false, false},
    {"padding {}", "padding", &ConvProblem::padding, false, false},
    {"dilation {}", "dilation", &ConvProblem::dilation, false, false},
    {"output_padding {}", "output_padding", &ConvProblem::output_padding, false, false},
};

// Larger ones: what has a smaller number than it takes reads and writes beside its tensors.
std::vector<ConvProblem> others(const Size& size, const ConvProblem& p) {
  std::vector<ConvProblem> all;
  const int64_t own = p.*size.field, step = size.of_groups ? p.groups : 1;
  for (const int64_t v : {own + step, 2 * own, 2 * own + step}) {
    ConvProblem q = p;
    q.*size.field = v;
    if (v > own && std::find(all.begin(), all.end(), q) == all.end()) all.push_back(q);
  }
  if (all.size() > 2) all.resize(2);
  return all;
}

// What a size has to be a multiple of, and for which of them that is seen.
struct Multiples {
  int64_t of = 0, one = 0, next = 0, between = 0;  // right, right and wrong
};
// The least power of two. `from`: one that is right, or that is to be rounded up to what is.
template <class IsRight>
std::optional<Multiples> multiples_of(const Size& size, const ConvProblem& p, bool from_is_right, IsRight is_right) {
  const int64_t step = size.of_groups ? p.groups : 1, from = p.*size.field / step;
  auto right = [&](int64_t v) {
    ConvProblem q = p;
    q.*size.field = v * step;
    return is_right(q);
  };
  for (int64_t of = 2; of <= 128; of *= 2) {
    const Multiples m{of, (from + of - 1) / of * of, (from + of - 1) / of * of + of, (from + of - 1) / of * of + 1};
    if (from_is_right ? m.one != from : m.one == from) continue;
    if ((!from_is_right && right(m.one) != true) || right(m.next) != true) continue;
    if (right(m.between) != false) return {};  // any will do from some size on
    return m;
  }
  return {};
}

std::string multiples_words(const Size& size, const Multiples& m, const ConvProblem& p, std::optional<int64_t> own) {
  const char* of_group = size.of_groups && p.groups > 1 ? " of a group" : "";
  std::string name = size.of_groups ? fmt::format(fmt::runtime(size.one), "the number of") : size.parameter;
  if (size.of_groups) name += of_group;
  std::replace(name.begin(), name.end(), '_', ' ');
  if (!size.of_groups) name = "the " + name;
  return fmt::format("right where {} is a multiple of {} ({} and {} were tried), wrong with {}{}", name, m.of, m.one,
                     m.next, own ? fmt::format("{} and ", *own) : "", m.between);
}

}  // namespace

FixedSizes fixed_sizes(Device& device, const KernelDefinition& kernel, const ConvProblem& p, Accuracy accuracy,
                       const FixedLimits& limits, Activity& activity) {
  const auto begin = std::chrono::steady_clock::now();
  auto over = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() >
           std::min(limits.seconds, patience_s);
  };
  double most = most_products_judged;
  auto is_right = [&](const ConvProblem& q) -> std::optional<bool> {
    if (over() || check(q) || walked_products(q) > most) return {};
    return sums_are_right(device, kernel, q, accuracy, activity);
  };
  constexpr int64_t short_row = 61;
  ConvProblem base = p;
  base.length = std::min(p.length, short_row), base.batch = std::min<int64_t>(p.batch, 2);
  FixedSizes found;
  std::optional<bool> base_is_right = limits.pieces ? is_right(base) : std::nullopt;
  if (base_is_right == false && limits.all && (base == p || is_right(p) != true)) {
    for (const Size& size : sizes) {
      if (!size.of_groups && size.field != &ConvProblem::length) continue;
      const auto m = multiples_of(size, base, false, is_right);
      if (!m) continue;
      found.wrong_here = true;
      found.faults.push_back(multiples_words(size, *m, base, base.*size.field / (size.of_groups ? base.groups : 1)));
      return found;
    }
  }
  if (base_is_right != true) {
    if (limits.pieces && base == p) return {};
    base = p, most = most_of_all;
    if (is_right(base) != true) return {};
  }
  for (const Size& size : sizes) {
    if (!size.tensors && !limits.all) continue;
    std::string tried;
    bool any_right = false;
    for (const ConvProblem& q : others(size, base)) {
      const auto is = is_right(q);
      if (!is) continue;
      any_right |= *is;
      if (any_right) break;
      tried += (tried.empty() ? "" : " and ") + std::to_string(q.*size.field);
      if (most == most_of_all) break;  // one is enough
    }
    if (any_right && !tried.empty() && most != most_of_all)
      if (const auto m = multiples_of(size, base, true, is_right))
        found.faults.push_back(multiples_words(size, *m, base, {}));
    if (any_right || tried.empty()) continue;
    const std::string own = fmt::format(fmt::runtime(size.one), base.*size.field);
    found.faults.push_back(fmt::format("right with {}, wrong with {}", own, tried));
    found.parameters.emplace_back(size.parameter, base.*size.field);
  }
  return found;
}

}  // namespace convscope
