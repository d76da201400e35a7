// The colours of a map and what they stand for: automatic ranges and those that somebody has set, the bar below a map
// that shows the range and is dragged, and what can be done with it from anywhere.
#pragma once
#include "app/ui/panel.h"
#include "app/ui/panels/map_view.h"

namespace convscope::ui {

class App;

// All there is of the reference, of the difference, or of error/bound. other: what stands beside, in the oracle's
// place.
ColourRange automatic_range(ColourScale scale, const Report& r, const Beside* other);
// With the range that is set, or the automatic one.
Paint paint_of(const Frame& f, ColourScale scale, const Report& r, const Beside* other);

// Below a map: its colours, the ends of their range, how much is beyond them. Drag an end, or the middle; double click
// types them.
void draw_colour_bar(Frame& f, const MapStyle& s, float width);

// ---- actions: of kernel and reference, and of the signed error where it is shown ----
bool has_own_colours(const App& a);
void take_automatic_colours(App& a);      // of all maps
void fit_colours_to_visible(App& a);      // to what of the reference, and of the error, is in the window
void stretch_colours(App& a, double by);  // 0.5: half the range

}  // namespace convscope::ui
