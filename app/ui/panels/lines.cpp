// Channels as curves: kernel and reference over each other, their signed error below.
#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <imgui.h>
#include <implot.h>
#include <initializer_list>
#include <limits>
#include <optional>
#include <utility>

#include "app/ui/panels/flow.h"
#include "app/ui/panels/lines_strokes.h"
#include "app/ui/panels/map_view.h"
#include "app/ui/panels/plots.h"
#include "app/ui/widgets.h"

namespace convscope::ui {
namespace {

constexpr int most_channels = 8, most_cells = 2048;
constexpr float faded_alpha = 0.4f;    // of curves of something else
constexpr double gesture_pause = 0.7;  // seconds: wheel steps closer than this are one place for back and forward

enum Curve { kernel, reference, error, curves };
constexpr Pictures::Map maps[] = {Pictures::Map::lines_output, Pictures::Map::lines_reference,
                                  Pictures::Map::lines_error};
constexpr Quantity quantities[] = {Quantity::output, Quantity::reference, Quantity::error};

struct State {
  int64_t row = 0;
  int channels = 1;
  std::optional<ElementIndex> selected;  // when the row was last taken from it
  Series series[curves];
  double x0 = 0, x1 = 1;                                // of all plots
  float pixels = 0;                                     // width of the plots, of the frame before
  std::array<ValueRange, most_channels + 1> seen = {};  // what the plots showed in it: of each row, and of the error
  bool shown[2] = {true, true};
  double hover = std::numeric_limits<double>::quiet_NaN();
  double changed_at = -1;
};

// The value of every cell in these curves; none: they are not all the same.
std::optional<double> level_of(std::initializer_list<const Series*> all, int row, int rows) {
  std::optional<double> level;
  for (const Series* s : all)
    for (int r = row; s->serial && r < std::min(row + rows, s->height); r++)
      for (int i = 0; i < s->width; i++) {
        const double low = s->low[s->at(r, i)], high = s->high[s->at(r, i)];
        if (low != high || low != level.value_or(low)) return std::nullopt;  // NaN: never written, or not finite
        level = low;
      }
  return level;
}

ValueRange seen_values() {
  const ImPlotRange y = ImPlot::GetPlotLimits().Y;
  return {y.Min, y.Max};
}

// level: the one value of what is drawn. An axis that fits itself to it makes up a range, which reads as if it were
// known: it has a narrow one, with that value alone beside it.
// shown: the values that the plot had in the frame before, which are those of this one unless something has come.
void axes(State& s, const Extent& e, const char* y_label, bool last, std::optional<double> level, ValueRange shown,
          float height) {
  ImPlotAxisFlags x = plots::axis | ImPlotAxisFlags_NoInitialFit | (last ? 0 : ImPlotAxisFlags_NoTickLabels);
  ImPlot::SetupAxes(last ? "position j" : nullptr, y_label, x, plots::axis | (level ? 0 : ImPlotAxisFlags_AutoFit));
  if (level) {
    const ValueRange around = range_around(*level);
    const std::string name = value_text(*level);
    const char* names[] = {name.c_str()};
    ImPlot::SetupAxisLimits(ImAxis_Y1, around.low, around.high, ImPlotCond_Always);
    ImPlot::SetupAxisTicks(ImAxis_Y1, &*level, 1, names);
  } else if (const auto ticks = plots::round_ticks(shown.low, shown.high, height, ImGui::GetTextLineHeight());
             !ticks.empty()) {
    ImPlot::SetupAxisFormat(ImAxis_Y1, plots::label_plain);
    ImPlot::SetupAxisTicks(ImAxis_Y1, ticks.data(), static_cast<int>(ticks.size()));
  }
  ImPlot::SetupAxisLinks(ImAxis_X1, &s.x0, &s.x1);
  ImPlot::SetupAxisLimitsConstraints(ImAxis_X1, -0.5, e.columns - 0.5);
  ImPlot::SetupAxisZoomConstraints(ImAxis_X1, std::min(2.0, e.columns), e.columns);
  ImPlot::SetupAxisFormat(ImAxis_X1, position_label);
  // Positions are whole numbers, as the maps name them.
  std::vector<double> at;
  for (int64_t j : axis_ticks(s.x0 + 0.5, s.x1 + 0.5, (s.x1 - s.x0) / 9)) at.push_back(static_cast<double>(j));
  if (!at.empty()) ImPlot::SetupAxisTicks(ImAxis_X1, at.data(), static_cast<int>(at.size()));
}

// ---- reading values off --------------------------------------------------------------------------------------------

void read_out(Frame& f, const State& s, int row, double position, bool errors_only) {
  const Theme& t = f.theme;
  const ConvProblem& p = f.picture()->document.problem;
  const Series& k = s.series[kernel];
  const Beside* other = f.beside();
  if (!ImGui::BeginTooltip()) return;
  auto name = [&](int r) {
    return fmt::format("n {}, co {}", (s.row + r) / p.out_channels, (s.row + r) % p.out_channels);
  };
  double first = std::round(position), last = first;
  if (k.serial && !k.exact()) {
    const CellSpan span = k.span(k.cell(position));
    first = static_cast<double>(std::max<int64_t>(span.begin, 0));
    last = static_cast<double>(std::max(span.begin, std::min(span.end, p.out_length()) - 1));
  }
  std::string where = first == last ? fmt::format("position j = {}", grouped(static_cast<int64_t>(first)))
                                    : fmt::format("positions j = {} to {}", grouped(static_cast<int64_t>(first)),
                                                  grouped(static_cast<int64_t>(last)));
  ImGui::TextUnformatted((errors_only ? where : name(row) + ", " + where).c_str());
  ImGui::PushFont(t.code_font, 0);
  if (errors_only && s.channels > 1) {
    for (int r = 0; r < s.channels; r++)
      ImGui::Text("%-14s %s", name(r).c_str(), range_text(s.series[error], r, position).c_str());
  } else {
    const std::string name = other ? file_name(other->with) : oracle_name;
    const int wide = std::max(10, static_cast<int>(name.size()));
    ImGui::TextColored(t.kernel, "%-*s %s", wide, "kernel", range_text(k, row, position).c_str());
    ImGui::TextColored(t.reference, "%-*s %s", wide, name.c_str(),
                       range_text(s.series[reference], row, position).c_str());
    ImGui::Text("%-*s %s", wide, other ? "difference" : "error", range_text(s.series[error], row, position).c_str());
    auto inside = [&](const std::vector<std::vector<Stretch>>& all) {
      if (!k.serial || row >= k.height) return false;
      const auto& v = all[static_cast<size_t>(row)];
      auto it =
          std::upper_bound(v.begin(), v.end(), position, [](double x, const Stretch& span) { return x < span.from; });
      return it != v.begin() && position <= std::prev(it)->to;
    };
    if (inside(k.failing)) ImGui::TextColored(t.wrong, "%s", first == last ? "fails" : "some fail");
    if (inside(k.unwritten))
      ImGui::TextColored(t.warning, "%s", first == last ? "never written" : "some never written");
  }
  ImGui::PopFont();
  ImGui::EndTooltip();
}

// ---- controls ------------------------------------------------------------------------------------------------------

void controls(Frame& f, State& s, const Report& r) {
  const ConvProblem& p = r.document.problem;
  const Theme& t = f.theme;
  float em = ImGui::GetFontSize();
  if (f.view.selected != s.selected) {
    s.selected = f.view.selected;
    if (s.selected) s.row = s.selected->row;
  }
  s.row = std::clamp<int64_t>(s.row, 0, r.rows() - 1);
  auto n = static_cast<int>(s.row / p.out_channels), co = static_cast<int>(s.row % p.out_channels);
  auto field = [&](const char* label, int& value, int64_t limit, float width, const char* about) {
    ImGui::BeginGroup();
    ImGui::AlignTextToFramePadding();
    ImGui::TextColored(t.dim, "%s", label);
    ImGui::SameLine(0, em * 0.3f);
    ImGui::SetNextItemWidth(width);
    if (ImGui::InputInt(fmt::format("##{}", label).c_str(), &value, 1, 16))
      value = static_cast<int>(std::clamp<int64_t>(value, 0, limit - 1));
    ImGui::EndGroup();
    tooltip(t, about);
  };
  field("n", n, p.batch, em * 6, "Which sequence of the batch. A click in a map or here follows the selected element.");
  beside_if_fits(em * 8.6f);
  field("co", co, p.out_channels, em * 6.5f, "The first output channel that is shown");
  s.row = n * p.out_channels + co;
  beside_if_fits(em * 10);
  ImGui::BeginGroup();
  ImGui::AlignTextToFramePadding();
  ImGui::TextColored(t.dim, "channels");
  ImGui::SameLine(0, em * 0.3f);
  ImGui::SetNextItemWidth(em * 5);
  ImGui::SliderInt("##channels", &s.channels, 1, most_channels, "%d", ImGuiSliderFlags_AlwaysClamp);
  ImGui::EndGroup();
  tooltip(t, "How many channels from there on, one strip each");
  s.channels = static_cast<int>(std::min<int64_t>(s.channels, r.rows() - s.row));
}

void legend(Frame& f, State& s) {
  const Theme& t = f.theme;
  float em = ImGui::GetFontSize(), line = ImGui::GetTextLineHeight(), sample = em * 1.4f;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  struct Entry {
    const char *text, *about;
    const ImVec4& colour;
    bool* shown;
  };
  const Beside* other = f.beside();
  const std::string name = other ? file_name(other->with) : oracle_name;
  const Entry all[] = {{name.c_str(),
                        other ? "What stands beside the kernel. Click to hide or show."
                              : "The oracle, in double precision. Click to hide or show.",
                        t.reference, &s.shown[1]},
                       {"kernel", "What the kernel wrote. Click to hide or show.", t.kernel, &s.shown[0]},
                       {"failing", "Positions whose error is above their bound", t.wrong, nullptr},
                       {"never written", "Positions that the kernel did not write", t.warning, nullptr}};
  for (const Entry& e : all) {
    if (&e != all) beside_if_fits(sample + em * 0.4f + ImGui::CalcTextSize(e.text).x);
    ImVec2 at = ImGui::GetCursorScreenPos();
    bool on = !e.shown || *e.shown;
    ImU32 ink = packed(e.colour, on ? 1 : 0.3f);
    float y = at.y + line / 2, h = em * 0.35f;
    if (&e == all)
      draw->AddLine({at.x, y}, {at.x + sample, y}, ink, em * 0.2f),
          draw->AddCircle({at.x + sample / 2, y}, em * 0.28f, ink, 0, em * 0.1f);
    else if (&e == all + 1)
      draw->AddLine({at.x, y}, {at.x + sample, y}, ink, em * 0.1f),
          draw->AddCircleFilled({at.x + sample / 2, y}, em * 0.17f, ink);
    else if (&e == all + 2)
      draw->AddRectFilled({at.x + sample * 0.3f, y - h / 2}, {at.x + sample * 0.7f, y + h / 2}, ink);
    else
      draw->AddRect({at.x + sample * 0.3f, y - h / 2}, {at.x + sample * 0.7f, y + h / 2}, ink),
          draw->AddLine({at.x + sample * 0.3f, y + h / 2}, {at.x + sample * 0.5f, y - h / 2}, ink),
          draw->AddLine({at.x + sample * 0.5f, y + h / 2}, {at.x + sample * 0.7f, y - h / 2}, ink);
    ImGui::PushID(&e == all ? "reference" : e.text);
    if (ImGui::InvisibleButton("entry", {sample + em * 0.4f + ImGui::CalcTextSize(e.text).x, line}) && e.shown)
      *e.shown = !*e.shown;
    ImGui::PopID();
    draw->AddText({at.x + sample + em * 0.4f, at.y}, packed(on ? t.text : t.dim, on ? 1 : 0.6f), e.text);
    tooltip(t, e.about);
  }
  constexpr const char* mouse = "wheel zooms, click selects";
  beside_if_fits(ImGui::CalcTextSize(mouse).x);
  ImGui::TextColored(t.dim, "%s", mouse);
  tooltip(
      t,
      "click: select an element\nwheel: zoom\ndrag: move\nright drag: zoom to a range\ndouble click: all positions\n"
      "right click: copy values");
}

// What a person did with the axes becomes the view's columns.
void change_view(Frame& f, State& s, const Extent& e, double x0, double x1) {
  double tolerance = 1e-6 * (x1 - x0);
  if (std::fabs(s.x0 - x0) <= tolerance && std::fabs(s.x1 - x1) <= tolerance) return;
  View v = fitted(f.view, e);
  v.column0 = s.x0 + 0.5, v.column1 = s.x1 + 0.5;
  double now = ImGui::GetTime();
  bool first = s.changed_at < 0 || (now - s.changed_at > gesture_pause && !ImGui::IsMouseDown(ImGuiMouseButton_Left));
  s.changed_at = now;
  f.view_to(fitted(v, e), first);
}

}  // namespace

void draw_lines(Frame& f) {
  static State s;
  const Theme& t = f.theme;
  const Report* r = f.picture();
  if (!r) {
    no_output_state(f, "to see its output as curves");
    return;
  }
  Extent e = f.extent();
  stale_strip(f);
  controls(f, s, *r);
  legend(f, s);

  View v = fitted(f.view, e);
  double x0 = v.column0 - 0.5, x1 = v.column1 - 0.5;
  s.x0 = x0, s.x1 = x1;
  float em = ImGui::GetFontSize(), width = s.pixels > 0 ? s.pixels : ImGui::GetContentRegionAvail().x;
  int cells = std::clamp(static_cast<int>(width) / (s.channels > 2 ? 2 : 1), 64, most_cells);
  v.row0 = static_cast<double>(s.row), v.row1 = static_cast<double>(s.row + s.channels);
  f.wish([d = f.document](Workbench& b) { b.beside().want(d); });
  const Beside* other = f.beside();
  const bool waits = f.document.compare_with != oracle_name && !f.bench.beside().of(f.document, *r);
  for (int c = 0; c < curves; c++) {
    if (waits && c != kernel) continue;  // what was shown stays until the other has come
    const std::string& key = !other || c == kernel ? r->key : c == reference ? other->output : other->difference;
    const Quantity quantity = other && c == reference ? Quantity::output : quantities[c];
    TileWish wish = tile_wish(key, quantity, v, e, cells, most_channels, Paint{});
    f.wish([map = maps[c], wish](Workbench& b) { b.pictures().want_tile(map, wish); });
    const MapTile* tile = f.bench.pictures().tile(maps[c]);
    if (tile && !s.series[c].of(*tile)) take(s.series[c], *tile);
  }

  const float alpha = out_of_date(f) ? faded_alpha : 1;
  auto ink = [&](const ImVec4& c) { return ImVec4(c.x, c.y, c.z, c.w * alpha); };
  ImVec2 room = ImGui::GetContentRegionAvail();
  float gap = ImGui::GetStyle().ItemSpacing.y;
  // One channel's are low where there is little room; more of them scroll.
  const bool one = s.channels == 1;
  float below = std::max(em * (one ? 5.5f : 7.5f), room.y * (one ? 0.46f : 0.3f));
  float strip = std::max(em * (one ? 3.5f : 5.5f), (room.y - below) / static_cast<float>(s.channels) - gap);
  double hover = std::numeric_limits<double>::quiet_NaN();
  int hover_row = -1;
  bool whole = false;
  auto common = [&](int row) {
    if (s.selected && (row < 0 || s.selected->row == s.row + row)) {
      auto j = static_cast<double>(s.selected->column);
      plot_vertical("##selected", j, {t.text.x, t.text.y, t.text.z, 0.5f}, em * 0.08f);
      ImVec2 tip = ImPlot::PlotToPixels(j, 0);
      tip.y = ImPlot::GetPlotPos().y + em * 0.55f;
      ImPlot::PushPlotClipRect();
      ImPlot::GetPlotDrawList()->AddTriangleFilled({tip.x - em * 0.35f, tip.y - em * 0.55f},
                                                   {tip.x + em * 0.35f, tip.y - em * 0.55f}, tip, packed(t.accent));
      ImPlot::PopPlotClipRect();
    }
    plot_vertical("##hover", s.hover, t.dim, 1);
    ImPlotPoint at;
    if (!plots::pointed(at)) return;
    hover = s.series[kernel].exact() ? std::round(at.x) : at.x, hover_row = row;
    const ImGuiIO& io = ImGui::GetIO();
    if (ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) whole = true;
    bool still = io.MouseDragMaxDistanceSqr[0] < io.MouseDragThreshold * io.MouseDragThreshold;
    if (ImGui::IsMouseReleased(ImGuiMouseButton_Left) && still && io.MouseClickedLastCount[0] == 1) {
      View to = f.view;
      to.selected = ElementIndex{s.row + std::max(row, 0),
                                 std::clamp<int64_t>(static_cast<int64_t>(std::round(at.x)), 0, r->columns() - 1)};
      f.view_to(to, false);
    }
  };
  constexpr ImPlotFlags flags =
      ImPlotFlags_NoTitle | ImPlotFlags_NoLegend | ImPlotFlags_NoMouseText | ImPlotFlags_NoMenus;
  ImPlot::PushStyleVar(ImPlotStyleVar_FitPadding, ImVec2(0, 0.12f));
  // A double click shows all positions; ImPlot's own would fit the axis to what is loaded.
  ImGuiMouseButton fit = std::exchange(ImPlot::GetInputMap().Fit, ImGuiMouseButton_COUNT - 1);
  ImGui::BeginGroup();
  if (ImPlot::BeginAlignedPlots("lines")) {
    for (int row = 0; row < s.channels; row++) {
      ImGui::PushID(row);
      if (ImPlot::BeginPlot("##values", {-1, strip}, flags)) {
        int64_t at = s.row + row, channels = r->document.problem.out_channels;
        std::string label = s.channels == 1 ? "value" : fmt::format("co {}", at % channels);
        // Of the curves that are shown, or of both where none is.
        axes(s, e, label.c_str(), false,
             s.shown[0] == s.shown[1] ? level_of({&s.series[kernel], &s.series[reference]}, row, 1)
                                      : level_of({&s.series[s.shown[0] ? kernel : reference]}, row, 1),
             s.seen[static_cast<size_t>(row)], strip - em);
        if (s.shown[1])
          plot_series(s.series[reference], row, "reference", {ink(t.reference), em * 0.2f, -em * 0.3f, 0.5f, 0.7f});
        if (s.shown[0]) plot_series(s.series[kernel], row, "kernel", {ink(t.kernel), em * 0.1f, em * 0.16f, 0.25f, 1});
        plot_marks(t, s.series[kernel], row, alpha);
        common(row);
        s.pixels = ImPlot::GetPlotSize().x;
        s.seen[static_cast<size_t>(row)] = seen_values();
        ImPlot::EndPlot();
      }
      ImGui::PopID();
    }
    if (ImPlot::BeginPlot("##error", {-1, below - gap}, flags)) {
      axes(s, e, other ? "difference" : "error", true, level_of({&s.series[error]}, 0, s.channels),
           s.seen[most_channels], below - gap - 3.4f * em);  // below it: names of positions and of their axis
      ImPlotSpec zero = plots::line(t.dim, 1);
      zero.Flags = static_cast<int>(ImPlotItemFlags_NoLegend) | static_cast<int>(ImPlotInfLinesFlags_Horizontal);
      double nothing = 0;
      ImPlot::PlotInfLines("##zero", &nothing, 1, zero);
      for (int row = s.channels - 1; row >= 0; row--) {
        ImVec4 c = t.text;
        c.w = s.channels == 1 ? 1 : 1 - 0.65f * static_cast<float>(row) / static_cast<float>(s.channels - 1);
        ImGui::PushID(row);
        plot_series(s.series[error], row, "error", {ink(c), em * 0.1f, em * 0.16f, 0.25f, 0.8f});
        ImGui::PopID();
      }
      if (s.channels == 1) plot_marks(t, s.series[error], 0, alpha);
      common(-1);
      s.seen[most_channels] = seen_values();
      ImPlot::EndPlot();
    }
    ImPlot::EndAlignedPlots();
  }
  ImGui::EndGroup();
  ImPlot::PopStyleVar();
  ImPlot::GetInputMap().Fit = fit;
  const ImGuiIO& io = ImGui::GetIO();
  bool dragged = io.MouseDragMaxDistanceSqr[1] >= io.MouseDragThreshold * io.MouseDragThreshold;
  if (!(ImGui::IsMouseReleased(ImGuiMouseButton_Right) && dragged))
    copy_menu(f, "lines menu", [&] {
      const MapTile* k = f.bench.pictures().tile(maps[kernel]);
      return k ? lines_csv(*k, f.bench.pictures().tile(maps[reference]), f.bench.pictures().tile(maps[error]),
                           r->document.problem.out_channels)
               : "";
    });
  s.hover = hover;
  if (std::isfinite(hover) && !ImGui::IsMouseDown(ImGuiMouseButton_Left) && !ImGui::IsMouseDown(ImGuiMouseButton_Right))
    read_out(f, s, std::max(hover_row, 0), hover, hover_row < 0);
  if (whole) {
    View to = fitted(f.view, e);
    to.column0 = 0, to.column1 = e.columns;
    f.view_to(to);
  } else {
    change_view(f, s, e, x0, x1);
  }
}

}  // namespace convscope::ui
