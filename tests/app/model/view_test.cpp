// Views stay inside the result, whatever is asked of them.
#include "app/model/view.h"

#include <cmath>
#include <gtest/gtest.h>

#include "tests/convolution.h"

namespace convscope {
namespace {

double uniform(test::Random& r, double low, double high) {
  return low + (high - low) * static_cast<double>(r() % 1000001) / 1e6;
}

void expect_inside(const View& v, Extent e) {
  // Sums of large and small numbers round.
  double slack = 1e-9 * (e.rows + e.columns);
  EXPECT_GE(v.row0, 0);
  EXPECT_GE(v.column0, 0);
  EXPECT_LE(v.row1, e.rows + slack);
  EXPECT_LE(v.column1, e.columns + slack);
  EXPECT_GE(v.row1 - v.row0, std::min(2.0, e.rows) - slack);
  EXPECT_GE(v.column1 - v.column0, std::min(2.0, e.columns) - slack);
  EXPECT_FALSE(v.whole());
}

Extent random_extent(test::Random& r) {
  auto one = [&] { return std::floor(std::pow(10, uniform(r, 0, 8.5))); };
  return {one(), one()};
}

View random_view(test::Random& r, Extent e) {
  View v;
  if (r() % 8 == 0) return v;
  auto axis = [&](double limit, double& low, double& high) {
    low = uniform(r, -0.5 * limit, 1.5 * limit), high = low + uniform(r, -0.1 * limit, 1.2 * limit);
  };
  axis(e.rows, v.row0, v.row1), axis(e.columns, v.column0, v.column1);
  return v;
}

TEST(View, EmptyIsEverything) {
  View v = fitted({}, {6, 100});
  EXPECT_EQ(v.row1, 6);
  EXPECT_EQ(v.column1, 100);
  EXPECT_TRUE(View{}.whole());
}

TEST(View, StaysInside) {
  test::Random r(1);
  for (int i = 0; i < 20000; i++) {
    Extent e = random_extent(r);
    View v = fitted(random_view(r, e), e);
    expect_inside(v, e);
    v = zoomed(v, e, std::pow(10, uniform(r, -3, 3)), std::pow(10, uniform(r, -3, 3)), uniform(r, 0, 1),
               uniform(r, 0, 1));
    expect_inside(v, e);
    v = moved(v, e, uniform(r, -2, 2) * e.rows, uniform(r, -2, 2) * e.columns);
    expect_inside(v, e);
    ElementIndex at{static_cast<int64_t>(uniform(r, 0, e.rows - 1)),
                    static_cast<int64_t>(uniform(r, 0, e.columns - 1))};
    v = focused(v, e, at, uniform(r, 0.1, 40), uniform(r, 0.1, 40));
    expect_inside(v, e);
    EXPECT_EQ(v.selected, at);
    EXPECT_LE(v.row0, static_cast<double>(at.row));
    EXPECT_GE(v.row1, static_cast<double>(at.row) + 1 - 1e-6);
    EXPECT_LE(v.column0, static_cast<double>(at.column));
    EXPECT_GE(v.column1, static_cast<double>(at.column) + 1 - 1e-6);
  }
}

TEST(View, NumbersThatAreNoWindowShowEverything) {
  Extent e{4, 9};
  for (double odd :
       {1e308, -1e308, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    View v;
    v.row0 = -odd, v.row1 = odd, v.column0 = odd, v.column1 = 5;
    expect_inside(fitted(v, e), e);
    expect_inside(moved({}, e, odd, -odd), e);
    expect_inside(zoomed({}, e, odd, 0, 0.5, 0.5), e);
  }
}

TEST(View, ZoomKeepsThePointUnderTheMouse) {
  test::Random r(2);
  Extent e{1e5, 1e6};
  int checked = 0;
  for (int i = 0; i < 20000; i++) {
    View v;
    v.row0 = uniform(r, 0, 9e4), v.row1 = v.row0 + uniform(r, 100, 9e3);
    v.column0 = uniform(r, 0, 9e5), v.column1 = v.column0 + uniform(r, 100, 9e4);
    double at_row = uniform(r, 0, 1), at_column = uniform(r, 0, 1), fr = std::pow(2, uniform(r, -2, 3)),
           fc = std::pow(2, uniform(r, -2, 3));
    View z = zoomed(v, e, fr, fc, at_row, at_column);
    // At the border the window is pushed back: no point stays then.
    if (z.row0 <= 0 || z.row1 >= e.rows || z.column0 <= 0 || z.column1 >= e.columns) continue;
    checked++;
    EXPECT_NEAR(z.row0 + (z.row1 - z.row0) * at_row, v.row0 + (v.row1 - v.row0) * at_row, 1e-6);
    EXPECT_NEAR(z.column0 + (z.column1 - z.column0) * at_column, v.column0 + (v.column1 - v.column0) * at_column, 1e-6);
    EXPECT_NEAR((v.row1 - v.row0) / (z.row1 - z.row0), fr, 1e-9 * fr);
    EXPECT_NEAR((v.column1 - v.column0) / (z.column1 - z.column0), fc, 1e-9 * fc);
  }
  EXPECT_GT(checked, 10000);
}

// An axis that is as close as it goes stays where it is while the other one goes on.
TEST(View, ZoomEndsOnOneAxisBeforeTheOther) {
  const Extent e{64, 8193};
  const double at_row = 0.53, at_column = 0.49;
  View v = fitted({}, e);
  const double row = v.row1 * at_row, column = v.column1 * at_column;
  for (int i = 0; i < 60; i++) v = zoomed(v, e, 1.25, 1.25, at_row, at_column);
  EXPECT_NEAR(v.row1 - v.row0, v.column1 - v.column0, 1e-9) << "both are as close as they go";
  EXPECT_NEAR(v.row0 + (v.row1 - v.row0) * at_row, row, 1e-6);
  EXPECT_NEAR(v.column0 + (v.column1 - v.column0) * at_column, column, 1e-6);
}

TEST(View, ZoomsAndMovesKeepTheRest) {
  View v;
  v.selected = ElementIndex{2, 3};
  v.show_classes = true, v.difference_is_ratio = false;
  for (const View& z : {zoomed(v, {8, 8}, 2, 2, 0.5, 0.5), moved(v, {8, 8}, 1, 1), fitted(v, {8, 8})}) {
    EXPECT_EQ(z.selected, v.selected);
    EXPECT_TRUE(z.show_classes);
    EXPECT_FALSE(z.difference_is_ratio);
  }
}

TEST(View, FocusPutsTheElementInTheMiddle) {
  View v = focused({}, {100, 1000}, {50, 500}, 10, 20);
  EXPECT_DOUBLE_EQ((v.row0 + v.row1) / 2, 50.5);
  EXPECT_DOUBLE_EQ((v.column0 + v.column1) / 2, 500.5);
  EXPECT_DOUBLE_EQ(v.row1 - v.row0, 10);
  EXPECT_DOUBLE_EQ(v.column1 - v.column0, 20);
}

View window(double column0) {
  View v;
  v.row1 = 4, v.column0 = column0, v.column1 = column0 + 4;
  return v;
}

TEST(ViewHistory, BackAndForward) {
  ViewHistory h;
  EXPECT_FALSE(h.can_back() || h.can_forward() || h.back() || h.forward());
  h.set(window(1), true);
  h.set(window(2), true);
  EXPECT_TRUE(h.back());
  EXPECT_EQ(h.now(), window(1));
  EXPECT_TRUE(h.back());
  EXPECT_EQ(h.now(), View{});
  EXPECT_FALSE(h.back());
  EXPECT_TRUE(h.forward() && h.forward());
  EXPECT_EQ(h.now(), window(2));
  EXPECT_FALSE(h.forward());
  // A new place ends what lay ahead.
  h.back();
  h.set(window(7), true);
  EXPECT_FALSE(h.can_forward());
  h.back();
  EXPECT_EQ(h.now(), window(1));
}

TEST(AxisTicks, AreRoundNumbersOfTheWindow) {
  EXPECT_EQ(axis_ticks(0, 5, 0.3), (std::vector<int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(axis_ticks(0, 8193, 1500), (std::vector<int64_t>{0, 2000, 4000, 6000, 8000}));
  EXPECT_EQ(axis_ticks(7, 30, 3), (std::vector<int64_t>{10, 15, 20, 25}));
  EXPECT_EQ(axis_ticks(0, 1, 40), std::vector<int64_t>{0});
  // An element of which less than half is shown has no name.
  EXPECT_EQ(axis_ticks(0.4, 3.6, 1), (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(axis_ticks(0.6, 3.4, 1), (std::vector<int64_t>{1, 2}));
}

TEST(AxisTicks, OfRowsBeginWithEverySequence) {
  EXPECT_EQ(row_ticks(0, 64, 8, 64), (std::vector<int64_t>{0, 10, 20, 30, 40, 50}));  // 60 would be too near the next 0
  EXPECT_EQ(row_ticks(0, 14, 3, 7), (std::vector<int64_t>{0, 7}));
  EXPECT_EQ(row_ticks(5, 14, 2, 7), (std::vector<int64_t>{7, 9, 11}));
  EXPECT_EQ(row_ticks(0, 6400, 160, 64),
            (std::vector<int64_t>{0,    320,  640,  960,  1280, 1600, 1920, 2240, 2560, 2880,
                                  3200, 3520, 3840, 4160, 4480, 4800, 5120, 5440, 5760, 6080}));
}

TEST(AxisTicks, AreFarEnoughApartAndInTheWindow) {
  test::Random r(7);
  for (int i = 0; i < 2000; i++) {
    const auto channels = static_cast<int64_t>(1 + r() % 200), batch = static_cast<int64_t>(1 + r() % 40);
    const auto all = static_cast<double>(channels * batch);
    const double from = uniform(r, 0, all), to = std::min(all, from + uniform(r, 1, all)), apart = uniform(r, 0.1, 300);
    const auto rows = row_ticks(from, to, apart, channels), columns = axis_ticks(from, to, apart);
    for (const auto& ticks : {rows, columns}) {
      ASSERT_LE(ticks.size(), static_cast<size_t>((to - from) / std::max(apart, 1.0)) + 2)
          << from << ' ' << to << ' ' << apart;
      for (size_t t = 0; t < ticks.size(); t++) {
        const auto middle = static_cast<double>(ticks[t]) + 0.5;
        ASSERT_TRUE(middle >= from && middle <= to) << from << ' ' << to << ' ' << ticks[t];
        ASSERT_TRUE(!t || static_cast<double>(ticks[t] - ticks[t - 1]) >= apart) << ticks[t];
      }
    }
  }
}

TEST(ViewHistory, ADragIsNoPlace) {
  ViewHistory h;
  h.set(window(1), true);
  for (int i = 2; i < 50; i++) h.set(window(i), false);
  EXPECT_EQ(h.now(), window(49));
  h.back();
  EXPECT_EQ(h.now(), View{});
  h.forward();
  EXPECT_EQ(h.now(), window(49));
}

TEST(ViewHistory, TheSamePlaceIsKeptOnce) {
  ViewHistory h;
  for (int i = 0; i < 5; i++) h.set(window(1), true);
  h.back();
  EXPECT_FALSE(h.can_back());
}

TEST(ViewHistory, KeepsTwoHundredPlaces) {
  ViewHistory h;
  for (int i = 1; i <= 1000; i++) h.set(window(i), true);
  int places = 1;
  while (h.back()) places++;
  EXPECT_EQ(places, 200);
  EXPECT_EQ(h.now(), window(801));
}

}  // namespace
}  // namespace convscope
