#include "kernels/verify/fixed_sizes.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <optional>

#include "kernels/base/error.h"
#include "kernels/problem/counts.h"
#include "kernels/verify/judge.h"

namespace convscope {
namespace {

// A tenth of a second on the emulator; where nothing less than the whole problem is right, it may take longer.
constexpr double most_products = 3e7, most_of_all = 1e8, patience_s = 6;

// A size, and how it is said.
struct Size {
  const char *one, *parameter;  // "{} input channels"
  int64_t (*of)(const ConvProblem&);
  void (*set)(ConvProblem&, int64_t);
  int64_t (*step)(const ConvProblem&);  // it is a multiple of this
  bool tensors;                         // a tensor's alone
};
#define FIELD(name) [](const ConvProblem& p) { return p.name; }, [](ConvProblem& p, int64_t v) { p.name = v; }
constexpr int64_t (*by_one)(const ConvProblem&) = [](const ConvProblem&) { return int64_t{1}; };
constexpr int64_t (*by_groups)(const ConvProblem&) = [](const ConvProblem& p) { return p.groups; };
const Size sizes[] = {
    {"batch {}", "batch", FIELD(batch), by_one, true},
    {"{} input channels", "in_channels", FIELD(in_channels), by_groups, true},
    {"{} output channels", "out_channels", FIELD(out_channels), by_groups, true},
    {"length {}", "length", FIELD(length), by_one, true},
    {"kernel size {}", "kernel_size", FIELD(kernel_size), by_one, false},
    {"stride {}", "stride", FIELD(stride), by_one, false},
    {"padding {}", "padding", FIELD(padding), by_one, false},
    {"dilation {}", "dilation", FIELD(dilation), by_one, false},
    {"output_padding {}", "output_padding", FIELD(output_padding), by_one, false},
};
#undef FIELD

// Larger ones: what has a smaller number than it takes reads and writes beside its tensors.
std::vector<ConvProblem> others(const Size& size, const ConvProblem& p) {
  std::vector<ConvProblem> all;
  const int64_t own = size.of(p);
  for (const int64_t v : {own + size.step(p), 2 * own, 2 * own + size.step(p)}) {
    ConvProblem q = p;
    size.set(q, v);
    if (v > own && std::find(all.begin(), all.end(), q) == all.end()) all.push_back(q);
  }
  if (all.size() > 2) all.resize(2);
  return all;
}

}  // namespace

FixedSizes fixed_sizes(Device& device, const KernelDefinition& kernel, const ConvProblem& p, Accuracy accuracy,
                       const FixedLimits& limits, Activity& activity) {
  const auto begin = std::chrono::steady_clock::now();
  auto over = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > limits.seconds;
  };
  std::vector<std::unique_ptr<Reference>> none;
  Judge judge(device, none);
  double most = most_products;
  // Nothing: it is not run.
  auto is_right = [&](const ConvProblem& q) -> std::optional<bool> {
    if (over() || check(q) || walked_products(q) > most || !kernel.unsupported(q).empty()) return {};
    activity.check();
    RunSpec spec;
    spec.kernel = &kernel, spec.problem = q, spec.accuracy = accuracy, spec.verdict_only = true;
    Verdict v;
    try {
      v = judge.run(spec, activity).verdict;
    } catch (const InputError&) {  // too large for this machine
      return {};
    } catch (const DeviceError& e) {
      if (e.poisoned()) throw;
      return {};
    }
    // What is wrong beside its sums has nothing to do with sizes.
    if (v.status == Status::right) return true;
    return v.status == Status::wrong && !v.results_are_right() ? std::optional(false) : std::nullopt;
  };
  constexpr int64_t short_row = 61;
  ConvProblem base = p;
  base.length = std::min(p.length, short_row), base.batch = std::min<int64_t>(p.batch, 2);
  if (!limits.pieces || is_right(base) != true) {
    if (limits.pieces && base == p) return {};
    base = p, most = most_of_all;
    if (is_right(base) != true) return {};
  }
  FixedSizes found;
  for (const Size& size : sizes) {
    if (!size.tensors && !limits.all) continue;
    std::string tried;
    bool any_right = false;
    for (const ConvProblem& q : others(size, base)) {
      const auto is = is_right(q);
      if (!is) continue;
      any_right |= *is;
      if (any_right) break;
      const bool one_is_enough = most == most_of_all;
      tried += (tried.empty() ? "" : " and ") + std::to_string(size.of(q));
      if (one_is_enough) break;
    }
    if (any_right || tried.empty()) continue;
    const std::string own = fmt::format(fmt::runtime(size.one), size.of(base));
    found.faults.push_back(fmt::format("right with {}, wrong with {}", own, tried));
    found.parameters.emplace_back(size.parameter, size.of(base));
  }
  return found;
}

}  // namespace convscope
