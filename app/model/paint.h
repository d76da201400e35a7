// Cells of a tile as colours. No picture library, no ImGui: the client's thread does it while the window draws.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/verify/pyramid.h"

namespace convscope {

enum class ColourMap : uint8_t { viridis, cividis, diverging, excess };

// t in 0…1. diverging: 0.5 is zero. excess: |error|/bound on a logarithmic scale whose middle, 0.5, is the bound
// itself. 0xAABBGGRR, opaque. viridis and cividis: polynomial fits of the published tables (van der Walt & Smith 2015;
// Nuñez et al. 2018); diverging and excess are our own, of even lightness on both sides.
uint32_t colour(ColourMap map, double t, bool light_theme);

inline constexpr double excess_decades = 4;  // |error|/bound is shown from 1e-4 to 1e4

struct Paint {
  ColourMap map = ColourMap::viridis;
  double low = 0, high = 1;  // what the ends of the map stand for; excess: not used
  bool light_theme = false;
  double decades = excess_decades;  // excess: to each side of the bound
  bool operator==(const Paint&) const = default;
};

// The place of a value on the map, 0…1.
double place_on(const Paint& paint, double value);

// How many cells show a value that is beyond either end of the map, and how many show one at all. excess: at its lower
// end lies all that is small, and nothing is below.
struct BeyondScale {
  size_t below = 0, above = 0, cells = 0;
};
BeyondScale beyond_scale(std::span<const Cell> cells, const Paint& paint);

// One colour a cell, row-major: the extreme of the cell; NaN magenta; infinite hatched; never written a checker
// pattern; failing cells keep their colour (the map marks them). excess: where every cell of an area holds failing
// elements and others within their bound, it is muted: a quarter of the way to the colour of its least ratio.
std::vector<uint32_t> paint_cells(std::span<const Cell> cells, int width, const Paint& paint);
// The first cell that is muted so, in the order of the cells.
std::optional<size_t> first_muted(std::span<const Cell> cells, int width);

inline constexpr uint32_t nan_colour = 0xffff00ff;

}  // namespace convscope
