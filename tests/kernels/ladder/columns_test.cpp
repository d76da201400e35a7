// columns_tf32 and columns_3xtf32 where they are meant to be used: every form, sums that blocks share, short sequences
// side by side, products of few channels, classes without a tap, strides whose results leave in several windows.
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <set>

#include "kernels/runtime/registry.h"
#include "kernels/verify/accuracy.h"
#include "tests/convolution.h"

namespace convscope {
namespace {

struct Case {
  const char* name;
  int64_t n, cin, cout, k, l, s, p, op, d, g;
  bool bias, split;  // whether blocks share a sum
};

ConvProblem problem(const Case& c) {
  ConvProblem q;
  q.batch = c.n, q.in_channels = c.cin, q.out_channels = c.cout, q.kernel_size = c.k, q.length = c.l, q.stride = c.s;
  q.padding = c.p, q.output_padding = c.op, q.dilation = c.d, q.groups = c.g, q.bias = c.bias;
  return q;
}

const Case cases[] = {
    {"few outputs, gcd 5", 1, 384, 35, 21, 44, 5, 3, 2, 5, 1, true, true},
    {"sequences side by side", 5, 300, 41, 21, 13, 2, 4, 1, 1, 1, false, true},
    {"gcd 5, two classes", 3, 200, 7, 16, 40, 10, 11, 4, 5, 1, true, true},
    {"one channel, length 2", 5, 400, 1, 7, 2, 1, 0, 0, 3, 1, true, true},
    {"many channels, short", 1, 64, 260, 19, 9, 2, 0, 1, 1, 1, false, true},
    {"few channels, long, groups", 2, 24, 2, 12, 1501, 5, 2, 0, 3, 2, false, false},
    {"one channel, long", 2, 12, 1, 19, 2030, 3, 7, 2, 2, 1, true, false},
    {"K = 1, large stride", 2, 15, 47, 1, 63, 16, 0, 5, 1, 1, true, false},
    {"K = 1, more classes than columns", 2, 3, 5, 1, 9, 300, 17, 299, 1, 1, true, false},
    {"more classes than columns, all reached", 1, 3, 2, 300, 5, 130, 60, 11, 1, 1, true, false},
    {"K < s' and d > 1", 1, 6, 30, 24, 29, 8, 5, 0, 2, 1, true, false},
    {"groups, stride 16", 2, 20, 70, 17, 44, 16, 9, 3, 1, 2, false, false},
    {"one input channel", 3, 1, 28, 18, 300, 8, 3, 0, 1, 1, true, false},
    {"shifts unevenly apart", 2, 6, 50, 14, 90, 2, 5, 1, 7, 1, true, false},
    {"shifts unevenly apart, several stages", 1, 20, 5, 40, 60, 5, 31, 2, 7, 1, false, true},
    {"depthwise", 2, 24, 24, 9, 700, 1, 4, 0, 1, 24, true, false},
    {"depthwise, stride 3", 2, 10, 10, 7, 270, 3, 2, 1, 1, 10, false, false},
    {"chains of shifts", 2, 61, 2, 21, 350, 2, 9, 1, 5, 1, true, true},
    {"chains of shifts, long", 1, 24, 3, 7, 9000, 3, 2, 2, 4, 1, true, false},
    {"length 1", 3, 40, 20, 5, 1, 3, 1, 2, 1, 1, true, false},
    {"two channels of a group", 2, 4, 6, 11, 400, 2, 3, 1, 1, 2, true, false},
    {"three channels of a group", 2, 6, 130, 3, 270, 1, 1, 0, 2, 2, false, false},
    {"dilation beyond a stage", 1, 200, 9, 6, 300, 1, 200, 0, 130, 1, true, true},
    {"one channel, dilation beyond a stage", 2, 1, 9, 6, 900, 1, 200, 0, 130, 1, true, false},
    {"stride beyond a window", 1, 2, 2, 3, 3, 4000, 7, 3999, 1, 1, true, false},
    {"everything is padding", 1, 2, 3, 9, 6, 2, 9, 0, 1, 1, true, false},
};

// "" or the first element that differs in any bit.
std::string first_different(const ConvProblem& p, const test::Expected& e, const HostTensor& got) {
  for (int64_t i = 0; i < got.elements(); i++)
    if (got.at(i) != static_cast<double>(e.y[static_cast<size_t>(i)]))
      return "element " + std::to_string(i) + " is " + std::to_string(got.at(i)) + ", expected " +
             std::to_string(static_cast<double>(e.y[static_cast<size_t>(i)])) + ", of " + describe(p);
  return "";
}

bool sum_is_shared(const Plan& plan) { return plan.launches().back().entry.name == std::string("columns_sum"); }

// Small integers are exact in TF32, so the result must be exact too.
TEST(Columns, AreExactOnIntegers) {
  test::Random r(51);
  for (const Case& c : cases) {
    ConvProblem p = problem(c);
    ASSERT_FALSE(check(p)) << c.name;
    auto t = test::integer_tensors(r, p);
    auto expected = test::expected_result(p, t);
    for (const char* name : {"columns_tf32", "columns_3xtf32"}) {
      const auto& k = find_kernel(name);
      ASSERT_EQ(k.unsupported(p), "") << c.name;
      Plan plan = k.plan_for(p);
      EXPECT_EQ(sum_is_shared(plan), c.split) << c.name;
      EXPECT_LE(plan.launches()[1].dynamic_shared_bytes, 97u << 10) << c.name;
      EXPECT_EQ(first_different(p, expected, test::run_kernel(k, p, t)), "") << name << ", " << c.name;
    }
  }
}

// One problem for each form that it is chosen for, as small as there are: wide forms need many outputs.
TEST(Columns, EachFormIsExact) {
  test::Random r(56);
  struct Chosen {
    const char* form;
    int64_t n, cin, cout, k, l, s, d;
  };
  std::set<std::string> forms;
  for (const Chosen& c : {Chosen{"columns_tf32_16x128", 12, 1, 11, 1, 2359, 1, 1},
                          {"columns_tf32_16x128_near", 11, 1, 3, 3, 2377, 3, 1},
                          {"columns_tf32_16x256", 36, 1, 72, 1, 304, 1, 7},
                          {"columns_tf32_16x256_near", 33, 1, 3, 3, 2199, 3, 1},
                          {"columns_tf32_32x128", 40, 1, 17, 1, 653, 1, 1},
                          {"columns_tf32_32x128_near", 34, 8, 512, 5, 1, 3, 1},
                          {"columns_tf32_32x256", 25, 1, 20, 1, 2079, 1, 1},
                          {"columns_tf32_32x256_near", 32, 3, 10, 2, 1598, 2, 1},
                          {"columns_tf32_64x128", 32, 1, 33, 1, 611, 1, 1},
                          {"columns_tf32_64x128_near", 36, 1, 18, 2, 526, 2, 1},
                          {"columns_tf32_64x256", 29, 1, 11, 4, 1854, 3, 1},
                          {"columns_tf32_64x256_near", 29, 1, 18, 2, 1876, 2, 1},
                          {"columns_tf32_8x128", 1, 12, 11, 2, 1, 3, 4},
                          {"columns_tf32_8x128_near", 2, 1, 44, 4, 1, 4, 1},
                          {"columns_tf32_8x256", 36, 2, 1, 1, 1855, 1, 1},
                          {"columns_tf32_8x256_near", 33, 6, 1, 2, 2083, 1, 1},
                          {"columns_tf32_16x256_chained", 23, 41, 21, 24, 1, 5, 7},
                          {"columns_tf32_32x256_chained", 26, 296, 24, 24, 1, 1, 7},
                          {"columns_tf32_8x256_chained", 1, 61, 2, 21, 700, 2, 5},
                          {"columns_3xtf32_16x128", 39, 104, 424, 1, 1, 3, 1},
                          {"columns_3xtf32_16x128_near", 18, 56, 368, 2, 1, 4, 1},
                          {"columns_3xtf32_16x256_chained", 3, 184, 63, 20, 1, 1, 7},
                          {"columns_3xtf32_32x128", 40, 1, 17, 1, 653, 1, 1},
                          {"columns_3xtf32_32x128_near", 34, 8, 512, 5, 1, 3, 1},
                          {"columns_3xtf32_64x128", 19, 1, 40, 1, 839, 1, 1},
                          {"columns_3xtf32_64x128_near", 36, 1, 18, 2, 526, 2, 1},
                          {"columns_3xtf32_8x128", 1, 12, 11, 2, 1, 3, 4},
                          {"columns_3xtf32_8x128_near", 3, 8, 8, 6, 1, 4, 1},
                          {"columns_3xtf32_8x256_chained", 1, 17, 2, 7, 1, 1, 6}}) {
    ConvProblem p{.batch = c.n, .in_channels = c.cin, .out_channels = c.cout, .kernel_size = c.k, .length = c.l};
    p.stride = c.s, p.dilation = c.d;
    const auto& k =
        find_kernel(std::string(c.form).find("3x") == std::string::npos ? "columns_tf32" : "columns_3xtf32");
    std::string form = k.plan_for(p).launches()[1].entry.name;
    EXPECT_EQ(form, c.form) << describe(p);
    forms.insert(form);
    auto t = test::integer_tensors(r, p);
    EXPECT_EQ(first_different(p, test::expected_result(p, t), test::run_kernel(k, p, t)), "") << form;
  }
  EXPECT_EQ(forms.size(), 29u);
}

// What is compared with, when one tap is missing: the comparison must see it.
TEST(Columns, OneMissingTapIsSeen) {
  test::Random r(52);
  ConvProblem p = problem(cases[0]);
  auto t = test::integer_tensors(r, p);
  auto expected = test::expected_result(p, t);
  auto without = t;
  int64_t first = 0;
  while (t.w.at(first) == 0) first++;
  without.w = make_tensor(DType::f32, t.w.shape, [&](auto* out, int64_t n) {
    for (int64_t e = 0; e < n; e++)
      out[e] = static_cast<std::remove_pointer_t<decltype(out)>>(e == first ? 0 : t.w.at(e));
  });
  EXPECT_NE(first_different(p, expected, test::run_kernel(find_kernel("columns_tf32"), p, without)), "");
}

TEST(Columns, AreWithinTheBoundsOfTheirAccuracy) {
  test::Random r(53);
  int tf32_is_not_3xtf32 = 0;
  for (const Case& c : cases) {
    ConvProblem p = problem(c);
    auto t = test::random_tensors(r, p);
    auto expected = test::expected_result(p, t);
    auto worst = [&](const char* name, Accuracy a) {  // error, in bounds
      BoundModel model(DType::f32, a);
      auto got = test::run_kernel(find_kernel(name), p, t, 1);
      double worst = 0;
      for (size_t i = 0; i < expected.y.size(); i++) {
        auto y = static_cast<double>(expected.y[i]);
        double bias = p.bias ? std::fabs(t.b.at(static_cast<int64_t>(i) / p.out_length() % p.out_channels)) : 0;
        double bound = model.bound(static_cast<double>(expected.magnitude[i]) + bias, expected.terms[i] + p.bias, y);
        double error = std::fabs(got.at(static_cast<int64_t>(i)) - y);
        worst =
            error <= bound ? std::max(worst, error / bound) : std::max(worst, std::isnan(error) ? 1e9 : error / bound);
      }
      return worst;
    };
    EXPECT_LE(worst("columns_tf32", Accuracy::tf32), 1) << c.name;
    EXPECT_LE(worst("columns_3xtf32", Accuracy::tf32x3), 1) << c.name;
    tf32_is_not_3xtf32 += worst("columns_tf32", Accuracy::tf32x3) > 1;
  }
  EXPECT_GE(tf32_is_not_3xtf32, 20) << "the bound tells one accuracy from the other";
}

TEST(Columns, AreTheSameInEveryOrder) {
  test::Random r(54);
  for (int i : {0, 1, 7, 14}) {
    ConvProblem p = problem(cases[i]);
    auto t = test::random_tensors(r, p);
    for (const char* name : {"columns_tf32", "columns_3xtf32"}) {
      auto first = test::run_kernel(find_kernel(name), p, t);
      for (uint32_t seed : {7u, 8u, 9u}) {
        auto again = test::run_kernel(find_kernel(name), p, t, seed);
        EXPECT_EQ(std::memcmp(first.data(), again.data(), first.size_bytes()), 0) << cases[i].name;
      }
    }
  }
}

TEST(Columns, AreRightOnRandomProblems) {
  test::Random r(55);
  int taken = 0, shared = 0;
  std::set<std::string> forms;
  for (int i = 0; i < 200; i++) {
    auto p = test::random_problem(r, {.batch = 4, .channels_per_group = i % 2 ? 40 : 5, .length = 60, .stride = 20});
    p.dtype = DType::f32;
    auto t = test::integer_tensors(r, p);
    auto expected = test::expected_result(p, t);
    for (const char* name : {"columns_tf32", "columns_3xtf32"}) {
      const auto& k = find_kernel(name);
      if (!k.unsupported(p).empty()) continue;
      Plan plan = k.plan_for(p);
      EXPECT_LE(plan.launches()[1].dynamic_shared_bytes, 97u << 10) << "what every GPU has from sm_80 on";
      taken++, shared += sum_is_shared(plan);
      forms.insert(plan.launches()[1].entry.name);
      ASSERT_EQ(first_different(p, expected, test::run_kernel(k, p, t, static_cast<uint32_t>(r()))), "") << name;
    }
  }
  EXPECT_EQ(taken, 400);
  EXPECT_GE(shared, 5);
  EXPECT_GE(forms.size(), 4u);
}

// The weights are packed by a launch of its own, which a program that has packed weights leaves out.
TEST(Columns, PackingIsALaunchOfItsOwn) {
  for (const Case& c : cases) {
    Plan plan = find_kernel("columns_tf32").plan_for(problem(c));
    EXPECT_EQ(plan.launches().size(), c.split ? 3u : 2u) << c.name;
    EXPECT_EQ(plan.without_packing().launches().size(), plan.launches().size() - 1) << c.name;
  }
}

TEST(Columns, SayWhatTheyDoNotTake) {
  const auto& k = find_kernel("columns_tf32");
  ConvProblem p = problem(cases[0]);
  EXPECT_EQ(k.unsupported(p), "");
  p.dtype = DType::f16;
  EXPECT_EQ(k.unsupported(p), "takes f32 only");
  p = problem(cases[0]), p.stride = 4097;
  EXPECT_EQ(k.unsupported(p), "takes strides up to 4096");
  p = {.length = 1 << 20, .stride = 1 << 11};
  EXPECT_NE(k.unsupported(p).find("up to 2^30"), std::string::npos);
  p = {.in_channels = 1 << 14, .out_channels = 1 << 14, .kernel_size = 8};
  EXPECT_NE(k.unsupported(p).find("packed into 4 GiB"), std::string::npos);
  // As many taps as there can be need no table.
  p = {.kernel_size = 1 << 20};
  EXPECT_EQ(k.unsupported(p), "");
}

}  // namespace
}  // namespace convscope
