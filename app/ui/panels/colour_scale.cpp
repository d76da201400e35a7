#include "app/ui/panels/colour_scale.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <imgui.h>
#include <imgui_internal.h>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include "app/ui/app.h"
#include "app/ui/widgets.h"

namespace convscope::ui {
namespace {

constexpr size_t at_scale(ColourScale scale) { return static_cast<size_t>(scale); }

ColourScale scale_of(const Paint& p) {
  return p.map == ColourMap::excess      ? ColourScale::ratio
         : p.map == ColourMap::diverging ? ColourScale::error
                                         : ColourScale::values;
}

ColourRange ends_of(const Paint& p) {
  if (p.map != ColourMap::excess) return {p.low, p.high};
  return up_to(ColourScale::ratio, std::pow(10, p.decades));
}

// Of what a tile shows in this window; nothing where it shows no number.
std::optional<ValueRange> range_in_window(const MapTile* tile, const View& v) {
  if (!tile) return {};
  const double rows = (tile->row1 - tile->row0) / tile->height, columns = (tile->column1 - tile->column0) / tile->width;
  std::optional<ValueRange> range;
  for (int y = 0; y < tile->height; y++) {
    const double row = tile->row0 + y * rows;
    if (row >= v.row1 || row + rows <= v.row0) continue;
    for (int x = 0; x < tile->width; x++) {
      const double column = tile->column0 + x * columns;
      if (column >= v.column1 || column + columns <= v.column0) continue;
      const Cell& c = tile->cells[static_cast<size_t>(y) * static_cast<size_t>(tile->width) + static_cast<size_t>(x)];
      if (!(c.minimum <= c.maximum)) continue;
      const auto low = static_cast<double>(c.minimum), high = static_cast<double>(c.maximum);
      if (!range) range = ValueRange{low, high};
      range->low = std::min(range->low, low), range->high = std::max(range->high, high);
    }
  }
  return range;
}

// Counted once for each tile and range.
const BeyondScale& count_beyond(Pictures::Map slot, const MapTile& tile, const Paint& paint) {
  struct Counted {
    uint64_t serial = 0;
    Paint paint;
    BeyondScale beyond;
  };
  static std::array<Counted, static_cast<size_t>(Pictures::Map::count)> counted;
  Counted& c = counted[static_cast<size_t>(slot)];
  if (c.serial != tile.serial || !(c.paint == paint)) c = {tile.serial, paint, beyond_scale(tile.cells, paint)};
  return c.beyond;
}

bool is_cell_an_element(const MapTile& t) {
  constexpr double most = 1.0001;
  return t.row1 - t.row0 <= most * t.height && t.column1 - t.column0 <= most * t.width;
}

float text_width_of(const std::string& text) { return ImGui::CalcTextSize(text.c_str()).x; }

void set_range(Frame& f, ColourScale scale, const std::optional<ColourRange>& range, bool keep = true) {
  View v = f.view;
  v.colours[at_scale(scale)] = range;
  f.view_to(v, keep);
}

void type_range(Frame& f, ColourScale scale, const ColourRange& now) {
  static ColourRange typed;
  static std::string rule;
  if (!ImGui::BeginPopup("range")) return;
  const bool appears = ImGui::IsWindowAppearing();
  if (appears) rule.clear(), ImGui::SetKeyboardFocusHere();
  if (appears || (rule.empty() && !ImGui::IsAnyItemActive())) typed = now;
  bool done = false;
  auto number = [&](const char* label, double& v) {
    const double before = v;
    ImGui::SetNextItemWidth(ImGui::GetFontSize() * 9);
    ImGui::InputDouble(label, &v, 0, 0, "%.6g");
    // Read back as it was written: what was only looked at is not rounded.
    if (fmt::format("{:.6g}", v) == fmt::format("{:.6g}", before)) v = before;
    done |= ImGui::IsItemDeactivated() && ImGui::IsKeyPressed(ImGuiKey_Enter);
    return v != before;
  };
  bool changed = false;
  if (scale == ColourScale::values) {
    changed |= number("from", typed.low);
    done = false;  // the other end comes next
    changed |= number("to", typed.high);
  } else if (number(scale == ColourScale::error ? "to each side of 0" : "times the bound, and its inverse",
                    typed.high)) {
    typed = up_to(scale, typed.high), changed = true;
  }
  if (changed) {
    rule = broken_rule(scale, typed);
    if (rule.empty()) set_range(f, scale, typed);
  }
  if (!rule.empty()) ImGui::TextColored(f.theme.warning, "the range %s", rule.c_str());
  ImGui::BeginDisabled(!f.view.colours[at_scale(scale)]);
  if (ImGui::Button("Automatic")) set_range(f, scale, {}), rule.clear();
  ImGui::EndDisabled();
  if (scale != ColourScale::ratio) {
    ImGui::SameLine();
    if (ImGui::Button("What is visible")) f.act("colours-visible"), rule.clear();
  }
  if (done && rule.empty()) ImGui::CloseCurrentPopup();
  ImGui::EndPopup();
}

// The last item is the scale: its ends and its middle are dragged.
void turn_scale(Frame& f, ColourScale scale, const ColourRange& now, ImVec2 at, ImVec2 size) {
  static struct {
    ColourRange from;
    ScaleEnd end = ScaleEnd::whole;
    float x = 0;
    bool moved = false, twice = false;
  } held;
  const float mouse = ImGui::GetIO().MousePos.x, part = (mouse - at.x) / size.x;
  const ScaleEnd end = scale != ColourScale::values ? (part < 0.5f ? ScaleEnd::low : ScaleEnd::high)
                       : part < 0.3f                ? ScaleEnd::low
                       : part > 0.7f                ? ScaleEnd::high
                                                    : ScaleEnd::whole;
  const bool active = ImGui::IsItemActive();
  if (ImGui::IsItemActivated()) held = {now, end, mouse, false, ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)};
  if (active && ImGui::IsMouseDragging(ImGuiMouseButton_Left)) {
    const ColourRange to = dragged(scale, held.from, held.end, static_cast<double>((mouse - held.x) / size.x));
    if (!(to == now)) {
      set_range(f, scale, to, !held.moved);  // one place to come back to
      held.moved = true;
    }
  }
  if (ImGui::IsItemDeactivated() && held.twice && !held.moved) ImGui::OpenPopup("range");
  ImGui::OpenPopupOnItemClick("range", ImGuiPopupFlags_MouseButtonRight);
  if (!active && !ImGui::IsItemHovered()) return;
  ImGui::SetMouseCursor(ImGuiMouseCursor_ResizeEW);
  const ScaleEnd marked = active ? held.end : end;
  const float thick = std::max(2.0f, size.y * 0.3f);
  ImDrawList* draw = ImGui::GetWindowDrawList();
  for (ScaleEnd e : {ScaleEnd::low, ScaleEnd::high})
    if (marked == e || marked == ScaleEnd::whole || scale != ColourScale::values) {
      const float x = e == ScaleEnd::low ? at.x : at.x + size.x - thick;
      draw->AddRectFilled({x, at.y - 1}, {x + thick, at.y + size.y + 1}, packed(f.theme.accent));
    }
}

// Beyond that end of the bar there is more.
void mark_beyond(ImVec2 at, float width, float height, bool low, ImU32 colour, ImU32 ground) {
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const float tip = low ? at.x : at.x + width, base = low ? tip + height : tip - height;
  const ImVec2 a{tip, at.y + height / 2}, b{base, at.y}, c{base, at.y + height};
  draw->AddTriangleFilled(a, low ? c : b, low ? b : c, colour);
  draw->AddTriangle(a, b, c, ground, 1);
}

}  // namespace

