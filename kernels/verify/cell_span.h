// Which elements of an axis a cell of a tile stands for (pyramid.h): for who makes tiles and for who reads values off.
#pragma once
#include <cmath>
#include <cstdint>

namespace convscope {

constexpr int64_t tile_column_factor = 8;  // columns of a level in one of the next

// [begin, end), not held to what the axis has.
struct CellSpan {
  int64_t begin, end;
};
// Of cell i of so many over [from, to). Borders are moved to where coarser levels, of which each has factor cells of
// the finer one in one, have theirs: by less than half a cell.
inline CellSpan cell_span(double from, double to, int cells, int64_t factor, int i) {
  const double step = (to - from) / cells;
  if (step < 1) {
    const auto at = static_cast<int64_t>(std::floor(from + (i + 0.5) * step));
    return {at, at + 1};
  }
  int64_t grain = 1;
  while (static_cast<double>(grain * factor) <= step / 2) grain *= factor;
  auto border = [&](int n) {
    if (n == cells) return static_cast<int64_t>(std::ceil(to));
    const auto at = static_cast<int64_t>(std::floor(from + n * step));
    return n == 0 ? at : (at + grain / 2) / grain * grain;
  };
  return {border(i), border(i + 1)};
}

}  // namespace convscope
