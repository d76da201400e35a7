// The picture of a sweep: times over the values of its parameter, and under each value what was judged.
#pragma once
#include <optional>

#include "app/engine/sweep.h"
#include "app/ui/panel.h"

namespace convscope::ui {

// What the axis of times shows: log10 of its ends, by the shortest and longest time and the least floor (infinite:
// there is none). floor_below: it is so far below the times that it has no place beside them. Nothing: there are no
// times.
struct ShownHeights {
  double low = 0, high = 1;
  bool floor_below = false;
};
std::optional<ShownHeights> shown_heights(double least, double most, double floor);

// Fills what room there is. of_floor: times are counted in the floor at their value. A click on a value sets the
// parameter to it, one on a kernel's name chooses the kernel.
void draw_sweep_picture(Frame& f, const Sweep& sweep, bool of_floor);

}  // namespace convscope::ui
