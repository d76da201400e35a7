#include "kernels/verify/xray_mapped.h"

#include <algorithm>
#include <fmt/format.h>
#include <vector>

#include "kernels/problem/counts.h"
#include "kernels/verify/channels_left.h"
#include "kernels/verify/if_it_runs.h"
#include "kernels/verify/pattern.h"
#include "kernels/verify/pattern_values.h"

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

Mapped mapped_of(IndexMap m) {
  Mapped one{m.problem, false, m.outputs() ? structure_of(m) : std::nullopt, first_deviation(m), length_fault(m)};
  one.map = std::move(m);
  if (one.deviation.empty()) one.deviation = one.length;
  one.right = one.deviation.empty();
  return one;
}

std::vector<const IndexMap*> maps_of(const std::vector<Mapped>& all) {
  std::vector<const IndexMap*> maps;
  for (const Mapped& m : all) maps.push_back(&m.map);
  return maps;
}

Mapped mapped_on(Device& device, const KernelDefinition& kernel, const ConvProblem& q, Activity& activity) {
  return mapped_of(index_map(device, kernel, q, activity));
}

std::optional<Mapped> maybe_mapped_on(Device& device, const KernelDefinition& kernel, const ConvProblem& q,
                                      Activity& activity) {
  return if_it_runs([&] { return mapped_on(device, kernel, q, activity); });
}

std::string outputs_left_on(Device& device, const KernelDefinition& kernel, const ConvProblem& p, Activity& activity) {
  constexpr double most_products = 3e7;
  if (walked_products(p) > most_products) return "";
  const std::vector<int64_t> left = if_it_runs([&] {
                                      return kernel.plan_for(p).out_length() == p.out_length()
                                                 ? outputs_left(device, kernel, p, activity)
                                                 : std::vector<int64_t>();
                                    }).value_or(std::vector<int64_t>());
  const auto lost = static_cast<int64_t>(left.size());
  if (!lost) return "";
  std::vector<int64_t> channels;
  for (const int64_t o : left)
    if (const int64_t co = o / p.out_length() % p.out_channels;
        std::find(channels.begin(), channels.end(), co) == channels.end())
      channels.push_back(co);
  std::sort(channels.begin(), channels.end());
  const auto of_channels = static_cast<int64_t>(channels.size());
  if (of_channels < p.out_channels && lost == of_channels * p.batch * p.out_length())
    return fmt::format("output channel{} {} of {} {} never written", of_channels == 1 ? "" : "s", ranges(channels),
                       p.out_channels, of_channels == 1 ? "is" : "are");
  std::vector<int64_t> sequences;  // in their order
  for (const int64_t o : left)
    if (const int64_t n = o / p.out_length() / p.out_channels; sequences.empty() || sequences.back() != n)
      sequences.push_back(n);
  const auto of_sequences = static_cast<int64_t>(sequences.size());
  if (of_sequences < p.batch && lost == of_sequences * p.out_channels * p.out_length())
    return fmt::format("sequence{} {} of {} {} never written", of_sequences == 1 ? "" : "s", ranges(sequences), p.batch,
                       of_sequences == 1 ? "is" : "are");
  if (left.front() == p.y_elements() - lost) return "";  // the last, as is said anyway
  const int64_t first = left.front(), j = first % p.out_length(), co = first / p.out_length() % p.out_channels;
  return fmt::format("outputs are never written: {} of {}, y[{}, {}, {}] the first of them", lost, p.y_elements(),
                     first / p.out_length() / p.out_channels, co, j);
}

std::string left_on(Device& device, const KernelDefinition& kernel, const ConvProblem& q, Activity& activity) {
  const auto one = maybe_mapped_on(device, kernel, q, activity);
  return one ? channels_left_out(one->map) : "";
}

}  // namespace convscope
