// What is done to results behind the layer, as it is read off them, and as the judge and the x-ray tell it.
#include "kernels/verify/pointwise.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>

#include "kernels/verify/probe_inputs.h"
#include "kernels/verify/xray.h"
#include "tests/kernels/verify/judging.h"

namespace convscope {
namespace {

double drawn(int64_t i) {
  auto h = static_cast<uint64_t>(i + 1) * 0x9e3779b97f4a7c15u;
  h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9u;
  return static_cast<double>((h ^ h >> 32) & 0xfffff) / 0x1p19 - 1;  // ±1
}

// Four rows of right results about ±9, near as many as sums have, and what f(result, bias, row, place) makes of them.
using Made = std::function<double(double, double, int64_t, int64_t)>;
std::string told(const Made& f, bool bias = false, int64_t columns = 150, DType type = DType::f32) {
  std::vector<SampleRow> rows;
  for (int64_t r = 0; r < 4; r++) {
    SampleRow s{r, 0, {}, {}, bias ? 0.75 * static_cast<double>(r + 1) : 0};
    for (int64_t j = 0; j < columns; j++) {
      const int64_t at = 3 * (r * columns + j);
      s.expected.push_back(3 * (drawn(at) + drawn(at + 1) + drawn(at + 2)) + s.bias);
      s.got.push_back(f(s.expected.back(), s.bias, r, j));
    }
    rows.push_back(s);
  }
  return find_pointwise(type, rows);
}
std::string of_value(double (*f)(double)) {
  return told([f](double v, double, int64_t, int64_t) { return static_cast<double>(static_cast<float>(f(v))); });
}

TEST(Pointwise, FunctionsByTheirNames) {
  const std::pair<double (*)(double), const char*> cases[] = {
      {[](double v) { return std::max(v, 0.0); }, "negative values are 0, as behind a ReLU"},
      {[](double v) { return v < 0 ? 0.2 * v : v; },
       "negative values are 0.2 times the right ones, as behind a LeakyReLU"},
      {[](double v) { return std::clamp(v, 0.0, 6.0); }, "results are limited to 0 … 6, as behind a ReLU6"},
      {[](double v) { return std::clamp(v, -1.0, 1.0); }, "results are limited to -1 … 1, as behind a clamp"},
      {[](double v) { return std::min(v, 0.5); }, "results are no more than 0.5, as behind a clamp"},
      {[](double v) { return std::clamp(2 * v, -1.0, 1.0); },
       "results are limited to -1 … 1, 2 times the right ones, as behind a clamp"},
      {[](double v) { return std::tanh(v); }, "every result goes through tanh"},
      {[](double v) { return 2 * std::tanh(v); }, "every result goes through tanh times 2"},
      {[](double v) { return 1 / (1 + std::exp(-v)); }, "every result goes through a sigmoid"},
      {[](double v) { return v / 2 * (1 + std::erf(v / std::sqrt(2.0))); }, "every result goes through a GELU"},
      {[](double v) { return v / 2 * (1 + std::tanh(0.7978845608 * (v + 0.044715 * v * v * v))); },
       "every result goes through a GELU (by tanh)"},
      {[](double v) { return v / (1 + std::exp(-v)); }, "every result goes through a SiLU (Swish)"},
      {[](double v) { return std::log1p(std::exp(v)); }, "every result goes through a softplus"},
      {[](double v) { return v > 0 ? v : std::exp(v) - 1; }, "every result goes through an ELU"},
      {[](double v) { return v * std::clamp(v / 6 + 0.5, 0.0, 1.0); }, "every result goes through a Hardswish"},
      {[](double v) { return v * v; }, "every result goes through a square"},
      {[](double v) { return std::nearbyint(v); }, "every result is rounded to a whole number"},
      {[](double v) { return std::trunc(v); }, "every result is cut to a whole number"},
      {[](double v) { return 2 * v + 0.5; }, "every result is 2 times the right one plus 0.5"},
      {[](double v) { return v - 0.25; }, "every result is the right one minus 0.25"},
  };
  for (const auto& [f, words] : cases) EXPECT_EQ(of_value(f), std::string(words) + ", which is not of the layer");
  EXPECT_EQ(of_value([](double v) { return std::fabs(v); }), "negative values have lost their sign");
}

TEST(Pointwise, WhereTheBiasIs) {
  auto relu = [](double v) { return std::max(v, 0.0); };
  EXPECT_EQ(told([&](double v, double b, int64_t, int64_t) { return relu(v - b) + b; }, true),
            "negative sums are 0 before the bias is added, as behind a ReLU, which is not of the layer");
  EXPECT_EQ(told([&](double v, double, int64_t, int64_t) { return relu(v); }, true),
            "negative values are 0, as behind a ReLU, which is not of the layer");
  EXPECT_EQ(told([&](double v, double b, int64_t, int64_t) { return relu(v - b); }, true),
            "negative values are 0, as behind a ReLU, which is not of the layer, and the bias is missing");
  EXPECT_EQ(told([](double v, double b, int64_t, int64_t) { return std::tanh(v - b) + b; }, true),
            "every sum goes through tanh before the bias is added, which is not of the layer");
}

TEST(Pointwise, RowsOfTheirOwnAndFunctionsWithoutAName) {
  EXPECT_EQ(told([](double v, double, int64_t r, int64_t) {
              return v * (1 + 0.5 * static_cast<double>(r)) - static_cast<double>(r);
            }),
            "every row of y is the right one times a number and plus a number of its own, as behind a normalisation, "
            "which is not of the layer");
  EXPECT_TRUE(of_value([](double v) {
                return v + 0.1 * v * v;
              }).starts_with("every result is a function of the right one alone ("));
}

// In 16 bits a result has two or three digits.
TEST(Pointwise, SixteenBits) {
  auto half = [](double v) { return static_cast<double>(test::rounded_to_bf16(static_cast<float>(v))); };
  EXPECT_EQ(
      told([&](double v, double, int64_t, int64_t) { return half(v / (1 + std::exp(-v))); }, false, 150, DType::bf16),
      "every result goes through a SiLU (Swish), which is not of the layer");
  EXPECT_EQ(told([&](double v, double, int64_t, int64_t) { return half(v); }, false, 150, DType::bf16), "");
}

// Controls: what is right, what depends on the place as well, what is another output's, and few places.
TEST(Pointwise, NoFunctionIsNone) {
  EXPECT_EQ(of_value([](double v) { return v; }), "");
  EXPECT_EQ(of_value([](double v) { return v * (1 + 1e-4); }), "") << "sums that are rounded";
  EXPECT_EQ(of_value([](double v) { return v / 5; }), "") << "a factor has other words";
  EXPECT_EQ(told([](double v, double, int64_t r, int64_t j) { return v - 0.05 * drawn(200'000 + 150 * r + j); }), "")
      << "one of a thousand terms";
  EXPECT_EQ(told([](double v, double, int64_t, int64_t j) { return j % 2 ? std::max(v, 0.0) : v; }), "");
  EXPECT_EQ(told([](double v, double, int64_t, int64_t j) { return j % 20 ? std::tanh(v) : v; }), "");
  EXPECT_EQ(told([](double, double, int64_t r, int64_t j) { return 9 * drawn(100'000 + 150 * r + j); }), "");
  EXPECT_EQ(told([](double v, double, int64_t, int64_t) { return std::max(v, 0.0); }, false, 5), "");
  EXPECT_EQ(told([](double, double, int64_t, int64_t) { return std::nan(""); }), "");
  EXPECT_EQ(of_value([](double v) { return std::exp(v) * 1e18 - 1.69e38; }), "") << "what was there is no function";
  EXPECT_EQ(of_value([](double v) { return std::exp(v) + 5e5; }), "");
}

ConvProblem layer() {
  ConvProblem p{.batch = 2, .in_channels = 6, .out_channels = 8, .kernel_size = 5, .length = 20, .stride = 2};
  return p;
}

// The judge's integers are too large to tell one that is a ReLU there from a ReLU.
TEST(Pointwise, TheJudgeAndTheXrayTellIt) {
  for (const auto& [kernel, words] : {std::pair{"f_relu", "negative values are 0, as behind a ReLU"},
                                      {"f_gelu", "every result goes through a GELU"},
                                      {"f_tanh", "every result goes through tanh"}}) {
    const std::string all = std::string(words) + ", which is not of the layer";
    const RunReport r = test::judged(kernel, layer());
    EXPECT_TRUE(r.verdict.sentence.find(all) != std::string::npos) << r.verdict.sentence;
    const Xray x = test::rayed(kernel, layer());
    EXPECT_EQ(x.is, Xray::Is::wrong);
    EXPECT_EQ(x.sentence, all);
  }
}

// Whether it is right is a shorter question: of a wrong one nothing else is looked at, a right one is judged whole.
TEST(Pointwise, RightOnlyStopsWhereResultsAreWrong) {
  RunSpec spec = test::quick();
  spec.verdict_only = spec.right_only = true;
  const RunReport wrong = test::judged("f_tanh", layer(), spec);
  EXPECT_EQ(wrong.verdict.status, Status::wrong);
  EXPECT_TRUE(test::has(wrong.verdict.sentence, " elements beyond the rounding bound"));
  EXPECT_FALSE(wrong.exact);
  const RunReport right = test::judged("l_right", layer(), spec);
  EXPECT_EQ(right.verdict.status, Status::right);
  EXPECT_TRUE(right.exact && right.precision);
}

// Sums of a few units, whatever the number of terms.
TEST(Pointwise, InputsGiveSumsOfAFewUnits) {
  for (int64_t channels : {1, 32, 512}) {
    ConvProblem p = layer();
    p.in_channels = channels, p.length = 64;
    const Inputs in = value_inputs(p, 7);
    const auto oracle = make_cpu_oracle(p, in);
    std::vector<double> y(static_cast<size_t>(p.out_length() * p.out_channels));
    oracle->compute({0, p.out_channels, 0, p.out_length()}, y.data(), nullptr);
    double sum2 = 0;
    for (double v : y) sum2 += v * v;
    const double rms = std::sqrt(sum2 / static_cast<double>(y.size()));
    EXPECT_GT(rms, 2) << channels;
    EXPECT_LT(rms, 4.5) << channels;
  }
}

}  // namespace
}  // namespace convscope
