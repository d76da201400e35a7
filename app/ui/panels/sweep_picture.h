// The picture of a sweep: times over the values of its parameter, and under each value what was judged.
#pragma once
#include "app/engine/sweep.h"
#include "app/ui/panel.h"

namespace convscope::ui {

// Fills what room there is. of_floor: times are counted in the floor at their value. A click on a value sets the parameter to it, one on a kernel's name chooses the kernel.
void draw_sweep_picture(Frame& f, const Sweep& sweep, bool of_floor);

}  // namespace convscope::ui
