#include "app/model/view.h"

#include <algorithm>
#include <cmath>

namespace convscope {
namespace {

constexpr double fewest = 2;  // elements along an axis at the closest zoom

// An interval of at least `fewest` and at most `limit` elements that lies within 0…limit.
void confine(double& low, double& high, double limit) {
  if (std::isnan(low) || std::isnan(high)) low = 0, high = limit;
  double size = std::clamp(high - low, std::min(fewest, limit), limit);
  low = std::clamp(low, 0.0, limit - size);
  high = low + size;
}

// The least multiple of 1, 2 or 5 times a power of ten that is no less.
int64_t round_step(double apart) {
  if (!(apart > 1)) return 1;
  const double power = std::pow(10, std::floor(std::log10(apart)));
  for (double step : {power, 2 * power, 5 * power})
    if (step >= apart) return static_cast<int64_t>(step);
  return static_cast<int64_t>(10 * power);
}

}  // namespace

View fitted(View v, Extent e) {
  if (v.whole()) v.row0 = 0, v.row1 = e.rows, v.column0 = 0, v.column1 = e.columns;
  confine(v.row0, v.row1, e.rows);
  confine(v.column0, v.column1, e.columns);
  return v;
}

View zoomed(const View& view, Extent e, double factor_rows, double factor_columns, double at_row, double at_column) {
  View v = fitted(view, e);
  // An axis that is as close as it goes stays where it is while the other one goes on.
  auto axis = [](double& low, double& high, double factor, double at, double limit) {
    const double centre = low + (high - low) * at,
                 size = std::clamp((high - low) / factor, std::min(fewest, limit), limit);
    low = centre - size * at;
    high = low + size;
  };
  axis(v.row0, v.row1, factor_rows, at_row, e.rows);
  axis(v.column0, v.column1, factor_columns, at_column, e.columns);
  return fitted(v, e);
}

View moved(const View& view, Extent e, double rows, double columns) {
  View v = fitted(view, e);
  v.row0 += rows, v.row1 += rows, v.column0 += columns, v.column1 += columns;
  return fitted(v, e);
}

View focused(const View& view, Extent e, ElementIndex at, double rows_shown, double columns_shown) {
  View v = view;
  rows_shown = std::max(rows_shown, fewest), columns_shown = std::max(columns_shown, fewest);
  auto row = static_cast<double>(at.row) + 0.5, column = static_cast<double>(at.column) + 0.5;
  v.row0 = row - rows_shown / 2, v.row1 = row + rows_shown / 2;
  v.column0 = column - columns_shown / 2, v.column1 = column + columns_shown / 2;
  v.selected = at;
  return fitted(v, e);
}

std::vector<int64_t> axis_ticks(double from, double to, double apart) {
  const int64_t step = round_step(apart);
  std::vector<int64_t> at;
  auto first = static_cast<int64_t>(std::ceil(std::max(from - 0.5, 0.0) / static_cast<double>(step))) * step;
  for (int64_t i = first; static_cast<double>(i) + 0.5 <= to; i += step) at.push_back(i);
  return at;
}

std::vector<int64_t> row_ticks(double from, double to, double apart, int64_t channels) {
  const auto all = static_cast<double>(channels);
  std::vector<int64_t> at;
  if (round_step(apart) >= channels) {
    for (int64_t n : axis_ticks(std::floor(from / all), to / all, apart / all))
      if (static_cast<double>(n * channels) >= from - 0.5 && static_cast<double>(n * channels) + 0.5 <= to)
        at.push_back(n * channels);
    return at;
  }
  for (auto n = static_cast<int64_t>(std::max(from, 0.0) / all); static_cast<double>(n) * all < to; n++) {
    const int64_t row = n * channels;
    for (int64_t co : axis_ticks(from - static_cast<double>(row), std::min(all, to - static_cast<double>(row)), apart))
      if (co == 0 || static_cast<double>(channels - co) >= apart)  // the next sequence's first has its place
        at.push_back(row + co);
  }
  return at;
}

}  // namespace convscope
