// The command palette: whatever can be done, found by a word of its name; a parameter of the problem is set by its name
// and a number.
#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <imgui.h>
#include <imgui_internal.h>
#include <misc/cpp/imgui_stdlib.h>
#include <optional>

#include "app/model/lesson.h"
#include "app/model/typed_number.h"
#include "app/ui/actions.h"
#include "app/ui/chrome.h"
#include "kernels/base/text.h"
#include "kernels/problem/presets.h"

namespace convscope::ui {
namespace {

struct Row {
  std::string label, detail;
  std::optional<Event> event;  // nothing: it is only said
};

// Every word of what was typed must occur.
bool fits(const std::string& wanted, const std::string& text) {
  const std::string in = lowered(text);
  for (size_t at = 0; at < wanted.size();) {
    const size_t end = std::min(wanted.find(' ', at), wanted.size());
    if (end > at && in.find(wanted.substr(at, end - at)) == std::string::npos) return false;
    at = end + 1;
  }
  return true;
}

// "stride 3": the parameters whose names begin so, set to it, or why they cannot be; without a number what they are.
void add_parameters(std::vector<Row>& rows, const std::string& wanted, const ConvProblem& now) {
  // A number is one word: 3, 65536, 1e5, 2^16.
  size_t end = wanted.find_last_of(" =");
  end = end == std::string::npos ? 0 : end + 1;
  if (end == 0) {  // stride3; but S4 is a kernel
    while (end < wanted.size() && !std::isdigit(static_cast<unsigned char>(wanted[end]))) end++;
    if (end < 3) end = wanted.size();
  }
  const auto value = typed_number(wanted.substr(end));
  if (!value) end = wanted.size();
  std::string name = wanted.substr(0, end);
  while (!name.empty() && (name.back() == ' ' || name.back() == '=')) name.pop_back();
  std::replace(name.begin(), name.end(), ' ', '_'), std::replace(name.begin(), name.end(), '-', '_');
  if (name.empty()) return;
  for (const auto& f : problem_fields()) {
    std::string own = f.name;
    if (!own.starts_with(name)) continue;
    std::replace(own.begin(), own.end(), '_', ' ');
    if (!value) {
      rows.push_back({own, fmt::format("now {}; with a number behind it, as {} 3, it is set", now.*f.value, own), {}});
      continue;
    }
    ConvProblem p = now;
    p.*f.value = *value;
    const auto why = check(p);
    rows.push_back({fmt::format("{} {}", own, *value),
                    why ? std::string(why->what()) : fmt::format("sets it; now {}", now.*f.value),
                    why ? std::nullopt : std::optional<Event>(Command{SetProblem{p}, 0})});
  }
}

}  // namespace

void Chrome::palette() {
  if (app_.palette_open_ && !ImGui::IsPopupOpen("palette")) {
    ImGui::OpenPopup("palette");
    app_.palette_text_.clear();
    app_.palette_at_ = 0;
  }
  ImGuiViewport* v = ImGui::GetMainViewport();
  float em = ImGui::GetFontSize();
  ImGui::SetNextWindowPos({v->WorkPos.x + v->WorkSize.x / 2, v->WorkPos.y + em * 3}, ImGuiCond_Always, {0.5f, 0});
  ImGui::SetNextWindowSize({std::min(em * 42, v->WorkSize.x * 0.9f), 0});
  if (!ImGui::BeginPopup("palette")) {
    app_.palette_open_ = false;
    return;
  }
  static bool refused = false;  // Enter ends typing, also where it has chosen nothing
  if (ImGui::IsWindowAppearing() || std::exchange(refused, false)) ImGui::SetKeyboardFocusHere();
  ImGui::SetNextItemWidth(-FLT_MIN);
  ImGui::InputTextWithHint("##search", "an action, a preset, a kernel, a panel; stride 3", &app_.palette_text_,
                           ImGuiInputTextFlags_AutoSelectAll);
  const bool edited = ImGui::IsItemEdited();
  std::vector<Row> rows;
  const std::string wanted = lowered(app_.palette_text_);
  add_parameters(rows, wanted, f_.document.problem);
  const auto parameters = static_cast<std::ptrdiff_t>(rows.size());
  auto add = [&](std::string label, std::string detail, Event event) {
    if (fits(wanted, label + " " + detail)) rows.push_back({std::move(label), std::move(detail), std::move(event)});
  };
  for (const auto& a : actions())
    if (*a.menu && a.enabled(app_)) add(a.label, chord_text(a.chord), RunAction{a.id});
  for (const auto& p : panels()) add(std::string("Panel: ") + p.title, p.about, ShowPanel{p.title});
  for (const auto& r : App::recordings())
    if (fits(wanted, "Recording: " + r.name)) rows.push_back({"Recording: " + r.name, r.path, OpenFile{r.path}});
  for (const auto& l : App::lessons()) add("Lesson: " + l.title, l.about, OpenFile{l.path});
  for (const auto& k : f_.bench.inventory().kernels()) add("Kernel: " + k.name, k.idea, Command{SetKernel{k.name}, 0});
  for (const auto& t : dtype_table) {
    ConvProblem p = f_.document.problem;
    p.dtype = t.dtype;
    add("Type: " + std::string(t.name), "of all tensors", Command{SetProblem{p}, 0});
  }
  for (Accuracy a : {Accuracy::strict, Accuracy::tf32x3, Accuracy::tf32})
    add("Accuracy: " + std::string(name_of(a)), "that is asked of f32 problems", Command{SetAccuracy{a}, 0});
  for (const auto& p : presets()) add("Preset: " + p.name, p.about, Command{LoadPreset{p.name}, 0});
  // What is called so comes before what is only described so, and what is called just so before all.
  auto called = [&](const Row& r) {
    const std::string name = lowered(r.label);
    return name == wanted || name.ends_with(": " + wanted);
  };
  if (!wanted.empty()) {
    const auto from = rows.begin() + parameters;
    std::stable_partition(std::stable_partition(from, rows.end(), called), rows.end(),
                          [&](const Row& r) { return fits(wanted, r.label); });
  }
  if (ImGui::IsKeyPressed(ImGuiKey_DownArrow)) app_.palette_at_++;
  if (ImGui::IsKeyPressed(ImGuiKey_UpArrow)) app_.palette_at_--;
  if (edited) app_.palette_at_ = 0;
  const auto choices = std::count_if(rows.begin(), rows.end(), [](const Row& r) { return r.event.has_value(); });
  app_.palette_at_ = std::clamp(app_.palette_at_, 0, std::max(0, static_cast<int>(choices) - 1));
  bool done = false;
  if (ImGui::BeginChild("rows", {0, ImGui::GetTextLineHeightWithSpacing() * 14})) {
    int place = 0;  // among those that can be chosen
    for (size_t i = 0; i < rows.size(); i++) {
      const Row& row = rows[i];
      const bool chosen = row.event && place++ == app_.palette_at_;
      ImGui::BeginDisabled(!row.event);
      if (ImGui::Selectable(fmt::format("{}##{}", row.label, i).c_str(), chosen) ||
          (chosen && ImGui::IsKeyPressed(ImGuiKey_Enter))) {
        f_.out.push_back(*row.event);
        done = true;
      }
      ImGui::EndDisabled();
      if (chosen && (ImGui::IsKeyPressed(ImGuiKey_DownArrow) || ImGui::IsKeyPressed(ImGuiKey_UpArrow)))
        ImGui::SetScrollHereY();
      ImGui::SameLine(std::max(em * 15, ImGui::CalcTextSize(row.label.c_str()).x + em * 1.5f));
      if (!row.event) {  // why it cannot be chosen: all of it
        ImGui::PushTextWrapPos();
        ImGui::TextDisabled("%s", row.detail.c_str());
        ImGui::PopTextWrapPos();
        continue;
      }
      const ImVec2 at = ImGui::GetCursorScreenPos();
      const float right = at.x + ImGui::GetContentRegionAvail().x;
      ImGui::PushStyleColor(ImGuiCol_Text, f_.theme.dim);
      ImGui::RenderTextEllipsis(ImGui::GetWindowDrawList(), at, {right, at.y + ImGui::GetTextLineHeight()}, right,
                                row.detail.c_str(), row.detail.c_str() + row.detail.size(), nullptr);
      ImGui::PopStyleColor();
      ImGui::Dummy({1, ImGui::GetTextLineHeight()});
    }
    if (rows.empty()) ImGui::TextDisabled("nothing of that name");
  }
  ImGui::EndChild();
  refused = !done && ImGui::IsKeyPressed(ImGuiKey_Enter);
  if (done || ImGui::IsKeyPressed(ImGuiKey_Escape)) {
    app_.palette_open_ = false;
    ImGui::CloseCurrentPopup();
    ImGui::SetNavCursorVisible(false);  // or Space would press what then has the keyboard
  }
  ImGui::EndPopup();
}

}  // namespace convscope::ui
