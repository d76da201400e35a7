// The strip that a lesson is told in, above the status bar: in sight in every layout.
#include <algorithm>
#include <fmt/format.h>
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

void Chrome::lessons_menu() {
  const auto& all = App::lessons();
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
  const ImGuiStyle& style = ImGui::GetStyle();
  const float em = ImGui::GetFontSize(), all = viewport->WorkSize.x - 2 * style.WindowPadding.x;
  const float width = std::min(all, em * 100);  // longer lines are hard to follow
  const bool first = app_.lesson_step() == 0, last = app_.lesson_step() + 1 == l->steps.size(),
             another = last && app_.can_go_on();
  const std::string task = s.task.empty() ? "" : "Try: " + s.task;
  const float height =
      std::min(ImGui::GetFrameHeightWithSpacing() + height_of(s.text, width) +
                   (task.empty() ? 0 : style.ItemSpacing.y + height_of(task, width)) + 2 * style.WindowPadding.y,
               viewport->Size.y * 0.45f);  // of the window: its work area is what this strip has left
  ImGui::PushStyleColor(ImGuiCol_WindowBg, t.raised);
  ImGui::PushStyleColor(ImGuiCol_Button, t.border);
  const bool shown =
      ImGui::BeginViewportSideBar("##lesson", viewport, ImGuiDir_Down, height, ImGuiWindowFlags_NoSavedSettings);
  if (shown) {
    const char* on = another ? "Next lesson" : last ? "Done" : "Next";
    auto wide = [&](const char* label) { return ImGui::CalcTextSize(label).x + 2 * style.FramePadding.x; };
    const float back = std::max(wide("Back"), em * 4), next = std::max(wide(on), em * 4),
                buttons = back + next + wide("Show again") + wide("End") + 3 * style.ItemSpacing.x;
    const float from = style.WindowPadding.x + std::max(0.0f, all - buttons);
    // Beside the buttons: the step's title, and where it stands as far as there is room.
    ImGui::AlignTextToFramePadding();
    ImGui::PushFont(t.bold_font, 0);
    ImGui::TextColored(t.accent, "%s", s.title.c_str());
    ImGui::PopFont();
    ImGui::SameLine();
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float end = ImGui::GetWindowPos().x + from - em;
    if (end > at.x) {
      const std::string where = fmt::format("{}, {} of {}", l->title, app_.lesson_step() + 1, l->steps.size());
      ImGui::PushStyleColor(ImGuiCol_Text, t.dim);
      ImGui::RenderTextEllipsis(ImGui::GetWindowDrawList(), {at.x, at.y + style.FramePadding.y},
                                {end, at.y + ImGui::GetFrameHeight()}, end, where.c_str(), nullptr, nullptr);
      ImGui::PopStyleColor();
    }
    ImGui::SameLine(from);
    ImGui::BeginDisabled(first);
    if (ImGui::Button("Back", {back, 0})) f_.act("lesson-back");
    ImGui::EndDisabled();
    tooltip(t, "The step before (Page Up)");
    ImGui::SameLine();
    if (ImGui::Button(on, {next, 0})) f_.act(last && !another ? "lesson-end" : "lesson-next");
    tooltip(t, another ? "What comes after this lesson (Page Down)"
               : last  ? "What is shown stays"
                       : "The next step (Page Down)");
    ImGui::SameLine();
    if (ImGui::Button("Show again")) f_.act("lesson-again");
    tooltip(t, "Problem, kernel and panels as this step has them, whatever was tried meanwhile");
    ImGui::SameLine();
    if (ImGui::Button("End")) f_.act("lesson-end");
    told(t, s.text, width);
    if (!task.empty()) {
      ImGui::PushStyleColor(ImGuiCol_Text, t.warning);
      told(t, task, width);
      ImGui::PopStyleColor();
    }
  }
  ImGui::End();
  ImGui::PopStyleColor(2);
}

}  // namespace convscope::ui
