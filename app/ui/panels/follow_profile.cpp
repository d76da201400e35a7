#include "app/ui/panels/follow_profile.h"

#include <imgui.h>

namespace convscope::ui {

bool profile_follows(const Report& r) {
  constexpr double longest_ms = 400;
  return r.device_kind == "cuda" || (r.timing.median_ms && *r.timing.median_ms < longest_ms);
}

void follow_with_profile(Frame& f) {
  const Report* r = f.report();
  if (!r || !r->recorded.empty()) return;  // nobody waits for the emulator where a GPU's counters are shown
  if (!f.settings.live || f.bench.measuring().followed() == r->serial || !r->final || f.bench.runs().running() ||
      f.bench.measuring().waits() || f.bench.profile_of(f.document) || needs_run(r->document, f.document) ||
      r->status == "not-run" || r->status == "crashed" || r->status == "hung" || !profile_follows(*r) ||
      ImGui::IsAnyMouseDown())
    return;
  f.wish([d = r->document, serial = r->serial](Workbench& b) { b.measuring().follow(d, serial); });
}

}  // namespace convscope::ui
