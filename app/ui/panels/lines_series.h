// Tiles of the engine as curves.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "app/model/workbench.h"
#include "kernels/verify/cell_span.h"

namespace convscope::ui {

struct Stretch {
  double from, to;
};

// A tile as curves. Position j stands at x = j.
struct Series {
  uint64_t serial = 0;  // of its tile; 0: there is none
  double latency = 0;
  double column0 = 0, column1 = 0, step = 1;
  int64_t row0 = 0;
  int width = 0, height = 0;
  std::vector<double> x, low, high;  // low, high: [row][cell]
  std::vector<std::vector<Stretch>> failing, unwritten;
  bool of(const MapTile& t) const { return serial == t.serial && latency == t.latency_ms; }
  bool exact() const { return step <= 1; }
  size_t at(int row, int cell) const {
    return static_cast<size_t>(row) * static_cast<size_t>(width) + static_cast<size_t>(cell);
  }
  // The cell that has what stands at a position, and the positions that it has.
  int cell(double position) const;
  CellSpan span(int cell) const;
};
void take(Series& s, const MapTile& t);
// What stands at a position, or the range of what its cell covers.
std::string range_text(const Series& s, int row, double position);
std::string lines_csv(const MapTile& kernel, const MapTile* reference, const MapTile* error, int64_t channels);

}  // namespace convscope::ui
