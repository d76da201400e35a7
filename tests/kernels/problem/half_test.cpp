// The host's f16 and bf16 against their definition: every bit pattern, every tie between two numbers, and what happens
// at both ends of the range.
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

#include "kernels/problem/dtype.h"

namespace convscope {
namespace {

struct Format {
  int exponent_bits, fraction_bits;
};
template <class T>
constexpr Format format_of = {5, 10};
template <>
constexpr Format format_of<__nv_bfloat16> = {8, 7};

// The value of a bit pattern by IEEE 754, 3.4.
double value_of(uint16_t bits, Format f) {
  int exponent = bits >> f.fraction_bits & ((1 << f.exponent_bits) - 1), bias = (1 << (f.exponent_bits - 1)) - 1;
  double fraction = bits & ((1 << f.fraction_bits) - 1), sign = bits & 0x8000 ? -1 : 1;
  if (exponent == (1 << f.exponent_bits) - 1) return fraction != 0 ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - f.fraction_bits);
  return sign * std::ldexp(1 + std::ldexp(fraction, -f.fraction_bits), exponent - bias);
}

template <class T>
T from_bits(int bits) {
  return std::bit_cast<T>(static_cast<uint16_t>(bits));
}
template <class T>
int bits_of(T v) {
  return std::bit_cast<uint16_t>(v);
}

// How many of the 65,536 patterns do not come through widen and narrow as they should.
template <class T, class Widen, class Narrow>
int wrong_patterns(Widen widen, Narrow narrow) {
  int wrong = 0;
  for (int bits = 0; bits < 65536; bits++) {
    float wide = widen(from_bits<T>(bits));
    double right = value_of(static_cast<uint16_t>(bits), format_of<T>);
    if (std::isnan(right))
      wrong += !std::isnan(wide) || bits_of<T>(narrow(wide)) != 0x7fff;
    else
      wrong += static_cast<double>(wide) != right || std::signbit(wide) != std::signbit(right) ||
               bits_of<T>(narrow(wide)) != bits;
  }
  return wrong;
}

// How many numbers at, just below and just above the middle of each two neighbours are rounded wrong: of floats, and of
// doubles, which must not be rounded to float first.
template <class T, class Narrow>
int wrong_roundings(Narrow narrow) {
  constexpr int infinity = ((1 << format_of<T>.exponent_bits) - 1) << format_of<T>.fraction_bits;
  int wrong = 0;
  for (int low = 0; low < infinity; low++) {
    double a = value_of(static_cast<uint16_t>(low), format_of<T>),
           step = value_of(static_cast<uint16_t>(low + 1), format_of<T>) - a,
           middle =
               std::isinf(step) ? a + (a - value_of(static_cast<uint16_t>(low - 1), format_of<T>)) / 2 : a + step / 2;
    int even = low % 2 ? low + 1 : low;
    auto expect = [&](auto v, int right) {
      wrong += bits_of<T>(narrow(v)) != right;
      wrong += bits_of<T>(narrow(-v)) != (right | 0x8000);
    };
    expect(middle, even);
    expect(std::nextafter(middle, 0.0), low);
    expect(std::nextafter(middle, INFINITY), low + 1);
    auto single = static_cast<float>(middle);
    if (single != middle) continue;  // below the smallest float
    expect(single, even);
    if (single > 0) expect(std::nextafter(single, 0.0f), low);
    expect(std::nextafter(single, INFINITY), low + 1);
  }
  return wrong;
}

template <class T>
class Half : public testing::Test {};
using Types = testing::Types<__half, __nv_bfloat16>;
TYPED_TEST_SUITE(Half, Types);

TYPED_TEST(Half, EveryPatternComesBack) {
  auto widen = [](TypeParam v) { return static_cast<float>(v); };
  EXPECT_EQ(wrong_patterns<TypeParam>(widen, [](float v) { return TypeParam(v); }), 0);
  EXPECT_EQ(wrong_patterns<TypeParam>(widen, [](double v) { return TypeParam(v); }), 0);
}

TYPED_TEST(Half, EveryTieGoesToEven) {
  EXPECT_EQ(wrong_roundings<TypeParam>([](auto v) { return TypeParam(v); }), 0);
}

// The same checks see what is wrong: numbers cut off, doubles rounded twice, subnormals flushed.
TYPED_TEST(Half, ChecksSeeFaults) {
  auto cut = [](float v) {
    TypeParam r(v);
    return std::fabs(static_cast<float>(r)) > std::fabs(v) ? from_bits<TypeParam>(bits_of(r) - 1) : r;
  };
  EXPECT_GT(wrong_roundings<TypeParam>(cut), 10000);
  EXPECT_GT(wrong_roundings<TypeParam>([](auto v) { return TypeParam(static_cast<float>(v)); }), 10000);
  auto flushed = [](TypeParam v) {
    float f = v;
    return std::fabs(f) <
                   (sizeof(format_of<TypeParam>) && format_of<TypeParam>.exponent_bits == 5 ? 0x1p-14f : 0x1p-126f)
               ? std::copysign(0.0f, f)
               : f;
  };
  EXPECT_GT(wrong_patterns<TypeParam>(flushed, [](float v) { return TypeParam(v); }), 200);
}

TYPED_TEST(Half, ArithmeticRoundsOnce) {
  std::mt19937 r(5);
  auto any = [&] { return from_bits<TypeParam>(static_cast<int>(r() & 0xffff)); };
  int tried = 0, double_rounded = 0;
  for (int i = 0; i < 300000; i++) {
    TypeParam a = any(), b = any(), c = any();
    auto x = static_cast<long double>(static_cast<float>(a)), y = static_cast<long double>(static_cast<float>(b)),
         z = static_cast<long double>(static_cast<float>(c));
    if (!std::isfinite(x) || !std::isfinite(y) || !std::isfinite(z) || y == 0) continue;
    tried++;
    // A sum, product or quotient of two has few enough bits that long double's rounding harms nothing.
    EXPECT_EQ(bits_of(a + b), bits_of(TypeParam(static_cast<double>(x) + static_cast<double>(y))));
    EXPECT_EQ(bits_of(a * b), bits_of(TypeParam(static_cast<double>(x) * static_cast<double>(y))));
    EXPECT_EQ(bits_of(a / b), bits_of(TypeParam(static_cast<double>(x) / static_cast<double>(y))));
    // x·y + z in integers of the last bit that any of them has, where that fits.
    int ex = 0, ez = 0;
    std::frexp(x * y, &ex), std::frexp(z, &ez);
    if (std::abs(ex - ez) > 30) continue;
    EXPECT_EQ(bits_of(__hfma(a, b, c)), bits_of(TypeParam(static_cast<double>(x * y + z))))
        << x << " " << y << " " << z;
    double_rounded += bits_of(__hfma(a, b, c)) != bits_of(a * b + c);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(tried, 200000);
  EXPECT_GT(double_rounded, 100) << "a fused product is another one";
}

TEST(Half, HasTheFieldsNames) {
  EXPECT_EQ(__half2float(__float2half(0.1f)), 0.0999755859375f);
  EXPECT_EQ(__bfloat162float(__float2bfloat16(0.1f)), 0.10009765625f);
  EXPECT_EQ(__half_as_ushort(__float2half_rn(65520.0f)), 0x7c00) << "halfway beyond the largest is infinite";
  EXPECT_EQ(__half_as_ushort(__float2half_rn(65519.996f)), 0x7bff);
  EXPECT_EQ(__bfloat16_as_ushort(__double2bfloat16(-0.0)), 0x8000);
  __half2 pair = __floats2half2_rn(1, -2);
  EXPECT_EQ(__low2float(pair), 1);
  EXPECT_EQ(__high2float(pair), -2);
  EXPECT_TRUE(__hisnan(__ushort_as_half(0x7ffd)));
  EXPECT_EQ(static_cast<float>(__half(2049)), 2048) << "from an integer";
}

TEST(Half, RoundingByType) {
  EXPECT_EQ(rounded_to(DType::f16, 1 + 0x1p-11), 1);
  EXPECT_EQ(rounded_to(DType::f16, 1 + 0x1p-11 + 0x1p-40), 1 + 0x1p-10);
  EXPECT_EQ(rounded_to(DType::bf16, 257), 256);
  EXPECT_EQ(rounded_to(DType::f32, 0x1p24 + 1), 0x1p24);
  EXPECT_EQ(rounded_to(DType::f64, 0.1), 0.1);
  for (const auto& t : dtype_table) {
    EXPECT_EQ(rounded_to(t.dtype, t.largest), t.largest) << t.name;
    EXPECT_EQ(rounded_to(t.dtype, t.smallest), t.smallest) << t.name;
    EXPECT_EQ(rounded_to(t.dtype, 1 + t.unit_roundoff), 1) << t.name;
    dispatch(t.dtype, [&](auto zero) {
      using Limits = std::numeric_limits<decltype(zero)>;
      EXPECT_EQ(static_cast<double>(Limits::max()), t.largest) << t.name;
      EXPECT_EQ(static_cast<double>(Limits::denorm_min()), t.smallest) << t.name;
      EXPECT_EQ(static_cast<double>(Limits::epsilon()), 2 * t.unit_roundoff) << t.name;
      EXPECT_TRUE(std::isinf(Limits::infinity()) && std::isnan(Limits::quiet_NaN())) << t.name;
    });
    EXPECT_EQ(t.size, dispatch(t.dtype, [](auto zero) { return sizeof zero; })) << t.name;
  }
}

}  // namespace
}  // namespace convscope
