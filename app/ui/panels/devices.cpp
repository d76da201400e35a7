#include "app/ui/panel.h"
namespace convscope::ui {
void draw_devices(Frame&) {}
}  // namespace convscope::ui
