#include "app/ui/chrome.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <imgui.h>
#include <imgui_internal.h>
#include <misc/cpp/imgui_stdlib.h>

#include "app/engine/kernel_file.h"
#include "app/ui/actions.h"
#include "app/ui/panels/source_edit.h"
#include "app/ui/widgets.h"
#include "kernels/problem/presets.h"

namespace convscope::ui {
namespace {

void menu_item(App& app, const Action& a, std::vector<Event>& out) {
  std::string label = a.label;
  if (std::string_view(a.id) == "undo" && app.can_undo()) label += ": " + app.undo_text();
  if (std::string_view(a.id) == "redo" && app.history().can_redo()) label += ": " + app.history().redo_text();
  label += std::string("###") + a.id;
  if (ImGui::MenuItem(label.c_str(), chord_text(a.chord).c_str(), a.checked && a.checked(app), a.enabled(app)))
    out.push_back(RunAction{a.id});
  tooltip(app.theme(), a.about);
}

// A filled label, as the device badge is.
void badge(const Theme& t, const std::string& text, const ImVec4& colour, const char* about) {
  ImVec2 pad{ImGui::GetFontSize() * 0.5f, ImGui::GetFontSize() * 0.1f}, size = ImGui::CalcTextSize(text.c_str());
  ImVec2 at = ImGui::GetCursorScreenPos();
  float top = at.y + (ImGui::GetFrameHeight() - size.y) / 2;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  draw->AddRectFilled({at.x, top - pad.y}, {at.x + size.x + 2 * pad.x, top + size.y + pad.y},
                      packed(badge_ground(t, colour)), ImGui::GetFontSize() * 0.3f);
  draw->AddText({at.x + pad.x, top}, packed(colour), text.c_str());
  ImGui::Dummy({size.x + 2 * pad.x, ImGui::GetFrameHeight() - ImGui::GetStyle().ItemSpacing.y});
  tooltip(t, about);
}

// The first of what belongs together in a menu.
bool begins_group(std::string_view id) {
  for (const char* first : {"save", "export-pytorch", "edit-copy", "quit", "copy-window", "preferences", "profile",
                            "xray", "sweep", "best-kernel", "cancel", "view-back", "next-failing", "classes",
                            "colours-automatic", "scatter", "presenter", "larger"})
    if (id == first) return true;
  return false;
}

}  // namespace

void Chrome::bars() {
  menu_bar();
  status_bar();
  lesson_strip();
}

void Chrome::menu_bar() {
  if (!ImGui::BeginMainMenuBar()) return;
  float em = ImGui::GetFontSize();
  for (const char* menu : {"File", "Edit", "Run", "View", "Help"}) {
    if (!ImGui::BeginMenu(menu)) continue;
    if (std::string_view(menu) == "Help") {  // who is here for the first time looks for them
      lessons_menu();
      ImGui::Separator();
    }
    for (const auto& a : actions()) {
      if (std::string_view(a.menu) != menu) continue;
      if (begins_group(a.id)) ImGui::Separator();
      menu_item(app_, a, f_.out);
      if (std::string_view(a.id) == "open") recordings_menu();
      if (std::string_view(a.id) == "open" && !app_.settings_.recent.empty() && ImGui::BeginMenu("Open recent")) {
        for (const auto& path : app_.settings_.recent)
          if (ImGui::MenuItem(path.c_str())) path_open_later_ = path;
        ImGui::EndMenu();
      }
    }
    if (std::string_view(menu) == "View") {
      ImGui::Separator();
      for (size_t i = 0; i < panels().size(); i++) {
        bool open = app_.open_[i];
        if (ImGui::MenuItem(panels()[i].title, nullptr, open)) {
          if (open)
            app_.open_[i] = false;
          else
            f_.show(panels()[i].title);
        }
        tooltip(f_.theme, panels()[i].about);
      }
    }
    ImGui::EndMenu();
  }
  if (!path_open_later_.empty()) app_.open(std::exchange(path_open_later_, {}));

  ImGui::SameLine(0, em * 1.5f);
  bool running = f_.bench.runs().running();
  // Who aims at Cancel just as it becomes Run does not mean that.
  static double ended_at = -1;
  static bool was_running = running;
  if (std::exchange(was_running, running) && !running) ended_at = ImGui::GetTime();
  if (running) {
    if (ImGui::SmallButton("Cancel")) f_.act("cancel");
    tooltip(f_.theme, "Stop what the engine does (Esc)");
  } else {
    if (ImGui::SmallButton("Run##now") && std::fabs(ImGui::GetTime() - ended_at) > 0.4) f_.act("run");
    tooltip(f_.theme, "Run the kernel and the oracle again (F5)");
  }
  bool live = f_.settings.live;
  // A box as high as the bar would touch its edges.
  const ImVec2 padding = ImGui::GetStyle().FramePadding;
  const float low = std::round(padding.y * 0.4f);
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {padding.x, low});
  ImGui::SetCursorPosY(ImGui::GetCursorPosY() + padding.y - low);
  if (checkbox("live", &live)) f_.act("live");
  ImGui::PopStyleVar();
  tooltip(f_.theme, "Run at every change (Space)");
  ImGui::BeginDisabled(!app_.can_undo());
  if (ImGui::SmallButton("Undo")) f_.act("undo");
  ImGui::EndDisabled();
  tooltip(f_.theme, app_.can_undo() ? "Undo " + app_.undo_text() + " (Ctrl+Z)" : "Nothing to undo");
  ImGui::BeginDisabled(!app_.history().can_redo());
  if (ImGui::SmallButton("Redo")) f_.act("redo");
  ImGui::EndDisabled();
  tooltip(f_.theme,
          app_.history().can_redo() ? "Redo " + app_.history().redo_text() + " (Ctrl+Shift+Z)" : "Nothing to redo");

