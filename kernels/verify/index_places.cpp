#include "kernels/verify/index_places.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <vector>

#include "kernels/verify/index_formula.h"

namespace convscope {
namespace {

struct Pitch {
  int64_t elements;
  std::string text;
};

// Whether what stands in all places is what belongs to an output that these pitches put there, and nothing is written
// elsewhere.
bool stored_by(const IndexMap& m, int64_t row, int64_t sequence) {
  const ConvProblem& p = m.problem;
  const int64_t length = m.out_length, all = m.outputs();
  std::vector<std::vector<int64_t>> put(static_cast<size_t>(all));  // outputs, by place
  int64_t furthest = 0;
  for (int64_t o = 0; o < all; o++) {
    const int64_t place = o / length / p.out_channels * sequence + o / length % p.out_channels * row + o % length;
    if (place < 0) return false;
    furthest = std::max(furthest, place);
    if (place < all) put[static_cast<size_t>(place)].push_back(o);
  }
  if (m.behind != std::max<int64_t>(furthest - all + 1, 0)) return false;
  for (int64_t place = 0; place < all; place++) {
    const auto& here = put[static_cast<size_t>(place)];
    auto is = [&](int64_t o) {
      for (int64_t e = 0; e < p.w_elements(); e++) {
        const IndexMap::Read& r = m.read(e, place);
        const int64_t at = flat_input(p, e, o / length / p.out_channels, o / length % p.out_channels, o % length);
        if (r.at != at || (at >= 0 && std::fabs(r.times - 1) > 1e-3)) return false;
      }
      return true;
    };
    const bool written = !m.read(0, place).unwritten();
    if (here.empty() ? written : std::none_of(here.begin(), here.end(), is)) return false;
  }
  return true;
}

}  // namespace

std::string wrong_places(const IndexMap& m) {
  const ConvProblem& p = m.problem;
  const int64_t right = m.out_length;
  if (right != p.out_length() || right < 2) return "";
  const Pitch rows[] = {{right, "Lout"},
                        {p.length * p.stride, "L·s"},
                        {p.length, "L"},
                        {right - p.output_padding, "Lout − op"},
                        {(p.length - 1) * p.stride + p.kernel_size, "(L − 1)·s + K"},
                        {(p.length - 1) * p.stride + p.kernel_size - 2 * p.padding, "(L − 1)·s − 2·p + K"},
                        {right - 1, "Lout − 1"},
                        {right + 1, "Lout + 1"}};
  const Pitch counts[] = {{p.out_channels, "Cout"}, {p.in_channels, "Cin"}, {p.out_per_group(), "Cout/groups"}};
  for (const Pitch& row : rows)
    for (const Pitch& count : counts)
      for (const Pitch& of : rows) {
        // Sequences in rows as they are taken, or by a length of their own.
        const bool own = &of == &row;
        const int64_t sequence = count.elements * of.elements;
        if (row.elements < 1 || (row.elements == right && sequence == p.out_channels * right)) continue;
        if (p.out_channels == 1 && row.elements != right) continue;  // no row tells
        if (p.batch == 1 && sequence != p.out_channels * row.elements) continue;
        if (!stored_by(m, row.elements, sequence)) continue;
        std::string text;
        if (row.elements != right)
          text = fmt::format("rows of y are taken to be {} apart, and they are Lout apart", row.text);
        if (sequence == p.out_channels * row.elements) return text;
        text += text.empty() ? "" : ", and ";
        return text + (own ? fmt::format("sequences of y are taken to be {} rows apart, and they are Cout rows apart",
                                         count.text)
                           : fmt::format("sequences of y are taken to be {}·{} apart, and they are Cout·Lout apart",
                                         count.text, of.text));
      }
  return "";
}

}  // namespace convscope
