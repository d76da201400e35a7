// Problems of f16 and bf16: sums in f32 are right and others are not, infinities are where the oracle's rounding has
// them, and what is never written shows in two bytes as well.
#include <bit>
#include <cmath>
#include <gtest/gtest.h>

#include "kernels/runtime/registry.h"
#include "kernels/verify/explain.h"
#include "kernels/verify/probe_inputs.h"
#include "tests/kernels/verify/judging.h"

namespace convscope {
namespace {

using test::has;
using test::judged;
using test::layer_status;

constexpr DType halves[] = {DType::f16, DType::bf16};

ConvProblem general(DType t) {
  return {.batch = 2,
          .in_channels = 8,
          .out_channels = 6,
          .kernel_size = 5,
          .length = 101,  // an odd number of elements: the last word is half a tensor's, half a red zone's
          .stride = 2,
          .padding = 1,
          .groups = 2,
          .bias = true,
          .dtype = t};
}
ConvProblem wavegan(DType t) {
  return {.in_channels = 1024,
          .out_channels = 8,
          .kernel_size = 25,
          .length = 36,
          .stride = 4,
          .padding = 11,
          .output_padding = 1,
          .dtype = t};
}
ConvProblem single(DType t) { return {.kernel_size = 7, .length = 601, .stride = 2, .bias = true, .dtype = t}; }

TEST(JudgeHalf, SumsInFloatAreRight) {
  for (DType t : halves)
    for (const auto& p : {general(t), wavegan(t), single(t)})
      for (const char* kernel : {"half_in_float", "direct", "scatter", "polyphase", "tiled", "registers"}) {
        if (p.in_channels == 1024 && kernel == std::string("scatter") && !test::long_run()) continue;  // seconds
        auto r = judged(kernel, p);
        EXPECT_EQ(r.verdict.status, Status::right) << kernel << " on " << describe(p) << ": " << r.verdict.sentence;
        EXPECT_EQ(r.accuracy_ran, "strict") << kernel << " on " << describe(p);
        EXPECT_EQ(r.error.failing, 0);
        EXPECT_LE(r.error.max_ratio, 1);
        EXPECT_GT(r.error.max_ratio, 0.4) << "the bound is no looser than one rounding of the output needs";
      }
}

TEST(JudgeHalf, SumsAndProductsInSixteenBitsAreWrong) {
  for (DType t : halves)
    for (const auto& p : {general(t), wavegan(t), single(t)})
      for (const char* kernel : {"half_sums", "half_products"}) {
        SCOPED_TRACE(std::string(kernel) + " on " + describe(p));
        auto r = judged(kernel, p);
        EXPECT_EQ(r.verdict.status, Status::wrong) << r.verdict.sentence;
        EXPECT_EQ(layer_status(r, "memory"), LayerStatus::pass);
        EXPECT_EQ(layer_status(r, "mathematics"), LayerStatus::fail);
        EXPECT_GT(r.error.failing + (r.precision ? r.precision->failing : 0), 0);
      }
  // Sums in 16 bits lose what integers as wide as the type show.
  for (DType t : halves) {
    auto r = judged("half_sums", general(t));
    EXPECT_TRUE(has(r.verdict.sentence, "less accurate than strict: loses low bits of its inputs, or sums in less"));
    ASSERT_TRUE(r.precision);
    EXPECT_GT(r.precision->failing, 0);
    EXPECT_EQ(r.accuracy_ran, r.exact && r.exact->failing ? r.accuracy_ran : "less than strict");
  }
}

TEST(JudgeHalf, CuttingOffIsWrong) {
  for (DType t : halves) {
    auto r = judged("half_cut_off", general(t));
    EXPECT_EQ(r.verdict.status, Status::wrong) << r.verdict.sentence;
    EXPECT_GT(r.error.failing, r.error.elements / 10);
  }
}

TEST(JudgeHalf, UnwrittenElementsAreCounted) {
  for (DType t : halves) {
    auto p = general(t);
    auto r = judged("half_unwritten", p);
    EXPECT_EQ(r.error.unwritten, (p.y_elements() + 6) / 7);
    EXPECT_EQ(r.error.nan, 0);
    EXPECT_TRUE(has(r.verdict.sentence, "never writes"));
    EXPECT_TRUE(has(r.verdict.sentence, "14.3 %")) << r.verdict.sentence;
    EXPECT_EQ(r.tensors->flags_at(0), flag_unwritten | flag_failing);
    EXPECT_EQ(r.tensors->flags_at(1), 0);
  }
}

// Sums of 64512 and more: beyond f16's 65504 infinite and right, and an honest number in bf16.
TEST(JudgeHalf, OverflowAgreesWithTheOraclesRounding) {
  ConvProblem p{.in_channels = 64, .out_channels = 2, .kernel_size = 2, .length = 300, .dtype = DType::f16};
  auto spec = test::quick();
  auto constant = [](std::vector<int64_t> shape, DType t, float v) {
    return TensorSource{InputKind::file, "a.npy",
                        make_tensor(t, std::move(shape), [&](auto* out, int64_t n) { std::fill(out, out + n, v); })};
  };
  auto ramp = TensorSource{InputKind::ramp, {}, {}};
  spec.inputs.x = ramp;
  spec.inputs.w = constant({64, 2, 2}, DType::f16, 1024);
  auto r = judged("half_in_float", p, spec);
  EXPECT_EQ(r.verdict.status, Status::right) << r.verdict.sentence;
  int64_t infinite = 0;
  for (int64_t e = 0; e < p.y_elements(); e++) infinite += std::isinf(r.tensors->output_at(e));
  EXPECT_GT(infinite, p.y_elements() / 10);
  EXPECT_LT(infinite, p.y_elements() - 10);
  EXPECT_EQ(r.error.inf, 0) << "none that should be a number";
  EXPECT_EQ(r.error.gates[0].failing, 0);

  r = judged("half_saturating", p, spec);
  EXPECT_EQ(r.verdict.status, Status::wrong) << "the largest number is not infinity";
  EXPECT_EQ(r.error.failing, infinite);

  p.dtype = DType::bf16;
  spec.inputs.w = constant({64, 2, 2}, DType::bf16, 1024);
  EXPECT_EQ(judged("half_in_float", p, spec).verdict.status, Status::right);
}

TEST(CompareHalf, InfinityIsRightWhereASumMayRoundToIt) {
  ConvProblem p{.length = 8, .dtype = DType::f16};
  struct Case {
    double expected;
    float got;
    bool right;
  };
  const float inf = INFINITY;
  const Case cases[] = {{65519, 65504, true}, {65519, inf, false}, {65521, inf, true}, {65521, 65504, false},
                        {-1e6, -inf, true},   {-1e6, inf, false},  {1e6, NAN, false},  {60000, inf, false}};
  test::MadeUpOracle oracle(
      p, [&](int64_t, int64_t j) { return cases[j].expected; }, [](int64_t, int64_t) { return 1.0; });
  auto y = make_tensor(p.dtype, {1, 1, 8}, [&](auto* out, int64_t n) {
    for (int64_t e = 0; e < n; e++) out[e] = static_cast<std::remove_pointer_t<decltype(out)>>(cases[e].got);
  });
  float error[8], ratio[8];
  CompareOptions o;
  o.sink = {error, ratio};
  auto c = compare(p, oracle, {p.dtype, y.data(), 8}, o, nullptr);
  for (int e = 0; e < 8; e++) EXPECT_EQ(ratio[e] <= 1, cases[e].right) << "case " << e;
  EXPECT_EQ(std::tuple(c.failing, c.nan, c.inf), std::tuple(5, 1, 3));
  // Bit for bit there is no leeway on either side.
  o.exactness = Exactness::bitwise;
  c = compare(p, oracle, {p.dtype, y.data(), 8}, o, nullptr);
  EXPECT_EQ(c.failing, 5);
}

TEST(BoundHalf, IsOneRoundingOfTheOutputAndTheSumsInFloat) {
  for (DType t : halves) {
    BoundModel m(t, Accuracy::strict);
    double u = traits(t).unit_roundoff, sums = bound_lambda * 10 * 0x1p-24 * 3;
    EXPECT_NEAR(m.bound(3, 100, 2), sums + u * (2 + sums) + traits(t).smallest / 2, 1e-12);
    // Every rounding of an exact value is within it, subnormal or not.
    for (double v = traits(t).smallest / 3; v < 6e4; v *= 1.37)
      EXPECT_LE(std::fabs(rounded_to(t, v) - v), m.bound(0, 0, v)) << v;
  }
  EXPECT_TRUE(check_accuracy(DType::f16, Accuracy::tf32));
  EXPECT_TRUE(check_accuracy(DType::bf16, Accuracy::tf32x3));
  EXPECT_TRUE(check_accuracy(DType::f64, Accuracy::tf32));
  EXPECT_FALSE(check_accuracy(DType::f32, Accuracy::tf32));
  EXPECT_FALSE(check_accuracy(DType::f16, Accuracy::strict));
}

TEST(ProbeInputsHalf, AreExactAndSmallEnough) {
  for (DType t : halves)
    for (const auto& p : {general(t), wavegan(t), single(t)}) {
      auto exact = exact_inputs(p, 3);
      ASSERT_TRUE(exact);
      auto oracle = make_cpu_oracle(p, *exact);
      std::vector<double> y(static_cast<size_t>(p.y_elements()));
      oracle->compute({0, p.batch * p.out_channels, 0, p.out_length()}, y.data(), nullptr);
      int64_t rounded = 0;
      for (double v : y) rounded += rounded_to(t, v) != v;
      EXPECT_LT(rounded, p.y_elements() / 20) << describe(p) << ": the output's rounding hides what is wrong";
      for (const auto& wide : {precision_inputs(p, 3, wide_bits(t), false), product_inputs(p, 3)}) {
        ASSERT_TRUE(wide) << describe(p);
        make_cpu_oracle(p, *wide)->compute({0, p.batch * p.out_channels, 0, p.out_length()}, y.data(), nullptr);
        int64_t exact_in_float = 0;
        for (double v : y) {
          EXPECT_FALSE(std::isinf(rounded_to(t, v)));
          exact_in_float += rounded_to(DType::f32, v) == v;
        }
        EXPECT_EQ(exact_in_float, p.y_elements());
      }
    }
  // With too many terms nothing would be exact.
  ConvProblem long_filter{.kernel_size = 300, .length = 400, .dtype = DType::bf16};
  EXPECT_FALSE(product_inputs(long_filter, 3));
}

// Positions and channels beyond what the type can count to: they are asked for digit by digit.
TEST(ExplainHalf, ReadsIndicesThatTheTypeDoesNotHold) {
  for (DType t : halves) {
    if (test::fewer > 1 && t == DType::bf16) continue;  // half a minute each
    ConvProblem p{.batch = 3,
                  .in_channels = 6,
                  .out_channels = 300,
                  .kernel_size = 3,
                  .length = 2500,
                  .stride = 2,
                  .padding = 1,
                  .groups = 2,
                  .bias = true,
                  .dtype = t};
    auto device = open_emulator();
    Activity activity;
    auto e = explain(*device, find_kernel("polyphase"), p, {}, 2, 277, 4500, activity);
    EXPECT_EQ(e.channel_note + e.weight_note + e.batch_note + e.bias_note, "");
    EXPECT_EQ(e.channels, 3);
    int taps = 0;
    for (const auto& tap : e.taps) {
      EXPECT_EQ(tap.read_i, tap.expected_i) << "tap " << tap.k;
      EXPECT_EQ(tap.strange, "");
      taps += tap.expected_i.has_value();
    }
    EXPECT_GE(taps, 1);
    ASSERT_TRUE(e.read_total);
    EXPECT_NEAR(*e.read_total, e.got, traits(t).unit_roundoff * std::fabs(e.got) * 1.01);
  }
}

}  // namespace
}  // namespace convscope
