#include "app/ui/panels/mending.h"

#include <algorithm>
#include <fmt/format.h>
#include <imgui.h>

#include "app/engine/kernel_file.h"
#include "app/ui/panels/flow.h"
#include "app/ui/panels/map_view.h"
#include "app/ui/panels/source_edit.h"
#include "app/ui/panels/source_place.h"
#include "app/ui/widgets.h"
#include "kernels/base/text.h"
#include "kernels/runtime/registry.h"

namespace convscope::ui {
namespace {

void mend_looked_for(Frame& f) {
  const Theme& t = f.theme;
  const Mending& m = f.bench.mending();
  const auto part = m.total() ? static_cast<float>(m.done()) / static_cast<float>(m.total()) : 0.0f;
  ImGui::ProgressBar(m.total() ? part : -1.0f * static_cast<float>(ImGui::GetTime()), {t.em * 8, t.em * 0.9f}, "");
  f.again_in(0.1);
  ImGui::SameLine();
  if (ImGui::SmallButton("Stop")) f.wish([](Workbench& b) { b.mending().stop(); });
  dim_text(t, m.total()           ? fmt::format("{} of {} edits of the text", grouped(static_cast<int64_t>(m.done())),
                                                grouped(static_cast<int64_t>(m.total())))
              : m.phase().empty() ? "making the text such that edits can be tried…"
                                  : m.phase() + "…");
}

void mend_found(Frame& f, const Report& r, const Mend& m) {
  const Theme& t = f.theme;
  const std::string file = file_of_kernel(r.document.kernel);
  ImGui::BeginGroup();
  for (const auto& l : m.lines) changed_line(f, file, l.line, l.before, l.after);
  wrapped(fmt::format("With {} it is right on {} small problems, and judged so on {}{}.",
                      m.edits == 1 ? "this edit" : fmt::format("these {} edits", m.edits), m.problems, m.judged,
                      m.asked ? ", this one among them" : ""));
  if (!m.wrong_with.empty()) dim_text(t, fmt::format("With {} it is wrong as before.", m.wrong_with));
  if (m.drawn > 0 && m.drawn_right == m.drawn) dim_text(t, fmt::format("Right on {} more that were drawn.", m.drawn));
  if (m.drawn_right < m.drawn)
    wrapped(fmt::format("It is wrong on {} of {} more that were drawn; the first: {}.", m.drawn - m.drawn_right,
                        m.drawn, m.drawn_wrong));
  ImGui::EndGroup();
  tooltip(t, fmt::format("{} edits were tried in {:.1f} s: small changes of names, numbers, operators, conditions and "
                         "barriers, each on integers whose sums are exact and in several orders of threads. What is "
                         "right on all was compiled, and judged with races and memory.\nsource: emulated, here",
                         grouped(m.tried), m.seconds));
  copy_menu(f, "copy-edit", [&m] {
    std::string csv = "line,before,after\n";
    for (const auto& l : m.lines) csv += fmt::format("{},{},{}\n", l.line, csv_field(l.before), csv_field(l.after));
    return csv;
  });
  const OpenedFile* own = f.bench.files().of(file);
  if (!own) {
    if (ImGui::Button("Edit a copy…")) f.act("edit-copy");
    tooltip(t, "The text is the program's own: a copy of it, in a file of yours, can have the edit");
    return;
  }
  if (ImGui::Button("Put it into the text")) {
    source_edit().wanted = file, source_edit().put = {own->text, m.text};
    f.show("Source");
  }
  tooltip(t, "Types it in the panel Source, from where it is written, compiled and judged. Ctrl+Z takes it back");
}

}  // namespace

// As differences of texts are shown: what goes, and what comes.
void changed_line(Frame& f, const std::string& file, int line, const std::string& before, const std::string& after) {
  const Theme& t = f.theme;
  auto one = [&](const char* sign, const std::string& text, const ImVec4& colour) {
    ImGui::PushFont(t.code_font, 0);
    ImGui::PushStyleColor(ImGuiCol_Text, colour);
    ImGui::TextUnformatted(sign);
    ImGui::SameLine(t.em * 1.2f);
    wrapped(text);
    ImGui::PopStyleColor();
    ImGui::PopFont();
  };
  const std::string label = fmt::format("{}:{}", file_name(file), line);
  if (ImGui::SmallButton(label.c_str())) show_in_source(f, file_name(file), line);
  tooltip(t, "Go to this line");
  if (!before.empty()) one("−", before, t.wrong);
  one("+", after, t.right);
}

void mending(Frame& f, const Report& r) {
  const Theme& t = f.theme;
  const Mending& all = f.bench.mending();
  const std::string& kernel = r.document.kernel;
  if (!r.recorded.empty() || !r.final || (r.status != "wrong" && r.status != "crashed")) return;
  if (!f.bench.files().of(file_of_kernel(kernel)) && !f.bench.inventory().is_exhibit(kernel)) return;
  heading(t, "An edit that makes it right");
  if (all.asks_for(r)) return mend_looked_for(f);
  const Mend* m = all.of(r);
  if (m && !m->text.empty()) return mend_found(f, r, *m);
  if (m) dim_text(t, m->reason + (m->right ? ": what is wrong depends on sizes, values or time" : ""));
  if (ImGui::Button(m ? "Look again" : "Look for one")) f.act("fix");
  tooltip(t,
          "Tries thousands of small edits of the text on small problems, on the emulator: another name or number, "
          "another operator, a term or a condition more or less, a barrier. What makes it right on all of them is "
          "compiled and judged. Ctrl+F9");
}

}  // namespace convscope::ui
