#include "app/ui/panels/tuning.h"

#include <algorithm>
#include <fmt/format.h>
#include <imgui.h>

#include "app/engine/kernel_file.h"
#include "app/ui/panels/flow.h"
#include "app/ui/panels/mending.h"
#include "app/ui/panels/source_edit.h"
#include "app/ui/widgets.h"
#include "kernels/base/text.h"

namespace convscope::ui {
namespace {

TuningChoice& choice() {
  static TuningChoice made;
  return made;
}

const char* cache_of(const TuningNow& n) { return n.choice.by_hot ? "hot" : "cold"; }

std::string factor_of(double speedup) { return fmt::format("{:.3g}×", speedup); }

void looked_for(Frame& f, const TuningNow& n) {
  const Theme& t = f.theme;
  f.again_in(0.2);
  const double part = std::min(1.0, n.seconds / Tunings::most_seconds);
  ImGui::BeginDisabled(n.ending);
  if (ImGui::SmallButton(n.ending ? "Ending…" : "Stop")) f.act("tune");
  ImGui::EndDisabled();
  tooltip(t, "Nothing further is tried; what is faster by now is kept and timed once more. Esc twice stops at once");
  ImGui::SameLine();
  ImGui::SetCursorPosY(ImGui::GetCursorPosY() + t.em * 0.2f);
  ImGui::ProgressBar(static_cast<float>(part), {t.em * 8, t.em * 0.7f}, "");
  const size_t tried = n.search->tried().size();
  const double best = n.search->best_speedup();
  dim_text(t,
           fmt::format("{} form{} tried, {}; {}", tried, tried == 1 ? "" : "s",
                       best > 1 ? fmt::format("the best {} as fast as the file", factor_of(best)) : "none faster yet",
                       n.now));
}

// Those that were timed: kept ones first, in their order, then fast ones first.
void tried_forms(Frame& f, const TuningNow& n) {
  const Theme& t = f.theme;
  std::vector<const TriedForm*> timed;
  size_t wrong = 0;
  for (const auto& form : n.search->tried()) {
    if (form.ms) timed.push_back(&form);
    wrong += form.state == TriedForm::State::wrong;
  }
  if (n.search->tried().empty()) return;
  const std::string title = fmt::format("{} forms: {} timed, {} wrong, {} not run###forms", n.search->tried().size(),
                                        timed.size(), wrong, n.search->tried().size() - timed.size() - wrong);
  if (!ImGui::CollapsingHeader(title.c_str())) return;
  std::stable_sort(timed.begin(), timed.end(), [](const TriedForm* a, const TriedForm* b) {
    if (a->kept != b->kept) return a->kept;
    return !a->kept && a->speedup.value_or(0) > b->speedup.value_or(0);
  });
  if (!ImGui::BeginTable("forms", 3, ImGuiTableFlags_SizingStretchProp | ImGuiTableFlags_NoSavedSettings)) return;
  ImGui::TableSetupColumn("change", ImGuiTableColumnFlags_WidthStretch);
  ImGui::TableSetupColumn("time", ImGuiTableColumnFlags_WidthFixed, t.em * 5);
  ImGui::TableSetupColumn("against", ImGuiTableColumnFlags_WidthFixed, t.em * 8);
  for (const auto* form : timed) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    ImGui::PushStyleColor(ImGuiCol_Text, form->kept ? t.right : t.text);
    wrapped((form->kept ? "✓ " : "") + form->words);
    ImGui::PopStyleColor();
    if (!form->reason.empty()) tooltip(t, form->reason);
    ImGui::TableNextColumn();
    right_aligned(time_text(*form->ms), t.text);
    ImGui::TableNextColumn();
    right_aligned(fmt::format("{} {}", factor_of(form->speedup.value_or(1)), form->verdict), t.dim);
  }
  ImGui::EndTable();
  dim_text(t, fmt::format("against the best form by then, in the same turns; {}, measured", cache_of(n)));
}

void found(Frame& f, const TuningNow& n) {
  const Theme& t = f.theme;
  const TuningNow::Result& r = *n.result;
  const std::string file = file_of_kernel(n.document.kernel);
  if (!n.search->wrong().empty()) {
    coloured(t.warning, "A wrong kernel is not made faster: " + n.search->wrong());
    return;
  }
  if (r.lines.empty() || !r.before_ms || !r.after_ms) {
    wrapped("No change of the text makes it faster by more than its spread.");
  } else {
    ImGui::BeginGroup();
    for (const auto& l : r.lines) changed_line(f, file, l.line, l.before, l.after);
    const bool faster = n.search->confirmed();
    coloured(faster ? t.right : t.warning,
             fmt::format("{} → {}, {} as fast: {}", time_text(*r.before_ms), time_text(*r.after_ms),
                         factor_of(r.speedup.value_or(1)), r.verdict));
    dim_text(t, fmt::format("{}, measured, {} samples of each in turn, ± {} and ± {}; judged right on this problem and "
                            "on {} small ones",
                            cache_of(n), r.samples, noise_text(r.before_noise), noise_text(r.after_noise), r.judged));
    for (const auto& only : r.only_for) coloured(t.warning, "right for " + only + " alone");
    ImGui::EndGroup();
    copy_menu(f, "copy-tuned", [&r] {
      std::string csv = "line,before,after\n";
      for (const auto& l : r.lines) csv += fmt::format("{},{},{}\n", l.line, csv_field(l.before), csv_field(l.after));
      return csv;
    });
    if (ImGui::Button("Put it into the text")) {
      source_edit().wanted = file, source_edit().put = {n.before, n.search->best_text()};
      f.show("Source");
    }
    tooltip(t, "Types it in the panel Source, from where it is written, compiled and judged. Ctrl+Z takes it back");
  }
  if (r.left) dim_text(t, fmt::format("{} change{} not tried", grouped(r.left), r.left == 1 ? " was" : "s were"));
}

}  // namespace

