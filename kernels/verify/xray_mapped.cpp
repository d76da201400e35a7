#include "kernels/verify/xray_mapped.h"

#include <fmt/format.h>

#include "kernels/base/error.h"
#include "kernels/verify/channels_left.h"
#include "kernels/verify/pattern.h"

namespace convscope {
namespace {

std::string length_fault(const IndexMap& m) {
  const int64_t right = m.problem.out_length();
  if (m.out_length == right) return "";
  const std::string as_if = explain_length(m.problem, m.out_length);
  return as_if.empty() ? fmt::format("its output is {} long where {} belongs", m.out_length, right)
                       : "its output is as long " + as_if;
}

}  // namespace

Mapped mapped_on(Device& device, const KernelDefinition& kernel, const ConvProblem& q, Activity& activity) {
  IndexMap m = index_map(device, kernel, q, activity);
  Mapped one{q, false, m.outputs() ? structure_of(m) : std::nullopt, first_deviation(m), length_fault(m)};
  one.map = std::move(m);
  if (one.deviation.empty()) one.deviation = one.length;
  one.right = one.deviation.empty();
  return one;
}

std::optional<Mapped> maybe_mapped_on(Device& device, const KernelDefinition& kernel, const ConvProblem& q,
                                      Activity& activity) {
  try {
    return mapped_on(device, kernel, q, activity);
  } catch (const KernelFault&) {
  } catch (const InputError&) {
  } catch (const MissingError&) {
  } catch (const DeviceError& e) {
    if (e.poisoned()) throw;
  }
  return {};
}

std::string left_on(Device& device, const KernelDefinition& kernel, const ConvProblem& q, Activity& activity) {
  const auto one = maybe_mapped_on(device, kernel, q, activity);
  return one ? channels_left_out(one->map) : "";
}

}  // namespace convscope
