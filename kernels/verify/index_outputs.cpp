#include "kernels/verify/index_outputs.h"

#include <fmt/format.h>
#include <set>

#include "kernels/verify/pattern_values.h"

namespace convscope {

std::string outputs_in_words(const IndexMap& m, const std::vector<int64_t>& outputs, const OutputWords& words,
                             bool& sized) {
  const int64_t sequence_count = m.problem.batch, channel_count = m.problem.out_channels, length = m.out_length;
  std::set<int64_t> positions, channels, sequences;
  for (const int64_t o : outputs) {
    positions.insert(o % length);
    channels.insert(o / length % channel_count);
    sequences.insert(o / length / channel_count);
  }
  const auto n = static_cast<int64_t>(outputs.size());
  auto list = [](const std::set<int64_t>& s) { return ranges({s.begin(), s.end()}); };
  const bool whole_positions = n == static_cast<int64_t>(positions.size()) * sequence_count * channel_count;
  if (whole_positions && positions == std::set<int64_t>{0}) return fmt::format("position 0 {}", words.is);
  if (whole_positions && positions == std::set<int64_t>{length - 1})
    return fmt::format("the last position {}", words.is);
  // Before what has numbers: a grid that is too small leaves these, and they may be whole rows.
  if (outputs.front() == m.outputs() - n)
    return fmt::format("the last outputs in memory {}{}", words.are, words.at_the_end);
  sized = true;
  if (whole_positions) return fmt::format("positions {} of {} {}", list(positions), length, words.are);
  if (n == static_cast<int64_t>(channels.size()) * sequence_count * length)
    return fmt::format("output channels {} of {} {}", list(channels), channel_count, words.are);
  if (n == static_cast<int64_t>(sequences.size()) * channel_count * length)
    return fmt::format("sequences {} of {} {}", list(sequences), sequence_count, words.are);
  return fmt::format("{} of {} outputs {}", n, m.outputs(), words.are);
}

}  // namespace convscope
