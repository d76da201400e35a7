// What stands above a kernel's text where something of it is not there.
#pragma once
#include "app/ui/panel.h"

namespace convscope::ui {

// The file was changed into one that does not compile, or it is gone: what stands here is not what was judged.
void does_not_compile(Frame& f);
// The chosen kernel's file has a text that gave no kernel, and what runs is of the one before. The newer one is shown:
// a person has it in an editor beside this, and its lines are the ones that the compiler names.
bool newer_gave_no_kernel(const Frame& f);
// Which of lines and samples of warps are not there, and why.
void what_is_missing(Frame& f, const Profile* p);

}  // namespace convscope::ui
