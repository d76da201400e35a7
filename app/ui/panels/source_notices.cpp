#include "app/ui/panels/source_notices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <imgui.h>

#include "app/model/recorded.h"
#include "app/ui/panels/flow.h"
#include "app/ui/panels/source_edit.h"
#include "app/ui/widgets.h"

namespace convscope::ui {

bool newer_gave_no_kernel(const Frame& f) {
  const OpenedFile* file = f.bench.files().of(f.document.kernel);
  return file && file->ever && !file->gone && !file->trouble.empty() && file->compiled < file->texts;
}

void does_not_compile(Frame& f) {
  const OpenedFile* file = f.bench.files().of(f.document.kernel);
  if (!file || file->trouble.empty()) return;
  if (is_being_compiled(f)) return dim_text(f.theme, "compiling…");
  if (!file->ever && !file->gone)
    coloured(f.theme.wrong, file->trouble);
  else
    coloured(f.theme.warning, file->gone                ? "As it was before; the file is not there any more"
                              : newer_gave_no_kernel(f) ? "What runs is the text before; this one: " + file->trouble
                                                        : "As it was before; the file now: " + file->trouble);
  tooltip(f.theme, "What the compiler said stands in the log. It is compiled again whenever the file changes.");
}

// In one line, whose end is where the mouse is: the room is the text's.
static void in_a_line(const Theme& t, const std::string& words) {
  const std::string all = in_the_window(words), shown = text_within(all, ImGui::GetContentRegionAvail().x);
  ImGui::TextDisabled("%s", shown.c_str());
  if (shown != all) tooltip(t, words);
}

void what_is_missing(Frame& f, const Profile* p) {
  const Theme& t = f.theme;
  if (!p) return;
  if (p->lines.empty() && !p->lines_reason.empty()) in_a_line(t, "no counts of lines: " + p->lines_reason);
  if (p->samples.samples > 0) return;
  std::string words = p->samples.reason.empty()
                          ? p->recorded.empty() ? "they come with all counters, on a GPU" : "they were not recorded"
                          : p->samples.reason;
  if (!p->recorded.empty()) {
    words = "not in this recording (" + words + ")";
    const auto* have = recordings_with_samples();
    if (!have) f.again_in(0.2);
    if (have && !have->empty()) words += fmt::format("; recordings that have some: {}", fmt::join(*have, ", "));
  }
  in_a_line(t, "no samples of warps: " + words);
}

}  // namespace convscope::ui
