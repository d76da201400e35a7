// Semantic colours, fonts and sizes: the only place where a colour is chosen.
#pragma once
#include <imgui.h>
#include <string>
#include <vector>

namespace convscope::ui {

struct Theme {
  bool light = false;
  ImVec4 background, panel, raised, border, text, dim, accent, right, wrong, warning, kernel, reference, floor, grid;
  std::vector<ImVec4> series;  // of lines beside each other, told apart by those who see few colours as well
  ImFont *text_font = nullptr, *bold_font = nullptr, *code_font = nullptr;
  float em = 16;  // size of text in pixels, scale included: every length is a multiple of it
};

Theme dark_theme();
Theme light_theme();
// (L1 + 0.05)/(L2 + 0.05) with the relative luminances of WCAG 2.1.
double contrast(const ImVec4& a, const ImVec4& b);

// Grounds that are tinted with the colour that stands on them, or under several: a badge in a bar, a chosen row, a cell
// of a table in which a share of the elements fails.
ImVec4 badge_ground(const Theme& theme, const ImVec4& colour);
ImVec4 chosen_ground(const Theme& theme);
ImVec4 failing_ground(const Theme& theme, float share);

// Fonts are embedded in the program. Call once a context.
void load_fonts(Theme& theme);
// Colours and sizes of Dear ImGui and ImPlot. scale: the display's times the user's.
void apply_theme(const Theme& theme, float scale);

inline ImU32 packed(const ImVec4& c, float alpha = 1) {
  return ImGui::ColorConvertFloat4ToU32({c.x, c.y, c.z, c.w * alpha});
}

}  // namespace convscope::ui
