// The bound lets honest arithmetic pass and nothing else: a dropped tap among 6400 terms, TF32 and bfloat16 passed off
// as f32, f32 passed off as f64, zeros, NaN, and results that hide in a tolerance.
#include "kernels/verify/accuracy.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

#include "kernels/problem/counts.h"
#include "kernels/runtime/registry.h"
#include "kernels/verify/probe_inputs.h"
#include "tests/kernels/verify/judging.h"

namespace convscope {
namespace {

using test::Product;
using test::Tensors;

// WaveGAN's first layer with few output channels: 6400 terms, sometimes 7168, in the middle of a row.
const ConvProblem wavegan{.in_channels = 1024,
                          .out_channels = 3,
                          .kernel_size = 25,
                          .length = 12,
                          .stride = 4,
                          .padding = 11,
                          .output_padding = 1};

Tensors drawn(const ConvProblem& p, InputKind x, InputKind w = InputKind::initial, uint64_t seed = 42) {
  InputSpec spec;
  spec.x.kind = x, spec.w.kind = w, spec.seed = seed;
  return test::tensors_of(make_inputs(p, spec));
}

Comparison against_oracle(const ConvProblem& p, const Tensors& t, const HostTensor& y,
                          Accuracy accuracy = Accuracy::strict) {
  CompareOptions o;
  o.accuracy = accuracy;
  return test::compared(p, t, y, o);
}

Comparison bitwise(const ConvProblem& p, const Tensors& t, const HostTensor& y) {
  CompareOptions o;
  o.exactness = Exactness::bitwise;
  return test::compared(p, t, y, o);
}

TEST(Bound, IsTheFormulaOfItsComment) {
  double u = 0x1p-24, magnitude = 3.5, oracle = -1.25;
  BoundModel strict(DType::f32, Accuracy::strict), tf32(DType::f32, Accuracy::tf32),
      three(DType::f32, Accuracy::tf32x3);
  EXPECT_DOUBLE_EQ(strict.bound(magnitude, 6400, oracle), 4 * 80 * u * magnitude + u * 1.25);
  EXPECT_DOUBLE_EQ(tf32.bound(magnitude, 6400, oracle), (4 * 80 * u + 2 * 0x1p-10) * magnitude + u * 1.25);
  EXPECT_GT(three.bound(magnitude, 6400, oracle), strict.bound(magnitude, 6400, oracle));
  EXPECT_LT(three.bound(magnitude, 6400, oracle), 1.05 * strict.bound(magnitude, 6400, oracle));
  EXPECT_DOUBLE_EQ(BoundModel(DType::f64, Accuracy::strict).bound(magnitude, 100, oracle),
                   0x1p-53 * (40 * magnitude + 2 * 1.25));
  // No term: nothing but the smallest number, so that a zero must be a zero.
  EXPECT_EQ(strict.bound(0, 0, 0), 0x1p-149);
}

// Four orders of summation, products rounded and fused.
std::vector<HostTensor> honest_sums(const ConvProblem& p, const Tensors& t) {
  std::vector<std::vector<std::pair<float, float>>> products(static_cast<size_t>(p.y_elements()));
  test::computed(p, t, [&](const Product& q) {
    products[static_cast<size_t>((q.n * p.out_channels + q.co) * p.out_length() + q.j)].push_back(
        {static_cast<float>(q.x), static_cast<float>(q.w)});
    return 0.0;
  });
  std::function<float(const std::vector<std::pair<float, float>>&)> orders[] = {
      [](const auto& list) {
        float s = 0;
        for (auto [a, b] : list) s += a * b;
        return s;
      },
      [](const auto& list) {
        float s = 0;
        for (auto it = list.rbegin(); it != list.rend(); ++it) s = std::fma(it->first, it->second, s);
        return s;
      },
      [](const auto& list) {  // 32 partial sums, as a warp makes them
        float s[32] = {}, all = 0;
        for (size_t i = 0; i < list.size(); i++) s[i % 32] += list[i].first * list[i].second;
        for (float v : s) all += v;
        return all;
      },
      [](auto list) {  // the worst order for terms of one sign and many of mixed signs: by size, largest first
        std::sort(list.begin(), list.end(),
                  [](auto a, auto b) { return std::fabs(a.first * a.second) > std::fabs(b.first * b.second); });
        float s = 0;
        for (auto [a, b] : list) s += a * b;
        return s;
      }};
  std::vector<HostTensor> results;
  for (const auto& order : orders)
    results.push_back(make_tensor(DType::f32, {p.batch, p.out_channels, p.out_length()}, [&](auto* y, int64_t n) {
      for (int64_t e = 0; e < n; e++)
        y[e] = static_cast<std::remove_pointer_t<decltype(y)>>(order(products[static_cast<size_t>(e)]));
    }));
  return results;
}

TEST(Bound, HonestSumsStayWellWithin) {
  for (auto kind : {InputKind::random, InputKind::signed_uniform, InputKind::wide, InputKind::ramp})
    for (auto weights : {InputKind::initial, InputKind::random, InputKind::wide}) {
      auto t = drawn(wavegan, kind, weights);
      for (const auto& y : honest_sums(wavegan, t)) {
        auto c = against_oracle(wavegan, t, y);
        EXPECT_EQ(c.failing, 0);
        EXPECT_LT(c.max_ratio, 0.5) << "half of the bound is a long way for an honest sum";
        EXPECT_LT(c.rms_ratio, rms_limit / 1.5);
        EXPECT_GT(c.max_ratio, 0) << "and it is no exact one";
      }
    }
}

TEST(Bound, HonestSumsOfFewTermsStayWithin) {
  test::Random r(10);
  double worst = 0;
  for (int i = 0; i < 300; i++) {
    auto p = test::random_problem(r);
    auto t = test::random_tensors(r, p);
    auto c = against_oracle(p, t, test::computed_in_type(p, t));
    ASSERT_EQ(c.failing, 0) << describe(p);
    ASSERT_LT(c.rms_ratio, rms_limit) << describe(p);
    worst = std::max(worst, c.max_ratio);
  }
  EXPECT_GT(worst, 0.1);
}

// ---- one dropped tap ------------------------------------------------------------------------------------------------

struct Drop {
  int64_t co, j, ci;
  size_t tap;
};

// Elements with 6400 terms or more, and which product each loses.
std::vector<Drop> drops(test::Random& r, int count) {
  std::vector<int64_t> full;
  for (int64_t j = 0; j < wavegan.out_length(); j++)
    if (taps_reaching(wavegan, j) * wavegan.in_channels >= 6144) full.push_back(j);
  std::vector<Drop> list;
  for (int i = 0; i < count; i++)
    list.push_back({test::between(r, 0, wavegan.out_channels - 1), full[r() % full.size()],
                    test::between(r, 0, wavegan.in_channels - 1), static_cast<size_t>(r() % 6)});
  return list;
}

double product_of(const Tensors& t, const Drop& d) {
  const auto& p = wavegan;
  auto tap = taps_at(p, d.j)[d.tap];
  return t.x.at(d.ci * p.length + tap.i) * t.w.at((d.ci * p.out_channels + d.co) * p.kernel_size + tap.k);
}
int64_t element_of(const Drop& d) { return d.co * wavegan.out_length() + d.j; }

TEST(DroppedTap, IsAlwaysFoundByTheExactPass) {
  test::Random r(11);
  auto in = exact_inputs(wavegan, 5);
  ASSERT_TRUE(in);
  auto t = test::tensors_of(*in);
  auto right = test::computed_in_type(wavegan, t);
  EXPECT_EQ(bitwise(wavegan, t, right).failing, 0) << "any order is exact";
  EXPECT_EQ(bitwise(wavegan, t, honest_sums(wavegan, t)[3]).failing, 0);
  for (const auto& d : drops(r, 200)) {
    auto c = bitwise(wavegan, t, test::changed(right, {{element_of(d), right.at(element_of(d)) - product_of(t, d)}}));
    ASSERT_EQ(c.failing, 1) << "a dropped product is never zero";
    ASSERT_EQ(c.first_failing->co, d.co);
    ASSERT_EQ(c.first_failing->j, d.j);
  }
}

TEST(DroppedTap, IsMostlyFoundByTheBoundAndHardlyByTheWorstCase) {
  test::Random r(12);
  auto t = drawn(wavegan, InputKind::random);
  auto right = test::computed_in_type(wavegan, t);
  auto terms = term_counts(wavegan, 0, wavegan.out_length());
  auto oracle = make_cpu_oracle(wavegan, test::inputs_of(t));
  int found = 0, by_worst_case = 0, count = 300;
  for (const auto& d : drops(r, count)) {
    double got = static_cast<float>(right.at(element_of(d)) - product_of(t, d)), value, magnitude;
    oracle->compute({d.co, 1, d.j, 1}, &value, &magnitude);
    auto n = terms[static_cast<size_t>(d.j)];
    ASSERT_GE(n, 6144);
    auto c = against_oracle(wavegan, t, test::changed(right, {{element_of(d), got}}));
    ASSERT_LE(c.failing, 1);
    found += c.failing == 1;
    by_worst_case += std::fabs(got - value) > static_cast<double>(n) * 0x1p-24 * magnitude;
  }
  EXPECT_GT(found, count * 3 / 4);
  EXPECT_LT(by_worst_case, count / 4) << "which is why the bound is not n·u·Σ|x·w|";
}

// ---- less precise than asked ----------------------------------------------------------------------------------------

HostTensor with_rounded(const ConvProblem& p, const Tensors& t, float (*x)(float), float (*w)(float)) {
  // Summed in double: no error but that of the inputs.
  return test::computed(p, t, [=](const Product& q) {
    return static_cast<double>(x(static_cast<float>(q.x))) * static_cast<double>(w(static_cast<float>(q.w)));
  });
}
float as_it_is(float v) { return v; }

TEST(Precision, Tf32IsNotStrictAndIsTf32) {
  for (auto round : {test::rounded_to_tf32, test::cut_to_tf32}) {
    for (auto kind : {InputKind::random, InputKind::signed_uniform}) {
      auto t = drawn(wavegan, kind);
      auto y = with_rounded(wavegan, t, round, round);
      auto strict = against_oracle(wavegan, t, y);
      EXPECT_GT(strict.rms_ratio, rms_limit) << "by the mean over all elements, even where none fails alone";
      auto allowed = against_oracle(wavegan, t, y, Accuracy::tf32);
      EXPECT_EQ(allowed.failing, 0);
      EXPECT_LT(allowed.max_ratio, 1);
    }
    auto probe = precision_inputs(wavegan, 6, 13, false);
    ASSERT_TRUE(probe);
    auto t = test::tensors_of(*probe);
    EXPECT_EQ(bitwise(wavegan, t, test::computed_in_type(wavegan, t)).failing, 0);
    EXPECT_GT(bitwise(wavegan, t, with_rounded(wavegan, t, round, round)).failing, wavegan.y_elements() * 9 / 10);
    EXPECT_GT(bitwise(wavegan, t, with_rounded(wavegan, t, as_it_is, round)).failing, wavegan.y_elements() * 9 / 10);
    EXPECT_GT(bitwise(wavegan, t, with_rounded(wavegan, t, round, as_it_is)).failing, wavegan.y_elements() * 9 / 10);
  }
}

TEST(Precision, Bfloat16FailsStrictAndTf32) {
  auto t = drawn(wavegan, InputKind::random);
  auto y = with_rounded(wavegan, t, as_it_is, test::rounded_to_bf16);
  auto c = against_oracle(wavegan, t, y);
  EXPECT_GT(c.failing, c.elements / 2);
  EXPECT_GT(c.rms_ratio, 1) << "ten times what may be";
  // TF32's bound is one of its inputs at their worst, so the mean of bfloat16's errors stays below it; integers of
  // TF32's own width tell them apart.
  auto probe = precision_inputs(wavegan, 6, 11, false);
  ASSERT_TRUE(probe);
  auto wide = test::tensors_of(*probe);
  for (auto round : {test::rounded_to_tf32, test::cut_to_tf32})
    EXPECT_EQ(bitwise(wavegan, wide, with_rounded(wavegan, wide, round, round)).failing, 0)
        << "11 bits are exact in TF32";
  EXPECT_GT(bitwise(wavegan, wide, with_rounded(wavegan, wide, as_it_is, test::rounded_to_bf16)).failing,
            wavegan.y_elements() * 9 / 10);
  EXPECT_GT(bitwise(wavegan, wide, with_rounded(wavegan, wide, test::rounded_to_bf16, as_it_is)).failing,
            wavegan.y_elements() * 9 / 10);
}

TEST(Precision, FloatIsNotDouble) {
  ConvProblem p{.in_channels = 16,
                .out_channels = 3,
                .kernel_size = 5,
                .length = 60,
                .stride = 2,
                .bias = true,
                .dtype = DType::f64};
  auto t = drawn(p, InputKind::random);
  EXPECT_EQ(against_oracle(p, t, test::computed_in_type(p, t)).failing, 0);
  auto in_float =
      test::computed(p, t, [](const Product& q) { return static_cast<float>(q.x) * static_cast<float>(q.w); });
  auto c = against_oracle(p, t, in_float);
  EXPECT_EQ(c.failing, c.elements);
  EXPECT_GT(c.max_ratio, 1e6);
  EXPECT_EQ(c.gates[1].failing, 0) << "and the usual gate sees nothing";
  auto probe = precision_inputs(p, 7, 27, false);
  ASSERT_TRUE(probe);
  auto wide = test::tensors_of(*probe);
  EXPECT_EQ(bitwise(p, wide, test::computed_in_type(p, wide)).failing, 0);
  auto rounded =
      test::computed(p, wide, [](const Product& q) { return static_cast<double>(static_cast<float>(q.x)) * q.w; });
  EXPECT_GT(bitwise(p, wide, rounded).failing, p.y_elements() * 8 / 10);
}

// ---- what gates let pass --------------------------------------------------------------------------------------------

TEST(Gates, DoNotDecide) {
  // Weights so small that zeros are within every tolerance.
  ConvProblem p{.in_channels = 4, .out_channels = 3, .kernel_size = 3, .length = 50, .stride = 2};
  test::Random r(13);
  auto t = test::random_tensors(r, p);
  t.w = make_tensor(p.dtype, t.w.shape, [&](auto* w, int64_t n) {
    for (int64_t e = 0; e < n; e++) w[e] = static_cast<std::remove_pointer_t<decltype(w)>>(1e-5 * t.w.at(e));
  });
  auto zeros = make_tensor(p.dtype, {1, 3, p.out_length()}, [](auto* y, int64_t n) { std::fill(y, y + n, 0); });
  auto c = against_oracle(p, t, zeros);
  ASSERT_EQ(c.gates.size(), 2u);
  EXPECT_EQ(c.gates[0].failing, 0);
  EXPECT_EQ(c.gates[1].failing, 0);
  EXPECT_EQ(c.failing, c.elements);
  EXPECT_NEAR(c.rms_relative, 1, 1e-12) << "everything is lost";

  // And one so tight that TF32 fails it where TF32 is allowed.
  auto reals = drawn(wavegan, InputKind::random);
  CompareOptions o;
  o.accuracy = Accuracy::tf32;
  o.gates = {{1e-6, 1e-6, 0}};
  c = test::compared(wavegan, reals, with_rounded(wavegan, reals, test::rounded_to_tf32, test::rounded_to_tf32), o);
  EXPECT_GT(c.gates[0].failing, c.elements / 2);
  EXPECT_EQ(c.failing, 0);
}

TEST(Accuracy, EveryKernelPromisesOneThatIsKnown) {
  for (const auto* k : all_kernels()) EXPECT_TRUE(accuracy_from(k->accuracy())) << k->name() << " " << k->accuracy();
  EXPECT_EQ(find_kernel("mma_tf32").accuracy(), "tf32");
  EXPECT_EQ(find_kernel("mma_3xtf32").accuracy(), "3xtf32");
  EXPECT_EQ(find_kernel("registers").accuracy(), "strict");
}

}  // namespace
}  // namespace convscope
