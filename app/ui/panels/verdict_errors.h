// The part of the panel Verdict that has figures: of the error, and what the usual gates would have said of it.
#pragma once
#include "app/ui/panel.h"

namespace convscope::ui {

void draw_error_figures(Frame& f, const Report& r);

}  // namespace convscope::ui
