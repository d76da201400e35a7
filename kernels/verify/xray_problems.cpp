#include "kernels/verify/xray_problems.h"

#include <algorithm>
#include <optional>

#include "kernels/verify/index_map.h"

namespace convscope {
namespace {

constexpr int64_t most_taps = 7, most_cells = 4'000'000;  // of a map: weights · outputs

// As many positions as there is room for, nine at most unless the output would be too short to tell anything; long: as
// many as can be mapped.
bool choose_length(ConvProblem& q, bool is_long) {
  constexpr int64_t usual = 9, least_output = 6;
  const int64_t limit = most_mapped_of(q.dtype) / (q.batch * q.in_channels);
  auto cells = [&] { return q.w_elements() * q.batch * q.out_channels * std::max<int64_t>(q.out_length(), 1); };
  q.length = is_long ? limit : std::min(usual, limit);
  while (q.out_length() < least_output && q.length < limit) q.length++;
  while (cells() > most_cells && q.length > 2) q.length--;
  return q.length > 0 && q.out_length() > 0 && cells() <= most_cells;
}

// A small problem with these strides and shifts that the kernel takes, of p's type where that holds the numbers.
// three: of three output channels, where that may be: of two, the next one is the one before, and all but the first;
// of groups three, as groups − 1 is 1 where there are two.
std::optional<ConvProblem> small_problem(const KernelDefinition& kernel, ConvProblem p, bool three = false,
                                         int64_t batch = 2) {
  struct Channels {
    int64_t groups, in, out;  // of one group
  };
  // Input channels of a group, output channels of it, taps and 2 are different numbers: a bias that is added once for
  // each of one of them is told apart.
  const int64_t in = std::min(p.kernel_size, most_taps) == 3 ? 4 : 3;
  std::vector<Channels> channels{{1, in, 2}, {1, 2, 3}, {1, 4, 4}, {1, 8, 8}};
  if (three) channels.insert(channels.begin(), {1, 2, 3});
  if (p.groups > 1 && p.in_per_group() == 1) channels = {{3, 1, std::min<int64_t>(p.out_per_group(), 2)}, {8, 1, 1}};
  if (p.groups > 1 && p.in_per_group() > 1) channels = {{2, in, 2}, {3, 2, 2}, {2, 4, 4}, {2, 8, 8}};
  if (three && p.groups > 1 && p.in_per_group() > 1) channels.insert(channels.begin(), {3, 4, 2});
  // Few positions are all that bf16 has numbers for; a kernel that takes no other type is seen on these.
  std::vector<DType> types{p.dtype};
  if (p.dtype == DType::bf16) types = {DType::f32, DType::f16, DType::bf16};
  p.batch = batch;
  // With fewer taps, and short, where the kernel takes that; it may be made for one kernel size, or for long rows
  // alone.
  std::vector<int64_t> taps{std::min(p.kernel_size, most_taps)};
  if (p.kernel_size > most_taps) taps.push_back(p.kernel_size);
  for (const int64_t K : taps)
    for (const bool is_long : {false, true})
      for (DType type : types)
        for (const auto& c : channels) {
          ConvProblem q = p;
          q.kernel_size = K, q.dtype = type;
          q.groups = c.groups, q.in_channels = c.groups * c.in, q.out_channels = c.groups * c.out;
          if (choose_length(q, is_long) && !check(q) && kernel.unsupported(q).empty()) return q;
        }
  return {};
}

}  // namespace

std::vector<ConvProblem> small_problems(const KernelDefinition& kernel, const ConvProblem& p) {
  std::vector<ConvProblem> all;
  if (auto q = small_problem(kernel, p)) all.push_back(*q);
  if (all.empty()) return all;
  struct Other {
    int64_t K, s, p, d, op;
  };
  for (const Other& o : {Other{4, 3, 5, 2, 1}, Other{3, 2, 1, 3, 2}, Other{5, 1, 3, 1, 0}, Other{2, 4, 2, 1, 3}}) {
    ConvProblem q = p;
    q.kernel_size = o.K, q.stride = o.s, q.padding = o.p, q.dilation = o.d, q.output_padding = o.op;
    // Of three sequences one: other sizes are 2 as well. Without output_padding for a kernel that takes none.
    for (const int64_t op : {o.op, int64_t{0}}) {
      q.output_padding = op;
      const auto small = small_problem(kernel, q, p.groups > 1 ? o.K == 2 : p.bias && o.K == 5, o.K == 4 ? 3 : 2);
      if (small) all.push_back(*small);
      if (small || op == 0) break;
    }
  }
  return all;
}

std::vector<ConvProblem> small_and_longer_problems(const KernelDefinition& kernel, const ConvProblem& p) {
  std::vector<ConvProblem> all;
  int64_t length = 300, batch = 3;
  for (const ConvProblem& small : small_problems(kernel, p)) {
    all.push_back(small);
    ConvProblem q = small;
    q.length = std::max<int64_t>(q.length, length / q.stride), q.batch = batch++;
    length += 170;
    all.push_back(q);
    // Small ones have fewer channels behind the layer than before it, and than sequences.
    q.out_channels = 11 * q.groups, q.batch = 1;
    all.push_back(q);
  }
  return all;
}

std::vector<LargerProblem> larger_problems(const KernelDefinition& kernel, const ConvProblem& p) {
  std::vector<LargerProblem> all;
  const auto small = small_problem(kernel, p);
  if (!small) return all;
  auto add = [&](LargerProblem::Kind kind, ConvProblem q) {
    q.length = most_mapped_of(q.dtype) / (q.batch * q.in_channels);
    if (q.length > 0 && !check(q) && q.w_elements() * q.y_elements() <= most_cells && kernel.unsupported(q).empty())
      all.push_back({kind, q});
  };
  ConvProblem q = *small;
  q.batch = 1;
  add(LargerProblem::row, q);
  q.in_channels = q.out_channels = q.groups;
  add(LargerProblem::one_channel, q);
  // At least two positions of each, and few taps: each weight is a launch.
  constexpr int64_t few_taps = 3, most_weights = 1500;
  q.kernel_size = std::min(q.kernel_size, few_taps);
  q.in_channels = q.groups * std::min(p.in_per_group(), most_mapped_of(q.dtype) / (2 * q.groups));
  q.out_channels = q.groups * small->out_per_group();
  if (q.in_per_group() > small->in_per_group()) add(LargerProblem::channels, q);
  q = p;
  q.dtype = small->dtype, q.length = std::min(p.length, most_mapped_of(q.dtype) / (q.batch * q.in_channels));
  while (q.length > 2 && q.w_elements() * q.y_elements() > most_cells) q.length -= (q.length + 3) / 4;
  if (q.length > 0 && q.w_elements() <= most_weights && !check(q) && q.w_elements() * q.y_elements() <= most_cells &&
      kernel.unsupported(q).empty())
    all.push_back({LargerProblem::as_asked, q});
  return all;
}

}  // namespace convscope
