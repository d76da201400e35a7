#include "kernels/verify/unset_variables.h"

#include <cmath>
#include <fmt/format.h>

#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/runtime/compile/outside.h"
#include "kernels/runtime/registry.h"

namespace convscope {
namespace {

constexpr double more_than_rounding = 1e-2;

bool apart(double a, double b) {
  if (std::isfinite(a) && std::isfinite(b))
    return std::fabs(a - b) > more_than_rounding * (std::fabs(a) + std::fabs(b));
  return !(std::isnan(a) && std::isnan(b)) && a != b;
}

}  // namespace

bool may_look_for_unset(const KernelDefinition& kernel, const RaceSearch& races) {
  return !kernel.text().empty() && races.missing.empty() && races.race.empty() && races.unset.empty() &&
         races.leaves.empty() && races.misaligned.empty() && !races.atomics;
}

std::string unset_variable_used(const KernelDefinition& kernel, DType dtype,
                                const std::function<HostBytes(const KernelDefinition&)>& output_of,
                                Activity& activity) {
  std::string missing;
  const KernelDefinition* twin = traced_twin(kernel, missing);
  if (!twin) return "";
  HostBytes plain, traced;
  try {
    plain = output_of(kernel), traced = output_of(*twin);
  } catch (const KernelFault&) {
    return "";
  }
  int64_t reached = 0;
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto *a = plain.as<T>(), *b = traced.as<T>();
    for (size_t e = 0; e < std::min(plain.size(), traced.size()) / sizeof(T); e++)
      reached += apart(static_cast<double>(a[e]), static_cast<double>(b[e]));
  });
  if (!reached) return "";
  const std::string name = unset_variable(kernel.file(), kernel.text(), activity);
  return fmt::format("uses {} before anything was put into it: what stands there reaches {} element{}",
                     name.empty() ? "a variable" : name, grouped(reached), reached == 1 ? "" : "s");
}

}  // namespace convscope