  // A run that came to no result says nothing of its device: the one before ran there as well.
  const Report* r = f_.report() && !f_.report()->device_name.empty() ? f_.report() : f_.picture();
  const bool starting = f_.bench.link().status().state == EngineStatus::State::starting;
  std::string device = r && !r->device_name.empty() ? r->device_name
                       : starting                   ? "starting the engine"
                       : f_.bench.runs().running()  ? "first run"
                                                    : "nothing has run";
  bool emulated = r && r->device_kind == "emulator";
  if (emulated) device = "emulator: times are not GPU times";
  const bool recorded = r && !r->recorded.empty();
  if (recorded) device = "recorded: " + r->recorded;
  auto width_of = [&](const std::string& text) { return ImGui::CalcTextSize(text.c_str()).x + em * 1.2f; };
  // That it is no GPU, or not here and now, is said in any room.
  if ((emulated || recorded) && ImGui::GetWindowWidth() - width_of(device) - em * 0.5f <= ImGui::GetCursorPosX())
    device = recorded ? "recorded" : "emulator";
  const float width = width_of(device), hint = ImGui::CalcTextSize("Search…").x + em * 2;
  float right = ImGui::GetWindowWidth() - width - em * 0.5f;
  if (right - hint > ImGui::GetCursorPosX()) {
    ImGui::SetCursorPosX(right - hint);
    if (ImGui::SmallButton("Search…")) f_.act("palette");
    tooltip(f_.theme, "Find an action, a preset, a kernel or a panel by name (Ctrl+Shift+P)");
  }
  if (right > ImGui::GetCursorPosX()) {
    ImGui::SetCursorPosX(right);
    badge(
        f_.theme, device,
        recorded                       ? f_.theme.accent
        : emulated                     ? f_.theme.warning
        : r && !r->device_name.empty() ? f_.theme.right
                                       : f_.theme.dim,
        recorded
            ? "The figures of the panels were measured there and then. Pictures and explanations are of what runs here."
        : emulated ? "Kernels run on the CPU emulator: the same sources and the same results as on a GPU. Times are "
                     "host times and say nothing of a GPU."
                   : "What the kernels run on");
  }
  ImGui::EndMainMenuBar();
}

void Chrome::recordings_menu() {
  const auto& shipped = App::recordings();
  if (!ImGui::BeginMenu("Recordings", !shipped.empty())) {
    tooltip(f_.theme, shipped.empty() ? "This program came without recordings; File, Open reads those of others"
                                      : "Measured on a GPU, to be looked at without one");
    return;
  }
  for (const auto& r : shipped)
    if (ImGui::MenuItem(r.name.c_str(), nullptr, app_.session_path_ == r.path)) path_open_later_ = r.path;
  ImGui::EndMenu();
}

