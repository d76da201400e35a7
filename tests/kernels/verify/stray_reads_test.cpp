// Which lines read for an element what does not belong to it.
#include "kernels/verify/stray_reads.h"

#include <gtest/gtest.h>

namespace convscope {
namespace {

// 2 × 4→6 in two groups, K 3, L 10, s 2, p 1, d 1.
ConvProblem grouped_layer() {
  ConvProblem p;
  p.batch = 2, p.in_channels = 4, p.out_channels = 6, p.kernel_size = 3, p.length = 10;
  p.stride = 2, p.padding = 1, p.groups = 2, p.bias = true;
  return p;
}
int64_t at_x(int64_t n, int64_t ci, int64_t i) { return (n * 4 + ci) * 10 + i; }
int64_t at_w(int64_t ci, int64_t co, int64_t k) { return (ci * 3 + co) * 3 + k; }

ElementTrace trace_of(std::vector<ElementRead> reads) {
  ElementTrace t;
  t.reads = std::move(reads), t.reads_total = static_cast<int64_t>(t.reads.size());
  return t;
}

// y[1, 4, 5]: j + p = 6, so k = 0 takes i = 3 and k = 2 takes i = 2; its group's channels are 2 and 3, co within it
// is 1.
std::vector<StrayReads> strays(std::vector<ElementRead> reads) {
  return stray_reads(trace_of(std::move(reads)), grouped_layer(), 1, 4, 5);
}
std::string words(std::vector<ElementRead> reads) {
  const auto all = strays(std::move(reads));
  return all.size() == 1 ? all[0].words : "";
}

TEST(StrayReads, WhatTheDefinitionTakesIsNone) {
  EXPECT_TRUE(strays({{'x', at_x(1, 2, 3), "k.cu", 7},
                      {'x', at_x(1, 3, 2), "k.cu", 7},
                      {'w', at_w(2, 1, 0), "k.cu", 7},
                      {'w', at_w(3, 1, 2), "k.cu", 7},
                      {'b', 4, "k.cu", 9}})
                  .empty());
}

TEST(StrayReads, AreNamedByWhatIsWrongWithThem) {
  EXPECT_EQ(words({{'x', at_x(1, 2, 4), "k.cu", 7}}), "x at i = 4, which none of its taps takes");
  EXPECT_EQ(words({{'x', at_x(0, 2, 3), "k.cu", 7}}), "x of sequence 0, not 1");
  EXPECT_EQ(words({{'x', at_x(1, 1, 3), "k.cu", 7}}), "x of channel 1, which is not of its group");
  EXPECT_EQ(words({{'x', -1, "k.cu", 7}, {'x', 80, "k.cu", 7}}), "outside of x (elements -1 and 80)");
  EXPECT_EQ(words({{'w', at_w(2, 1, 1), "k.cu", 7}}), "w of k = 1, a tap that does not reach it");
  EXPECT_EQ(words({{'w', at_w(2, 2, 0), "k.cu", 7}}), "w of output channel 2, not 1");
  EXPECT_EQ(words({{'w', at_w(0, 1, 0), "k.cu", 7}}), "w of channel 0, which is not of its group");
  EXPECT_EQ(words({{'b', 1, "k.cu", 7}}), "b of output channel 1, not 4");
  EXPECT_EQ(words({{'x', at_x(1, 2, 9), "k.cu", 7}, {'x', at_x(0, 2, 3), "k.cu", 7}}),
            "x of sequence 0, not 1; x at i = 9, which none of its taps takes");
}

TEST(StrayReads, AreCountedByLine) {
  const auto all = strays({{'w', at_w(2, 1, 1), "k.cu", 7},
                           {'x', at_x(1, 2, 3), "k.cu", 7},
                           {'x', at_x(1, 2, 4), "k.cu", 7},
                           {'x', at_x(1, 2, 5), "k.cu", 8},
                           {'x', at_x(1, 2, 6), "k.cu", 8},
                           {'x', at_x(1, 2, 9), "k.cu", 0}});  // line not known
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].line, 8) << "most first, x before w";
  EXPECT_EQ(all[0].stray, 2);
  EXPECT_EQ(all[1].line, 7);
  EXPECT_EQ(all[1].stray, 1);
  EXPECT_EQ(all[1].all, 2);
  EXPECT_EQ(all[2].tensor, 'w');
}

// Where several threads write it: what they add is theirs, and the bias is of who begins with it.
TEST(StrayReads, WhatSeveralThreadsAdd) {
  ElementTrace t;
  t.writes = 3, t.unknown = 1;
  t.writers = {{0, 0, 0, "k.cu", 7}, {1, 0, 3, "k.cu", 19}, {1, 2, 5, "k.cu", 19}};
  t.reaching = {{'b', 1, "k.cu", 7}, {'x', at_x(1, 2, 4), "k.cu", 15}};
  EXPECT_TRUE(stray_reads(t, grouped_layer(), 1, 4, 5).empty()) << "it was not looked for";
  t.looked_for_reaching = true;
  auto all = stray_reads(t, grouped_layer(), 1, 4, 5);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].tensor, 'y');
  EXPECT_EQ(all[0].line, 19);
  EXPECT_EQ(all[0].words, "what comes of x at i = 4, which none of its taps takes");
  EXPECT_EQ(all[1].tensor, 'b');
  EXPECT_EQ(all[1].line, 7);
  EXPECT_EQ(all[1].words, "b of output channel 1, not 4");
  // Two lines that add: who read it is told.
  t.writers.back().line = 21;
  all = stray_reads(t, grouped_layer(), 1, 4, 5);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].tensor, 'x');
  EXPECT_EQ(all[0].line, 15);
}

