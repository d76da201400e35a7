// Two outputs against each other: what counts as the same, as rounding, as apart.
#include "kernels/verify/difference.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

#include "tests/kernels/verify/judging.h"

namespace convscope {
namespace {

const ConvProblem striding{
    .batch = 2, .in_channels = 2, .out_channels = 3, .kernel_size = 4, .length = 100, .stride = 2, .padding = 1};

struct Two {
  ConvProblem p;
  test::MadeUpOracle oracle;
  ResultTensors one, other;

  explicit Two(const ConvProblem& problem)
      : p(problem),
        oracle(
            problem, [](int64_t, int64_t) { return 1e9; }, [](int64_t, int64_t) { return 1000.0; }),
        one(made()),
        other(made()) {}
  ResultTensors made() const {
    const HostTensor y = make_tensor(p.dtype, {p.batch, p.out_channels, p.out_length()}, [](auto* v, int64_t n) {
      for (int64_t e = 0; e < n; e++)
        v[e] = static_cast<std::remove_pointer_t<decltype(v)>>(1 + static_cast<double>(e % 7));
    });
    ResultTensors t;
    t.rows = p.batch * p.out_channels, t.columns = p.out_length(), t.dtype = p.dtype;
    t.output = HostBytes(y.size_bytes());
    std::memcpy(t.output.data(), y.data(), y.size_bytes());
    return t;
  }
  void set(ResultTensors& t, int64_t e, double v) const {
    dispatch(p.dtype, [&](auto zero) { t.output.as<decltype(zero)>()[e] = static_cast<decltype(zero)>(v); });
  }
  // What an oracle would allow a right kernel at element e.
  double bound(int64_t e) const {
    const auto terms = term_counts(p, e % p.out_length(), 1);
    return BoundModel(p.dtype, Accuracy::strict).bound(1000.0, terms[0], other.output_at(e));
  }
  OutputDifference difference(ResultTensors& apart) {
    return output_difference(p, oracle, one, other, Accuracy::strict, apart, nullptr);
  }
};

TEST(Difference, OfTheSameIsNone) {
  Two t(striding);
  ResultTensors apart;
  const auto d = t.difference(apart);
  EXPECT_EQ(d.elements, striding.y_elements());
  EXPECT_EQ(d.identical, d.elements);
  EXPECT_EQ(d.beyond, 0);
  EXPECT_EQ(d.max_abs, 0);
  EXPECT_FALSE(d.first);
  EXPECT_EQ(d.where, "");
  for (int64_t e = 0; e < d.elements; e++) ASSERT_EQ(apart.ratio.as<float>()[e], 0);
}

// Two right kernels may lie on either side of what is right: twice the bound, and no more.
TEST(Difference, RoundingOfBothIsAllowed) {
  Two t(striding);
  t.set(t.one, 5, t.other.output_at(5) + 1.9 * t.bound(5));
  t.set(t.one, 9, t.other.output_at(9) + 2.2 * t.bound(9));
  t.set(t.one, 20, -0.0), t.set(t.other, 20, 0.0);
  ResultTensors apart;
  const auto d = t.difference(apart);
  EXPECT_EQ(d.identical, d.elements - 3) << "zeros of two signs are two patterns of bits";
  EXPECT_EQ(d.beyond, 1);
  ASSERT_TRUE(d.first);
  EXPECT_EQ(d.first->j, 9);
  EXPECT_EQ(d.first->got, t.one.output_at(9));
  EXPECT_EQ(d.first->expected, t.other.output_at(9));
  EXPECT_NEAR(apart.ratio_at(5), 0.95, 0.01);
  EXPECT_NEAR(apart.ratio_at(9), 1.1, 0.01);
  EXPECT_EQ(apart.ratio.as<float>()[20], 0);
  EXPECT_EQ(static_cast<double>(apart.error.as<float>()[9]),
            static_cast<double>(static_cast<float>(t.one.output_at(9) - t.other.output_at(9))));
}

// The larger of difference and other value would swallow the smaller one.
TEST(Difference, WhatIsFarTooLargeLeavesTheOtherValue) {
  Two t(striding);
  const float large[] = {1e30f, -1e30f, 1e9f, 70000.f};
  for (int64_t e = 0; e < striding.y_elements(); e++) t.set(t.one, e, large[e % 4]);
  ResultTensors apart;
  EXPECT_EQ(t.difference(apart).beyond, striding.y_elements());
  float low = 1, high = 0;
  for (int64_t e = 0; e < striding.y_elements(); e++) {
    const auto other = static_cast<float>(t.other.output_at(e));
    ASSERT_EQ(static_cast<float>(apart.reference_at(e)), other) << e;
    ASSERT_EQ(apart.error_at(e), static_cast<double>(large[e % 4]) - static_cast<double>(other)) << e;
    ASSERT_GT(apart.ratio_at(e), 1) << e;
    ASSERT_EQ(apart.flags_at(e), flag_failing) << e;
    low = std::min(low, other), high = std::max(high, other);
  }
  const Pyramid pyramid(apart, nullptr);
  auto range = [&](Quantity q) {
    return pyramid.tile({q, 0, static_cast<double>(apart.rows), 0, static_cast<double>(apart.columns), 1, 1}).front();
  };
  EXPECT_EQ(range(Quantity::reference).minimum, low);
  EXPECT_EQ(range(Quantity::reference).maximum, high);
  EXPECT_EQ(range(Quantity::error).maximum, 1e30f);
  EXPECT_GT(range(Quantity::ratio).minimum, 1);
}

TEST(Difference, WhatIsNoNumber) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();
  for (DType type : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    ConvProblem p = striding;
    p.dtype = type;
    Two t(p);
    const double pairs[][2] = {{nan, nan},   {nan, 1}, {1, nan}, {infinite, infinite}, {infinite, -infinite},
                               {2, infinite}};
    int64_t e = 10;
    for (const auto& pair : pairs) t.set(t.one, e, pair[0]), t.set(t.other, e, pair[1]), e++;
    ResultTensors apart;
    const auto d = t.difference(apart);
    EXPECT_EQ(d.beyond, 4) << name_of(type);
    EXPECT_EQ(d.identical, d.elements - 4);
    const bool wrong[] = {false, true, true, false, true, true};
    for (int i = 0; i < 6; i++) EXPECT_EQ(!(apart.ratio_at(10 + i) <= 1), wrong[i]) << i;
    EXPECT_LT(d.max_abs, 1e3) << "of pairs of numbers";
  }
}

TEST(Difference, SaysWhereItIs) {
  Two t(striding);
  for (int64_t e = 0; e < striding.y_elements(); e++)
    if (e % striding.out_length() % 2 == 0) t.set(t.one, e, 99);
  ResultTensors apart;
  const auto d = t.difference(apart);
  EXPECT_EQ(d.beyond, striding.batch * striding.out_channels * ((striding.out_length() + 1) / 2));
  EXPECT_TRUE(test::has(d.where, "every even output (j mod 2 = 0)"));
  for (int64_t e = 0; e < striding.y_elements(); e++) t.set(t.one, e, 99);
  EXPECT_FALSE(test::has(t.difference(apart).where, "shift")) << "none was looked for";
}

// The judge gives both: a kernel's output without a verdict, and the difference.
TEST(Difference, OfTwoKernelsByTheJudge) {
  auto device = open_emulator();
  std::vector<std::unique_ptr<Reference>> none;
  Judge judge(*device, none);
  Activity activity;
  RunSpec spec = test::quick();
  spec.problem = test::general;
  spec.kernel = &test::kernel("S4");
  const RunReport wrong = judge.output(spec, nullptr, activity);
  ASSERT_TRUE(wrong.tensors);
  EXPECT_TRUE(wrong.hot.empty()) << "nothing is timed";
  spec.kernel = &test::kernel("direct");
  const RunReport right = judge.output(spec, nullptr, activity);
  ASSERT_TRUE(right.tensors);
  EXPECT_EQ(right.error.failing, 0);
  ASSERT_GT(wrong.error.failing, 0);
  ResultTensors apart;
  const auto d = judge.difference(spec, *wrong.tensors, *right.tensors, apart, activity);
  int64_t same = 0;
  for (int64_t e = 0; e < test::general.y_elements(); e++)
    same += wrong.tensors->output_at(e) == right.tensors->output_at(e);
  EXPECT_EQ(d.identical, same);
  // S4 leaves output_padding's positions out, which no comparison with the oracle has counted.
  const int64_t rows = test::general.batch * test::general.out_channels;
  EXPECT_EQ(d.beyond, wrong.error.failing + rows * (test::general.out_length() - wrong.own_length));
}

}  // namespace
}  // namespace convscope
