#include "../../../kernels/ladder/phases.h"

#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <random>

#include "../../../kernels/ladder/divisor.h"

namespace {

TEST(Phases, FindTheTapsOfEveryClass) {
  for (int64_t s = 1; s <= 40; s++)
    for (int64_t d = 1; d <= 40; d++) {
      ConvProblem p;
      p.stride = s, p.dilation = d;
      Phases f = phases_of(p);
      ASSERT_EQ(f.gcd, std::gcd(s, d));
      ASSERT_EQ(f.period, s / f.gcd);
      ASSERT_EQ(f.back, d / f.gcd);
      ASSERT_GE(f.inverse, 0);
      ASSERT_LT(f.inverse, f.period);
      for (int64_t r = 0; r < s; r++) {
        int64_t first = -1;  // the first tap that reaches outputs with (j + p) mod s = r
        for (int64_t k = 0; k < s && first < 0; k++)
          if (k * d % s == r) first = k;
        ASSERT_EQ(first >= 0, r % f.gcd == 0);
        if (first < 0) continue;
        ASSERT_EQ((r / f.gcd) * f.inverse % f.period, first) << s << " " << d << " " << r;
        ASSERT_EQ((first + f.period) * d % s, r) << "the next tap of the class";
        ASSERT_EQ(f.period * d / s, f.back) << "and how much further left it reads";
      }
    }
}

TEST(Phases, LargeNumbersDoNotOverflow) {
  const int64_t values[] = {1, 2, 3, 65536, 2147483646, 2147483647, 1999999973};
  for (int64_t s : values)
    for (int64_t d : values) {
      ConvProblem p;
      p.stride = s, p.dilation = d;
      Phases f = phases_of(p);
      ASSERT_EQ(f.gcd, std::gcd(s, d));
      if (f.period > 1) {
        ASSERT_EQ(static_cast<int64_t>(static_cast<__int128>(f.back) * f.inverse % f.period), 1) << s << " " << d;
      } else {
        ASSERT_EQ(f.inverse, 0);
      }
    }
}

TEST(Divisor, IsIntegerDivision) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  std::mt19937 random(5);
  auto check = [&](int64_t by) {
    const Divisor d = divisor_of(by);
    auto is_right = [&](int64_t n) {
      if (n < 0 || n > most) return;
      ASSERT_EQ(d.of(static_cast<int>(n)), n / by) << n << " / " << by;
    };
    for (int64_t q : {int64_t{0}, int64_t{1}, int64_t{2}, int64_t{77}, most / by - 1, most / by})
      for (int64_t n = q * by - 1; n <= q * by + 1; n++) is_right(n);
    for (int i = 0; i < 20; i++) is_right(random() & most);
    is_right(most);
  };
  for (int64_t by = 1; by <= 3000; by++) check(by);
  for (int bit = 11; bit < 31; bit++)
    for (int64_t by = (int64_t{1} << bit) - 2; by <= (int64_t{1} << bit) + 2; by++) check(by);
  for (int i = 0; i < 3000; i++) check(1 + random() % most);
  check(most);
}

}  // namespace
