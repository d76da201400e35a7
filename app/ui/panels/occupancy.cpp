#include "app/ui/panel.h"
namespace convscope::ui {
void draw_occupancy(Frame&) {}
}  // namespace convscope::ui
