// In the panel Timing, of a kernel file on a GPU: the search for a faster form of it.
#pragma once
#include "app/ui/panel.h"

namespace convscope::ui {

// A way to look for one, how far that is, or what was found, with a way to put it into the text. Nothing for a kernel
// that is no file, and a sentence where there is no GPU.
void tuning(Frame& f);
TuningChoice tuning_choice();  // as it was made there last

}  // namespace convscope::ui
