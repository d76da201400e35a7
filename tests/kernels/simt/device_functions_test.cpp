// The arithmetic of the device language, against its definition.
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

#include "convscope/simt.h"

namespace {

const float infinity = std::numeric_limits<float>::infinity();
const float nan = std::numeric_limits<float>::quiet_NaN();

TEST(DeviceFunctions, MinAndMaxOfIntegers) {
  EXPECT_EQ(min(3, -4), -4);
  EXPECT_EQ(max(3, -4), 3);
  EXPECT_EQ(min(5, 5), 5);
  // Mixed types: the common type decides, as in CUDA's headers.
  static_assert(std::is_same_v<decltype(min(1, 2ll)), long long>);
  static_assert(std::is_same_v<decltype(max(1, 2u)), unsigned>);
  static_assert(std::is_same_v<decltype(min(1.0f, 2.0)), double>);
  EXPECT_EQ(max(-1, 2u), 0xffffffffu);
  EXPECT_EQ(min(-1, 2u), 2u);
  EXPECT_EQ(min(int64_t{1} << 40, 7), 7);
  EXPECT_EQ(max(int64_t{1} << 40, 7), int64_t{1} << 40);
  static_assert(min(1, 2) == 1 && max(1, 2) == 2);
}

TEST(DeviceFunctions, MinAndMaxOfFloatsPassOverNaN) {
  // On the GPU they are fminf and fmaxf: the operand that is a number wins, on either side.
  EXPECT_EQ(min(1.0f, nan), 1.0f);
  EXPECT_EQ(min(nan, 1.0f), 1.0f);
  EXPECT_EQ(max(1.0f, nan), 1.0f);
  EXPECT_EQ(max(nan, 1.0f), 1.0f);
  EXPECT_EQ(min(double{nan}, 1.0), 1.0);
  EXPECT_EQ(max(nan, 1), 1.0f);
  EXPECT_TRUE(std::isnan(min(nan, nan)));
  EXPECT_EQ(min(-infinity, 3.0f), -infinity);
  EXPECT_EQ(max(infinity, 3.0f), infinity);
  EXPECT_EQ(max(0.5f, 2), 2.0f);
}

TEST(DeviceFunctions, Bits) {
  std::mt19937 r(1);
  for (int i = 0; i < 2000; i++) {
    unsigned v = r() >> r() % 32;
    int ones = 0, leading = 0, first = 0;
    unsigned reversed = 0;
    for (int b = 0; b < 32; b++) {
      ones += v >> b & 1;
      reversed |= (v >> b & 1) << (31 - b);
    }
    while (leading < 32 && !(v >> (31 - leading) & 1)) leading++;
    while (first < 32 && !(v >> first & 1)) first++;
    EXPECT_EQ(__popc(v), ones);
    EXPECT_EQ(__clz(static_cast<int>(v)), leading);
    EXPECT_EQ(__ffs(static_cast<int>(v)), first == 32 ? 0 : first + 1);
    EXPECT_EQ(__brev(v), reversed);
    unsigned w = r();
    EXPECT_EQ(__umulhi(v, w), static_cast<unsigned>(static_cast<unsigned __int128>(v) * w / (uint64_t{1} << 32)));
    EXPECT_EQ(__float_as_uint(__uint_as_float(v & 0x7f7fffff)), v & 0x7f7fffff);
    EXPECT_EQ(__float_as_int(__int_as_float(static_cast<int>(v & 0x7f7fffff))), static_cast<int>(v & 0x7f7fffff));
  }
  EXPECT_EQ(__clz(0), 32);
  EXPECT_EQ(__ffs(0), 0);
  EXPECT_EQ(__ffs(std::numeric_limits<int>::min()), 32);
  EXPECT_EQ(__float_as_uint(1.0f), 0x3f800000u);
  EXPECT_EQ(__uint_as_float(0x40490fdbu), 3.14159274f);
}

TEST(DeviceFunctions, RoundedArithmetic) {
  float a = 1 + 0x1p-12f;
  EXPECT_EQ(__fmul_rn(a, a), 1 + 0x1p-11f) << "the product alone loses its last bit";
  EXPECT_EQ(__fmaf_rn(a, a, -(1 + 0x1p-11f)), 0x1p-24f) << "fused: one rounding";
  EXPECT_EQ(__fadd_rn(__fmul_rn(a, a), -(1 + 0x1p-11f)), 0.0f) << "not fused by the compiler";
  EXPECT_EQ(__fadd_rn(1.0f, 0x1p-24f), 1.0f);
  EXPECT_EQ(__fdividef(1.0f, 4.0f), 0.25f);
  EXPECT_NEAR(rsqrtf(2.0f), 0.70710678f, 1e-7);
  EXPECT_EQ(fma(2.0, 3.0, 4.0), 10.0);
  EXPECT_EQ(sqrt(9.0f), 3.0f);
  EXPECT_EQ(abs(-2.5f), 2.5f);
  EXPECT_EQ(fmax(nan, 2.0f), 2.0f);
}

TEST(DeviceFunctions, FencesAndSleepsAreThere) {
  __threadfence();
  __threadfence_block();
  __threadfence_system();
  __nanosleep(100);
  EXPECT_EQ(warpSize, 32);
}

}  // namespace
