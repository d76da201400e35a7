#include "kernels/verify/channels_left.h"

#include <fmt/format.h>
#include <vector>

#include "kernels/verify/pattern_values.h"

namespace convscope {

std::string channels_left_out(const IndexMap& map) {
  const ConvProblem& p = map.problem;
  const int64_t weights = p.out_per_group() * p.kernel_size;  // of an input channel
  std::vector<int64_t> left;
  for (int64_t c = 0; c < p.in_channels; c++) {
    bool used = false;
    for (int64_t w = c * weights; w < (c + 1) * weights && !used; w++)
      for (int64_t o = 0; o < map.outputs() && !used; o++) used = map.read(w, o).at != IndexMap::none;
    if (!used) left.push_back(c);
  }
  const auto lost = static_cast<int64_t>(left.size());
  if (!lost || lost == p.in_channels) return "";
  return fmt::format("input channel{} {} of {} {} left out", lost == 1 ? "" : "s", ranges(left), p.in_channels,
                     lost == 1 ? "is" : "are");
}

}  // namespace convscope
