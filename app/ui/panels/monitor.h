// A kernel that is measured again and again: how long its calls take, and how that goes on.
#pragma once
#include "app/ui/panel.h"

namespace convscope::ui {

// Rate, time and a strip of the last calls; a button that ends it. Of the document that is shown.
void draw_monitor(Frame& f, const Monitor& m);

}  // namespace convscope::ui
