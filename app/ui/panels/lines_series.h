// Tiles of the engine as curves.
#pragma once
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "app/model/workbench.h"

namespace convscope::ui {

struct Stretch {
  double from, to;
};

// A tile as curves. Position j stands at x = j.
struct Series {
  uint64_t serial = 0;  // of its tile; 0: there is none
  double latency = 0;
  double column0 = 0, step = 1;
  int64_t row0 = 0;
  int width = 0, height = 0;
  std::vector<double> x, low, high;  // low, high: [row][cell]
  std::vector<std::vector<Stretch>> failing, unwritten;
  bool of(const MapTile& t) const { return serial == t.serial && latency == t.latency_ms; }
  bool exact() const { return step <= 1; }
  size_t at(int row, int cell) const {
    return static_cast<size_t>(row) * static_cast<size_t>(width) + static_cast<size_t>(cell);
  }
  int cell(double position) const { return static_cast<int>(std::floor((position + 0.5 - column0) / step)); }
};
void take(Series& s, const MapTile& t);
// What stands at a position, or the range of what its cell covers.
std::string range_text(const Series& s, int row, double position);
std::string lines_csv(const MapTile& kernel, const MapTile* reference, const MapTile* error, int64_t channels);

}  // namespace convscope::ui
