// In the verdict of a kernel that is wrong: which one edit of its text makes it right.
#pragma once
#include "app/ui/panel.h"

namespace convscope::ui {

// A way to look for it, how far that is, or what was found, with a way to put it into the text. Nothing for a kernel
// that has no text to be edited.
void mending(Frame& f, const Report& r);

}  // namespace convscope::ui
