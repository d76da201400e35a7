// What a map asks for: whole elements when they are larger than a pixel, and never what is not there.
#include <cmath>
#include <gtest/gtest.h>

#include "app/ui/panels/map_tooltip.h"
#include "app/ui/panels/map_view.h"
#include "tests/convolution.h"

namespace convscope::ui {
namespace {

View window(double row0, double row1, double column0, double column1) {
  View v;
  v.row0 = row0, v.row1 = row1, v.column0 = column0, v.column1 = column1;
  return v;
}

TEST(TileWish, ElementsLargerThanAPixelAreWhole) {
  TileWish w = tile_wish("k", Quantity::ratio, window(1.25, 4.5, 10.5, 20.25), {8, 100}, 400, 300, {});
  EXPECT_EQ(w.key, "k");
  EXPECT_EQ(w.quantity, Quantity::ratio);
  EXPECT_EQ(w.row0, 1);
  EXPECT_EQ(w.row1, 5);
  EXPECT_EQ(w.height, 4);
  EXPECT_EQ(w.column0, 10);
  EXPECT_EQ(w.column1, 21);
  EXPECT_EQ(w.width, 11);
}

TEST(TileWish, SmallerOnesAreOneCellAPixel) {
  TileWish w = tile_wish("k", Quantity::output, window(0, 64, 100.5, 5000.25), {64, 8192}, 400, 300, {});
  EXPECT_EQ(w.column0, 100.5);
  EXPECT_EQ(w.column1, 5000.25);
  EXPECT_EQ(w.width, 400);
  EXPECT_EQ(w.height, 64) << "each axis for itself";
}

TEST(TileWish, AMovedWindowOfWholeElementsIsOftenTheSameWish) {
  TileWish a = tile_wish("k", Quantity::output, window(1.25, 4.5, 10.5, 20.25), {8, 100}, 400, 300, {});
  EXPECT_EQ(a, tile_wish("k", Quantity::output, window(1.75, 4.75, 10.25, 20.75), {8, 100}, 401, 299, {}));
}

TEST(TileWish, RandomWindows) {
  test::Random r(9);
  auto uniform = [&](double low, double high) { return low + (high - low) * static_cast<double>(r() % 1000001) / 1e6; };
  for (int i = 0; i < 50000; i++) {
    Extent e{std::floor(std::pow(10, uniform(0, 5))), std::floor(std::pow(10, uniform(0, 7)))};
    View v = r() % 8 ? fitted(window(uniform(-10, e.rows), uniform(-10, e.rows + 10), uniform(-10, e.columns),
                                     uniform(-10, e.columns + 10)),
                              e)
                     : fitted({}, e);
    auto px = static_cast<int>(test::between(r, -5, 5000)), py = static_cast<int>(test::between(r, -5, 5000));
    TileWish w = tile_wish("k", Quantity::error, v, e, px, py, {});
    ASSERT_GE(w.row0, 0);
    ASSERT_GE(w.column0, 0);
    ASSERT_LE(w.row1, e.rows);
    ASSERT_LE(w.column1, e.columns);
    ASSERT_LT(w.row0, w.row1);
    ASSERT_LT(w.column0, w.column1);
    ASSERT_GE(w.width, 1);
    ASSERT_GE(w.height, 1);
    ASSERT_LE(w.width, std::clamp(px, 1, 4096));
    ASSERT_LE(w.height, std::clamp(py, 1, 4096));
    // It shows at least the window.
    ASSERT_LE(w.row0, v.row0 + 1e-6 * e.rows);
    ASSERT_GE(w.row1, v.row1 - 1e-6 * e.rows);
    ASSERT_LE(w.column0, v.column0 + 1e-6 * e.columns);
    ASSERT_GE(w.column1, v.column1 - 1e-6 * e.columns);
    // One cell an element where the whole elements of the window have a pixel each, else one a pixel.
    double whole = std::min(e.columns, std::ceil(v.column1)) - std::max(0.0, std::floor(v.column0));
    if (whole <= std::clamp(px, 1, 4096)) {
      ASSERT_EQ(w.width, whole);
      ASSERT_EQ(w.column1 - w.column0, whole);
      ASSERT_EQ(w.column0, std::floor(w.column0));
    } else {
      ASSERT_EQ(w.width, std::clamp(px, 1, 4096));
    }
  }
}

// A cell has no number of an error where 0 is right: what it says of its elements does not deny those.
TEST(WordsOfBounds, LeaveOutWhatFailsWhereZeroIsRight) {
  const Cell failing{2, 44302, 44302, flag_failing}, mixed{0, 44302, 44302, flag_failing}, right{0, 0.5f, 0.5f, 0};
  EXPECT_EQ(words_of_bounds(failing, false, 18020, "the bound"), "2 to 44302 the bound");
  const std::string beyond = "2 to 44302 the bound; where 0 is right, beyond any";
  EXPECT_EQ(words_of_bounds(failing, false, HUGE_VAL, "the bound"), beyond) << "the one under the pointer is of those";
  EXPECT_EQ(words_of_bounds(failing, false, NAN, "the bound"), beyond);
  EXPECT_EQ(words_of_bounds(failing, true, 18020, "the bound"), beyond) << "its neighbours in the cell say the same";
  EXPECT_EQ(words_of_bounds(mixed, true, {}, "the bound"), "0 to 44302 the bound") << "zeros that are right";
  EXPECT_EQ(words_of_bounds(right, true, 0.25, "the bounds"), "0 to 0.5 the bounds");
}

}  // namespace
}  // namespace convscope::ui
