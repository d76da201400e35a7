// Ranges of colours that somebody sets: by an end, by both, by halves; and what is no range.
#include "app/model/colour_range.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "tests/convolution.h"

namespace convscope {
namespace {

constexpr ColourScale all_scales[] = {ColourScale::values, ColourScale::error, ColourScale::ratio};

ColourRange first_range(ColourScale scale) {
  return scale == ColourScale::values ? ColourRange{-1, 3} : up_to(scale, scale == ColourScale::error ? 0.5 : 1e4);
}

TEST(ColourRange, AnEndOfValuesMovesAlone) {
  const ColourRange r{-1, 3};
  EXPECT_EQ(dragged(ColourScale::values, r, ScaleEnd::low, 0.25), (ColourRange{0, 3}));
  EXPECT_EQ(dragged(ColourScale::values, r, ScaleEnd::low, -0.25), (ColourRange{-2, 3}));
  EXPECT_EQ(dragged(ColourScale::values, r, ScaleEnd::high, -0.5), (ColourRange{-1, 1}));
  // The colours go with the hand: what was at the left end lies further right then.
  EXPECT_EQ(dragged(ColourScale::values, r, ScaleEnd::whole, 0.25), (ColourRange{-2, 2}));
}

TEST(ColourRange, SymmetricScalesKeepTheirMiddle) {
  const ColourRange error = first_range(ColourScale::error), ratio = first_range(ColourScale::ratio);
  EXPECT_EQ(dragged(ColourScale::error, error, ScaleEnd::high, -0.25), (ColourRange{-0.25, 0.25}));
  EXPECT_EQ(dragged(ColourScale::error, error, ScaleEnd::low, 0.25), (ColourRange{-0.25, 0.25}));
  const ColourRange closer = dragged(ColourScale::ratio, ratio, ScaleEnd::high, -0.25);
  EXPECT_NEAR(closer.high, 100, 1e-9);
  EXPECT_NEAR(closer.low, 0.01, 1e-12);
  for (ColourScale scale : {ColourScale::error, ColourScale::ratio})
    EXPECT_EQ(dragged(scale, first_range(scale), ScaleEnd::whole, 0.3), first_range(scale));
}

// Whatever is dragged how far: it stays a scale.
TEST(ColourRange, NeverTurnsOver) {
  test::Random r(4);
  for (ColourScale scale : all_scales) {
    ColourRange now = first_range(scale);
    for (int i = 0; i < 3000; i++) {
      const double by = (static_cast<double>(r() % 2001) - 1000) / 250;
      now = r() % 4 ? dragged(scale, now, static_cast<ScaleEnd>(r() % 3), by) : stretched(scale, now, std::exp2(by));
      ASSERT_EQ(broken_rule(scale, now), "") << static_cast<int>(scale) << ": " << now.low << " " << now.high;
    }
  }
}

TEST(ColourRange, HalvesAreAroundZeroOrTheMiddle) {
  EXPECT_EQ(stretched(ColourScale::values, {-1, 3}, 0.5), (ColourRange{-0.5, 1.5}));
  EXPECT_EQ(stretched(ColourScale::values, {10, 14}, 0.5), (ColourRange{11, 13})) << "0 is not on it";
  EXPECT_EQ(stretched(ColourScale::error, {-1, 1}, 2), (ColourRange{-2, 2}));
  EXPECT_NEAR(stretched(ColourScale::ratio, {1e-4, 1e4}, 0.5).high, 100, 1e-9);
  for (ColourScale scale : {ColourScale::values, ColourScale::error})
    EXPECT_EQ(stretched(scale, stretched(scale, first_range(scale), 0.5), 2), first_range(scale));
  const ColourRange widest{-1e300, 1e300};
  EXPECT_EQ(stretched(ColourScale::values, widest, 2), widest) << "there is no more";
}

TEST(ColourRange, WhatIsNoneIsNamed) {
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (ColourScale scale : all_scales) {
    EXPECT_EQ(broken_rule(scale, first_range(scale)), "");
    EXPECT_NE(broken_rule(scale, {2, 1}).find("must go up"), std::string::npos);
    EXPECT_NE(broken_rule(scale, {1, 1}).find("must go up"), std::string::npos);
    EXPECT_NE(broken_rule(scale, {0, inf}).find("must be two finite numbers"), std::string::npos);
    EXPECT_NE(broken_rule(scale, {nan, 1}).find("must be two finite numbers"), std::string::npos);
    EXPECT_NE(broken_rule(scale, {-1e305, 1e305}), "");
  }
  EXPECT_NE(broken_rule(ColourScale::error, {-1, 2}).find("symmetric around 0"), std::string::npos);
  for (const ColourRange& r : {ColourRange{-2, 2}, {0.1, 100}, {0.99, 1 / 0.99}})
    EXPECT_NE(broken_rule(ColourScale::ratio, r).find("symmetric around 1"), std::string::npos) << r.high;
  EXPECT_EQ(broken_rule(ColourScale::ratio, up_to(ColourScale::ratio, 1.12)), "") << "as its words say";
}

}  // namespace
}  // namespace convscope
