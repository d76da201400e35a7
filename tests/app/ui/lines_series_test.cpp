// What is read off a curve at a position is what stands there, however many positions share a cell.
#include "app/ui/panels/lines_series.h"

#include <gtest/gtest.h>

namespace convscope::ui {
namespace {

TEST(LinesSeries, ValuesAreThoseOfThePositionUnderThePointer) {
  for (const double to : {500.75, 601.0, 1100.25, 4000.5}) {
    MapTile t;
    t.column0 = 0.75, t.column1 = to, t.width = 500, t.height = 1;
    for (int i = 0; i < t.width; i++) {
      const CellSpan span = cell_span(t.column0, t.column1, t.width, tile_column_factor, i);
      Cell c{};
      c.minimum = static_cast<float>(span.begin), c.maximum = static_cast<float>(span.end - 1);
      t.cells.push_back(c);
    }
    t.serial = 1;
    Series s;
    take(s, t);
    for (int64_t j = 1; j + 1 < static_cast<int64_t>(to); j++) {
      const int cell = s.cell(static_cast<double>(j));
      ASSERT_TRUE(cell >= 0 && cell < t.width) << j;
      EXPECT_LE(s.low[s.at(0, cell)], static_cast<double>(j)) << "to " << to;
      EXPECT_GE(s.high[s.at(0, cell)], static_cast<double>(j)) << "to " << to;
    }
    const std::string csv = lines_csv(t, nullptr, nullptr, 1);
    EXPECT_NE(csv.find("\n0,0,0,"), std::string::npos) << csv.substr(0, 200);
  }
}

}  // namespace
}  // namespace convscope::ui