void Chrome::overlays() {
  palette();
  help();
  about();
  preferences();
  path_dialog();
  trust_dialog();
  toasts();
}

// ---- help, about --------------------------------------------------------------------------------------------------

void Chrome::help() {
  if (app_.help_open_ && !ImGui::IsPopupOpen("Keys and mouse")) ImGui::OpenPopup("Keys and mouse");
  ImGuiViewport* v = ImGui::GetMainViewport();
  float em = ImGui::GetFontSize();
  ImGui::SetNextWindowPos(v->GetCenter(), ImGuiCond_Always, {0.5f, 0.5f});
  ImGui::SetNextWindowSize({std::min(em * 48, v->WorkSize.x * 0.95f), std::min(em * 40, v->WorkSize.y * 0.9f)});
  if (!ImGui::BeginPopupModal("Keys and mouse", &app_.help_open_, ImGuiWindowFlags_NoResize)) {
    app_.help_open_ = false;
    return;
  }
  heading(f_.theme, "MOUSE ON A MAP");
  wrapped(
      "Wheel: zoom at the mouse (with Shift only positions, with Ctrl only channels). Drag: move. Click: select an "
      "element and explain it. Double click: zoom to its number. Right click: copy, save. On the colours below it: "
      "drag an end for a range of your own, double click types it. On any slider: Ctrl+click types a number. On a "
      "parameter: Ctrl+wheel steps it, with Shift by ten.");
  if (ImGui::BeginTable("keys", 3, ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingStretchProp)) {
    ImGui::TableSetupColumn("key", ImGuiTableColumnFlags_WidthFixed, em * 9);
    ImGui::TableSetupColumn("action", ImGuiTableColumnFlags_WidthFixed, em * 13);
    ImGui::TableSetupColumn("about", ImGuiTableColumnFlags_WidthStretch);
    for (const auto& a : actions()) {
      if (!a.chord) continue;
      ImGui::TableNextRow();
      ImGui::TableNextColumn();
      ImGui::PushFont(f_.theme.code_font, 0);
      ImGui::TextUnformatted((chord_text(a.chord) + (a.second ? ", " + chord_text(a.second) : "")).c_str());
      ImGui::PopFont();
      ImGui::TableNextColumn();
      ImGui::TextUnformatted(a.label);
      ImGui::TableNextColumn();
      dim_text(f_.theme, a.about);
    }
    ImGui::EndTable();
  }
  if (ImGui::IsKeyPressed(ImGuiKey_Escape)) {
    app_.help_open_ = false;
    ImGui::CloseCurrentPopup();
  }
  ImGui::EndPopup();
}

void Chrome::about() {
  if (app_.about_open_ && !ImGui::IsPopupOpen("About convscope")) ImGui::OpenPopup("About convscope");
  ImGui::SetNextWindowPos(ImGui::GetMainViewport()->GetCenter(), ImGuiCond_Always, {0.5f, 0.5f});
  ImGui::SetNextWindowSize({ImGui::GetFontSize() * 30, 0});
  if (!ImGui::BeginPopupModal("About convscope", &app_.about_open_, ImGuiWindowFlags_NoResize)) {
    app_.about_open_ = false;
    return;
  }
  ImGui::PushFont(f_.theme.bold_font, 0);
  ImGui::TextUnformatted("convscope " CONVSCOPE_VERSION);
  ImGui::PopFont();
  wrapped(
      "A workbench for ConvTranspose1d CUDA kernels: runs a kernel beside an oracle, shows where and why it is "
      "wrong, and where its time goes. MIT licence.");
  dim_text(f_.theme,
           "With Dear ImGui, ImPlot and ImGuiColorTextEdit (MIT), GLFW (zlib), the fonts Inter and JetBrains Mono (SIL "
           "Open Font Licence), fmt and nlohmann-json (MIT), libpng, zlib.");
  if (ImGui::Button("Close") || ImGui::IsKeyPressed(ImGuiKey_Escape)) {
    app_.about_open_ = false;
    ImGui::CloseCurrentPopup();
  }
  ImGui::EndPopup();
}

// ---- code from outside --------------------------------------------------------------------------------------------

