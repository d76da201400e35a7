#include "app/ui/panels/map_axes.h"

#include <cmath>
#include <fmt/format.h>
#include <imgui.h>

#include "app/ui/widgets.h"

namespace convscope::ui {
namespace {

constexpr float size_of_text = 0.75f;

struct AxisFont {
  explicit AxisFont(const Theme& theme) {
    ImGui::PushFont(theme.code_font, ImGui::GetStyle().FontSizeBase * size_of_text);
  }
  ~AxisFont() { ImGui::PopFont(); }
  AxisFont(const AxisFont&) = delete;
  AxisFont& operator=(const AxisFont&) = delete;
};

float width_of(const std::string& text) { return ImGui::CalcTextSize(text.c_str()).x; }

// "co", and with several sequences "n, co" as an element's index has it.
std::string row_name(const ConvProblem& p, int64_t row) {
  return p.batch == 1 ? grouped(row) : fmt::format("{},{}", row / p.out_channels, row % p.out_channels);
}

// A name in the accent's colour on the background, over what stands there.
void draw_selected(const Frame& f, ImVec2 at, const std::string& text) {
  const float pad = ImGui::GetFontSize() * 0.25f;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  draw->AddRectFilled({at.x - pad, at.y}, {at.x + width_of(text) + pad, at.y + ImGui::GetFontSize()},
                      packed(f.theme.background));
  draw->AddText(at, packed(f.theme.accent), text.c_str());
}

}  // namespace

float positions_height(float map_height) {
  const float em = ImGui::GetFontSize();
  return map_height >= em * 5 ? em * (size_of_text + 0.2f) : 0;
}

float rows_width(const Frame& f, float maps_width) {
  const Report* r = f.picture();
  const float em = ImGui::GetFontSize();
  if (!r || maps_width < em * 18) return 0;
  const ConvProblem& p = r->document.problem;
  const AxisFont font(f.theme);
  return std::max(width_of(row_name(p, r->rows() - 1)), width_of(p.batch == 1 ? "co" : "n,co")) + em * 0.4f;
}

void draw_positions(const Frame& f, ImVec2 map, float width, const View& v) {
  const AxisFont font(f.theme);
  const double cell = static_cast<double>(width) / (v.column1 - v.column0);
  const float line = ImGui::GetFontSize(), y = map.y - line - line * 0.15f;
  // Room for the widest, and as much again: names that nearly touch read as one.
  const float widest = width_of(grouped(static_cast<int64_t>(v.column1)));
  auto place = [&](int64_t j, const std::string& text) {
    const float x = map.x + static_cast<float>((static_cast<double>(j) + 0.5 - v.column0) * cell) - width_of(text) / 2;
    return std::clamp(x, map.x, std::max(map.x, map.x + width - width_of(text)));
  };
  const auto& s = f.view.selected;
  const bool marked =
      s && static_cast<double>(s->column) + 0.5 >= v.column0 && static_cast<double>(s->column) + 0.5 <= v.column1;
  const std::string chosen = marked ? grouped(s->column) : "";
  const float left = marked ? place(s->column, chosen) : 0, right = left + width_of(chosen), gap = line * 0.4f;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  for (int64_t j : axis_ticks(v.column0, v.column1, static_cast<double>(widest * 1.6f) / cell)) {
    const std::string text = grouped(j);
    const float x = place(j, text);
    if (marked && x < right + gap && x + width_of(text) > left - gap) continue;  // a part of one reads as another
    draw->AddText({x, y}, packed(f.theme.dim), text.c_str());
  }
  if (marked) draw_selected(f, {left, y}, chosen);
}

void draw_rows(const Frame& f, ImVec2 map, float height, float room, const View& v) {
  const Report* r = f.picture();
  if (!r || room <= 0) return;
  const ConvProblem& p = r->document.problem;
  const AxisFont font(f.theme);
  const double cell = static_cast<double>(height) / (v.row1 - v.row0);
  const float line = ImGui::GetFontSize(), right = map.x - line * 0.3f;
  auto place = [&](int64_t row, const std::string& text) {
    const float y = map.y + static_cast<float>((static_cast<double>(row) + 0.5 - v.row0) * cell) - line / 2;
    return ImVec2{right - width_of(text), std::clamp(y, map.y, std::max(map.y, map.y + height - line))};
  };
  const auto& s = f.view.selected;
  const bool marked = s && static_cast<double>(s->row) + 0.5 >= v.row0 && static_cast<double>(s->row) + 0.5 <= v.row1;
  const std::string chosen = marked ? row_name(p, s->row) : "";
  const ImVec2 at = marked ? place(s->row, chosen) : ImVec2();
  ImDrawList* draw = ImGui::GetWindowDrawList();
  for (int64_t row : row_ticks(v.row0, v.row1, static_cast<double>(line * 1.4f) / cell, p.out_channels)) {
    const std::string text = row_name(p, row);
    const ImVec2 tick = place(row, text);
    if (marked && std::abs(tick.y - at.y) < line) continue;
    draw->AddText(tick, packed(f.theme.dim), text.c_str());
  }
  if (marked) draw_selected(f, at, chosen);
}

}  // namespace convscope::ui