TuningChoice tuning_choice() { return choice(); }

void tuning(Frame& f) {
  const Theme& t = f.theme;
  if (!f.bench.files().of(file_of_kernel(f.document.kernel))) return;
  heading(t, "A faster form of the file");
  if (!f.bench.inventory().runs_on_a_gpu(f.document)) {
    dim_text(t,
             "On a GPU, sizes, unrolling and bounds in its text are tried and timed; the emulator's times say nothing "
             "of one.");
    return;
  }
  const TuningNow& now = f.bench.tunings().now();
  const TuningNow* n = f.bench.tunings().of(f.document);
  if (now.running && !n) {
    dim_text(t, fmt::format("One is looked for of {}, on another problem", file_name(now.document.kernel)));
    if (ImGui::SmallButton("Stop")) f.act("tune");
    return;
  }
  if (n && n->running) {
    looked_for(f, *n);
    return tried_forms(f, *n);
  }
  if (n && n->result) found(f, *n);
  if (n && !n->trouble.empty()) dim_text(t, n->trouble);
  if (n) tried_forms(f, *n);
  if (ImGui::Button(n ? "Look again" : "Look for one")) f.act("tune");
  tooltip(
      t,
      "Changes sizes of tiles and blocks, unrolling, bounds of launches, __restrict__ and the width of indices, one "
      "after the other. Each form is compiled and judged, what is right is timed in turn with the best one so far. "
      "Three minutes at most. Ctrl+F7");
  auto choose = [&](const char* label, bool& on, const char* about) {
    beside_if_fits(ImGui::CalcTextSize(label).x + ImGui::GetFrameHeight() + ImGui::GetStyle().ItemInnerSpacing.x);
    checkbox(label, &on);
    tooltip(t, about);
  };
  choose("for this layer alone", choice().for_layer,
         "Stride, kernel size, padding, dilation and groups may become constants: right for such layers alone");
  choose("by hot times", choice().by_hot,
         "Times with the data in the cache from the call before decide, and not those with the L2 cache flushed");
}

}  // namespace convscope::ui
