// Less accurate arithmetic than asked is wrong, even where no tolerance shows it; and regular inputs do not make an
// honest kernel look dishonest.
#include <gtest/gtest.h>

#include "kernels/verify/probe_inputs.h"
#include "tests/kernels/verify/judging.h"

namespace convscope {
namespace {

using test::evidence;
using test::has;
using test::judged;
using test::layer_status;

const ConvProblem general{.batch = 2,
                          .in_channels = 8,
                          .out_channels = 6,
                          .kernel_size = 5,
                          .length = 100,
                          .stride = 2,
                          .padding = 1,
                          .bias = true};
const ConvProblem depthwise{
    .in_channels = 16, .out_channels = 16, .kernel_size = 4, .length = 60, .stride = 2, .groups = 16};
const ConvProblem single{.kernel_size = 7, .length = 600, .stride = 2};
// 6400 terms, where a single element of TF32 hardly leaves the bound.
const ConvProblem wavegan{.in_channels = 1024,
                          .out_channels = 8,
                          .kernel_size = 25,
                          .length = 36,
                          .stride = 4,
                          .padding = 11,
                          .output_padding = 1};

RunSpec allowing(Accuracy a) {
  auto spec = test::quick();
  spec.accuracy = a;
  return spec;
}

void expect_less_accurate(const RunReport& r, const std::string& than) {
  SCOPED_TRACE(r.spec.kernel->name() + " on " + describe(r.spec.problem) + ": " + r.verdict.sentence);
  EXPECT_EQ(r.verdict.status, Status::wrong);
  EXPECT_EQ(r.verdict.exit_code, 1);
  EXPECT_EQ(layer_status(r, "mathematics"), LayerStatus::fail);
  EXPECT_EQ(layer_status(r, "memory"), LayerStatus::pass);
  EXPECT_TRUE(has(r.verdict.sentence, "less accurate than " + than));
  EXPECT_EQ(r.accuracy_ran, "less than " + than);
  EXPECT_EQ(r.exact->failing, 0) << "the index is right";
}

TEST(JudgePrecision, Tf32PassedOffAsStrict) {
  for (const auto& p : {general, depthwise, single, wavegan})
    for (const char* kernel : {"tf32", "tf32_cut", "tf32_weights", "bf16_weights", "bf16_input"})
      expect_less_accurate(judged(kernel, p), "strict");
}

// What rounds or scales every result is no wrong index.
TEST(JudgePrecision, RoundedAndScaledResults) {
  for (const char* kernel : {"results_in_tf32", "scaled_a_little"}) {
    auto r = judged(kernel, wavegan);
    SCOPED_TRACE(r.verdict.sentence);
    EXPECT_EQ(r.verdict.status, Status::wrong);
    EXPECT_GT(r.exact->failing, 0);
    ASSERT_TRUE(r.pattern.nearness);
    EXPECT_TRUE(has(r.verdict.sentence, "every value is near the right one"));
    EXPECT_TRUE(has(r.verdict.sentence, "sums or results are rounded or scaled"));
    EXPECT_EQ(r.accuracy_ran, "less than strict");
    EXPECT_FALSE(has(evidence(r, "mathematics"), "the index"));
  }
}

// Sums of integers are too large to show what is added, and the bound takes it for rounding: zeros show it.
TEST(JudgePrecision, WhatIsAddedToEverySum) {
  auto r = judged("adds_a_little", general);
  EXPECT_EQ(r.verdict.status, Status::wrong);
  EXPECT_TRUE(has(r.verdict.sentence, " not 0 where the sum is, first at n 0, co 0, j 0: 1e-07 instead of 0"));
  EXPECT_TRUE(has(evidence(r, "mathematics"), "x and b of zeros: "));
  EXPECT_EQ(r.exact->failing, 0);
}

TEST(JudgePrecision, TheMeanAloneShowsIt) {
  auto r = judged("tf32", wavegan);
  EXPECT_GT(r.error.rms_ratio, rms_limit);
  EXPECT_LT(r.error.failing, r.error.elements / 100);
  EXPECT_EQ(r.error.gates[0].failing, 0) << "the gate of 1e-2 lets it pass";
}

TEST(JudgePrecision, Tf32WhereItIsAllowed) {
  for (const auto& p : {general, depthwise, single, wavegan}) {
    for (const char* kernel : {"tf32", "tf32_cut", "tf32_weights"}) {
      auto r = judged(kernel, p, allowing(Accuracy::tf32));
      EXPECT_EQ(r.verdict.status, Status::right) << kernel << ": " << r.verdict.sentence;
      EXPECT_EQ(r.accuracy_ran, "tf32") << kernel;
    }
    auto honest = judged("faultless", p, allowing(Accuracy::tf32));
    EXPECT_EQ(honest.verdict.status, Status::right) << honest.verdict.sentence;
    EXPECT_EQ(honest.accuracy_ran, "3xtf32 or better") << "what ran is not what was allowed";
    for (const char* kernel : {"bf16_weights", "bf16_input"})
      expect_less_accurate(judged(kernel, p, allowing(Accuracy::tf32)), "tf32");
  }
}

TEST(JudgePrecision, ThreeTf32Products) {
  for (const auto& p : {general, depthwise, wavegan}) {
    auto r = judged("three_tf32", p, allowing(Accuracy::tf32x3));
    EXPECT_EQ(r.verdict.status, Status::right) << r.verdict.sentence;
    EXPECT_EQ(r.accuracy_ran, "3xtf32 or better");
    expect_less_accurate(judged("tf32", p, allowing(Accuracy::tf32x3)), "3xtf32");
  }
}

TEST(JudgePrecision, SumsInBfloat16) {
  // Sums beyond 256 lose bits even on small integers.
  auto r = judged("bf16_sums", wavegan);
  EXPECT_EQ(r.verdict.status, Status::wrong);
  EXPECT_EQ(layer_status(r, "mathematics"), LayerStatus::fail);
  r = judged("bf16_sums", single);
  EXPECT_EQ(r.verdict.status, Status::wrong) << "few and small terms: wide integers show it";
}

TEST(JudgePrecision, FloatPassedOffAsDouble) {
  auto p = general;
  p.dtype = DType::f64;
  EXPECT_EQ(judged("direct", p).verdict.status, Status::right);
  auto r = judged("double_in_float", p);
  expect_less_accurate(r, "strict");
  EXPECT_GT(r.error.failing, r.error.elements * 9 / 10);
  EXPECT_EQ(r.error.gates[1].failing, 0);
  expect_less_accurate(judged("double_of_floats", p), "strict");
}

TEST(JudgePrecision, RegularInputsDecideNothing) {
  // All terms alike round all in one direction: the model does not hold, and random inputs decide.
  auto constant = [](const ConvProblem& p, std::vector<int64_t> shape, float v) {
    auto t = make_tensor(p.dtype, std::move(shape), [&](auto* out, int64_t n) { std::fill(out, out + n, v); });
    return TensorSource{InputKind::file, "constant.npy", t};
  };
  int beyond = 0, only_mean = 0;
  for (int64_t channels : {8, 16, 32, 64, 128, 256, 512, 1024})
    for (float v : {0.1f, 0.7f, 1.3f}) {
      ConvProblem p{.in_channels = channels, .out_channels = 4, .kernel_size = 3, .length = 300};
      auto spec = test::quick();
      spec.inputs.x = constant(p, {1, channels, 300}, v);
      spec.inputs.w = constant(p, {channels, 4, 3}, 0.3f);
      auto r = judged("faultless", p, spec);
      EXPECT_EQ(r.verdict.status, Status::right) << r.verdict.sentence << " on " << describe(p);
      beyond += r.error.failing > 0;
      only_mean += r.error.failing == 0 && r.error.rms_ratio > rms_limit;
      // The control: the fault is still seen.
      EXPECT_EQ(judged("tf32", p, spec).verdict.status, Status::wrong);
    }
  EXPECT_GT(beyond, 0) << "else this test shows nothing";
  EXPECT_GT(only_mean, 0) << "nor this part of it";
}

// ---- the inputs that show it ----------------------------------------------------------------------------------------

TEST(ProbeInputs, AreExactInAnyOrder) {
  test::Random r(30);
  for (int i = 0; i < 100; i++) {
    auto p = test::random_problem(r);
    std::vector<Inputs> all{exact_inputs(p, 1).value()};
    for (bool weights : {false, true}) {
      all.push_back(precision_inputs(p, 2, wide_bits(p.dtype), weights).value());
      if (p.dtype == DType::f32) all.push_back(precision_inputs(p, 2, tf32_bits, weights).value());
    }
    for (const auto& in : all) {
      auto t = test::tensors_of(in);
      auto expected = test::expected_result(p, t);
      for (size_t e = 0; e < expected.y.size(); e++)
        ASSERT_LT(expected.magnitude[e], p.dtype == DType::f64 ? 0x1p53L : 0x1p24L) << describe(p);
    }
    for (const auto* t : {&all[0].x, &all[0].w, &all[0].b})
      for (int64_t e = 0; e < t->elements(); e++) {
        ASSERT_NE(t->at(e), 0);
        ASSERT_LE(std::fabs(t->at(e)), 127);
        ASSERT_EQ(t->at(e), std::floor(t->at(e)));
      }
  }
}

// Whether rounding all of x, and rounding all of w, changes an output.
TEST(ProbeInputs, ShowRoundingOfEitherSide) {
  std::vector<ConvProblem> problems{
      general,
      depthwise,
      single,
      {.in_channels = 3000, .kernel_size = 1, .length = 8},
      {.in_channels = 2047, .out_channels = 1, .kernel_size = 1, .length = 8},
      {.in_channels = 5000, .out_channels = 1, .kernel_size = 2, .length = 8, .stride = 2},
      {.in_channels = 2, .out_channels = 1, .kernel_size = 500, .length = 8}};
  for (const auto& p : problems) {
    bool x_shown = false, w_shown = false;
    for (bool weights : {false, true}) {
      if (weights && p.in_per_group() > 1) break;  // as the judge does
      auto in = precision_inputs(p, 3, wide_bits(p.dtype), weights);
      ASSERT_TRUE(in) << describe(p);
      auto t = test::tensors_of(*in);
      auto right = test::computed(p, t);
      auto shows = [&](auto each) {
        auto y = test::computed(p, t, each);
        int64_t differ = 0;
        for (int64_t e = 0; e < y.elements(); e++) differ += y.at(e) != right.at(e);
        return differ > 0;
      };
      x_shown |= shows([](const test::Product& q) { return test::rounded_to_tf32(static_cast<float>(q.x)) * q.w; });
      w_shown |= shows([](const test::Product& q) { return q.x * test::rounded_to_tf32(static_cast<float>(q.w)); });
    }
    EXPECT_TRUE(x_shown) << describe(p);
    EXPECT_TRUE(w_shown) << describe(p);
  }
}

TEST(ProbeInputs, SayWhenTheyCannotBeExact) {
  ConvProblem p{.in_channels = 3000000, .kernel_size = 1, .length = 1};
  auto in = exact_inputs(p, 1);
  ASSERT_TRUE(in);
  auto largest = [](const HostTensor& t) {
    double m = 0;
    for (int64_t e = 0; e < std::min<int64_t>(t.elements(), 100000); e++) m = std::max(m, std::fabs(t.at(e)));
    return m;
  };
  EXPECT_EQ(largest(in->x), 2) << "3·3 would not stay below 2^24";
  p.in_channels = 1000;
  EXPECT_EQ(largest(exact_inputs(p, 1)->w), 127);
  p.in_channels = 6400;
  EXPECT_EQ(largest(exact_inputs(p, 1)->w), 51);
  p.in_channels = 1 << 25;
  EXPECT_FALSE(exact_inputs(p, 1));
  p.dtype = DType::f64;
  p.in_channels = 1 << 10;
  EXPECT_TRUE(exact_inputs(p, 1));
}

}  // namespace
}  // namespace convscope
