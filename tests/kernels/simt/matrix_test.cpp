// Tensor-core products against plain matrix products, and the rounding to TF32 against its definition.
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "convscope/half.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/registry.h"
#include "tests/convolution.h"
#include "tests/kernels/simt/test_entries.h"
#include "tests/support.h"

namespace convscope {
namespace {

using test::launch_entry;
using test::planned_launch;

void compare_products(const char* kernel, int n, bool dirty_low_bits) {
  test::Random r(70);
  for (uint32_t seed = 0; seed < 20; seed++) {
    // Whole numbers: exact in TF32 and in every order of sums.
    std::vector<unsigned> a(16 * 8), b(static_cast<size_t>(8 * 8 * n));
    std::vector<float> d(static_cast<size_t>(16 * 8 * n));
    auto draw = [&] { return static_cast<float>(test::between(r, -1000, 1000)); };
    auto bits = [&] { return std::bit_cast<unsigned>(draw()); };
    for (auto& v : a) v = bits();
    for (auto& v : b) v = bits();
    for (auto& v : d) v = draw();
    auto want = d;
    for (size_t i = 0; i < 16; i++)
      for (size_t j = 0; j < static_cast<size_t>(8 * n); j++)
        for (size_t k = 0; k < 8; k++)
          want[i * static_cast<size_t>(8 * n) + j] +=
              std::bit_cast<float>(a[i * 8 + k]) * std::bit_cast<float>(b[k * static_cast<size_t>(8 * n) + j]);
    if (dirty_low_bits) {
      for (auto& v : a) v |= static_cast<unsigned>(r() & 0x1fff);
      for (auto& v : b) v |= static_cast<unsigned>(r() & 0x1fff);
    }
    launch_entry(planned_launch(kernel), {1}, {32}, 0, {.order_seed = seed}, a.data(), b.data(), d.data());
    ASSERT_EQ(d, want) << "seed " << seed;
  }
}

TEST(Matrix, OneProduct) { compare_products("multiply_1", 1, false); }
TEST(Matrix, FourProductsWithOneExchange) { compare_products("multiply_4", 4, false); }
TEST(Matrix, TheLowThirteenBitsAreIgnored) { compare_products("multiply_1", 1, true); }

TEST(Matrix, ProductsOfSixteenBits) {
  test::Random r(72);
  for (bool bf16 : {false, true})
    for (uint32_t seed = 0; seed < 20; seed++) {
      std::vector<uint16_t> a(16 * 16), b(16 * 8);
      std::vector<float> x(a.size()), w(b.size()), d(16 * 8);
      auto draw = [&] { return static_cast<float>(test::between(r, -200, 200)); };  // exact in both types
      auto fill = [&](std::vector<uint16_t>& bits, std::vector<float>& values) {
        for (size_t i = 0; i < bits.size(); i++)
          values[i] = draw(), bits[i] = bf16 ? halves::to_bf16(values[i]) : halves::to_f16(values[i]);
      };
      fill(a, x), fill(b, w);
      for (auto& v : d) v = draw();
      auto want = d;
      for (size_t i = 0; i < 16; i++)
        for (size_t j = 0; j < 8; j++)
          for (size_t k = 0; k < 16; k++) want[i * 8 + j] += x[i * 16 + k] * w[k * 8 + j];
      launch_entry(planned_launch(bf16 ? "multiply_bf16" : "multiply_f16"), {1}, {32}, 0, {.order_seed = seed},
                   a.data(), b.data(), d.data());
      ASSERT_EQ(d, want) << "seed " << seed;
    }
}

TEST(Matrix, ALaneThatEndedIsAFault) {
  std::vector<float> out(32);
  auto said =
      test::fault_of([&] { launch_entry(planned_launch("multiply_without_lane"), {1}, {32}, 0, {}, 5u, out.data()); });
  EXPECT_EQ(said, "kernel multiply_without_lane, block (0, 0, 0), thread (5, 0, 0), at tests/kernels/simt/matrix.cu:" +
                      std::to_string(test::line_of("tests/kernels/simt/matrix.cu", "// FAULT multiply_without_lane")) +
                      ": mma.sync with mask 0xffffffff names lane 5, which has ended");
}

std::vector<unsigned> rounded(std::vector<float> in) {
  in.resize((in.size() + 31) / 32 * 32);
  std::vector<unsigned> out(in.size());
  launch_entry(planned_launch("round_tf32"), {static_cast<int64_t>(in.size() / 32)}, {32}, 0, {}, in.data(),
               out.data());
  return out;
}

TEST(Tf32, RoundsToNearestTiesAway) {
  std::vector<float> in;
  std::mt19937 r(71);
  for (int i = 0; i < 20000; i++) {
    auto v = std::bit_cast<float>(static_cast<uint32_t>(r()));
    if (std::isfinite(v) && std::fabs(v) < 0x1p127f) in.push_back(v);
  }
  for (float tie : {1 + 0x1p-11f, 1 + 3 * 0x1p-11f, -1 - 0x1p-11f, 0.0f, -0.0f}) in.push_back(tie);
  auto out = rounded(in);
  for (size_t i = 0; i < in.size(); i++) {
    float got = std::bit_cast<float>(out[i]);
    ASSERT_EQ(out[i] & 0x1fff, 0u) << "ten bits of fraction are left";
    // The neighbours in TF32, and of two that are equally near the one away from zero.
    auto below = std::bit_cast<float>(std::bit_cast<uint32_t>(in[i]) & 0xffffe000u);
    auto above = std::bit_cast<float>((std::bit_cast<uint32_t>(in[i]) & 0xffffe000u) + 0x2000u);
    double to_below = std::fabs(double{in[i]} - double{below}), to_above = std::fabs(double{above} - double{in[i]});
    ASSERT_EQ(got, to_below < to_above ? below : above) << in[i];
    ASSERT_EQ(std::signbit(got), std::signbit(in[i]));
  }
}

TEST(Tf32, KeepsWhatIsNotFinite) {
  float infinity = std::numeric_limits<float>::infinity();
  auto out = rounded({infinity, -infinity, std::bit_cast<float>(0x7f800001u), std::bit_cast<float>(0xffffffffu),
                      std::bit_cast<float>(0x7fc00000u)});
  EXPECT_EQ(std::bit_cast<float>(out[0]), infinity);
  EXPECT_EQ(std::bit_cast<float>(out[1]), -infinity);
  for (size_t i : {2u, 3u, 4u}) {
    EXPECT_TRUE(std::isnan(std::bit_cast<float>(out[i])));
    EXPECT_EQ(out[i] & 0x1fff, 0u);
  }
}

TEST(Matrix, APlainArchitectureIsNoObstacle) {
  EXPECT_EQ(open_emulator()->unavailable(find_kernel("test_matrix")), "");
}

}  // namespace
}  // namespace convscope
