// Which elements a map shows: positions j in a line above it, rows (n, co) beside it. The selected element's stand out.
#pragma once
#include "app/ui/panel.h"

namespace convscope::ui {

// Pixels that the two take; of an area too small for them none.
float positions_height(float map_height);
float rows_width(const Frame& f, float maps_width);

// Along the upper edge of a map at `map`, in the line above it.
void draw_positions(const Frame& f, ImVec2 map, float width, const View& window);
// Along its left edge, in the `room` pixels beside it.
void draw_rows(const Frame& f, ImVec2 map, float height, float room, const View& window);

}  // namespace convscope::ui
