// Single faults anywhere in the definition's loop, by name: maps are made by loops that are written here once more,
// with one thing changed in each.
#include "kernels/verify/index_program.h"

#include <gtest/gtest.h>

namespace convscope {
namespace {

// What a loop may do otherwise.
struct Loop {
  int64_t channel_length = 0, channel_count = 0, sequence_times = 0, taps = 0, inputs = 0, first_more = 0, end = 0;
  bool remainder = false, channel_of_bias = false, twice = false, from_the_end = false, bias_twice = false;
  bool sequence_of_rest = false, one_test = false, product = false, channel_times = false;
  int64_t divisor = 0;  // more than the stride; a division by zero gives 0
};

IndexMap made(const ConvProblem& p, const Loop& more) {
  IndexMap m;
  m.problem = p, m.out_length = p.out_length();
  const int64_t outputs = m.outputs(), Cig = p.in_per_group(), Cog = p.out_per_group();
  m.reads.resize(static_cast<size_t>(p.w_elements() * outputs));
  std::vector<double> sums(m.reads.size());
  for (int64_t e = 0; e < outputs; e++) {
    const int64_t row = more.channel_times ? e * m.out_length : e / (m.out_length + more.channel_length);
    const int64_t whole = more.sequence_of_rest ? e % m.out_length : e / m.out_length;
    const int64_t j = e % m.out_length, n = whole / p.out_channels + more.sequence_times,
                  co = row % (p.out_channels + more.channel_count),
                  first = (more.product ? co * Cog : co / Cog) * Cig + more.first_more;
    if (p.bias) {
      const int64_t of = more.channel_of_bias ? j % p.out_channels : co;
      m.biases.push_back(of < p.out_channels ? IndexMap::Read{static_cast<int32_t>(of), more.bias_twice ? 2.f : 1.f}
                                             : IndexMap::Read{});
    }
    for (int64_t k = 0; k < p.kernel_size + more.taps; k++) {
      const int64_t t = j + p.padding - k * p.dilation, by = p.stride + more.divisor,
                    i = more.remainder ? t % p.stride
                        : by           ? t / by
                                       : 0;
      const bool before = t < 0, between = t % p.stride != 0;
      if (more.one_test ? before && between : before || between) continue;
      if (i >= p.length - more.end) continue;
      for (int64_t ci = first; ci < first - more.first_more + Cig + more.inputs; ci++) {
        const int64_t x = (n * p.in_channels + ci) * p.length + (more.from_the_end ? -i : i),
                      w = (ci * Cog + co % Cog) * p.kernel_size + k;
        if (x < 0 || x >= p.x_elements() || w < 0 || w >= p.w_elements()) continue;
        const size_t at = static_cast<size_t>(w * outputs + e);
        sums[at] += input_code(x) * (more.twice && k == 1 && ci == first ? 2 : 1);
        m.reads[at].at = m.reads[at].at == IndexMap::none ? static_cast<int32_t>(x) : IndexMap::unclear;
      }
    }
  }
  for (size_t at = 0; at < sums.size(); at++)
    if (m.reads[at].at >= 0) m.reads[at].times = static_cast<float>(sums[at] / input_code(m.reads[at].at));
  return m;
}

std::vector<ConvProblem> problems() {
  const ConvProblem one{.batch = 2,
                        .in_channels = 8,
                        .out_channels = 4,
                        .kernel_size = 3,
                        .length = 8,
                        .stride = 3,
                        .padding = 2,
                        .output_padding = 1,
                        .dilation = 2,
                        .groups = 2,
                        .bias = true};
  ConvProblem two = one, three = one;
  two.in_channels = 6, two.kernel_size = 4, two.stride = 2, two.padding = 5, two.dilation = 3, two.length = 9;
  three.groups = 1, three.in_channels = 3, three.out_channels = 2, three.stride = 4, three.padding = 1;
  three.dilation = 1, three.kernel_size = 2, three.output_padding = 3;
  return {one, two, three};
}

std::vector<ProgramFault> found(const Loop& more) {
  std::vector<IndexMap> maps;
  for (const ConvProblem& p : problems()) maps.push_back(made(p, more));
  std::vector<const IndexMap*> all;
  for (const IndexMap& m : maps) all.push_back(&m);
  return program_faults(all, Activity());
}

TEST(IndexProgram, OneFaultIsNamed) {
  struct Fault {
    Loop more;
    const char *text, *right, *what;
  };
  const Fault faults[] = {
      {{.channel_length = 1}, "co = e/(Lout + 1) mod Cout", "co = e/Lout mod Cout", "the channel of an output"},
      {{.channel_count = -1}, "co = e/Lout mod (Cout − 1)", "co = e/Lout mod Cout", "the channel of an output"},
      {{.taps = 1}, "k ≤ K", "k < K", "the last tap"},
      {{.inputs = 1}, "ci ≤ first + Cin/groups", "ci < first + Cin/groups", "the last input channel of the sum"},
      {{.first_more = -1}, "ci from (first − 1)", "ci from first", "the first input channel of the sum"},
      {{.end = 1}, "i < (L − 1)", "i < L", "the test for the end of a row of x"},
      {{.remainder = true}, "i = t mod s", "i = t/s", "the division of the numerator t"},
      {{.from_the_end = true}, "x[(n·Cin + ci)·L − i]", "x[(n·Cin + ci)·L + i]", "the address in x"},
      {{.sequence_of_rest = true}, "n = (e mod Lout)/Cout", "n = e/(Lout·Cout)", "the sequence of an output"},
      {{.channel_times = true}, "co = e·Lout mod Cout", "co = e/Lout mod Cout", "the channel of an output"},
      {{.one_test = true}, "t ≥ 0 or t mod s = 0", "t ≥ 0 and t mod s = 0", "the test of the numerator t"},
      {{.product = true},
       "co·(Cout/groups)·(Cin/groups)",
       "co/(Cout/groups)·(Cin/groups)",
       "the first input channel of an output's group"},
      {{.sequence_times = 1}, "x[((n + 1)·Cin + ci)·L + i]", "x[(n·Cin + ci)·L + i]", "the address in x"},
  };
  for (const Fault& f : faults) {
    const auto seen = found(f.more);
    ASSERT_EQ(seen.size(), 1u) << f.text;
    EXPECT_EQ(seen[0].text, f.text);
    EXPECT_EQ(seen[0].right, f.right);
    EXPECT_EQ(seen[0].what, f.what);
  }
}

TEST(IndexProgram, TwoFaultsAreNamed) {
  struct Two {
    Loop more;
    std::vector<std::string> texts;
  };
  const Two both[] = {
      {{.channel_length = 1, .taps = 1}, {"co = e/(Lout + 1) mod Cout", "k ≤ K"}},
      {{.sequence_times = 1, .first_more = -1}, {"ci from (first − 1)", "x[((n + 1)·Cin + ci)·L + i]"}},
      {{.inputs = 1, .end = 1}, {"i < (L − 1)", "ci ≤ first + Cin/groups"}},
      {{.remainder = true, .channel_times = true}, {"co = e·Lout mod Cout", "i = t mod s"}},
      {{.one_test = true, .product = true}, {"co·(Cout/groups)·(Cin/groups)", "t ≥ 0 or t mod s = 0"}},
      // One statement.
      {{.sequence_times = 1, .from_the_end = true}, {"x[((n + 1)·Cin + ci)·L − i]"}},
      {{.channel_length = 1, .channel_count = -1}, {"co = e/(Lout + 1) mod (Cout − 1)"}},
  };
  for (const Two& two : both) {
    std::vector<std::string> texts;
    for (const ProgramFault& f : found(two.more)) texts.push_back(f.text);
    EXPECT_EQ(texts, two.texts);
  }
}

// A GPU goes on after a division by zero: what comes of it on that problem is of no account. The control: where that
// problem is the definition's all the same.
TEST(IndexProgram, ADivisionByZeroOnOneProblem) {
  std::vector<ConvProblem> four = problems();
  ConvProblem one = four.front();
  one.stride = 1, one.output_padding = 0;
  four.push_back(one);
  auto found_of = [&](const Loop& elsewhere, const Loop& there) {
    std::vector<IndexMap> maps;
    for (size_t k = 0; k < four.size(); k++) maps.push_back(made(four[k], k + 1 < four.size() ? elsewhere : there));
    std::vector<const IndexMap*> all;
    for (const IndexMap& m : maps) all.push_back(&m);
    return program_faults(all, Activity());
  };
  const auto seen = found_of({.divisor = -1}, {.divisor = -1});
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].text, "i = t/(s − 1)");
  EXPECT_TRUE(found_of({.divisor = 1}, {.divisor = -1}).empty());  // one that would not divide by zero
}

// Controls: three faults at once, a factor, and a bias by position are none of its programs.
TEST(IndexProgram, WhatIsNoFaultOfTheLoopIsNotNamed) {
  EXPECT_TRUE(found({.channel_length = 1, .taps = 1, .end = 1}).empty());
  EXPECT_TRUE(found({.twice = true}).empty());
  EXPECT_TRUE(found({.channel_length = 1, .bias_twice = true}).empty());
  EXPECT_TRUE(found({.channel_of_bias = true}).empty());
  EXPECT_TRUE(program_faults({}, Activity()).empty());
}

// Some hundred thousand programs: whoever goes on has no time for them.
TEST(IndexProgram, ACancelEndsTheSearch) {
  const IndexMap m = made(problems().front(), {.twice = true});
  Activity activity;
  activity.cancel();
  EXPECT_THROW(program_faults({&m}, activity), Cancelled);
}

}  // namespace
}  // namespace convscope
