// Floats as scaled f16 numbers (hopper_scaled.h): of any size, and of sizes that differ, with all the bits that are
// promised, and with less where the file says so.
#include <cmath>
#include <gtest/gtest.h>
#include <string>
#include <type_traits>

#include "kernels/problem/conv_problem.h"
#include "kernels/runtime/registry.h"
#include "tests/accuracy_problems.h"

namespace convscope {
namespace {

constexpr const char* scaled_rungs[] = {"hopper_1xf16", "hopper_3xf16", "stream_1xf16", "stream_3xf16",
                                           "ordered_1xf16", "ordered_3xf16"};
bool three(const std::string& name) { return name.find("3xf16") != std::string::npos; }

ConvProblem layer() {
  return {.batch = 2,
          .in_channels = 75,
          .out_channels = 20,
          .kernel_size = 4,
          .length = 150,
          .stride = 2,
          .padding = 1,
          .bias = false};
}

// A tensor whose i-th value is multiplied by multiplier(i).
template <class F>
HostTensor multiplied(const HostTensor& t, F multiplier) {
  return make_tensor(DType::f32, t.shape, [&](auto* to, int64_t count) {
    using T = std::remove_pointer_t<decltype(to)>;
    for (int64_t i = 0; i < count; i++) to[i] = static_cast<T>(t.at(i) * multiplier(i));
  });
}
// The same of x: multiplier(channel, position).
template <class F>
void multiply_x(test::Tensors& t, const ConvProblem& p, F multiplier) {
  t.x = multiplied(t.x, [&](int64_t i) { return multiplier(i / p.length % p.in_channels, i % p.length); });
}

// The largest error of an output over what the magnitudes of its products add up to, in units of 2^-24.
double largest_error(const char* name, const ConvProblem& p, const test::Tensors& t) {
  const test::Expected expected = test::expected_result(p, t);
  const HostTensor got = test::run_kernel(find_kernel(name), p, t);
  double largest = 0;
  for (size_t i = 0; i < expected.y.size(); i++) {
    const double error = std::fabs(got.at(static_cast<int64_t>(i)) - static_cast<double>(expected.y[i]));
    if (!std::isfinite(error)) return HUGE_VAL;
    if (error > 0) largest = std::max(largest, error / static_cast<double>(expected.magnitude[i]) * 0x1p24);
  }
  return largest;
}
// What is allowed: of TF32 two roundings to 11 bits, of f32 a few units.
double allowed(const char* name) { return three(name) ? 8 : 2 * 0x1p12; }

TEST(Scaled, PowersOfTwoChangeNoBit) {
  const ConvProblem p = layer();
  test::Random random(1);
  const test::Tensors t = test::random_tensors(random, p);
  for (const char* name : scaled_rungs) {
    ASSERT_EQ(find_kernel(name).unsupported(p), "");
    const HostTensor once = test::run_kernel(find_kernel(name), p, t);
    for (auto [of_x, of_w] : {std::pair{40, 0}, {-40, 0}, {100, -90}, {-90, 80}, {0, 50}, {-50, -50}}) {
      test::Tensors scaled = t;
      scaled.x = multiplied(t.x, [&](int64_t) { return std::ldexp(1.0, of_x); });
      scaled.w = multiplied(t.w, [&](int64_t) { return std::ldexp(1.0, of_w); });
      const HostTensor got = test::run_kernel(find_kernel(name), p, scaled);
      for (int64_t i = 0; i < p.y_elements(); i++)
        ASSERT_EQ(got.at(i), std::ldexp(once.at(i), of_x + of_w)) << name << ", x by 2^" << of_x << ", w by 2^" << of_w;
    }
  }
}

// The scale is of the first 16 channels; it is lowered where later ones have larger values, also where all were zeros.
void expect_later_channels_of_any_size(const ConvProblem& p) {
  for (const char* name : scaled_rungs) {
    if (!find_kernel(name).unsupported(p).empty()) continue;
    test::Random random(2);
    const test::Tensors drawn = test::random_tensors(random, p);
    for (int by : {1, 6, 20, 60}) {
      test::Tensors t = drawn;
      multiply_x(t, p, [&](int64_t channel, int64_t) {
        return channel < 16 ? 1.0 : std::ldexp(1.0, by * static_cast<int>(channel / 32));
      });
      EXPECT_LE(largest_error(name, p, t), allowed(name)) << name << ", 2^" << by;
    }
    for (int by : {-80, 0, 80}) {
      test::Tensors t = drawn;
      multiply_x(
          t, p, [&](int64_t channel, int64_t at) { return channel < 40 || at % 50 < 25 ? 0.0 : std::ldexp(1.0, by); });
      EXPECT_LE(largest_error(name, p, t), allowed(name)) << name << ", zeros, then 2^" << by;
    }
  }
}
TEST(Scaled, LaterChannelsMayBeOfAnySize) {
  const ConvProblem p = layer();
  for (const char* name : scaled_rungs) EXPECT_EQ(find_kernel(name).unsupported(p), "");
  expect_later_channels_of_any_size(p);
}
// Where what was read is read again before a scale is lowered.
TEST(Scaled, LaterChannelsMayBeOfAnySizeForSevenShifts) {
  ConvProblem p = layer();
  p.kernel_size = 25, p.stride = 4, p.padding = 11;
  for (const char* name : {"stream_1xf16", "stream_3xf16"}) {
    ASSERT_EQ(find_kernel(name).unsupported(p), "");
    EXPECT_STREQ(find_kernel(name).plan_for(p).launches().back().entry.name, (std::string(name) + "_7").c_str());
  }
  expect_later_channels_of_any_size(p);
}

// Positions next to each other have one scale: what is softer than its neighbours keeps its bits down to 2^-25 of them,
// or 2^-15 with two halves.
TEST(Scaled, SoftPositionsBesideLoudOnesKeepTheirBits) {
  const ConvProblem p = layer();
  auto error = [&](const char* name, int softer) {
    test::Random random(3);
    test::Tensors t = test::random_tensors(random, p);
    multiply_x(t, p, [&](int64_t, int64_t at) { return std::ldexp(1.0, at % 12 < 6 ? 0 : -softer); });
    return largest_error(name, p, t);
  };
  for (const char* name : scaled_rungs) {
    for (int softer : {4, 10, three(name) ? 14 : 24})
      EXPECT_LE(error(name, softer), allowed(name)) << name << ", 2^-" << softer;
    // Would it be seen? Far beyond what is promised bits are lost.
    EXPECT_GT(error(name, 44), 4 * allowed(name)) << name;
  }
}

// The same of weights: those of one channel beside those of another.
TEST(Scaled, SmallWeightsKeepTheirBits) {
  const ConvProblem p = layer();
  auto error = [&](const char* name, int smaller) {
    test::Random random(4);
    test::Tensors t = test::random_tensors(random, p);
    t.w = multiplied(t.w,
                     [&](int64_t i) { return std::ldexp(1.0, i / p.kernel_size % p.out_channels % 2 ? -smaller : 0); });
    return largest_error(name, p, t);
  };
  for (const char* name : scaled_rungs) {
    for (int smaller : {4, 10, three(name) ? 14 : 26})
      EXPECT_LE(error(name, smaller), allowed(name)) << name << ", 2^-" << smaller;
    EXPECT_GT(error(name, 50), 4 * allowed(name)) << name;
  }
}

}  // namespace
}  // namespace convscope