ColourRange automatic_range(ColourScale scale, const Report& r, const Beside* other) {
  if (scale == ColourScale::ratio) return up_to(scale, std::pow(10, excess_decades));
  if (scale == ColourScale::error) {
    const auto& ranges = other ? other->ranges : r.ranges;
    const auto errors = ranges[static_cast<size_t>(Quantity::error)].value_or(ValueRange{0, 0});
    return up_to(scale, std::max({std::fabs(errors.low), std::fabs(errors.high), 1e-30}));
  }
  // One scale for kernel and reference, or their difference would not be one of colours. The reference sets it: a wild
  // output must not make the right one flat.
  auto values = r.ranges[static_cast<size_t>(Quantity::reference)].value_or(r.ranges[0].value_or(ValueRange{0, 1}));
  if (!(values.high > values.low)) values = range_around(values.low);
  return {values.low, values.high};
}

Paint paint_of(const Frame& f, ColourScale scale, const Report& r, const Beside* other) {
  const ColourMap of_values = f.settings.value_colours == "cividis" ? ColourMap::cividis : ColourMap::viridis;
  const ColourRange range = f.view.colours[at_scale(scale)].value_or(automatic_range(scale, r, other));
  switch (scale) {
    case ColourScale::values:
      return {of_values, range.low, range.high, f.theme.light};
    case ColourScale::error:
      return {ColourMap::diverging, range.low, range.high, f.theme.light};
    case ColourScale::ratio:
      break;
  }
  const bool own = f.view.colours[at_scale(scale)].has_value();
  return {ColourMap::excess, 0, 1, f.theme.light, own ? std::log10(range.high) : excess_decades};
}

