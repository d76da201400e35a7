// What the open recording is: where and when it was made, and what it holds.
#pragma once
#include "app/ui/panel.h"

namespace convscope::ui {

void draw_recording_card(Frame& f);

}  // namespace convscope::ui
