#include "kernels/runtime/timing.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace convscope {
namespace {

Timing of(std::vector<double> samples) {
  Timing t;
  t.samples_ms = std::move(samples);
  return t;
}

TEST(Timing, MedianAndMinimum) {
  EXPECT_EQ(of({3}).median_ms(), 3);
  EXPECT_EQ(of({5, 1}).median_ms(), 3);
  EXPECT_EQ(of({9, 1, 2}).median_ms(), 2);
  EXPECT_EQ(of({4, 1, 3, 2}).median_ms(), 2.5);
  EXPECT_EQ(of({4, 1, 3, 2}).min_ms(), 1);
  EXPECT_EQ(of({1, 1, 1, 1000}).median_ms(), 1) << "an outlier moves nothing";
  EXPECT_TRUE(of({}).empty());
}

TEST(Timing, NoiseIsHalfTheInterquartileRange) {
  EXPECT_EQ(of({2, 2, 2, 2}).noise_pct(), 0);
  EXPECT_DOUBLE_EQ(of({8, 9, 10, 11, 12}).noise_pct(), 10);
  EXPECT_EQ(of({7}).noise_pct(), 0);
}

TEST(Timing, TheMedianIsKnownBetterWithMoreSamples) {
  EXPECT_TRUE(std::isinf(of({1, 1, 1, 1}).median_error())) << "four samples say nothing";
  EXPECT_EQ(of(std::vector<double>(20, 3)).median_error(), 0);
  std::mt19937 r(1);
  std::normal_distribution<double> normal(10, 0.1);
  auto draw = [&](size_t n) {
    std::vector<double> v(n);
    for (auto& x : v) x = normal(r);
    return of(v).median_error();
  };
  double few = 0, many = 0;
  for (int i = 0; i < 50; i++) few += draw(25) / 50, many += draw(400) / 50;
  EXPECT_NEAR(few / many, 4, 1) << "it falls with the root of their number";
  // 1.96 standard errors of a normal median: 1.96 · 1.2533 · σ/√n over the median.
  EXPECT_NEAR(many, 1.96 * 1.2533 * 0.1 / 20 / 10, 0.0005);
}

TEST(Timing, KnowsWhenItIsEnough) {
  TimingOptions o;
  o.min_samples = 5, o.max_samples = 30, o.time_cap_ms = 100, o.target_error = 0.01;
  auto constant = [](size_t n) { return of(std::vector<double>(n, 2.0)); };
  std::vector<double> wild;
  for (int i = 0; i < 40; i++) wild.push_back(i % 2 ? 1 : 10);
  auto noisy = [&](size_t n) { return of({wild.begin(), wild.begin() + static_cast<long>(n)}); };
  EXPECT_FALSE(constant(4).enough(o, 200)) << "never fewer than the least";
  EXPECT_TRUE(constant(3).enough(o, 301)) << "but of long runs three are enough";
  EXPECT_FALSE(constant(2).enough(o, 1e9));
  EXPECT_FALSE(constant(9).enough(o, 0)) << "ten at least to trust the error";
  EXPECT_TRUE(constant(10).enough(o, 0));
  EXPECT_FALSE(noisy(20).enough(o, 99));
  EXPECT_TRUE(noisy(20).enough(o, 100)) << "the time is up";
  EXPECT_TRUE(noisy(30).enough(o, 0)) << "never more than the most";
  o.min_samples = 30;
  EXPECT_FALSE(constant(29).enough(o, 1e9)) << "a number that was asked for";
  EXPECT_TRUE(constant(30).enough(o, 0));
}

}  // namespace
}  // namespace convscope
