#include "app/ui/panels/map_view.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <imgui.h>
#include <imgui_internal.h>
#include <vector>

#include "app/ui/map_textures.h"
#include "app/ui/panels/colour_scale.h"
#include "app/ui/panels/map_axes.h"
#include "app/ui/panels/map_classes.h"
#include "app/ui/panels/map_tooltip.h"
#include "app/ui/widgets.h"
#include "kernels/problem/counts.h"

namespace convscope::ui {
namespace {

constexpr size_t most_markers = 400;
constexpr float faded_alpha = 0.55f;  // of a picture of something else

// From elements to pixels of one map.
struct Mapping {
  ImVec2 at, size;
  View v;
  float x(double column) const {
    return at.x + static_cast<float>((column - v.column0) / (v.column1 - v.column0)) * size.x;
  }
  float y(double row) const { return at.y + static_cast<float>((row - v.row0) / (v.row1 - v.row0)) * size.y; }
  double column(float px) const {
    return v.column0 + static_cast<double>((px - at.x) / size.x) * (v.column1 - v.column0);
  }
  double row(float py) const { return v.row0 + static_cast<double>((py - at.y) / size.y) * (v.row1 - v.row0); }
  float cell_w() const { return size.x / static_cast<float>(v.column1 - v.column0); }
  float cell_h() const { return size.y / static_cast<float>(v.row1 - v.row0); }
};

void draw_tile(Frame& f, const MapTile& tile, Pictures::Map slot, const Mapping& m, bool faded) {
  ImDrawList* draw = ImGui::GetWindowDrawList();
  auto& io = ImGui::GetPlatformIO();
  if (io.DrawCallback_SetSamplerNearest) draw->AddCallback(io.DrawCallback_SetSamplerNearest, nullptr);
  draw->AddImage(f.textures.texture(slot, tile), {m.x(tile.column0), m.y(tile.row0)},
                 {m.x(tile.column1), m.y(tile.row1)}, {0, 0}, {1, 1}, packed({1, 1, 1, faded ? faded_alpha : 1}));
  if (io.DrawCallback_SetSamplerLinear) draw->AddCallback(io.DrawCallback_SetSamplerLinear, nullptr);
}

// Over a map of another result than what is asked for: its colours, numbers and frames have not their full contrast.
void draw_veil(const Frame& f, const Mapping& m) {
  ImGui::GetWindowDrawList()->AddRectFilled(m.at, {m.at.x + m.size.x, m.at.y + m.size.y},
                                            packed(f.theme.background, 1 - faded_alpha));
}

// A frame around each failing cell while there are few: one wrong element in millions is found by eye.
void draw_failing(Frame& f, const MapTile& tile, const Mapping& m) {
  struct Found {
    uint64_t serial = 0;
    std::vector<uint32_t> cells;
    bool many = false;
  };
  static std::array<Found, static_cast<size_t>(Pictures::Map::count)> cache;
  Found& found = cache[static_cast<size_t>(Pictures::Map::difference)];
  if (found.serial != tile.serial) {
    found = {tile.serial, {}, false};
    for (size_t i = 0; i < tile.cells.size(); i++) {
      if (!(tile.cells[i].flags & flag_failing)) continue;
      if (found.cells.size() == most_markers) {
        found.many = true;
        break;
      }
      found.cells.push_back(static_cast<uint32_t>(i));
    }
  }
  if (found.many) return;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  float em = ImGui::GetFontSize();
  double dx = (tile.column1 - tile.column0) / tile.width, dy = (tile.row1 - tile.row0) / tile.height;
  for (uint32_t i : found.cells) {
    double column = tile.column0 + (i % static_cast<uint32_t>(tile.width)) * dx,
           row = tile.row0 + (i / static_cast<uint32_t>(tile.width)) * dy;
    ImVec2 a{m.x(column), m.y(row)}, b{m.x(column + dx), m.y(row + dy)};
    float grow = std::max(0.0f, (em * 0.6f - std::min(b.x - a.x, b.y - a.y)) / 2);
    draw->AddRect({a.x - grow, a.y - grow}, {b.x + grow, b.y + grow}, packed(f.theme.wrong), em * 0.12f,
                  std::max(1.0f, em * 0.09f));
  }
}

// No more than a part of the first row: what it covers is not seen.
float class_rail(const Mapping& m) {
  return std::min({ImGui::GetFontSize() * 0.4f, m.size.y * 0.1f, std::max(m.cell_h() * 0.25f, 2.0f)});
}

// Residue classes (j + p) mod s as tints, positions that no tap reaches hatched.
void draw_classes(Frame& f, const Report& r, const Mapping& m) {
  const ConvProblem& p = r.document.problem;
  if (m.cell_w() < 2.5f) return;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  auto c0 = static_cast<int64_t>(std::floor(m.v.column0)), c1 = static_cast<int64_t>(std::ceil(m.v.column1));
  for (int64_t j = std::max<int64_t>(0, c0); j < std::min(c1, r.columns()); j++) {
    float a = m.x(static_cast<double>(j)), b = m.x(static_cast<double>(j + 1));
    if (taps_reaching(p, j) == 0) {
      for (float y = m.at.y; y < m.at.y + m.size.y + (b - a); y += 7)
        draw->AddLine({a, y}, {b, y - (b - a)}, packed(f.theme.text, 0.5f));
      continue;
    }
    if (p.stride == 1) continue;
    draw->AddRectFilled({a, m.at.y}, {b, m.at.y + m.size.y}, packed(class_tint(p, j), tint_share));
    // On a bright value a tint is hardly seen: at the edge it stands as the legend has it.
    draw->AddRectFilled({a, m.at.y}, {b, m.at.y + class_rail(m)}, packed(class_tint(p, j)));
  }
}

// A position that no tap reaches, while classes are shown.
bool hatched(const Frame& f, int64_t column) {
  const Report* r = f.picture();
  return f.view.show_classes && r && column >= 0 && column < r->columns() &&
         taps_reaching(r->document.problem, column) == 0;
}

// What lies below a number: the cell's colour, under the tint of its class while classes are shown.
ImVec4 ground_of(const Frame& f, const Paint& paint, double value, int64_t column, bool hatch) {
  ImVec4 ground = ImGui::ColorConvertU32ToFloat4(colour(paint.map, place_on(paint, value), paint.light_theme));
  const Report* r = f.picture();
  if (!f.view.show_classes || hatch || !r || column < 0 || r->document.problem.stride == 1) return ground;
  return ImLerp(ground, class_tint(r->document.problem, column), tint_share);
}

// Whether these numbers are what this tile shows. Those of a difference have both results' in them, and both names.
bool are_of(const std::string& numbers, const std::string& tile) {
  return numbers == tile || numbers.starts_with(tile + '-') || numbers.ends_with('-' + tile);
}

void draw_grid_and_numbers(Frame& f, Quantity quantity, const MapTile& tile, const Mapping& m) {
  ImDrawList* draw = ImGui::GetWindowDrawList();
  float em = ImGui::GetFontSize(), w = m.cell_w(), h = m.cell_h();
  auto c0 = static_cast<int64_t>(std::floor(m.v.column0)), c1 = static_cast<int64_t>(std::ceil(m.v.column1));
  auto r0 = static_cast<int64_t>(std::floor(m.v.row0)), r1 = static_cast<int64_t>(std::ceil(m.v.row1));
  ImU32 line = packed(f.theme.background, 0.55f);
  if (w >= em * 0.5f)
    for (int64_t c = c0; c <= c1; c++)
      draw->AddLine({m.x(static_cast<double>(c)), m.at.y}, {m.x(static_cast<double>(c)), m.at.y + m.size.y}, line);
  if (h >= em * 0.5f)
    for (int64_t r = r0; r <= r1; r++)
      draw->AddLine({m.at.x, m.y(static_cast<double>(r))}, {m.at.x + m.size.x, m.y(static_cast<double>(r))}, line);
  if (w < em * 2.9f || h < em * 1.1f) return;
  const std::string key = f.shown_key();
  f.wish([=](Workbench& b) { b.pictures().want_numbers(key, r0, r1, c0, c1); });
  const NumberBlock* numbers = f.bench.pictures().numbers();
  if (!numbers || !are_of(numbers->key, tile.key)) return;
  ImGui::PushFont(f.theme.code_font, ImGui::GetStyle().FontSizeBase * 0.85f);
  float font_h = ImGui::GetFontSize();
  // As many digits as fit with sign, point and leading zeros, the same in all cells; in narrow ones three where they
  // fit. Neighbours do not touch.
  const float digit = ImGui::CalcTextSize("0").x, margin = digit;
  const int digits = std::clamp(static_cast<int>((w - margin) / digit) - 5, 3, 7);
  std::vector<bool> hatch;
  for (int64_t c = c0; c < c1; c++) hatch.push_back(hatched(f, c));
  for (int64_t r = r0; r < r1; r++)
    for (int64_t c = c0; c < c1; c++) {
      const double* v = numbers->at(r, c);
      if (!v) continue;
      std::string text;
      ImVec2 need;
      int shown = digits;
      do {  // an exponent takes the place of digits
        const double number = v[static_cast<size_t>(quantity)];
        text = quantity == Quantity::ratio && number > 1e6 ? ">1e6"
               : !std::isfinite(number)                    ? value_text(number)
                                                           : fmt::format("{:.{}g}", number, shown);
        need = ImGui::CalcTextSize(text.c_str());
      } while (need.x > w - margin && --shown > 0);
      if (need.x > w - margin) continue;
      // Black or white, by the lightness of the cell below.
      const ImVec4 ground =
          ground_of(f, tile.paint, v[static_cast<size_t>(quantity)], c, hatch[static_cast<size_t>(c - c0)]);
      bool dark = 0.2126f * ground.x + 0.7152f * ground.y + 0.0722f * ground.z < 0.45f;
      const ImVec2 at{m.x(static_cast<double>(c)) + (w - need.x) / 2, m.y(static_cast<double>(r)) + (h - font_h) / 2};
      // NaN, what is infinite and what was never written have patterns of their own: no colour of the scale.
      const bool none = !(std::isfinite(v[0]) && std::isfinite(v[1]) && std::isfinite(v[2]));
      if (none)
        draw->AddRectFilled({at.x - margin / 2, at.y}, {at.x + need.x + margin / 2, at.y + font_h},
                            IM_COL32(20, 20, 20, 200));
      dark |= none;
      if (hatch[static_cast<size_t>(c - c0)])  // no line runs through a number
        draw->AddRectFilled({at.x - margin / 2, at.y}, {at.x + need.x + margin / 2, at.y + font_h}, packed(ground));
      draw->AddText(at, dark ? IM_COL32(245, 245, 245, 255) : IM_COL32(15, 15, 15, 255), text.c_str());
    }
  ImGui::PopFont();
}

void interact(Frame& f, const Mapping& m, Extent e) {
  ImGuiIO& io = ImGui::GetIO();
  bool hovered = ImGui::IsItemHovered(), active = ImGui::IsItemActive();
  if (hovered && io.MouseWheel != 0) {
    double factor = std::pow(1.25, static_cast<double>(io.MouseWheel));
    double at_row = static_cast<double>((io.MousePos.y - m.at.y) / m.size.y),
           at_column = static_cast<double>((io.MousePos.x - m.at.x) / m.size.x);
    f.view_to(zoomed(f.view, e, io.KeyShift ? 1 : factor, io.KeyCtrl ? 1 : factor, at_row, at_column), false);
  }
  static bool moved_far = false;
  if (ImGui::IsItemActivated()) moved_far = false;
  if (active && ImGui::IsMouseDragging(ImGuiMouseButton_Left)) {
    moved_far = true;
    if (io.MouseDelta.x != 0 || io.MouseDelta.y != 0)
      f.view_to(moved(f.view, e, -static_cast<double>(io.MouseDelta.y / m.cell_h()),
                      -static_cast<double>(io.MouseDelta.x / m.cell_w())),
                false);
  }
  ElementIndex under{static_cast<int64_t>(m.row(io.MousePos.y)), static_cast<int64_t>(m.column(io.MousePos.x))};
  bool inside = under.row >= 0 && under.column >= 0 && static_cast<double>(under.row) < e.rows &&
                static_cast<double>(under.column) < e.columns;
  if (!hovered || !inside) return;
  if (ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) {
    f.view_to(readable(f.view, e, under, f.cells));
    moved_far = true;  // its release selects nothing: another element may lie there by then
  } else if (ImGui::IsMouseReleased(ImGuiMouseButton_Left) && !moved_far) {
    View v = f.view;
    v.selected = under;
    f.view_to(v);
    f.show("Explain");
  }
  if (!ImGui::IsMouseDragging(ImGuiMouseButton_Left)) {
    f.wish([under, key = f.shown_key()](Workbench& b) { b.pictures().want_hover(key, under); });
    element_tooltip(f, under);
  }
}

}  // namespace

TileWish tile_wish(const std::string& key, Quantity quantity, const View& window, Extent extent, int pixels_x,
                   int pixels_y, const Paint& paint) {
  TileWish w;
  w.key = key, w.quantity = quantity, w.paint = paint;
  auto axis = [](double low, double high, double limit, int pixels, double& from, double& to, int& cells) {
    from = std::max(0.0, std::floor(low)), to = std::min(limit, std::ceil(high));
    cells = to - from <= pixels ? static_cast<int>(to - from) : pixels;
    // One cell a pixel, but never less than an element a cell.
    low = std::max(0.0, low), high = std::min(limit, high);
    if (high - low > pixels) from = low, to = high;
  };
  axis(window.row0, window.row1, extent.rows, std::clamp(pixels_y, 1, 4096), w.row0, w.row1, w.height);
  axis(window.column0, window.column1, extent.columns, std::clamp(pixels_x, 1, 4096), w.column0, w.column1, w.width);
  return w;
}

// What is left between a map's title and its colour bar.
static float between(float height) {
  const float bar = ImGui::GetFontSize() * 1.75f + ImGui::GetStyle().ItemSpacing.y;
  return std::max(ImGui::GetFontSize() * 3, height - ImGui::GetTextLineHeightWithSpacing() - bar);
}

float map_height(float height) { return between(height) - positions_height(between(height)); }

CellRoom cell_room(ImVec2 area) {
  const float em = ImGui::GetFontSize();
  return {std::max(1, static_cast<int>(area.y / (em * 1.5f))), std::max(1, static_cast<int>(area.x / (em * 3.4f)))};
}

View readable(const View& v, Extent e, ElementIndex at, CellRoom room) {
  View to = focused(v, e, at, room.rows, room.columns);
  return moved(to, e, std::floor(to.row0) - to.row0, std::floor(to.column0) - to.column0);
}

// Of cells that cover right and wrong elements; 0 where the map of errors has none.
static ImU32 muted_colour(const Frame& f) {
  static uint64_t serial = 0;
  static ImU32 colour = 0;
  const MapTile* tile = f.bench.pictures().tile(Pictures::Map::difference);
  if (!tile || tile->paint.map != ColourMap::excess) return 0;
  if (serial != tile->serial) {
    const auto at = first_muted(tile->cells, tile->width);
    serial = tile->serial, colour = at ? tile->pixels[*at] : 0;
  }
  return colour;
}

// As wide as the map, or the maps beside it would be pushed away.
static void draw_title(Frame& f, const MapStyle& s, float width) {
  ImGui::PushFont(f.theme.bold_font, 0);
  const float line = ImGui::GetTextLineHeight(), arrow = s.choose ? line : 0;
  const ImVec2 head = ImGui::GetCursorScreenPos(), end{head.x + width - arrow, head.y + line};
  ImDrawList* draw = ImGui::GetWindowDrawList();
  if (s.choose) {
    if (ImGui::InvisibleButton("choose", {width, line})) ImGui::OpenPopup("beside");
    if (ImGui::IsItemHovered())
      draw->AddRectFilled(head, {head.x + width, head.y + line}, packed(f.theme.dim, 0.2f), 2);
  } else {
    ImGui::Dummy({width, line});
  }
  ImGui::PushStyleColor(ImGuiCol_Text, s.title_colour);
  // Whose it is, whole, before how it was computed in part.
  std::string title = s.title;
  if (const size_t more = title.find(" ("); more != title.npos && ImGui::CalcTextSize(s.title).x > end.x - head.x)
    title.erase(more);
  ImGui::RenderTextEllipsis(draw, head, end, end.x, title.c_str(), nullptr, nullptr);
  if (s.choose) {
    const float x = std::min(head.x + ImGui::CalcTextSize(title.c_str()).x + line * 0.4f, end.x);
    ImGui::RenderArrow(draw, {x, head.y + line * 0.1f}, packed(s.title_colour), ImGuiDir_Down, 0.75f);
  }
  ImGui::PopStyleColor();
  ImGui::PopFont();
  // What lies along the sides, once.
  const Report* r = f.picture();
  const char* axes = r && r->document.problem.batch == 1 ? "co ↓  j →" : "n, co ↓  j →";
  const float room = width - ImGui::CalcTextSize(s.title).x - line, need = ImGui::CalcTextSize(axes).x;
  if (s.slot == Pictures::Map::kernel && need < room)
    draw->AddText({head.x + width - need, head.y}, packed(f.theme.dim), axes);
  if (const ImU32 muted = s.slot == Pictures::Map::difference ? muted_colour(f) : 0) {
    const char* words = "in part";
    const float wide = line + ImGui::CalcTextSize(words).x;
    if (wide < room) {
      const float x = head.x + width - wide;
      draw->AddRectFilled({x, head.y + line * 0.2f}, {x + line * 0.6f, head.y + line * 0.8f}, muted);
      draw->AddText({x + line * 0.85f, head.y}, packed(f.theme.dim), words);
    }
    tooltip(
        f.theme,
        "Muted: a cell covers elements that are right and others that are wrong. From nearer (+, or the wheel) they "
        "come apart.");
  }
  if (!s.choose) return;
  tooltip(f.theme,
          "What the kernel's output stands beside: the oracle, a reference or another kernel. Click to choose. "
          "Alt+1 to 9 put a kernel here, X exchanges the two.");
  if (!ImGui::BeginPopup("beside")) return;
  s.choose(f);
  ImGui::EndPopup();
}

void draw_map(Frame& f, const MapStyle& s, ImVec2 size) {
  const Report* r = f.picture();
  if (!r) return;
  ImGui::PushID(static_cast<int>(s.slot));
  const float em = ImGui::GetFontSize();
  const ImVec2 top = ImGui::GetCursorScreenPos();
  ImGui::BeginGroup();
  draw_title(f, s, size.x);
  ImVec2 area{size.x, map_height(size.y)};
  Extent e = f.extent();
  const float above = positions_height(between(size.y));
  ImGui::SetCursorPosY(ImGui::GetCursorPosY() + above);
  Mapping m{ImGui::GetCursorScreenPos(), area, fitted(f.view, e)};
  ImGui::InvisibleButton("map", area);
  ImDrawList* draw = ImGui::GetWindowDrawList();
  draw->PushClipRect(m.at, {m.at.x + area.x, m.at.y + area.y}, true);
  draw->AddRectFilled(m.at, {m.at.x + area.x, m.at.y + area.y}, packed(f.theme.background));
  if (!s.key.empty() && s.trouble.empty()) {
    auto wish = tile_wish(s.key, s.quantity, m.v, e, static_cast<int>(area.x), static_cast<int>(area.y), s.paint);
    f.wish([slot = s.slot, wish](Workbench& b) { b.pictures().want_tile(slot, wish); });
  }
  const MapTile* tile = f.bench.pictures().tile(s.slot);
  if (!s.trouble.empty()) {
    ImGui::PushStyleColor(ImGuiCol_Text, f.theme.warning);
    ImGui::RenderTextWrapped({m.at.x + em * 0.6f, m.at.y + em * 0.5f}, s.trouble.c_str(), nullptr,
                             std::max(em * 4, area.x - em * 1.2f));
    ImGui::PopStyleColor();
  } else if (tile) {
    // Whose tile it is the slot's wish alone does not say: what stood beside before has another.
    const bool other = tile->quantity != s.quantity || s.key.empty();
    draw_tile(f, *tile, s.slot, m, other);
    if (f.view.show_classes) draw_classes(f, *r, m);
    if (!other) draw_grid_and_numbers(f, s.number, *tile, m);
    if (!other && s.slot == Pictures::Map::difference) draw_failing(f, *tile, m);
    if (!other && out_of_date(f)) draw_veil(f, m);
  }
  if (f.view.selected) {
    auto row = static_cast<double>(f.view.selected->row), column = static_cast<double>(f.view.selected->column);
    ImVec2 a{m.x(column), m.y(row)}, b{m.x(column + 1), m.y(row + 1)};
    float grow = std::max(1.0f, (em * 0.7f - std::min(b.x - a.x, b.y - a.y)) / 2);
    draw->AddRect({a.x - grow, a.y - grow}, {b.x + grow, b.y + grow}, packed(f.theme.background), 0, em * 0.25f);
    draw->AddRect({a.x - grow, a.y - grow}, {b.x + grow, b.y + grow}, packed(f.theme.accent), 0, em * 0.12f);
  }
  draw->PopClipRect();
  draw->AddRect(m.at, {m.at.x + area.x, m.at.y + area.y}, packed(f.theme.border));
  if (above > 0) draw_positions(f, m.at, area.x, m.v);
  draw_rows(f, m.at, area.y, s.rows_room, m.v);
  interact(f, m, e);
  if (ImGui::BeginPopupContextItem("map menu")) {
    if (ImGui::MenuItem("Fit everything", "F")) f.act("fit");
    if (ImGui::MenuItem(f.beside() ? "Next differing element" : "Next failing element", "N")) f.act("next-failing");
    if (ImGui::MenuItem("Explain the selected element", nullptr, false, f.view.selected.has_value())) f.show("Explain");
    if (ImGui::MenuItem("Copy values of this window (CSV)")) f.act("copy-window");
    // With its title, its axes and its colours, as a figure has them.
    picture_entries(f, {top.x - s.rows_room, top.y}, {top.x + size.x, top.y + size.y});
    ImGui::EndPopup();
  }
  draw_colour_bar(f, s, size.x);
  ImGui::EndGroup();
  ImGui::PopID();
}

// Where something fails, on the lower edge, over the frame: a column of a pixel would lie below its line.
static void mark_failing_columns(Frame& f, const MapTile& tile, const Mapping& m, float alpha) {
  static uint64_t serial = 0;
  static std::vector<std::pair<int, int>> runs;  // of columns: from, to
  if (serial != tile.serial) {
    serial = tile.serial, runs.clear();
    for (int x = 0; x < tile.width; x++) {
      bool failing = false;
      for (int y = 0; y < tile.height && !failing; y++)
        failing = tile.cells[static_cast<size_t>(y * tile.width + x)].flags & flag_failing;
      if (!failing) continue;
      if (!runs.empty() && runs.back().second == x)
        runs.back().second++;
      else
        runs.emplace_back(x, x + 1);
    }
  }
  const double step = (tile.column1 - tile.column0) / tile.width;
  const float low = m.at.y + m.size.y, high = low - ImGui::GetFontSize() * 0.28f;
  for (const auto& [from, to] : runs) {
    float a = m.x(tile.column0 + from * step), b = m.x(tile.column0 + to * step);
    if (b - a < 3) a = std::min(a, m.at.x + m.size.x - 3), b = a + 3;
    ImGui::GetWindowDrawList()->AddRectFilled({a, high}, {b, low}, packed(f.theme.wrong, alpha));
  }
}

void draw_minimap(Frame& f, float height) {
  const Report* r = f.picture();
  if (!r) return;
  Extent e = f.extent();
  ImVec2 size{ImGui::GetContentRegionAvail().x, height};
  View whole{};
  Mapping m{ImGui::GetCursorScreenPos(), size, fitted(whole, e)};
  ImGui::InvisibleButton("minimap", size);
  Paint paint{ColourMap::excess, 0, 1, f.theme.light};
  auto wish =
      tile_wish(f.shown_key(), Quantity::ratio, m.v, e, static_cast<int>(size.x), static_cast<int>(size.y), paint);
  f.wish([wish](Workbench& b) { b.pictures().want_tile(Pictures::Map::minimap, wish); });
  ImDrawList* draw = ImGui::GetWindowDrawList();
  draw->AddRectFilled(m.at, {m.at.x + size.x, m.at.y + size.y}, packed(f.theme.background));
  const bool faded = out_of_date(f);
  if (const MapTile* tile = f.bench.pictures().tile(Pictures::Map::minimap))
    draw_tile(f, *tile, Pictures::Map::minimap, m, faded);
  View v = fitted(f.view, e);
  ImVec2 a{m.x(v.column0), m.y(v.row0)}, b{m.x(v.column1), m.y(v.row1)};
  if (b.x - a.x < 4) a.x -= 2, b.x += 2;
  if (b.y - a.y < 4) a.y -= 2, b.y += 2;
  draw->AddRect(m.at, {m.at.x + size.x, m.at.y + size.y}, packed(f.theme.border));
  draw->AddRect(a, b, packed(f.theme.text), 0, 1.5f);
  if (const MapTile* tile = f.bench.pictures().tile(Pictures::Map::minimap))
    mark_failing_columns(f, *tile, m, faded ? faded_alpha : 1);
  if (ImGui::IsItemActive()) {
    ImVec2 mouse = ImGui::GetIO().MousePos;
    f.view_to(moved(v, e, m.row(mouse.y) - (v.row0 + v.row1) / 2, m.column(mouse.x) - (v.column0 + v.column1) / 2),
              ImGui::IsItemActivated());
  }
  tooltip(f.theme, f.beside() ? "The whole result, |difference| over the bounds of both. The frame is what the maps "
                                "show: drag it."
                              : "The whole result, |error| over its bound. The frame is what the maps show: drag it.");
}

}  // namespace convscope::ui