void Chrome::trust_dialog() {
  if (app_.untrusted_.empty()) return;
  constexpr const char* title = "Run code from outside?";
  if (!ImGui::IsPopupOpen(title)) ImGui::OpenPopup(title);
  const float em = ImGui::GetFontSize();
  ImGui::SetNextWindowPos(ImGui::GetMainViewport()->GetCenter(), ImGuiCond_Appearing, {0.5f, 0.5f});
  ImGui::SetNextWindowSize({std::min(em * 54, ImGui::GetMainViewport()->WorkSize.x * 0.9f), 0});
  bool open = true;
  if (!ImGui::BeginPopupModal(title, &open, ImGuiWindowFlags_NoResize)) return app_.trust_file(false);
  ImGui::PushFont(f_.theme.code_font, 0);
  wrapped(app_.untrusted_);
  ImGui::PopFont();
  wrapped(
      "It is compiled by g++ for the emulator, on a GPU by nvcc as well, and runs with your rights, now and whenever "
      "it changes on disk. Look through it first.");
  if (ImGui::BeginChild("text", {0, em * 22}, ImGuiChildFlags_Borders | ImGuiChildFlags_NavFlattened,
                        ImGuiWindowFlags_HorizontalScrollbar)) {
    ImGui::PushFont(f_.theme.code_font, 0);
    ImGui::TextUnformatted(app_.untrusted_text_.c_str());
    ImGui::PopFont();
  }
  ImGui::EndChild();
  // By the keyboard as well: Tab and Space, or Enter, on the one that is marked.
  if (ImGui::IsWindowAppearing()) ImGui::SetKeyboardFocusHere(), ImGui::SetNavCursorVisible(true);
  const bool go = ImGui::Button("Compile and run");
  ImGui::SameLine();
  if (ImGui::Button("Cancel") || ImGui::IsKeyPressed(ImGuiKey_Escape) || !open) {
    ImGui::CloseCurrentPopup();
    app_.trust_file(false);
  } else if (go) {
    ImGui::CloseCurrentPopup();
    app_.trust_file(true);
  }
  ImGui::EndPopup();
}

void Chrome::toasts() {
  if (app_.shot_) return;  // notes of actions are not part of a picture
  ImGuiViewport* v = ImGui::GetMainViewport();
  float em = ImGui::GetFontSize(), y = v->WorkPos.y + v->WorkSize.y - em;
  size_t closed = app_.toasts_.size();
  for (size_t i = app_.toasts_.size(); i-- > 0;) {
    const App::Note& note = app_.toasts_[i];
    ImGui::SetNextWindowPos({v->WorkPos.x + v->WorkSize.x / 2, y}, ImGuiCond_Always, {0.5f, 1});
    ImGui::SetNextWindowSizeConstraints({0, 0}, {v->WorkSize.x * 0.7f, FLT_MAX});
    // One that stays can be closed, and keeps its place among others.
    const std::string id =
        note.stays() ? "##note that stays" : fmt::format("##toast{}", static_cast<int>(app_.toasts_.size() - 1 - i));
    ImGui::PushStyleColor(ImGuiCol_WindowBg, f_.theme.raised);
    if (note.stays()) ImGui::PushStyleColor(ImGuiCol_Border, f_.theme.warning);
    ImGui::Begin(id.c_str(), nullptr,
                 ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_AlwaysAutoResize |
                     ImGuiWindowFlags_NoFocusOnAppearing | ImGuiWindowFlags_NoNav | ImGuiWindowFlags_NoDocking |
                     (note.stays() ? ImGuiWindowFlags_NoMove : ImGuiWindowFlags_NoInputs) |
                     ImGuiWindowFlags_NoSavedSettings);
    ImGui::BringWindowToDisplayFront(ImGui::GetCurrentWindow());
    ImGui::PushTextWrapPos(v->WorkSize.x * 0.65f);
    ImGui::TextUnformatted(in_the_window(note.text).c_str());
    ImGui::PopTextWrapPos();
    if (note.stays() && ImGui::SmallButton("Close")) closed = i;
    y -= ImGui::GetWindowHeight() + em * 0.3f;
    ImGui::End();
    ImGui::PopStyleColor(note.stays() ? 2 : 1);
  }
  if (closed < app_.toasts_.size()) app_.toasts_.erase(app_.toasts_.begin() + static_cast<std::ptrdiff_t>(closed));
}

}  // namespace convscope::ui
