// SAME, FASTER, SLOWER, AMBIGUOUS: on samples whose truth is known.
#include "profiling/statistics/compare.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace convscope {
namespace {

std::vector<double> samples(double middle, double spread, int n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> d(middle, spread * middle);
  std::vector<double> v;
  for (int i = 0; i < n; i++) v.push_back(std::max(1e-6, d(random)));
  return v;
}

TEST(MedianInterval, IsThatOfTheBinomialDistribution) {
  std::vector<double> v;
  for (int i = 1; i <= 10; i++) v.push_back(i);
  // Ten samples: the second from below and from above (97.9 %); from tables of the sign test.
  auto ten = median_interval(v);
  EXPECT_DOUBLE_EQ(ten.low, 2);
  EXPECT_DOUBLE_EQ(ten.middle, 5.5);
  EXPECT_DOUBLE_EQ(ten.high, 9);
  for (int i = 11; i <= 25; i++) v.push_back(i);
  auto twenty_five = median_interval(v);  // ranks 8 and 18
  EXPECT_DOUBLE_EQ(twenty_five.low, 8);
  EXPECT_DOUBLE_EQ(twenty_five.middle, 13);
  EXPECT_DOUBLE_EQ(twenty_five.high, 18);
  EXPECT_DOUBLE_EQ(median_interval(std::vector<double>{3}).high, 3);
}

TEST(MedianInterval, CoversTheMedianAsOftenAsItSays) {
  int inside = 0;
  for (unsigned seed = 0; seed < 1000; seed++) {
    auto i = median_interval(samples(1, 0.1, 15, seed));
    inside += i.low <= 1 && 1 <= i.high;
  }
  EXPECT_GE(inside, 940);
  EXPECT_LE(inside, 990);
}

TEST(MannWhitney, KnownValues) {
  std::vector<double> low, high;
  for (int i = 0; i < 10; i++) low.push_back(i), high.push_back(100 + i);
  // U = 0: z = (50 − 0.5)/sqrt(175) = 3.742.
  EXPECT_NEAR(mann_whitney_p(low, high), 0.000183, 2e-6);
  EXPECT_NEAR(mann_whitney_p(low, low), 1, 1e-9);
  EXPECT_EQ(mann_whitney_p(std::vector<double>{1, 1, 1}, std::vector<double>{1, 1, 1}), 1);
  EXPECT_EQ(mann_whitney_p(std::vector<double>{1}, high), 1);
}

TEST(MannWhitney, FindsNothingWhereThereIsNothing) {
  int found = 0;
  for (unsigned seed = 0; seed < 400; seed++)
    found += mann_whitney_p(samples(1, 0.05, 20, 2 * seed), samples(1, 0.05, 20, 2 * seed + 1)) < 0.05;
  EXPECT_GE(found, 6);
  EXPECT_LE(found, 36);  // 5 % of 400 are 20
}

TEST(Compare, WhatIsClear) {
  auto c = compare_times(samples(1, 0.005, 30, 1), samples(1.2, 0.005, 30, 2));
  EXPECT_EQ(c.verdict, Comparative::faster) << c.evidence;
  EXPECT_NEAR(c.speedup, 1.2, 0.01);
  EXPECT_NE(c.evidence.find("the intervals are apart"), std::string::npos);
  EXPECT_NE(c.evidence.find("30 and 30 samples"), std::string::npos);
  c = compare_times(samples(1.2, 0.005, 30, 1), samples(1, 0.005, 30, 2));
  EXPECT_EQ(c.verdict, Comparative::slower) << c.evidence;
  c = compare_times(samples(1, 0.002, 40, 1), samples(1, 0.002, 40, 2));
  EXPECT_EQ(c.verdict, Comparative::same) << c.evidence;
}

TEST(Compare, WhatIsNot) {
  auto noisy = compare_times(samples(1, 0.2, 20, 1), samples(1.05, 0.2, 20, 2));
  EXPECT_EQ(noisy.verdict, Comparative::ambiguous) << noisy.evidence;
  auto few = compare_times(samples(1, 0.001, 5, 1), samples(2, 0.001, 5, 2));
  EXPECT_EQ(few.verdict, Comparative::ambiguous);
  EXPECT_NE(few.evidence.find("too few samples: 5 where 8 are needed"), std::string::npos) << few.evidence;
  EXPECT_EQ(compare_times({}, {}).verdict, Comparative::ambiguous);
  // A GPU that slowed itself down: no verdict, whatever the times say.
  auto throttled = compare_times(samples(1, 0.005, 30, 1), samples(1.2, 0.005, 30, 2), "the GPU slowed itself down");
  EXPECT_EQ(throttled.verdict, Comparative::ambiguous);
  EXPECT_TRUE(throttled.evidence.starts_with("the GPU slowed itself down: measure again")) << throttled.evidence;
  EXPECT_EQ(compare_times(std::vector<double>(10, 0.0), std::vector<double>(10, 1.0)).verdict, Comparative::ambiguous);
}

// A clock that moved by 12 % cannot make one kernel three times as fast as another; 10 % it can.
TEST(Compare, WhatADoubtCannotExplain) {
  CompareRules rules;
  rules.doubt_explains = 1.12;
  auto verdict = [&](double a, double b) {
    return compare_times(samples(a, 0.005, 30, 1), samples(b, 0.005, 30, 2), "its clock moved", rules);
  };
  auto far = verdict(1.5, 4.3);
  EXPECT_EQ(far.verdict, Comparative::faster) << far.evidence;
  EXPECT_NE(far.evidence.find("its clock moved, which explains a factor of 1.12 at most"), std::string::npos)
      << far.evidence;
  EXPECT_EQ(verdict(4.3, 1.5).verdict, Comparative::slower);
  EXPECT_EQ(verdict(1, 1.1).verdict, Comparative::ambiguous);
  EXPECT_EQ(verdict(1.1, 1).verdict, Comparative::ambiguous);
}

// A certain difference that is smaller than what matters is none.
TEST(Compare, ATinyDifferenceIsSame) {
  auto c = compare_times(samples(1, 0.0005, 50, 1), samples(1.003, 0.0005, 50, 2));
  EXPECT_LT(c.p, 1e-6);
  EXPECT_EQ(c.verdict, Comparative::same) << c.evidence;
}

// Two halves of one thing are hardly ever called different.
TEST(Compare, OneThingIsNotTwo) {
  int different = 0;
  for (unsigned seed = 0; seed < 300; seed++) {
    auto c = compare_times(samples(1, 0.02, 25, 2 * seed), samples(1, 0.02, 25, 2 * seed + 1));
    different += c.verdict == Comparative::faster || c.verdict == Comparative::slower;
  }
  EXPECT_LE(different, 3);
}

}  // namespace
}  // namespace convscope
