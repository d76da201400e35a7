// Where an output is wrong: borders, pieces of rows, stretches.
#include <gtest/gtest.h>

#include "tests/kernels/verify/pattern_signal.h"

namespace convscope {
namespace {

using test::has;
using test::Signal;

TEST(Pattern, Borders) {
  for (int64_t length : {40, 400, 3000}) {
    ConvProblem q{.batch = 2, .in_channels = 2, .out_channels = 3, .kernel_size = 3, .length = length};
    Signal s(q);
    int64_t last = q.out_length() - 1;
    auto wrong_at = [&](auto hit) {
      return s.find([&, hit](int64_t r, int64_t j) { return hit(j) ? s.value(r, j) + 1 : s.value(r, j); }).where;
    };
    EXPECT_TRUE(has(wrong_at([](int64_t j) { return j == 0; }), "only at the border: position 0"));
    EXPECT_TRUE(has(wrong_at([](int64_t j) { return j < 3; }), "only at the border: positions 0–2"));
    EXPECT_TRUE(has(wrong_at([=](int64_t j) { return j == last; }), "only at the border: the last position"));
    EXPECT_TRUE(has(wrong_at([=](int64_t j) { return j < 2 || j > last - 4; }),
                    "only at the border: positions 0–1 and the last 4 positions"));
    EXPECT_FALSE(has(wrong_at([=](int64_t j) { return j < 2 || j == last / 2; }), "border"));
    EXPECT_FALSE(has(wrong_at([](int64_t) { return true; }), "border"));
  }
}

// Of fewer than a tenth, and more than are looked at as borders.
TEST(Pattern, PiecesOfRows) {
  ConvProblem q{.batch = 2, .in_channels = 2, .out_channels = 3, .kernel_size = 3, .length = 3000};
  Signal s(q);
  const int64_t end = q.out_length();
  auto wrong_at = [&](auto hit) {
    return s
        .find([&, hit](int64_t r, int64_t j) {
          return hit(r, j) ? s.value(r, j) + static_cast<double>(1 + j % 3) : s.value(r, j);
        })
        .where;
  };
  EXPECT_TRUE(has(wrong_at([=](int64_t, int64_t j) { return j >= end - 100; }), "only the last 100 positions"));
  EXPECT_TRUE(has(wrong_at([](int64_t, int64_t j) { return j < 100; }), "only the first 100 positions"));
  EXPECT_TRUE(has(wrong_at([](int64_t, int64_t j) { return j >= 500 && j < 600; }), "only positions 500–599"));
  EXPECT_TRUE(
      has(wrong_at([=](int64_t r, int64_t j) { return r % 3 == 1 && j >= end - 100; }), "only the last 100 positions"))
      << "of a channel";
  EXPECT_FALSE(has(wrong_at([](int64_t, int64_t j) { return j >= 500 && j < 600 && j % 3; }), "only positions"));
}

TEST(Pattern, Stretches) {
  ConvProblem q{.in_channels = 2, .out_channels = 3, .kernel_size = 3, .length = 600};
  Signal s(q);
  auto wrong_at = [&](auto hit) {
    return s
        .find([&, hit](int64_t r, int64_t j) {
          return hit(j) ? s.value(r, j) + static_cast<double>(1 + j % 3) : s.value(r, j);
        })
        .where;
  };
  EXPECT_TRUE(has(wrong_at([](int64_t j) { return j >= 64; }), "from position 64 on"));
  EXPECT_TRUE(has(wrong_at([](int64_t j) { return j < 300; }), "up to position 299"));
  EXPECT_TRUE(
      has(wrong_at([](int64_t j) { return j >= 64 && j < 300; }), "from position 64 on and up to position 299"));
  EXPECT_FALSE(has(wrong_at([](int64_t) { return true; }), "position"));
}

}  // namespace
}  // namespace convscope
