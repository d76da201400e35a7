// Each rung against the definition, on problems that have everything.
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

#include "kernels/problem/counts.h"
#include "kernels/problem/presets.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/registry.h"
#include "tests/convolution.h"

namespace convscope {
namespace {

// Those that promise full accuracy, or all that the emulator can run.
std::vector<const KernelDefinition*> rungs(bool also_less_accurate = false) {
  std::vector<const KernelDefinition*> out;
  auto device = open_emulator();
  for (const auto* k : all_kernels())
    if (k->kind() == KernelKind::ladder && device->unavailable(*k).empty() &&
        (also_less_accurate || k->accuracy() == "strict"))
      out.push_back(k);
  return out;
}

// All rungs on one problem; how many took it.
int compare(const ConvProblem& p, test::Random& r) {
  auto t = test::random_tensors(r, p);
  auto expected = test::expected_result(p, t);
  int ran = 0;
  for (const auto* k : rungs()) {
    if (!k->unsupported(p).empty()) continue;
    EXPECT_EQ(test::first_wrong(p, t, expected, test::run_kernel(*k, p, t, static_cast<uint32_t>(r() % 2 ? r() : 0))),
              "")
        << k->name();
    ran++;
  }
  return ran;
}

TEST(Ladder, HasItsRungs) { EXPECT_GE(rungs().size(), 4u); }

TEST(Ladder, IsRightOnRandomProblems) {
  test::Random r(40);
  int depthwise = 0, grouped = 0, with_op = 0, with_bias = 0, doubles = 0, long_filter = 0, wide_stride = 0, beyond = 0,
      tiny = 0;
  for (int i = 0; i < 150; i++) {
    auto p = test::random_problem(r);
    EXPECT_GE(compare(p, r), 4);
    if (HasFailure()) return;
    depthwise += p.groups > 1 && p.groups == p.in_channels && p.groups == p.out_channels;
    grouped += p.groups > 1;
    with_op += p.output_padding > 0;
    with_bias += p.bias;
    doubles += p.dtype == DType::f64;
    long_filter += p.kernel_size > 20;
    wide_stride += p.stride > p.out_length();
    beyond += p.kernel_size * p.dilation > 4 * p.length;
    tiny += p.length <= 2;
  }
  // All that was meant to come up did.
  EXPECT_GE(depthwise, 5);
  EXPECT_GE(grouped, 30);
  EXPECT_GE(with_op, 20);
  EXPECT_GE(with_bias, 40);
  EXPECT_GE(doubles, 25);
  EXPECT_GE(long_filter, 5);
  EXPECT_GE(wide_stride, 2);
  EXPECT_GE(beyond, 20);
  EXPECT_GE(tiny, 15);
}

TEST(Ladder, IsRightInSixteenBits) {
  test::Random r(44);
  int of_f16 = 0, rungs_that_ran = 0;
  for (int i = 0; i < 120; i++) {
    auto p = test::random_problem(r, {.halves = true});
    int ran = compare(p, r);
    EXPECT_GE(ran, 5) << describe(p);
    if (HasFailure()) return;
    of_f16 += p.dtype == DType::f16, rungs_that_ran += ran;
  }
  EXPECT_GE(of_f16, 40);
  EXPECT_LE(of_f16, 80);
  EXPECT_GE(rungs_that_ran, 600);
}

// Rows that begin at every place of a 16-byte piece, and lengths around a tile.
TEST(Ladder, IsRightAtEveryAlignmentOfSixteenBits) {
  test::Random r(45);
  for (int64_t length : {1, 7, 8, 9, 15, 16, 250, 256, 257, 264})
    for (int64_t stride : {1, 2}) {
      ConvProblem p{
          .batch = 2, .in_channels = 9, .out_channels = 17, .kernel_size = 5, .length = length, .stride = stride};
      p.padding = 2, p.dilation = stride == 1 ? 3 : 1, p.bias = length % 2;
      p.dtype = length % 3 ? DType::f16 : DType::bf16;
      EXPECT_GE(compare(p, r), 5) << describe(p);
    }
}

ConvProblem problem(int64_t n, int64_t cin, int64_t cout, int64_t k, int64_t l, int64_t s, int64_t p, int64_t op,
                    int64_t d, int64_t g, bool bias, DType type = DType::f32) {
  ConvProblem q;
  q.batch = n, q.in_channels = cin, q.out_channels = cout, q.kernel_size = k, q.length = l, q.stride = s, q.padding = p;
  q.output_padding = op, q.dilation = d, q.groups = g, q.bias = bias, q.dtype = type;
  return q;
}

TEST(Ladder, IsRightAtTheEdgesOfItsTiles) {
  test::Random r(41);
  const ConvProblem problems[] = {
      problem(1, 1, 1, 1, 1, 1, 0, 0, 1, 1, false),                // the smallest
      problem(1, 1, 1, 1, 1, 1, 0, 0, 1, 1, true, DType::f64),     //
      problem(1, 2, 3, 3, 256, 1, 1, 0, 1, 1, false),              // exactly one tile of 256 positions
      problem(1, 2, 3, 3, 257, 1, 1, 0, 1, 1, false),              // one more
      problem(1, 2, 3, 4, 255, 2, 1, 0, 1, 1, true),               //
      problem(2, 8, 8, 3, 300, 1, 0, 0, 1, 1, false),              // exactly 8 channels in and out
      problem(2, 9, 9, 3, 40, 1, 0, 0, 1, 1, true),                // one more
      problem(1, 16, 17, 5, 33, 3, 2, 1, 1, 1, true, DType::f64),  //
      problem(1, 2, 2, 32, 70, 1, 3, 0, 1, 1, false),              // exactly one round of 32 taps
      problem(1, 2, 2, 33, 70, 1, 3, 0, 1, 1, false),              // two rounds
      problem(1, 2, 2, 70, 70, 2, 60, 1, 1, 1, true, DType::f64),  //
      problem(1, 2, 2, 5, 900, 1, 0, 0, 64, 1, false),             // a halo of exactly 256
      problem(1, 2, 2, 6, 900, 1, 0, 0, 64, 1, false),             // taps that need a second round
      problem(1, 2, 2, 3, 900, 1, 300, 0, 256, 1, false),          // two taps a round
      problem(1, 2, 2, 3, 900, 1, 300, 0, 257, 1, true),           // one tap a round
      problem(1, 1, 2, 4, 10, 1, 5000, 0, 4000, 1, false),         // taps much farther apart than the input is long
      problem(1, 2, 2, 3, 5, 300, 0, 299, 1, 1, true),             // nearly everything is bias
      problem(1, 2, 2, 2, 1, 1000, 0, 999, 1, 1, true),            // one position, stride beyond everything
      problem(2, 6, 6, 7, 50, 6, 5, 3, 4, 6, true),                // depthwise, gcd 2
      problem(1, 4, 8, 9, 40, 12, 20, 11, 9, 2, false),            // gcd 3
      problem(1, 3, 3, 9, 6, 2, 9, 0, 1, 1, true),                 // as much padding as there can be
      problem(3, 2, 2, 3, 2, 1, 1, 0, 1, 2, true, DType::f64),     //
  };
  for (const auto& p : problems) {
    ASSERT_FALSE(check(p)) << describe(p);
    EXPECT_GE(compare(p, r), 4);
  }
}

TEST(Ladder, IsRightOnTheSmallBenchmarks) {
  test::Random r(42);
  for (const char* name : {"kernelbench-64-small", "kernelbench-74-small", "kernelbench-79-small"}) {
    auto p = find_preset(name).problem;
    p.in_channels = std::min<int64_t>(p.in_channels, 16), p.out_channels = 24,
    p.length /= 4;  // the same arithmetic, less of it
    EXPECT_GE(compare(p, r), 4);
  }
}

// Small integers are exact in float and in TF32, so the result must be exact too: this finds an error of one tap in any
// sum.
TEST(Ladder, IsExactOnIntegers) {
  test::Random r(43);
  for (int i = 0; i < 25; i++) {
    auto p = test::random_problem(r);
    auto t = test::integer_tensors(r, p);
    auto expected = test::expected_result(p, t);
    for (const auto* k : rungs(true)) {
      if (!k->unsupported(p).empty()) continue;
      auto got = test::run_kernel(*k, p, t);
      for (int64_t e = 0; e < got.elements(); e++)
        ASSERT_EQ(got.at(e), static_cast<double>(expected.y[static_cast<size_t>(e)]))
            << k->name() << " on " << describe(p);
    }
  }
}

// ---- does this test see what it must? ------------------------------------------------------------------------------

TEST(LadderControl, OneDroppedTapIsSeen) {
  test::Random r(44);
  for (auto type : {DType::f32, DType::f64}) {
    auto p = problem(1, 32, 2, 16, 60, 1, 0, 0, 1, 1, false, type);  // 512 terms
    auto t = test::random_tensors(r, p);
    auto expected = test::expected_result(p, t);
    auto with_change = [&](int64_t at, long double change) {
      return make_tensor(p.dtype, {1, 2, p.out_length()}, [&](auto* out, int64_t n) {
        for (int64_t e = 0; e < n; e++)
          out[e] = static_cast<std::remove_pointer_t<decltype(out)>>(
              static_cast<double>(expected.y[static_cast<size_t>(e)] + (e == at ? change : 0)));
      });
    };
    EXPECT_EQ(test::first_wrong(p, t, expected, with_change(0, 0)), "") << "rounded once, it is right";
    int64_t j = 30, i = 20, k = 10, ci = 7;
    long double product =
        static_cast<long double>(t.x.at(ci * p.length + i)) * static_cast<long double>(t.w.at(ci * 2 * 16 + k));
    EXPECT_NE(test::first_wrong(p, t, expected, with_change(j, -product)), "");
  }
}

TEST(LadderControl, NaNUnwrittenAndBiasAreSeen) {
  test::Random r(45);
  auto p = problem(1, 2, 2, 2, 5, 4, 0, 0, 1, 1, true);
  auto t = test::random_tensors(r, p);
  auto expected = test::expected_result(p, t);
  auto right = [&](int64_t at, float value) {
    return make_tensor(p.dtype, {1, 2, p.out_length()}, [&](auto* out, int64_t n) {
      for (int64_t e = 0; e < n; e++)
        out[e] = static_cast<std::remove_pointer_t<decltype(out)>>(
            e == at ? value : static_cast<float>(expected.y[static_cast<size_t>(e)]));
    });
  };
  EXPECT_EQ(test::first_wrong(p, t, expected, right(-1, 0)), "");
  EXPECT_NE(test::first_wrong(p, t, expected, right(3, std::nanf(""))), "");
  // Position 2 has no tap: it must be the bias itself, to the last bit.
  ASSERT_EQ(taps_reaching(p, 2), 0);
  EXPECT_NE(test::first_wrong(p, t, expected, right(2, std::nextafter(t.b.span<float>()[0], 2.0f))), "");
}

TEST(LadderControl, SpecimensFailWhereTheyMust) {
  test::Random r(46);
  auto p = find_preset("kernelbench-79-small").problem;
  p.in_channels = 4, p.out_channels = 2, p.length = 200;
  auto t = test::random_tensors(r, p);
  auto expected = test::expected_result(p, t);
  for (const char* name : {"S0", "S4"}) {
    auto got = test::run_kernel(find_kernel(name), p, t);
    EXPECT_NE(test::first_wrong(p, t, expected, got), "") << name;
    if (std::string(name) != "S4") continue;
    // Ghost taps: every even output, no odd one.
    for (int64_t e = 0; e < got.elements(); e++) {
      bool odd = e % p.out_length() % 2;
      EXPECT_EQ(std::fabs(got.at(e) - static_cast<double>(expected.y[static_cast<size_t>(e)])) < 1e-5, odd);
    }
  }
  p.stride = p.dilation = 1, p.padding = 0;
  t = test::random_tensors(r, p);
  expected = test::expected_result(p, t);
  for (const char* name : {"S0", "S1", "S2", "S3", "S4"})
    EXPECT_EQ(test::first_wrong(p, t, expected, test::run_kernel(find_kernel(name), p, t)), "")
        << name << " is right where stride, padding and dilation hide its error";
}

}  // namespace
}  // namespace convscope
