// The strip that a lesson is told in, above the status bar: in sight in every layout.
#include <algorithm>
#include <imgui.h>
#include <imgui_internal.h>

#include "app/ui/chrome.h"
#include "app/ui/widgets.h"

namespace convscope::ui {
namespace {

// Paragraphs stand in lines of their own; what is in `…` is code.
void told(const Theme& t, const std::string& text, float width) {
  ImGui::PushTextWrapPos(ImGui::GetCursorPosX() + width);
  size_t from = 0;
  while (from <= text.size()) {
    const size_t end = std::min(text.find('\n', from), text.size());
    const std::string line = text.substr(from, end - from);
    if (line.starts_with("    ")) {
      ImGui::PushFont(t.code_font, 0);
      ImGui::TextUnformatted(line.c_str());
      ImGui::PopFont();
    } else {
      ImGui::TextUnformatted(line.c_str());
    }
    from = end + 1;
  }
  ImGui::PopTextWrapPos();
}

float height_of(const std::string& text, float width) {
  if (text.empty()) return 0;
  const auto lines = static_cast<float>(std::count(text.begin(), text.end(), '\n'));
  return ImGui::CalcTextSize(text.c_str(), nullptr, false, width).y + lines * ImGui::GetStyle().ItemSpacing.y;
}

}  // namespace

const std::vector<ShippedLesson>& Chrome::lessons() {
  static const std::vector<ShippedLesson> all = shipped_lessons();
  return all;
}

void Chrome::lessons_menu() {
  const auto& all = lessons();
  if (!ImGui::BeginMenu("Lessons", !all.empty())) {
    tooltip(f_.theme, all.empty() ? "This program came without lessons; File, Open reads those of others"
                                  : "Steps to go through: what a transposed convolution is, and why kernels are wrong");
    return;
  }
  for (const auto& l : all) {
    const bool open = app_.lesson() && app_.lesson()->path == l.path;
    if (ImGui::MenuItem(l.title.c_str(), nullptr, open)) path_open_later_ = l.path;
    tooltip(f_.theme, l.about);
  }
  ImGui::EndMenu();
}

void Chrome::lesson_strip() {
  const Lesson* l = app_.lesson();
  if (!l) return;
  const Theme& t = f_.theme;
  const LessonStep& s = l->steps[app_.lesson_step()];
  ImGuiViewport* viewport = ImGui::GetMainViewport();
  const float em = ImGui::GetFontSize(), buttons = em * 12, gap = em;
  const float all = viewport->WorkSize.x - 2 * gap, width = std::min(all - buttons, em * 72);
  const std::string task = s.task.empty() ? "" : "Try: " + s.task;
  const float line = ImGui::GetTextLineHeightWithSpacing();
  const float height =
      std::min(line + height_of(s.text, width) + (task.empty() ? 0 : height_of(task, width) + em * 0.4f) + em * 1.4f +
                   2 * ImGui::GetStyle().WindowPadding.y,
               viewport->WorkSize.y * 0.45f);
  ImGui::PushStyleColor(ImGuiCol_WindowBg, t.raised);
  ImGui::PushStyleColor(ImGuiCol_Button, t.border);
  const bool shown =
      ImGui::BeginViewportSideBar("##lesson", viewport, ImGuiDir_Down, height, ImGuiWindowFlags_NoSavedSettings);
  if (shown) {
    const ImVec2 at = ImGui::GetCursorPos();
    ImGui::BeginGroup();
    ImGui::PushFont(t.bold_font, 0);
    ImGui::TextColored(t.accent, "%s", s.title.c_str());
    ImGui::PopFont();
    ImGui::SameLine();
    ImGui::TextDisabled("%s, %zu of %zu", l->title.c_str(), app_.lesson_step() + 1, l->steps.size());
    told(t, s.text, width);
    if (!task.empty()) {
      ImGui::Dummy({1, em * 0.1f});
      ImGui::PushStyleColor(ImGuiCol_Text, t.warning);
      told(t, task, width);
      ImGui::PopStyleColor();
    }
    ImGui::EndGroup();
    ImGui::SetCursorPos({viewport->WorkSize.x - buttons, at.y});
    const bool first = app_.lesson_step() == 0, last = app_.lesson_step() + 1 == l->steps.size();
    ImGui::BeginDisabled(first);
    if (ImGui::Button("Back", {em * 4, 0})) f_.act("lesson-back");
    ImGui::EndDisabled();
    tooltip(t, "The step before (Page Up)");
    ImGui::SameLine();
    if (ImGui::Button(last ? "Done" : "Next", {em * 4, 0})) f_.act(last ? "lesson-end" : "lesson-next");
    tooltip(t, last ? "What is shown stays" : "The next step (Page Down)");
    ImGui::SetCursorPosX(viewport->WorkSize.x - buttons);
    if (ImGui::SmallButton("Show again")) f_.act("lesson-again");
    tooltip(t, "Problem, kernel and panels as this step has them, whatever was tried meanwhile");
    ImGui::SameLine();
    if (ImGui::SmallButton("End")) f_.act("lesson-end");
  }
  ImGui::End();
  ImGui::PopStyleColor(2);
}

}  // namespace convscope::ui
