#include "kernels/problem/counts.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <numeric>

#include "tests/convolution.h"

namespace convscope {
namespace {

// Everything counted by carrying the scatter view out: i·s − p + k·d for every i and k.
struct Brute {
  int64_t pairs = 0;
  std::vector<std::vector<Tap>> at;  // of each output position, in the order of k
};

Brute brute(const ConvProblem& p) {
  Brute b;
  b.at.resize(static_cast<size_t>(p.out_length()));
  for (int64_t k = 0; k < p.kernel_size; k++)
    for (int64_t i = 0; i < p.length; i++) {
      int64_t j = i * p.stride - p.padding + k * p.dilation;
      if (j < 0 || j >= p.out_length()) continue;
      b.pairs++;
      b.at[static_cast<size_t>(j)].push_back({k, i});
    }
  return b;
}

void compare(const ConvProblem& p) {
  SCOPED_TRACE(describe(p));
  auto b = brute(p);
  ASSERT_EQ(landing_pairs(p), b.pairs);
  ASSERT_EQ(useful_taps(p), p.batch * p.in_channels * (p.out_channels / p.groups) * b.pairs);
  ASSERT_EQ(flops(p), 2.0 * static_cast<double>(useful_taps(p)));
  int64_t empty = 0;
  for (int64_t j = 0; j < p.out_length(); j++) {
    const auto& want = b.at[static_cast<size_t>(j)];
    auto got = taps_at(p, j);
    ASSERT_EQ(got.size(), want.size()) << "at " << j;
    for (size_t q = 0; q < got.size(); q++) {
      ASSERT_EQ(got[q].k, want[q].k) << "at " << j;
      ASSERT_EQ(got[q].i, want[q].i) << "at " << j;
    }
    ASSERT_EQ(taps_reaching(p, j), static_cast<int64_t>(want.size())) << "at " << j;
    empty += want.empty();
  }
  ASSERT_EQ(structural_zeros(p), p.batch * p.out_channels * empty);
}

TEST(Counts, AgreeWithBruteForceOnRandomProblems) {
  test::Random r(10);
  int shared_factor = 0, stride_over_kernel = 0, wide_op = 0, with_zeros = 0, without_zeros = 0;
  for (int i = 0; i < 6000; i++) {
    auto p = test::random_problem(r, {.batch = 2, .kernel_size = 20, .length = 30});
    compare(p);
    if (HasFatalFailure()) return;
    shared_factor += std::gcd(p.stride, p.dilation) > 1;
    stride_over_kernel += p.stride > p.kernel_size;
    wide_op += p.output_padding > 3;
    (structural_zeros(p) ? with_zeros : without_zeros)++;
  }
  // What makes counting hard really came up.
  EXPECT_GT(shared_factor, 300);
  EXPECT_GT(stride_over_kernel, 300);
  EXPECT_GT(wide_op, 300);
  EXPECT_GT(with_zeros, 300);
  EXPECT_GT(without_zeros, 300);
}

TEST(Counts, AgreeWithBruteForceOnEverySmallProblem) {
  for (int64_t k = 1; k <= 4; k++)
    for (int64_t l = 1; l <= 3; l++)
      for (int64_t s = 1; s <= 4; s++)
        for (int64_t d = 1; d <= 4; d++)
          for (int64_t op = 0; op < std::max(s, d); op++)
            for (int64_t pad = 0; 2 * pad <= (l - 1) * s + d * (k - 1) + op; pad++) {
              ConvProblem p;
              p.kernel_size = k, p.length = l, p.stride = s, p.dilation = d, p.output_padding = op, p.padding = pad;
              compare(p);
              if (HasFatalFailure()) return;
            }
}

TEST(Counts, PolyphaseClassesHoldEachTapOnce) {
  test::Random r(11);
  for (int round = 0; round < 4000; round++) {
    auto p = test::random_problem(r);
    SCOPED_TRACE(describe(p));
    auto classes = polyphase_classes(p);
    std::map<int64_t, std::vector<int64_t>> want;
    for (int64_t k = 0; k < p.kernel_size; k++) {
      int64_t residue = 0;
      while ((residue - k * p.dilation) % p.stride != 0) residue++;  // the residue that tap k reaches
      want[residue].push_back(k);
    }
    ASSERT_EQ(classes.size(), want.size());
    ASSERT_LE(static_cast<int64_t>(classes.size()), std::min(p.stride / std::gcd(p.stride, p.dilation), p.kernel_size));
    size_t at = 0;
    for (const auto& [residue, taps] : want) {
      ASSERT_EQ(classes[at].residue, residue);
      ASSERT_EQ(classes[at].taps, taps);
      at++;
    }
    // And the taps of an output are those of its class that are inside the input.
    for (int64_t j = 0; j < std::min<int64_t>(p.out_length(), 30); j++) {
      auto c = want.find((j + p.padding) % p.stride);
      for (const auto& tap : taps_at(p, j)) {
        ASSERT_NE(c, want.end());
        ASSERT_TRUE(std::find(c->second.begin(), c->second.end(), tap.k) != c->second.end());
      }
    }
  }
}

TEST(Counts, SharedFactorLeavesWholeClassesEmpty) {
  ConvProblem p;  // KernelBench #79, short: every even output is exactly the bias
  p.kernel_size = 3, p.length = 4096, p.stride = 2, p.padding = 1, p.dilation = 2, p.batch = 3, p.out_channels = 5;
  ASSERT_EQ(p.out_length(), 8193);
  auto classes = polyphase_classes(p);
  ASSERT_EQ(classes.size(), 1u);
  EXPECT_EQ(classes[0].residue, 0);
  EXPECT_EQ(classes[0].taps, (std::vector<int64_t>{0, 1, 2}));
  for (int64_t j = 0; j < p.out_length(); j += 2) ASSERT_EQ(taps_reaching(p, j), 0);
  EXPECT_EQ(structural_zeros(p), 3 * 5 * 4097);
}

TEST(Counts, CountingEveryTestOverCountsByTheStride) {
  ConvProblem p;
  p.kernel_size = 16, p.length = 6400, p.stride = 8, p.padding = 4, p.in_channels = 2;
  double tests = 2.0 * static_cast<double>(p.out_length() * p.kernel_size * p.in_channels);
  EXPECT_NEAR(tests / flops(p), 8, 0.01);
}

TEST(Counts, LeastBytesCountEachTensorOnce) {
  test::Random r(12);
  for (int i = 0; i < 1000; i++) {
    auto p = test::random_problem(r);
    int64_t elements = p.batch * p.in_channels * p.length + p.in_channels * p.out_channels / p.groups * p.kernel_size +
                       (p.bias ? p.out_channels : 0) + p.batch * p.out_channels * p.out_length();
    ASSERT_EQ(least_bytes(p), elements * (p.dtype == DType::f64 ? 8 : 4)) << describe(p);
  }
}

TEST(Counts, LargeProblemsDoNotOverflow) {
  ConvProblem p;  // 2^8 · 2^7 · 2^20 · nearly 2^28 products: beyond 2^62
  p.in_channels = 1 << 8, p.out_channels = 1 << 7, p.kernel_size = 1 << 20, p.length = 1 << 28;
  ASSERT_FALSE(check(p));
  EXPECT_EQ(landing_pairs(p), int64_t{1} << 48) << "all of them land without padding";
  EXPECT_EQ(useful_taps(p), max_taps);
  EXPECT_EQ(flops(p), std::ldexp(1.0, 63));
  p.out_channels = 1;
  EXPECT_EQ(useful_taps(p), int64_t{1} << 56) << "below the limit it is exact";
  EXPECT_EQ(structural_zeros(p), 0);

  ConvProblem q;  // one tap, a stride that leaves nearly everything empty
  q.length = 1 << 15, q.stride = 1 << 16;
  ASSERT_FALSE(check(q));
  EXPECT_EQ(structural_zeros(q), q.out_length() - q.length);
  EXPECT_EQ(landing_pairs(q), q.length);
}

TEST(Counts, PaddingCutsTapsOffExactly) {
  // K = 1, s = 1: the output is the input without p at each end.
  ConvProblem p;
  p.length = 100;
  for (p.padding = 0; p.padding < 50; p.padding++) EXPECT_EQ(landing_pairs(p), 100 - 2 * p.padding);
}

}  // namespace
}  // namespace convscope
