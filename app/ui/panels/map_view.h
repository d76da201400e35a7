// One map of a result: the picture of a tile, with pan, zoom, hover and selection in element coordinates.
#pragma once
#include "app/ui/panel.h"

namespace convscope::ui {

struct MapStyle {
  Pictures::Map slot;
  std::string key;    // of the result that is shown; "": what was shown stays, faded
  Quantity quantity;  // of that result
  Quantity number;    // which of an element's numbers stands in its cell
  const char* title;
  const char* unit;  // of the colour bar's ends
  Paint paint;
  ImVec4 title_colour;
  std::string trouble = {};               // shown in the map's place
  void (*choose)(Frame&) = nullptr;       // the title is a button that opens a menu, filled by this
  std::optional<ValueRange> values = {};  // of all that is shown, which the scale need not hold
  float rows_room = 0;                    // for the names of rows beside it, left of the size it is drawn in
};

// Draws a map with its title and colour bar into the given size.
void draw_map(Frame& f, const MapStyle& style, ImVec2 size);
// What of that height is left for the elements of a map.
float map_height(float height);
// How many elements show their numbers in an area: of the least size at which a few digits can be read.
CellRoom cell_room(ImVec2 area);
// Brings an element into the middle, in whole cells that have room for their numbers.
View readable(const View& v, Extent e, ElementIndex at, CellRoom room);
// The whole result as a strip, with the window that the maps show; dragging moves it.
void draw_minimap(Frame& f, float height);

// What a tile must show of a window on so many pixels: whole elements when they are larger than a pixel.
TileWish tile_wish(const std::string& key, Quantity quantity, const View& window, Extent extent, int pixels_x,
                   int pixels_y, const Paint& paint);

}  // namespace convscope::ui