void draw_colour_bar(Frame& f, const MapStyle& s, float width) {
  const float em = ImGui::GetFontSize(), h = em * 0.55f;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ColourScale scale = scale_of(s.paint);
  const ColourRange range = ends_of(s.paint);
  const bool own = f.view.colours[at_scale(scale)].has_value(), excess = scale == ColourScale::ratio;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  constexpr int steps = 64;
  for (int i = 0; i < steps; i++) {
    float a = at.x + width * static_cast<float>(i) / steps, b = at.x + width * static_cast<float>(i + 1) / steps;
    draw->AddRectFilled({a, at.y}, {b, at.y + h}, colour(s.paint.map, (i + 0.5) / steps, f.theme.light));
  }
  draw->AddRect(at, {at.x + width, at.y + h}, packed(f.theme.border));
  ImGui::PushFont(f.theme.code_font, ImGui::GetStyle().FontSizeBase * 0.8f);
  auto end_text = [&](double v) { return excess ? fmt::format("{:.3g}", v) : value_text(v); };
  std::string low = end_text(range.low), high = end_text(range.high),
              middle = excess                        ? "1 = bound"
                       : scale == ColourScale::error ? "0"
                                                     : "";
  if (excess && !own) low = "1e-4", high = "1e4";
  if (excess) draw->AddLine({at.x + width / 2, at.y - 2}, {at.x + width / 2, at.y + h + 2}, packed(f.theme.text), 1.5f);
  // What is beyond the scale has the colours of its ends: how far it goes is said there.
  const double much = excess ? 0.01 * range.high : 0.01 * (range.high - range.low);
  const bool below = s.values && !excess && s.values->low < range.low - much,
             above = s.values && s.values->high > range.high + much;
  const std::string low_end = low, high_end = high;
  if (below) low = value_text(s.values->low) + " … " + low;
  if (above) high += " … " + value_text(s.values->high);
  // In the middle, with a gap on either side.
  auto fits_between = [&](const std::string& text) {
    return text_width_of(text) + 2 * std::max(text_width_of(low), text_width_of(high)) + em < width;
  };
  // How far it goes stands in the tooltip as well.
  if (own ? !fits_between("own, 50.0 % beyond ×") : text_width_of(low) + text_width_of(high) + em > width) {
    low = below ? "… " + low_end : low;
    high = above ? high_end + " …" : high;
  }
  // Of a range of one's own: that it is one, and how much of what is shown it leaves out. A click on it ends it.
  const MapTile* tile = f.bench.pictures().tile(s.slot);
  const bool shows = tile && tile->quantity == s.quantity && !s.key.empty();
  const BeyondScale beyond = own && shows ? count_beyond(s.slot, *tile, s.paint) : BeyondScale{};
  const size_t out = beyond.below + beyond.above;
  std::string chip;
  if (own) {
    const std::string share =
        out ? percent_text(static_cast<double>(out) / static_cast<double>(beyond.cells)) : std::string();
    const std::string candidates[] = {out ? "own range, " + share + " beyond ×" : "own range ×",
                                      out ? "own, " + share + " beyond ×" : "own ×", out ? share + " ×" : "own ×", "×"};
    for (const std::string& c : candidates) {
      chip = c;
      if (fits_between(c)) break;
    }
  }
  const float y = at.y + h + em * 0.1f, line = ImGui::GetFontSize();
  const ImU32 dim = packed(f.theme.dim), far = packed(own ? f.theme.warning : f.theme.wrong);
  draw->AddText({at.x, y}, below ? far : dim, low.c_str());
  draw->AddText({at.x + width - text_width_of(high), y}, above ? far : dim, high.c_str());
  const float chip_width = text_width_of(chip), chip_x = at.x + (width - chip_width) / 2;
  if (own)
    draw->AddText({chip_x, y}, packed(f.theme.accent), chip.c_str());
  else if (fits_between(middle))
    draw->AddText({at.x + (width - text_width_of(middle)) / 2, y}, dim, middle.c_str());
  ImGui::PopFont();
  if (below || beyond.below) mark_beyond(at, width, h, true, far, packed(f.theme.background));
  if (above || beyond.above) mark_beyond(at, width, h, false, far, packed(f.theme.background));
  // Before the scale, which lies under it.
  if (own) {
    ImGui::SetCursorScreenPos({chip_x, y});
    if (ImGui::InvisibleButton("own", {std::max(chip_width, em), line})) set_range(f, scale, {});
    if (ImGui::IsItemHovered()) ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    tooltip(f.theme, "A range of your own: click for the automatic one (R: of all maps).");
    ImGui::SetCursorScreenPos(at);
  }
  ImGui::InvisibleButton("scale", {width, h + em * 0.1f + line});
  turn_scale(f, scale, range, at, {width, h});
  tooltip(
      f.theme,
      fmt::format(
          "{}: {}. Each cell shows the element of largest magnitude that it covers, never an average. Magenta: NaN; "
          "stripes: infinite; grey checkers: never written{}.{}{} Drag an end for a range of your own{}, double-click "
          "to type it; {}R makes it automatic again.",
          s.title, s.unit, excess ? "; muted: right and wrong elements in every cell" : "",
          below || above ? fmt::format(" Values go from {} to {}: those beyond the scale have the colours of its ends.",
                                       value_text(s.values->low), value_text(s.values->high))
                         : "",
          own && shows ? fmt::format(" Own range: {} of {} {} shown are beyond it.", grouped(static_cast<int64_t>(out)),
                                     grouped(static_cast<int64_t>(beyond.cells)),
                                     is_cell_an_element(*tile) ? "elements" : "cells")
                       : "",
          scale == ColourScale::values ? " or the middle to move it" : "",
          excess ? "" : "E halves it, Shift+E doubles it, Shift+R fits it to what is visible, "));
  type_range(f, scale, range);
}

