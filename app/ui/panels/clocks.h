// Parts of the panel Timing: what the GPU's clocks did meanwhile, and one call seen by three clocks.
#pragma once
#include "app/ui/panel.h"

namespace convscope::ui {

// SM clock over the time of measuring, with the stretches in which the GPU held itself back; as text where only ranges
// are known, and the reason where nothing is.
void draw_clock_strip(Frame& f, const Report& r);

// The same call by the GPU's events, by CUPTI's records of its kernels and by the host, with the warnings of the
// profile where they do not agree. Nothing on the emulator.
void draw_three_clocks(Frame& f, const Report& r);

}  // namespace convscope::ui
