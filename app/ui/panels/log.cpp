#include "app/ui/panel.h"
namespace convscope::ui {
void draw_log(Frame&) {}
}  // namespace convscope::ui
