// Profiles that come by themselves: who shows figures of a profile asks for it here.
#pragma once
#include "app/ui/panel.h"

namespace convscope::ui {

// Whether a profile follows a verdict by itself: on a GPU, where it takes well under a second, always; on the emulator
// only where tracing is short.
bool profile_follows(const Report& r);

// While the window is live: asks once for the profile of each report, when nobody is changing anything. Several panels
// may call it in one frame. Nothing for a recorded report, for one that gave no result, or where there is one already.
void follow_with_profile(Frame& f);

}  // namespace convscope::ui
