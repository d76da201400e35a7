// What stands above a kernel's text where something of it is not there.
#pragma once
#include "app/ui/panel.h"

namespace convscope::ui {

// The file was changed into one that does not compile: what stands here ran before.
void does_not_compile(Frame& f);
// Which of lines and samples of warps are not there, and why.
void what_is_missing(Frame& f, const Profile* p);

}  // namespace convscope::ui
