#include "app/ui/panels/lines_series.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

#include "app/ui/widgets.h"

namespace convscope::ui {

void take(Series& s, const MapTile& t) {
  s.serial = t.serial, s.latency = t.latency_ms;
  s.width = t.width, s.height = t.height;
  s.step = (t.column1 - t.column0) / t.width;
  s.column0 = t.column0, s.column1 = t.column1;
  s.row0 = static_cast<int64_t>(t.row0);
  s.x.resize(static_cast<size_t>(t.width));
  for (size_t i = 0; i < s.x.size(); i++) s.x[i] = t.column0 + (static_cast<double>(i) + 0.5) * s.step - 0.5;
  s.low.resize(t.cells.size()), s.high.resize(t.cells.size());
  s.failing.assign(static_cast<size_t>(t.height), {}), s.unwritten = s.failing;
  for (int r = 0; r < t.height; r++)
    for (int i = 0; i < t.width; i++) {
      const Cell& c = t.cells[s.at(r, i)];
      bool none = c.minimum > c.maximum;
      s.low[s.at(r, i)] = none ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(c.minimum);
      s.high[s.at(r, i)] = none ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(c.maximum);
      double from = s.x[static_cast<size_t>(i)] - s.step / 2, to = from + s.step;
      auto add = [&](std::vector<Stretch>& spans) {
        if (!spans.empty() && spans.back().to >= from - s.step * 0.01)
          spans.back().to = to;
        else
          spans.push_back({from, to});
      };
      if (c.flags & flag_failing) add(s.failing[static_cast<size_t>(r)]);
      if (c.flags & flag_unwritten) add(s.unwritten[static_cast<size_t>(r)]);
    }
}

CellSpan Series::span(int cell) const { return cell_span(column0, column1, width, tile_column_factor, cell); }

int Series::cell(double position) const {
  const auto j = static_cast<int64_t>(std::round(position));
  int i = static_cast<int>(std::floor((position + 0.5 - column0) / step));
  if (step < 1 || i < 0 || i >= width) return i;
  // Cells have whole positions: where they are drawn is not quite where they end.
  while (i > 0 && span(i).begin > j) i--;
  while (i + 1 < width && span(i).end <= j) i++;
  return i;
}

std::string range_text(const Series& s, int row, double position) {
  int cell = s.serial ? s.cell(position) : -1;
  if (cell < 0 || cell >= s.width || row >= s.height) return "reading values";
  double low = s.low[s.at(row, cell)], high = s.high[s.at(row, cell)];
  if (std::isnan(low)) return "not finite, or never written";
  return low == high ? value_text(low) : value_text(low) + " to " + value_text(high);
}

std::string lines_csv(const MapTile& k, const MapTile* reference, const MapTile* error, int64_t channels) {
  std::string s =
      "n,co,first_position,last_position,kernel_min,kernel_max,reference_min,reference_max,error_min,error_max,failing,"
      "unwritten\n";
  for (int r = 0; r < k.height; r++)
    for (int i = 0; i < k.width; i++) {
      auto row = static_cast<int64_t>(k.row0) + r;
      const CellSpan span = cell_span(k.column0, k.column1, k.width, tile_column_factor, i);
      const int64_t from = std::max<int64_t>(span.begin, 0), to = std::max(from, span.end - 1);
      size_t at = static_cast<size_t>(r) * static_cast<size_t>(k.width) + static_cast<size_t>(i);
      s += fmt::format("{},{},{},{}", row / channels, row % channels, from, to);
      for (const MapTile* x : {&k, reference, error}) {
        bool same = x && x->width == k.width && x->height == k.height && x->column0 == k.column0 &&
                    x->column1 == k.column1 && x->row0 == k.row0;
        if (!same || x->cells[at].minimum > x->cells[at].maximum)
          s += ",,";
        else
          s += fmt::format(",{},{}", x->cells[at].minimum, x->cells[at].maximum);
      }
      s +=
          fmt::format(",{},{}\n", k.cells[at].flags & flag_failing ? 1 : 0, k.cells[at].flags & flag_unwritten ? 1 : 0);
    }
  return s;
}

}  // namespace convscope::ui
