// Cells as colours: the ends of each map, the jump at the bound, and what is no number.
#include "app/model/paint.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <set>

namespace convscope {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
constexpr ColourMap maps[] = {ColourMap::viridis, ColourMap::cividis, ColourMap::diverging, ColourMap::excess};

struct Rgb {
  int r, g, b;
};
Rgb rgb(uint32_t c) {
  return {static_cast<int>(c & 255), static_cast<int>(c >> 8 & 255), static_cast<int>(c >> 16 & 255)};
}
// Of what the eye sees, 0…255.
double lightness(uint32_t c) {
  Rgb v = rgb(c);
  return 0.2126 * v.r + 0.7152 * v.g + 0.0722 * v.b;
}
double distance(uint32_t a, uint32_t b) {
  Rgb x = rgb(a), y = rgb(b);
  return std::hypot(x.r - y.r, x.g - y.g, x.b - y.b);
}

Cell cell(double v, uint32_t flags = 0) {
  auto f = static_cast<float>(v);
  return {f, f, f, flags};
}
// With no finite element.
Cell empty_cell(uint32_t flags) {
  return {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(), 0, flags};
}

uint32_t painted(const Cell& c, const Paint& paint) { return paint_cells(std::span(&c, 1), 1, paint)[0]; }

constexpr Paint excess{ColourMap::excess, 0, 1, false};

// ---- the maps -------------------------------------------------------------------------------------------------------

TEST(Colour, EndsOfThePublishedMaps) {
  // The first and last entries of matplotlib's tables.
  auto near = [](uint32_t c, Rgb e) {
    return std::abs(rgb(c).r - e.r) <= 2 && std::abs(rgb(c).g - e.g) <= 2 && std::abs(rgb(c).b - e.b) <= 2;
  };
  EXPECT_TRUE(near(colour(ColourMap::viridis, 0, false), {68, 1, 84}));
  EXPECT_TRUE(near(colour(ColourMap::viridis, 1, false), {253, 231, 37}));
  EXPECT_TRUE(near(colour(ColourMap::cividis, 0, false), {0, 34, 78}));
  EXPECT_TRUE(near(colour(ColourMap::cividis, 1, false), {254, 232, 56}));
}

TEST(Colour, OpaqueAndWithinForAnyNumber) {
  for (ColourMap m : maps)
    for (bool light : {false, true})
      for (double t : {-inf, -1.0, 0.0, 0.25, 0.5, 1.0, 2.0, 1e300, inf, nan})
        EXPECT_EQ(colour(m, t, light) >> 24, 255u);
  for (ColourMap m : maps) {
    EXPECT_EQ(colour(m, -3, false), colour(m, 0, false));
    EXPECT_EQ(colour(m, 7, false), colour(m, 1, false));
  }
}

TEST(Colour, ValuesRiseInLightness) {
  for (ColourMap m : {ColourMap::viridis, ColourMap::cividis})
    for (int i = 0; i < 100; i++)
      EXPECT_LE(lightness(colour(m, i / 100.0, false)), lightness(colour(m, (i + 1) / 100.0, false)) + 1) << i;
}

TEST(Colour, NoJumpBesideTheBound) {
  for (ColourMap m : maps)
    for (bool light : {false, true})
      for (int i = 0; i < 1000; i++) {
        if (m == ColourMap::excess && i == 500) continue;
        EXPECT_LT(distance(colour(m, i / 1000.0, light), colour(m, (i + 1) / 1000.0, light)), 4) << i;
      }
}

TEST(Colour, DivergingIsEvenOnBothSides) {
  for (bool light : {false, true}) {
    for (double d : {0.1, 0.25, 0.4, 0.5})
      EXPECT_NEAR(lightness(colour(ColourMap::diverging, 0.5 - d, light)),
                  lightness(colour(ColourMap::diverging, 0.5 + d, light)), 30);
    // Blue below, orange above.
    Rgb low = rgb(colour(ColourMap::diverging, 0.2, light)), high = rgb(colour(ColourMap::diverging, 0.8, light));
    EXPECT_GT(low.b, low.r);
    EXPECT_GT(high.r, high.b);
  }
}

// ---- the place of a value -------------------------------------------------------------------------------------------

TEST(Place, Linear) {
  Paint p{ColourMap::viridis, -2, 6, false};
  EXPECT_EQ(place_on(p, -2), 0);
  EXPECT_EQ(place_on(p, 2), 0.5);
  EXPECT_EQ(place_on(p, 6), 1);
  EXPECT_EQ(place_on(p, -100), 0);
  EXPECT_EQ(place_on(p, inf), 1);
  EXPECT_EQ(place_on(p, -inf), 0);
  // All values the same: the middle.
  EXPECT_EQ(place_on({ColourMap::viridis, 3, 3, false}, 3), 0.5);
}

TEST(Place, ExcessIsLogarithmicWithTheBoundInTheMiddle) {
  EXPECT_EQ(place_on(excess, 1), 0.5);
  EXPECT_NEAR(place_on(excess, 1e-4), 0, 1e-12);
  EXPECT_NEAR(place_on(excess, 1e4), 1, 1e-12);
  EXPECT_NEAR(place_on(excess, 0.1), 0.375, 1e-12);
  EXPECT_EQ(place_on(excess, 0), 0);
  EXPECT_EQ(place_on(excess, -10), place_on(excess, 10));
  EXPECT_EQ(place_on(excess, inf), 1);
  // However little beyond is beyond, and at the bound is within it.
  EXPECT_GT(place_on(excess, std::nextafter(1.0, 2.0)), 0.5);
  EXPECT_LE(place_on(excess, std::nextafter(1.0, 0.0)), 0.5);
}

TEST(Colour, JumpsAtTheBound) {
  for (bool light : {false, true}) {
    Paint p = excess;
    p.light_theme = light;
    uint32_t at = painted(cell(1), p), beyond = painted(cell(1.0000001, flag_failing), p), half = painted(cell(0.5), p);
    EXPECT_GT(distance(at, beyond), 100) << "a failing element is told from one at the bound";
    EXPECT_LT(distance(at, half), 40) << "a control: within the bound there is no such jump";
    EXPECT_GT(rgb(beyond).r - rgb(beyond).g, 60) << "red";
    EXPECT_LE(rgb(at).r, rgb(at).g) << "not red";
  }
}

// ---- cells ----------------------------------------------------------------------------------------------------------

TEST(PaintCells, FollowsTheMap) {
  Paint p{ColourMap::viridis, 0, 10, false};
  std::vector<Cell> cells;
  for (int i = 0; i <= 100; i++) cells.push_back(cell(i / 10.0));
  auto pixels = paint_cells(cells, 101, p);
  for (size_t i = 0; i <= 100; i++)
    EXPECT_LE(distance(pixels[i], colour(p.map, static_cast<double>(i) / 100, false)), 3);
  EXPECT_EQ(painted(cell(-5), p), colour(p.map, 0, false));
  EXPECT_EQ(painted(cell(1e30), p), colour(p.map, 1, false));
}

TEST(PaintCells, ACellShowsItsExtreme) {
  Paint p{ColourMap::diverging, -1, 1, false};
  Cell c{-1, 0.25f, -1, 0};
  EXPECT_EQ(painted(c, p), colour(p.map, 0, false));
}

// A failing cell is never painted as one within the bound, and the other way round.
TEST(PaintCells, TheFlagDecidesTheSide) {
  std::set<uint32_t> within, beyond;
  for (bool light : {false, true}) {
    Paint p = excess;
    p.light_theme = light;
    within.clear(), beyond.clear();
    for (double e = -12; e <= 12; e += 0.01) {
      within.insert(painted(cell(std::pow(10, std::min(e, 0.0))), p));
      beyond.insert(painted(cell(std::pow(10, e), flag_failing), p));
    }
    // What rounding to float has put on the wrong side of 1.
    within.insert(painted(cell(std::nextafter(1.0f, 2.0f)), p));
    for (uint32_t c : within) EXPECT_FALSE(beyond.count(c)) << std::hex << c;
  }
}

// Where no tap lands the bound is 0, and the ratio of what is wrong there infinite: not among the finite ones that a
// cell's extreme is taken from.
TEST(PaintCells, AnInfiniteRatioIsBeyondTheBound) {
  uint32_t most = colour(ColourMap::excess, 1, false);
  EXPECT_EQ(painted(cell(0, flag_failing | flag_inf), excess), most) << "among elements that are exact";
  EXPECT_EQ(painted(cell(0.5, flag_failing), excess), most);
  EXPECT_EQ(painted(empty_cell(flag_failing | flag_inf), excess), most) << "with no finite one";
  EXPECT_EQ(painted(empty_cell(flag_failing), excess), most);
  EXPECT_EQ(painted(cell(3, flag_failing | flag_inf), excess), painted(cell(3, flag_failing), excess));
  // Controls: without a failing element the same cells are within it.
  EXPECT_EQ(painted(cell(0), excess), colour(ColourMap::excess, 0, false));
  EXPECT_LE(distance(painted(cell(0.5), excess), colour(ColourMap::excess, place_on(excess, 0.5), false)), 3);
}

TEST(PaintCells, NanIsMagenta) {
  for (ColourMap m : maps) {
    Paint p{m, 0, 1, false};
    EXPECT_EQ(painted(cell(0.5, flag_nan | flag_failing), p), nan_colour);
    EXPECT_EQ(painted(empty_cell(flag_nan | flag_failing), p), nan_colour);
    EXPECT_EQ(painted(cell(0.5, flag_nan | flag_inf | flag_unwritten | flag_failing), p), nan_colour)
        << "it is the worst";
    for (int i = 0; i <= 1000; i++) EXPECT_NE(colour(m, i / 1000.0, false), nan_colour);
  }
}

// Patterns need more than one cell to show.
std::set<uint32_t> colours_of(const Cell& c, const Paint& p) {
  std::vector<Cell> cells(32 * 32, c);
  auto pixels = paint_cells(cells, 32, p);
  return {pixels.begin(), pixels.end()};
}

TEST(PaintCells, InfiniteIsHatchedAndUnwrittenChecked) {
  Paint p{ColourMap::viridis, 0, 1, false};
  auto infinite = colours_of(empty_cell(flag_inf | flag_failing), p),
       unwritten = colours_of(empty_cell(flag_unwritten | flag_failing), p);
  EXPECT_EQ(infinite.size(), 2u);
  EXPECT_EQ(unwritten.size(), 2u);
  EXPECT_NE(infinite, unwritten);
  EXPECT_EQ(colours_of(cell(0.5, flag_inf), p), infinite);
  EXPECT_EQ(colours_of(cell(0.5, flag_unwritten), p), unwritten);
  EXPECT_EQ(colours_of(empty_cell(flag_unwritten | flag_inf), p), unwritten);
  EXPECT_EQ(colours_of(empty_cell(flag_unwritten), excess).size(), 2u);
  // A control: what is finite has one colour.
  EXPECT_EQ(colours_of(cell(0.5), p).size(), 1u);
  EXPECT_EQ(colours_of(cell(0.5, flag_failing), p), colours_of(cell(0.5), p))
      << "failing cells keep their value's colour";
}

TEST(PaintCells, NoRangeIsTheMiddle) {
  EXPECT_EQ(painted(cell(3), {ColourMap::viridis, 3, 3, false}), colour(ColourMap::viridis, 0.5, false));
  EXPECT_EQ(painted(cell(3), {ColourMap::viridis, 5, 3, false}), colour(ColourMap::viridis, 0.5, false));
}

TEST(PaintCells, EveryFlagOnAnyValueIsOpaque) {
  for (ColourMap m : maps)
    for (uint32_t flags = 0; flags < 16; flags++)
      for (float v : {0.0f, -1.0f, 1e-38f, 3e38f, -3e38f})
        for (bool finite : {true, false}) {
          Cell c = finite ? cell(v, flags) : empty_cell(flags);
          EXPECT_EQ(painted(c, {m, -3e38, 3e38, false}) >> 24, 255u);
          EXPECT_EQ(painted(c, {m, 0, 1e-300, true}) >> 24, 255u);
        }
  EXPECT_TRUE(paint_cells({}, 0, excess).empty());
}

// Right and wrong in every cell of an area is another picture than wrong throughout; one such cell alone is painted as
// what is worst in it.
TEST(Paint, AreasOfRightAndWrongAreMuted) {
  const Paint paint{ColourMap::excess, 0, 1, false};
  const Cell wrong{50, 5000, 5000, flag_failing}, mixed{0.01f, 5000, 5000, flag_failing}, right{0.01f, 0.5f, 0.5f, 0};
  auto colours = [&](const std::vector<Cell>& cells, int width) {
    const auto pixels = paint_cells(cells, width, paint);
    return std::set<uint32_t>(pixels.begin(), pixels.end());
  };
  EXPECT_EQ(colours(std::vector<Cell>(64, wrong), 8).size(), 1u);
  EXPECT_EQ(colours(std::vector<Cell>(64, mixed), 8).size(), 1u) << "no pattern, which would look like data";
  EXPECT_NE(colours(std::vector<Cell>(64, mixed), 8), colours(std::vector<Cell>(64, wrong), 8));
  EXPECT_NE(colours(std::vector<Cell>(64, mixed), 8), colours(std::vector<Cell>(64, right), 8));
  EXPECT_EQ(first_muted(std::vector<Cell>(64, mixed), 8), 0u);
  EXPECT_FALSE(first_muted(std::vector<Cell>(64, wrong), 8));
  for (size_t i = 0; i < 64; i++) {
    std::vector<Cell> one(64, right), few(64, wrong);
    one[i] = few[i] = mixed;
    EXPECT_EQ(paint_cells(one, 8, paint)[i], paint_cells(few, 8, paint)[i]) << "cell " << i;
    EXPECT_EQ(paint_cells(one, 8, paint)[i], paint_cells(std::vector<Cell>(64, wrong), 8, paint)[0]) << "cell " << i;
  }
  // One right cell among mixed ones: those beside it are not dimmed, all others are as before.
  std::vector<Cell> cells(64, mixed);
  const auto before = paint_cells(cells, 8, paint);
  cells[27] = right;
  const auto after = paint_cells(cells, 8, paint);
  for (size_t i : {19, 26, 28, 35}) EXPECT_EQ(after[i], paint_cells(std::vector<Cell>{wrong}, 1, paint)[0]);
  EXPECT_EQ(after[0], before[0]);
  EXPECT_EQ(after[63], before[63]);
}

TEST(Paint, OwnDecadesOfTheRatio) {
  Paint p = excess;
  p.decades = 1;
  EXPECT_NEAR(place_on(p, 10), 1, 1e-12);
  EXPECT_NEAR(place_on(p, 0.1), 0, 1e-12);
  EXPECT_EQ(place_on(p, 1), 0.5) << "the bound stays in the middle";
  EXPECT_EQ(painted(cell(10, flag_failing), p), colour(ColourMap::excess, 1, false));
  EXPECT_NE(painted(cell(10, flag_failing), excess), colour(ColourMap::excess, 1, false));
  EXPECT_EQ(painted(cell(0.1), p), colour(ColourMap::excess, 0, false));
  EXPECT_NE(painted(cell(0.1), excess), colour(ColourMap::excess, 0, false));
}

TEST(Paint, CountsWhatIsBeyondItsEnds) {
  const std::vector<Cell> cells = {cell(-2), cell(-1), cell(0), cell(0.5), cell(1), cell(3), empty_cell(flag_nan)};
  const BeyondScale b = beyond_scale(cells, {ColourMap::viridis, -1, 1, false});
  EXPECT_EQ(b.below, 1u);
  EXPECT_EQ(b.above, 1u);
  EXPECT_EQ(b.cells, 6u) << "one has no number";
  // 0.1 in single precision is more than 0.1.
  EXPECT_EQ(beyond_scale(std::vector<Cell>{cell(0.1)}, {ColourMap::viridis, 0, 0.1, false}).above, 0u);
  Paint near = excess;
  near.decades = 1;
  const std::vector<Cell> ratios = {cell(1e-9), cell(5), cell(20)};
  EXPECT_EQ(beyond_scale(ratios, near).above, 1u);
  EXPECT_EQ(beyond_scale(ratios, near).below, 0u);
  EXPECT_EQ(beyond_scale(ratios, excess).above, 0u);
}

}  // namespace
}  // namespace convscope