// ---- actions ------------------------------------------------------------------------------------------------------

bool has_own_colours(const App& a) {
  const OwnColours& all = a.views().now().colours;
  return std::any_of(all.begin(), all.end(), [](const auto& own) { return own.has_value(); });
}

void take_automatic_colours(App& a) {
  View v = a.views().now();
  v.colours = {};
  a.apply(SetView{v, true});
}

void fit_colours_to_visible(App& a) {
  const Report* r = a.picture();
  if (!r) return;
  const Workbench& bench = std::as_const(a).bench();
  View to = a.views().now();
  const View v = fitted(to, {static_cast<double>(r->rows()), static_cast<double>(r->columns())});
  auto set = [&](ColourScale scale, const ColourRange& range) {
    if (broken_rule(scale, range).empty()) to.colours[at_scale(scale)] = range;
  };
  auto values = range_in_window(bench.pictures().tile(Pictures::Map::reference), v);
  if (!values) values = range_in_window(bench.pictures().tile(Pictures::Map::kernel), v);
  if (values && !(values->high > values->low)) values = range_around(values->low);
  if (values) set(ColourScale::values, {values->low, values->high});
  const MapTile* difference = bench.pictures().tile(Pictures::Map::difference);
  if (!to.difference_is_ratio && difference && difference->quantity == Quantity::error)
    if (const auto errors = range_in_window(difference, v))
      set(ColourScale::error, up_to(ColourScale::error, std::max(std::fabs(errors->low), std::fabs(errors->high))));
  a.apply(SetView{to, true});
}

void stretch_colours(App& a, double by) {
  const Report* r = a.picture();
  if (!r) return;
  const Beside* other = beside_of(std::as_const(a).bench(), a.document());
  View v = a.views().now();
  for (ColourScale scale : {ColourScale::values, ColourScale::error}) {
    if (scale == ColourScale::error && v.difference_is_ratio) continue;
    auto& own = v.colours[at_scale(scale)];
    const ColourRange to = stretched(scale, own.value_or(automatic_range(scale, *r, other)), by);
    if (broken_rule(scale, to).empty()) own = to;  // an automatic one may be none that can be kept
  }
  a.apply(SetView{v, true});
}

}  // namespace convscope::ui
