#include "app/ui/theme.h"

#include <cmath>
#include <implot.h>

#include "app/ui/fonts.h"

namespace convscope::ui {
namespace {

ImVec4 hex(unsigned rgb) {
  return {static_cast<float>(rgb >> 16 & 255) / 255, static_cast<float>(rgb >> 8 & 255) / 255,
          static_cast<float>(rgb & 255) / 255, 1};
}
ImVec4 faded(ImVec4 c, float alpha) { return {c.x, c.y, c.z, alpha}; }
ImVec4 mixed(const ImVec4& a, const ImVec4& b, float t) {
  return {a.x + (b.x - a.x) * t, a.y + (b.y - a.y) * t, a.z + (b.z - a.z) * t, 1};
}

}  // namespace

Theme dark_theme() {
  Theme t;
  t.background = hex(0x0f1216), t.panel = hex(0x171b21), t.raised = hex(0x232932), t.border = hex(0x323a46);
  t.text = hex(0xe6eaf0), t.dim = hex(0x9aa6b5), t.accent = hex(0x6cb2ff);
  t.right = hex(0x5bd19a), t.wrong = hex(0xff7a72), t.warning = hex(0xf2c14e);
  t.kernel = hex(0xffa657), t.reference = hex(0x7cc4ff), t.floor = hex(0xb99cff), t.grid = hex(0x2a313b);
  // Okabe & Ito, Color Universal Design, 2008; on the light ground darker ones of the same hues.
  t.series = {t.kernel, hex(0x56b4e9), hex(0x00c08b), hex(0xcc79a7), hex(0xf0e442), hex(0x8c9eff), hex(0xb0bec5)};
  return t;
}

Theme light_theme() {
  Theme t;
  t.light = true;
  t.background = hex(0xe9ecf0), t.panel = hex(0xfcfcfd), t.raised = hex(0xeceff3), t.border = hex(0xc3cad4);
  t.text = hex(0x1b2028), t.dim = hex(0x566170), t.accent = hex(0x0b5cad);
  t.right = hex(0x12704a), t.wrong = hex(0xb3261e), t.warning = hex(0x855300);
  t.kernel = hex(0xa34b00), t.reference = hex(0x0b5cad), t.floor = hex(0x6a3fc0), t.grid = hex(0xdde2e8);
  t.series = {t.kernel, hex(0x0072b2), hex(0x00755a), hex(0x9c4577), hex(0x7a6a00), hex(0x4b53b8), hex(0x546e7a)};
  return t;
}

double contrast(const ImVec4& a, const ImVec4& b) {
  auto luminance = [](const ImVec4& c) {
    auto linear = [](float v) { return v <= 0.04045f ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4); };
    return 0.2126 * linear(c.x) + 0.7152 * linear(c.y) + 0.0722 * linear(c.z);
  };
  double x = luminance(a), y = luminance(b);
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

// On a light bar a tint takes contrast from both sides: there the badge is paler than the bar.
ImVec4 badge_ground(const Theme& t, const ImVec4& colour) {
  return t.light ? mixed(t.panel, colour, 0.12f) : mixed(t.background, colour, 0.2f);
}
ImVec4 chosen_ground(const Theme& t) { return mixed(t.panel, t.accent, t.light ? 0.14f : 0.2f); }
ImVec4 failing_ground(const Theme& t, float share) { return mixed(t.panel, t.wrong, 0.22f + 0.34f * share); }

void load_fonts(Theme& theme) {
  auto& fonts = *ImGui::GetIO().Fonts;
  auto add = [&](const FontFile& file, float size) {
    ImFontConfig config;
    config.FontDataOwnedByAtlas = false;
    return fonts.AddFontFromMemoryTTF(const_cast<unsigned char*>(file.data), static_cast<int>(file.size), size,
                                      &config);
  };
  theme.text_font = add(font_text, 16);
  theme.bold_font = add(font_bold, 16);
  theme.code_font = add(font_code, 15);
}

void apply_theme(const Theme& t, float scale) {
  ImGuiStyle& s = ImGui::GetStyle();
  s = ImGuiStyle();
  s.FontSizeBase = 15;
  s.FontScaleMain = scale;
  s.WindowPadding = {10, 8};
  s.FramePadding = {8, 4};
  s.CellPadding = {6, 3};
  s.ItemSpacing = {8, 6};
  s.ItemInnerSpacing = {6, 4};
  s.ScrollbarSize = 12;
  s.GrabMinSize = 10;
  s.WindowRounding = s.ChildRounding = 6;
  s.FrameRounding = s.PopupRounding = s.GrabRounding = s.TabRounding = 4;
  s.WindowBorderSize = s.ChildBorderSize = 1;
  s.FrameBorderSize = t.light ? 1.0f : 0.0f;
  s.TabBarBorderSize = 1;
  s.DockingSeparatorSize = 3;
  s.SeparatorTextBorderSize = 1;
  s.HoverDelayNormal = 0.35f;
  s.ScaleAllSizes(scale);
  s.TabMinWidthShrink = 1e4f;  // a tab's name is whole, or the bar scrolls

  auto& c = s.Colors;
  c[ImGuiCol_Text] = t.text, c[ImGuiCol_TextDisabled] = t.dim;
  c[ImGuiCol_WindowBg] = t.panel, c[ImGuiCol_ChildBg] = faded(t.panel, 0),
  c[ImGuiCol_PopupBg] = t.light ? t.panel : mixed(t.panel, t.raised, 0.4f);  // buttons are raised
  c[ImGuiCol_Border] = t.border;
  c[ImGuiCol_FrameBg] = t.raised, c[ImGuiCol_FrameBgHovered] = mixed(t.raised, t.accent, 0.18f),
  c[ImGuiCol_FrameBgActive] = mixed(t.raised, t.accent, 0.3f);
  c[ImGuiCol_TitleBg] = c[ImGuiCol_TitleBgActive] = c[ImGuiCol_TitleBgCollapsed] = t.background;
  c[ImGuiCol_MenuBarBg] = t.background;
  c[ImGuiCol_ScrollbarBg] = faded(t.panel, 0), c[ImGuiCol_ScrollbarGrab] = t.border,
  c[ImGuiCol_ScrollbarGrabHovered] = c[ImGuiCol_ScrollbarGrabActive] = t.dim;
  c[ImGuiCol_CheckboxSelectedBg] = t.raised;
  c[ImGuiCol_CheckMark] = t.accent,
  c[ImGuiCol_SliderGrab] = mixed(t.accent, t.background, 0.45f);  // the number stands on it
  c[ImGuiCol_SliderGrabActive] = mixed(t.accent, t.background, 0.2f);
  c[ImGuiCol_Button] = t.raised, c[ImGuiCol_ButtonHovered] = mixed(t.raised, t.accent, 0.25f),
  c[ImGuiCol_ButtonActive] = mixed(t.raised, t.accent, 0.45f);
  c[ImGuiCol_Header] = chosen_ground(t), c[ImGuiCol_HeaderHovered] = mixed(t.panel, t.accent, 0.3f),
  c[ImGuiCol_HeaderActive] = mixed(t.panel, t.accent, 0.4f);
  c[ImGuiCol_Separator] = t.border, c[ImGuiCol_SeparatorHovered] = c[ImGuiCol_SeparatorActive] = t.accent;
  c[ImGuiCol_ResizeGrip] = faded(t.border, 0), c[ImGuiCol_ResizeGripHovered] = c[ImGuiCol_ResizeGripActive] = t.accent;
  c[ImGuiCol_Tab] = c[ImGuiCol_TabDimmed] = t.background,
  c[ImGuiCol_TabSelected] = c[ImGuiCol_TabDimmedSelected] = t.panel;
  c[ImGuiCol_TabHovered] = mixed(t.panel, t.accent, 0.25f);
  c[ImGuiCol_TabSelectedOverline] = t.accent, c[ImGuiCol_TabDimmedSelectedOverline] = faded(t.accent, 0.4f);
  c[ImGuiCol_DockingPreview] = faded(t.accent, 0.4f), c[ImGuiCol_DockingEmptyBg] = t.background;
  c[ImGuiCol_TableHeaderBg] = t.raised, c[ImGuiCol_TableBorderStrong] = t.border, c[ImGuiCol_TableBorderLight] = t.grid;
  c[ImGuiCol_TableRowBgAlt] = faded(t.text, 0.03f);
  c[ImGuiCol_TextSelectedBg] = faded(t.accent, 0.35f), c[ImGuiCol_NavCursor] = t.accent;
  c[ImGuiCol_ModalWindowDimBg] = {0, 0, 0, 0.5f};
  c[ImGuiCol_TextLink] = t.accent;

  ImPlotStyle& p = ImPlot::GetStyle();
  p = ImPlotStyle();
  auto& pc = p.Colors;
  pc[ImPlotCol_FrameBg] = faded(t.panel, 0), pc[ImPlotCol_PlotBg] = t.background, pc[ImPlotCol_PlotBorder] = t.border;
  pc[ImPlotCol_AxisGrid] = faded(t.text, 0.12f), pc[ImPlotCol_AxisText] = t.dim, pc[ImPlotCol_AxisTick] = t.border;
  pc[ImPlotCol_LegendBg] = faded(t.panel, 0.85f), pc[ImPlotCol_LegendBorder] = t.border,
  pc[ImPlotCol_LegendText] = t.text;
  pc[ImPlotCol_TitleText] = pc[ImPlotCol_InlayText] = t.text;
  pc[ImPlotCol_Crosshairs] = t.dim, pc[ImPlotCol_Selection] = t.accent;
  p.PlotPadding = {8 * scale, 6 * scale};
  p.LabelPadding = {4 * scale, 3 * scale};
  p.LegendPadding = {6 * scale, 4 * scale};
  p.PlotBorderSize = 1;
  p.MousePosPadding = {8 * scale, 8 * scale};
}

}  // namespace convscope::ui
