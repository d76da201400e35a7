#include "app/ui/panels/lines_strokes.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <imgui.h>
#include <implot.h>

#include "app/ui/panels/plots.h"
#include "app/ui/widgets.h"

namespace convscope::ui {
namespace {

constexpr int with_markers = 100;  // points; with more, markers would hide the line

}  // namespace

void plot_series(const Series& s, int row, const char* label, const Stroke& stroke) {
  if (s.serial == 0 || row >= s.height) return;
  const double *low = s.low.data() + s.at(row, 0), *high = s.high.data() + s.at(row, 0);
  ImPlotSpec line = plots::line(stroke.colour, stroke.weight);
  line.Flags = ImPlotItemFlags_NoLegend;
  if (s.exact()) {
    if (s.width < with_markers) {
      line.Marker = ImPlotMarker_Circle, line.MarkerSize = std::fabs(stroke.marker_size);
      line.MarkerLineColor = line.MarkerFillColor = stroke.colour;
      line.Flags |= ImPlotLineFlags_NoClip;  // those on the edge are whole
      if (stroke.marker_size < 0) line.MarkerFillColor.w = 0;
    }
    ImPlot::PlotLine(label, s.x.data(), high, s.width, line);
    return;
  }
  ImPlotSpec fill = plots::fill(stroke.colour, stroke.fill);
  fill.Flags = ImPlotItemFlags_NoLegend;
  ImPlot::PlotShaded(label, s.x.data(), low, high, s.width, fill);
  line.LineWeight = 1, line.LineColor.w *= stroke.edge;
  ImPlot::PlotLine(label, s.x.data(), high, s.width, line);
  ImPlot::PlotLine(label, s.x.data(), low, s.width, line);
}

void plot_marks(const Theme& t, const Series& s, int row, float alpha) {
  if (s.serial == 0 || row >= s.height) return;
  float em = ImGui::GetFontSize(), h = em * 0.35f;
  ImVec2 at = ImPlot::GetPlotPos(), size = ImPlot::GetPlotSize();
  ImDrawList* draw = ImPlot::GetPlotDrawList();
  ImPlot::PushPlotClipRect();
  auto lane = [&](const std::vector<Stretch>& spans, float bottom, ImU32 colour, bool hatched) {
    float done = at.x - 2;  // pixels that are drawn already
    for (const auto& span : spans) {
      float a = ImPlot::PlotToPixels(span.from, 0).x, b = std::max(ImPlot::PlotToPixels(span.to, 0).x, a + 1.5f);
      if (b < at.x || a > at.x + size.x || b <= done) continue;
      done = b;
      if (!hatched) {
        draw->AddRectFilled({a, bottom - h}, {b, bottom}, colour);
        continue;
      }
      draw->AddRect({a, bottom - h}, {b, bottom}, colour);
      for (float x = a; x < b; x += h) draw->AddLine({x, bottom}, {std::min(x + h, b), bottom - h}, colour);
    }
  };
  lane(s.failing[static_cast<size_t>(row)], at.y + size.y, packed(t.wrong, alpha), false);
  lane(s.unwritten[static_cast<size_t>(row)], at.y + size.y - h * 1.3f, packed(t.warning, alpha), true);
  ImPlot::PopPlotClipRect();
}

void plot_vertical(const char* id, double x, const ImVec4& colour, float weight) {
  if (!std::isfinite(x)) return;
  ImPlotSpec spec = plots::line(colour, weight);
  spec.Flags = ImPlotItemFlags_NoFit | ImPlotItemFlags_NoLegend;
  ImPlot::PlotInfLines(id, &x, 1, spec);
}

int position_label(double value, char* out, int size, void*) {
  if (value != std::floor(value)) return std::snprintf(out, static_cast<size_t>(size), "%g", value);
  return std::snprintf(out, static_cast<size_t>(size), "%s", grouped(static_cast<int64_t>(value)).c_str());
}

}  // namespace convscope::ui
