// What a comparison counts, element by element, against oracles that are made up.
#include "kernels/verify/compare.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "kernels/problem/counts.h"
#include "kernels/verify/pyramid.h"
#include "tests/kernels/verify/judging.h"

namespace convscope {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// Everything should be row + j / 1000, with room for an error of about 4e-3.
struct Setting {
  ConvProblem p;
  test::MadeUpOracle oracle;
  HostTensor right;

  static double value(int64_t row, int64_t j) { return static_cast<double>(row) + static_cast<double>(j) / 1024; }
  explicit Setting(const ConvProblem& problem)
      : p(problem),
        oracle(problem, value, [](int64_t, int64_t) { return 10000.0; }),
        right(make_tensor(p.dtype, {p.batch, p.out_channels, p.out_length()}, [&](auto* y, int64_t n) {
          for (int64_t e = 0; e < n; e++)
            y[e] = static_cast<std::remove_pointer_t<decltype(y)>>(value(e / p.out_length(), e % p.out_length()));
        })) {}
  int64_t at(int64_t n, int64_t co, int64_t j) const { return (n * p.out_channels + co) * p.out_length() + j; }
  Comparison compare(const HostTensor& y, CompareOptions o = {}) {
    return convscope::compare(p, oracle, {p.dtype, y.data(), y.shape.back()}, o, nullptr);
  }
  Comparison compare(const std::vector<std::pair<int64_t, double>>& changes, CompareOptions o = {}) {
    return compare(test::changed(right, changes), o);
  }
};

const ConvProblem plain{
    .batch = 3, .in_channels = 2, .out_channels = 4, .kernel_size = 4, .length = 200, .stride = 3, .padding = 1};

TEST(Compare, FindsNothingWhereNothingIsWrong) {
  Setting s(plain);
  auto c = s.compare(s.right);
  EXPECT_EQ(c.elements, plain.y_elements());
  EXPECT_EQ(c.failing, 0);
  EXPECT_EQ(c.max_abs, 0);
  EXPECT_EQ(c.max_ratio, 0);
  EXPECT_FALSE(c.first_failing);
  EXPECT_EQ(c.places.first_column, -1);
}

TEST(Compare, CountsWhatIsWrongAndWhere) {
  Setting s(plain);
  int64_t lout = plain.out_length();
  auto c = s.compare({{s.at(2, 3, 10), 50}, {s.at(1, 1, 400), -3}, {s.at(1, 0, 401), 77}, {s.at(0, 3, lout - 1), 90}});
  EXPECT_EQ(c.failing, 4);
  ASSERT_TRUE(c.first_failing);
  EXPECT_EQ(std::tuple(c.first_failing->n, c.first_failing->co, c.first_failing->j), std::tuple(0, 3, lout - 1))
      << "row by row";
  EXPECT_EQ(c.first_failing->got, 90);
  EXPECT_EQ(c.first_failing->expected, Setting::value(3, lout - 1));
  ASSERT_TRUE(c.worst);
  EXPECT_EQ(std::tuple(c.worst->n, c.worst->co, c.worst->j), std::tuple(0, 3, lout - 1));
  EXPECT_EQ(c.max_abs, 90 - Setting::value(3, lout - 1));
  EXPECT_NEAR(c.max_ratio, c.max_abs / c.worst->bound, 1e-9 * c.max_ratio);
  const auto& pl = c.places;
  EXPECT_EQ(pl.channel_wrong, (std::vector<int64_t>{1, 1, 0, 2}));
  EXPECT_EQ(pl.batch_wrong, (std::vector<int64_t>{1, 2, 1}));
  std::vector<int64_t> residues(3), totals(3);
  for (int64_t j : {int64_t{10}, int64_t{400}, int64_t{401}, lout - 1}) residues[static_cast<size_t>(j % 3)]++;
  for (int64_t j = 0; j < lout; j++) totals[static_cast<size_t>(j % 3)] += 12;
  EXPECT_EQ(pl.residue_wrong, residues);
  EXPECT_EQ(pl.residue_total, totals);
  for (size_t b = 0; b < Places::border; b++) {
    EXPECT_EQ(pl.left_wrong[b], b == 10) << b;
    EXPECT_EQ(pl.right_wrong[b], b == 0) << b;
  }
  EXPECT_EQ(pl.first_column, 10);
  EXPECT_EQ(pl.last_column, lout - 1);
}

TEST(Compare, KnowsWhichElementsNoTapReaches) {
  for (bool bias : {false, true}) {
    ConvProblem p{.out_channels = 2, .kernel_size = 1, .length = 10, .stride = 4, .bias = bias};
    Setting s(p);
    auto c =
        s.compare({{s.at(0, 0, 0), 9}, {s.at(0, 1, 4), 9}, {s.at(0, 1, 5), 9}, {s.at(0, 1, 6), 9}, {s.at(0, 0, 7), 9}});
    EXPECT_EQ(c.failing, 5);
    EXPECT_EQ(c.places.unreached_wrong, 3);
    EXPECT_EQ(c.places.unreached_total, structural_zeros(p));
  }
}

TEST(Compare, NaNNeverPasses) {
  for (auto dtype : {DType::f32, DType::f64})
    for (auto exactness : {Exactness::bound, Exactness::bitwise}) {
      auto p = plain;
      p.dtype = dtype;
      Setting s(p);
      CompareOptions o;
      o.exactness = exactness;
      o.gates = {{1e300, 1e300, 0}};
      auto c = s.compare({{100, nan}}, o);
      EXPECT_EQ(c.failing, 1);
      EXPECT_EQ(c.nan, 1);
      EXPECT_EQ(c.gates[0].failing, 1) << "the widest gate";
      EXPECT_EQ(c.max_ratio, infinity);
      EXPECT_EQ(c.max_abs, 0) << "of finite errors";
      ASSERT_TRUE(c.worst && c.first_failing);
      EXPECT_TRUE(std::isnan(c.worst->got));
      c = s.compare({{100, infinity}, {101, -infinity}}, o);
      EXPECT_EQ(c.failing, 2);
      EXPECT_EQ(c.inf, 2);
      EXPECT_EQ(c.nan, 0);
      EXPECT_EQ(c.gates[0].failing, 2);
      EXPECT_EQ(c.max_ratio, infinity);
    }
}

TEST(Compare, TellsUnwrittenFromNaN) {
  for (auto dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    auto p = plain;
    p.dtype = dtype;
    Setting s(p);
    // Through double a NaN may lose its payload: the bits are put there themselves.
    auto y = make_tensor(dtype, s.right.shape, [&](auto* out, int64_t n) {
      using T = std::remove_pointer_t<decltype(out)>;
      for (int64_t e = 0; e < n; e++) out[e] = static_cast<T>(s.right.at(e));
      out[5] = std::bit_cast<T>(static_cast<BitsOf<T>>(unwritten_bits(dtype)));
      out[6] = static_cast<T>(NAN);
    });
    EXPECT_TRUE(std::isnan(y.at(5)));
    CompareOptions o;
    o.unwritten_pattern = unwritten_bits(dtype);
    auto c = s.compare(y, o);
    EXPECT_EQ(std::tuple(c.failing, c.unwritten, c.nan), std::tuple(2, 1, 1));
    c = s.compare(y);
    EXPECT_EQ(std::tuple(c.failing, c.unwritten, c.nan), std::tuple(2, 0, 2)) << "without a pattern there is only NaN";
  }
}

TEST(Compare, GatesAddUpAndAreOnlyShown) {
  ConvProblem p{.out_channels = 1, .kernel_size = 1, .length = 4};
  test::MadeUpOracle oracle(
      p, [](int64_t, int64_t j) { return j == 3 ? 0.0 : 100.0; }, [](int64_t, int64_t) { return 0.0; });
  // Off by 1.005: more than rtol alone allows and more than atol alone allows, and less than both together.
  auto y = make_tensor(DType::f32, {1, 1, 4},
                       [](auto* out, int64_t) { out[0] = 101.005f, out[1] = 101.5f, out[2] = 100, out[3] = 0.0099f; });
  CompareOptions o;
  o.gates = {{1e-2, 1e-2, 7}, {1e-2, 0, 0}, {0, 1e-2, 0}};
  auto c = compare(p, oracle, {DType::f32, y.data(), 4}, o, nullptr);
  EXPECT_EQ(c.gates[0].failing, 1);
  EXPECT_EQ(c.gates[1].failing, 2);
  EXPECT_EQ(c.gates[2].failing, 3);
  EXPECT_EQ(c.failing, 3);
}

TEST(Compare, BitwiseAllowsOneValueOnly) {
  Setting s(plain);
  CompareOptions o;
  o.exactness = Exactness::bitwise;
  auto near = [&](int64_t e) { return static_cast<double>(std::nextafter(static_cast<float>(s.right.at(e)), 1e9f)); };
  EXPECT_EQ(s.compare(s.right, o).failing, 0);
  EXPECT_EQ(s.compare({{9, near(9)}}, o).failing, 1);
  EXPECT_EQ(s.compare({{9, near(9)}}).failing, 0) << "which the bound lets pass";
  ConvProblem p{.kernel_size = 1, .length = 2};
  test::MadeUpOracle zeros(
      p, [](int64_t, int64_t) { return 0.0; }, [](int64_t, int64_t) { return 0.0; });
  auto y = make_tensor(DType::f32, {1, 1, 2}, [](auto* out, int64_t) { out[0] = 0, out[1] = -0.0f; });
  EXPECT_EQ(compare(p, zeros, {DType::f32, y.data(), 2}, o, nullptr).failing, 0) << "zero has two signs";
}

TEST(Compare, JudgesTheOverlapOfAnotherLength) {
  Setting s(plain);
  int64_t lout = plain.out_length();
  for (int64_t own : {lout - 5, lout + 5}) {
    auto y = make_tensor(DType::f32, {3, 4, own}, [&](auto* out, int64_t n) {
      for (int64_t e = 0; e < n; e++)
        out[e] = static_cast<std::remove_pointer_t<decltype(out)>>(Setting::value(e / own, e % own));
      out[own - 6] = 1000;
    });
    auto c = s.compare(y);
    EXPECT_EQ(c.elements, 12 * std::min(own, lout));
    EXPECT_EQ(c.failing, 1);
    EXPECT_EQ(c.first_failing->j, own - 6);
    EXPECT_EQ(c.places.right_wrong[static_cast<size_t>(std::min(own, lout) - 1 - (own - 6))], 1)
        << "from the end of the overlap";
  }
  for (int64_t own : {int64_t{0}, int64_t{-3}}) {
    auto c = convscope::compare(s.p, s.oracle, {DType::f32, nullptr, own}, {}, nullptr);
    EXPECT_EQ(c.elements, 0);
  }
}

TEST(Compare, FillsItsSinks) {
  Setting s(plain);
  auto n = static_cast<size_t>(plain.y_elements());
  auto y = test::changed(s.right, {{7, 500}, {8, nan}, {9, infinity}});
  std::vector<float> error(n, -1), ratio(n, -1), error_only(n, -1), ratio_only(n, -1);
  CompareOptions o;
  o.sink = {error.data(), ratio.data()};
  auto c = s.compare(y, o);
  EXPECT_EQ(error[7], static_cast<float>(Setting::value(0, 7))) << "the smaller of error and expected value is kept";
  EXPECT_NEAR(-ratio[7], c.max_abs / c.first_failing->bound, -1e-6 * ratio[7]) << "and a negative ratio says which";
  EXPECT_EQ(error[8], static_cast<float>(Setting::value(0, 8))) << "the expected value stands in for the error";
  EXPECT_FALSE(ratio[8] <= 1);
  EXPECT_EQ(error[9], static_cast<float>(Setting::value(0, 9)));
  EXPECT_FALSE(ratio[9] <= 1);
  for (size_t e = 10; e < n; e++) ASSERT_EQ(std::pair(error[e], ratio[e]), std::pair(0.0f, 0.0f));
  // Either is left out where it is not wanted.
  o.sink = {error_only.data(), nullptr};
  s.compare(y, o);
  o.sink = {nullptr, ratio_only.data()};
  s.compare(y, o);
  EXPECT_EQ(error_only[7], static_cast<float>(500 - Setting::value(0, 7)));
  EXPECT_EQ(ratio_only[7], -ratio[7]);
  error_only[7] = error[7];
  EXPECT_EQ(error_only, error);
  EXPECT_EQ(std::vector(ratio_only.begin() + 9, ratio_only.end()), std::vector(ratio.begin() + 9, ratio.end()));
}

// A failing element must be failing in the picture too, however little it is beyond its bound.
TEST(Compare, BarelyFailingIsFailingInTheSinkToo) {
  ConvProblem p{.kernel_size = 1, .length = 3};
  double bound_of_1 = BoundModel(DType::f32, Accuracy::strict).bound(1, 1, 0);
  auto magnitude = [&](int64_t, int64_t j) { return 1 / bound_of_1 * (j == 0 ? 1 - 1e-10 : j == 1 ? 1 + 1e-10 : 0.5); };
  test::MadeUpOracle oracle(
      p, [](int64_t, int64_t) { return 0.0; }, magnitude);
  auto y = make_tensor(DType::f32, {1, 1, 3}, [](auto* out, int64_t) { out[0] = out[1] = out[2] = 1; });
  float ratio[3];
  CompareOptions o;
  o.sink.ratio = ratio;
  auto c = compare(p, oracle, {DType::f32, y.data(), 3}, o, nullptr);
  EXPECT_EQ(c.failing, 2);
  EXPECT_GT(ratio[0], 1);
  EXPECT_LE(ratio[1], 1);
  EXPECT_GT(ratio[2], 1);
}

TEST(Compare, CanBeCancelled) {
  Setting s(plain);
  Activity activity;
  activity.cancel();
  EXPECT_THROW(convscope::compare(s.p, s.oracle, {DType::f32, s.right.data(), plain.out_length()}, {}, &activity),
               Cancelled);
}

// Larger than the blocks and pieces it is taken in: the same counts as a plain loop.
TEST(Compare, CountsAlikeWhateverThePieces) {
  BoundModel model(DType::f32, Accuracy::strict);
  for (const ConvProblem& p : {ConvProblem{.out_channels = 2, .kernel_size = 3, .length = 3000000, .stride = 2},
                               ConvProblem{.batch = 300, .out_channels = 300, .kernel_size = 1, .length = 50}}) {
    Setting s(p);
    std::vector<std::pair<int64_t, double>> changes;
    test::Random r(20);
    for (int i = 0; i < 500; i++) changes.push_back({test::between(r, 0, p.y_elements() - 1), 1e6 + i});
    auto y = test::changed(s.right, changes);
    int64_t failing = 0, first = -1, worst = 0;
    double worst_ratio = 0;
    auto terms = term_counts(p, 0, p.out_length());
    for (int64_t e = 0; e < p.y_elements(); e++)
      if (y.at(e) >= 1e6) {
        failing++;
        if (first < 0) first = e;
        int64_t j = e % p.out_length();
        double value = Setting::value(e / p.out_length(), j);
        double ratio = std::fabs(y.at(e) - value) / model.bound(10000, terms[static_cast<size_t>(j)], value);
        if (ratio > worst_ratio) worst_ratio = ratio, worst = e;
      }
    auto c = s.compare(y);
    EXPECT_EQ(c.elements, p.y_elements());
    EXPECT_EQ(c.failing, failing);
    EXPECT_EQ(s.at(c.first_failing->n, c.first_failing->co, c.first_failing->j), first);
    EXPECT_EQ(s.at(c.worst->n, c.worst->co, c.worst->j), worst);
    int64_t by_channel = 0, by_batch = 0;
    for (int64_t v : c.places.channel_wrong) by_channel += v;
    for (int64_t v : c.places.batch_wrong) by_batch += v;
    EXPECT_EQ(by_channel, failing);
    EXPECT_EQ(by_batch, failing);
  }
}

}  // namespace
}  // namespace convscope
