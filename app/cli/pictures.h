// The report's pictures, drawn without any display: maps as PNG, plots as SVG.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/verify/pyramid.h"

namespace convscope {

struct Image {
  int width = 0, height = 0;
  std::vector<uint8_t> rgb;
  Image(int w, int h) : width(w), height(h), rgb(static_cast<size_t>(w) * static_cast<size_t>(h) * 3) {}
};

struct MapStyle {
  enum class Colours { values, signed_error, bound_ratio } colours = Colours::values;
  double low = 0, high = 1;  // of values; signed_error: ±high; bound_ratio: see below
  int zoom = 1;              // pixels a cell, along each axis
};

// One cell a square of zoom × zoom pixels. values: viridis from low to high. signed_error: blue, white, red around 0.
// bound_ratio: what is within the bound in pale blue, what is beyond it from orange to dark red, by logarithm. NaN is
// magenta, infinite striped, never written a chequered grey.
Image draw_map(std::span<const Cell> cells, int width, int height, const MapStyle& style);

// The colours from left to right as a CSS gradient, for the legend.
std::string css_gradient(MapStyle::Colours colours);

struct Line {
  std::string name, css_class;
  std::vector<double> values;  // non-finite ones leave a gap
};
// Lines over positions first, first + 1, …, with axes, as a stand-alone <svg>.
std::string plot_lines(const std::vector<Line>& lines, int64_t first, const std::string& y_label, int width,
                       int height);

std::string base64(std::string_view bytes);

}  // namespace convscope
