// In the verdict of a kernel that is wrong: which one edit of its text makes it right.
#pragma once
#include "app/ui/panel.h"

namespace convscope::ui {

// A way to look for it, how far that is, or what was found, with a way to put it into the text. Nothing for a kernel
// that has no text to be edited.
void mending(Frame& f, const Report& r);
// A line of a file as it is ("": one is put in) and as it would be, with a way to it.
void changed_line(Frame& f, const std::string& file, int line, const std::string& before, const std::string& after);

}  // namespace convscope::ui