TEST(StrayReads, WhereNoTapLands) {
  ConvProblem p = grouped_layer();
  p.dilation = 2;  // j + p − 2k is odd for j = 4: nothing lands
  const auto all = stray_reads(trace_of({{'x', at_x(0, 0, 2), "k.cu", 7},
                                         {'x', at_x(0, 0, 1), "k.cu", 7},
                                         {'w', at_w(0, 0, 0), "k.cu", 7},
                                         {'w', at_w(0, 0, 1), "k.cu", 9}}),
                               p, 0, 0, 4);
  ASSERT_EQ(all.size(), 2u) << "of w in the same line nothing more is to be said";
  EXPECT_EQ(all[0].words, "x at i = 1 and 2, where no tap lands");
  EXPECT_EQ(all[1].words, "w of k = 1, though no tap lands");
  EXPECT_EQ(all[1].line, 9);
}

// S4: where no tap lands it takes the x and the weights of the place before, and more products of them than that place
// has. The control: a thread that takes just these products, and writes them here.
TEST(StrayReads, MoreProductsThanAPlaceHasAreNoOther) {
  ConvProblem p;
  p.in_channels = p.out_channels = 1, p.kernel_size = 3, p.length = 8, p.stride = 2, p.padding = 1, p.dilation = 2;
  std::vector<ElementRead> reads = {{'x', 1, "k.cu", 7}, {'w', 0, "k.cu", 7}, {'x', 0, "k.cu", 7},
                                    {'w', 1, "k.cu", 7}, {'w', 2, "k.cu", 7}};
  auto writes_elsewhere = [&] {
    ElementTrace t = trace_of(reads);
    t.writers.push_back({0, 0, 2, "k.cu", 9}), t.writes = 1, t.length = p.out_length();
    for (const StrayReads& s : stray_reads(t, p, 0, 0, 2))
      if (s.tensor == 'y') return s.words;
    return std::string();
  };
  EXPECT_EQ(writes_elsewhere(), "what belongs to y[0, 0, 1]: either the reads or this place is wrong");
  reads.push_back({'x', 0, "k.cu", 7});
  EXPECT_EQ(writes_elsewhere(), "");
}

TEST(StrayReads, ManyPlacesAreCountedAtTheEnd) {
  std::vector<ElementRead> reads;
  for (int64_t i = 4; i < 10; i++) reads.push_back({'x', at_x(1, 2, i), "k.cu", 7});
  EXPECT_EQ(words(reads), "x at i = 4, 5, 6 and 3 more, which none of its taps takes");
}

// What belongs, multiplied with what does not belong to it: taps from behind, another channel's weights.
TEST(StrayReads, ProductsOfWhatDoesNotBelongTogether) {
  auto of = [](int64_t channel, int64_t i, int64_t weights, int64_t k) {
    return std::vector<ElementRead>{{'x', at_x(1, channel, i), "k.cu", 7}, {'w', at_w(weights, 1, k), "k.cu", 8}};
  };
  auto both = [](std::vector<ElementRead> a, const std::vector<ElementRead>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  };
  auto strays = [](std::vector<ElementRead> reads) {
    ElementTrace t = trace_of(std::move(reads));
    t.products = true;
    return stray_reads(t, grouped_layer(), 1, 4, 5);
  };
  EXPECT_TRUE(strays(both(of(2, 3, 2, 0), of(2, 2, 2, 2))).empty());
  const auto flipped = strays(both(of(2, 3, 2, 2), of(2, 2, 2, 0)));
  ASSERT_EQ(flipped.size(), 1u);
  EXPECT_EQ(flipped[0].words, "w of k = 2 for x at i = 3, where k = 0 belongs");
  EXPECT_EQ(flipped[0].line, 8);
  EXPECT_EQ(flipped[0].stray, 2);
  EXPECT_EQ(flipped[0].all, 2);
  const auto channels = strays(both(of(2, 3, 3, 0), of(2, 2, 2, 2)));
  ASSERT_EQ(channels.size(), 1u);
  EXPECT_EQ(channels[0].words, "w of channel 3 for x of channel 2");
  EXPECT_EQ(channels[0].stray, 1);
  // Where it is not known what is multiplied with what.
  EXPECT_TRUE(stray_reads(trace_of(both(of(2, 3, 2, 2), of(2, 2, 2, 0))), grouped_layer(), 1, 4, 5).empty());
}

// Sums of other threads, say: the rest may be in them.
TEST(StrayReads, WhereSomeIsUnknownNothingIsSaid) {
  ElementTrace t = trace_of({{'x', at_x(1, 2, 4), "k.cu", 7}});
  EXPECT_FALSE(stray_reads(t, grouped_layer(), 1, 4, 5).empty());
  t.unknown = 1;
  EXPECT_TRUE(stray_reads(t, grouped_layer(), 1, 4, 5).empty());
}

}  // namespace
}  // namespace convscope
