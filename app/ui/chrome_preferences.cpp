// Preferences: what is kept from one start to the next, in one place. Each is also an action of the table, whose keys
// stand beside it.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <imgui.h>

#include "app/model/paint.h"
#include "app/ui/actions.h"
#include "app/ui/chrome.h"
#include "app/ui/widgets.h"

namespace convscope::ui {
namespace {

// A row of the table: its name and the keys that do the same; its control follows.
void preference(const Theme& t, const char* name, const char* action) {
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  ImGui::AlignTextToFramePadding();
  ImGui::TextUnformatted(name);
  const Action* a = find_action(action);
  if (a) tooltip(t, a->about);
  ImGui::TableNextColumn();
  if (a && a->chord) {
    ImGui::AlignTextToFramePadding();
    ImGui::PushFont(t.code_font, 0);
    ImGui::TextDisabled("%s", chord_text(a->chord).c_str());
    ImGui::PopFont();
  }
  ImGui::TableNextColumn();
}

// A choice of colours is one by its looks.
void preview_colours(ColourMap map, bool light) {
  const float em = ImGui::GetFontSize(), width = em * 6, height = em * 0.9f;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float top = at.y + (ImGui::GetFrameHeight() - height) / 2;
  ImGui::Dummy({width, ImGui::GetFrameHeight()});
  constexpr int steps = 32;
  for (int i = 0; i < steps; i++) {
    const float a = at.x + width * static_cast<float>(i) / steps, b = at.x + width * static_cast<float>(i + 1) / steps;
    ImGui::GetWindowDrawList()->AddRectFilled({a, top}, {b, top + height}, colour(map, (i + 0.5) / steps, light));
  }
}

Settings with_defaults(Settings s) {
  const Settings first;
  s.theme = first.theme, s.scale = first.scale, s.presenter = first.presenter, s.live = first.live;
  s.value_colours = first.value_colours;
  return s;  // files, panels and what was swept are no matter of taste
}

}  // namespace

void Chrome::preferences() {
  constexpr const char* title = "Preferences";
  if (app_.preferences_open_ && !ImGui::IsPopupOpen(title)) ImGui::OpenPopup(title);
  const ImGuiViewport* v = ImGui::GetMainViewport();
  const float em = ImGui::GetFontSize();
  ImGui::SetNextWindowPos(v->GetCenter(), ImGuiCond_Always, {0.5f, 0.5f});
  ImGui::SetNextWindowSize({std::min(em * 40, v->WorkSize.x * 0.95f), 0});
  if (!ImGui::BeginPopupModal(title, &app_.preferences_open_, ImGuiWindowFlags_NoResize)) {
    app_.preferences_open_ = false;
    return;
  }
  const std::string& file = app_.options_.settings_file;
  static KeptSettings kept = KeptSettings::none;
  if (ImGui::IsWindowAppearing()) {
    Settings there;
    kept = file.empty() ? KeptSettings::none : read_settings(file, there);
  }
  Settings s = f_.settings;
  if (ImGui::BeginTable("preferences", 3, ImGuiTableFlags_SizingFixedFit | ImGuiTableFlags_NoSavedSettings)) {
    ImGui::TableSetupColumn("name");
    ImGui::TableSetupColumn("keys");
    ImGui::TableSetupColumn("value", ImGuiTableColumnFlags_WidthStretch);
    preference(f_.theme, "theme", "theme");
    if (radio_button("dark", s.theme == Settings::Theme::dark)) s.theme = Settings::Theme::dark;
    ImGui::SameLine(0, em);
    if (radio_button("light", s.theme == Settings::Theme::light)) s.theme = Settings::Theme::light;
    preference(f_.theme, "colours of values", "colours");
    for (auto [name, map] : {std::pair{"viridis", ColourMap::viridis}, {"cividis", ColourMap::cividis}}) {
      if (map != ColourMap::viridis) ImGui::SameLine(0, em);
      if (radio_button(name, s.value_colours == name)) s.value_colours = name;
      ImGui::SameLine(0, em * 0.4f);
      preview_colours(map, f_.theme.light);
    }
    preference(f_.theme, "size", "larger");
    // Taken when it is let go: else the slider would move away under the hand.
    static int percent = 100;
    static bool turning = false;
    const int now = static_cast<int>(std::lround(100 * s.scale));
    if (!turning || ImGui::IsWindowAppearing()) percent = now;
    ImGui::SetNextItemWidth(em * 14);
    ImGui::SliderInt("##size", &percent, 75, 200, "%d %%", ImGuiSliderFlags_AlwaysClamp);
    turning = ImGui::IsItemActive();
    if (!turning && percent != now) s.scale = percent / 100.0;
    tooltip(f_.theme, "Of everything, on top of the display's own scale.");
    preference(f_.theme, "presenter layout", "presenter");
    checkbox("large type; maps, verdict and explanation", &s.presenter);
    preference(f_.theme, "live", "live");
    checkbox("run at every change", &s.live);
    preference(f_.theme, "panels", "reset-layout");
    if (ImGui::Button("Reset layout")) f_.act("reset-layout");
    preference(f_.theme, "recent files", "");
    ImGui::BeginDisabled(s.recent.empty());
    if (ImGui::Button(fmt::format("Forget {}###forget", s.recent.empty() ? std::string("them")
                                                        : s.recent.size() == 1
                                                            ? "one file"
                                                            : fmt::format("{} files", s.recent.size()))
                          .c_str()))
      s.recent.clear();
    ImGui::EndDisabled();
    tooltip(f_.theme, "Their names in the menu File, Open recent. The files stay.");
    ImGui::EndTable();
  }
  if (file.empty())
    dim_text(f_.theme, "Kept until the window is closed: there is no folder for it.");
  else if (kept == KeptSettings::later)
    dim_text(f_.theme,
             fmt::format("Kept until the window is closed: {} is of a later version, and is left alone.", file));
  else
    dim_text(f_.theme, "Kept in " + file);
  if (!(s == f_.settings)) f_.out.push_back(SetSettings{s});
  const Settings defaults = with_defaults(f_.settings);
  ImGui::BeginDisabled(defaults == f_.settings);
  if (ImGui::Button("Defaults")) f_.out.push_back(SetSettings{defaults});
  ImGui::EndDisabled();
  tooltip(f_.theme, "All of these as at a first start; recent files and panels stay.");
  ImGui::SameLine();
  if (ImGui::Button("Close") || (ImGui::IsKeyPressed(ImGuiKey_Escape) && !ImGui::GetIO().WantTextInput)) {
    app_.preferences_open_ = false;
    ImGui::CloseCurrentPopup();
  }
  ImGui::EndPopup();
}

}  // namespace convscope::ui
