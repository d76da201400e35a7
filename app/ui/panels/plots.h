// What the plots of several panels share. Their axes are fixed: a wheel over a plot scrolls the panel. Logarithmic axes
// are plain ones of log10, so that a tick is a decade.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <implot.h>
#include <string>
#include <string_view>
#include <vector>

#include "app/ui/theme.h"

namespace convscope::ui::plots {

inline constexpr ImPlotFlags fixed = ImPlotFlags_CanvasOnly | ImPlotFlags_NoInputs | ImPlotFlags_NoFrame;
inline constexpr ImPlotAxisFlags axis =
    ImPlotAxisFlags_NoMenus | ImPlotAxisFlags_NoSideSwitch | ImPlotAxisFlags_NoHighlight;
inline constexpr ImPlotAxisFlags bare = axis | ImPlotAxisFlags_NoGridLines | ImPlotAxisFlags_NoTickMarks;

inline ImPlotSpec line(const ImVec4& colour, float weight = 1.5f) {
  ImPlotSpec s;
  s.LineColor = colour, s.LineWeight = weight;
  return s;
}
inline ImPlotSpec fill(const ImVec4& colour, float alpha = 1) {
  ImPlotSpec s;
  s.FillColor = s.LineColor = colour, s.FillAlpha = alpha, s.LineWeight = 0;
  return s;
}
inline void mark_x(const char* id, double x, const ImVec4& colour, float weight = 1) {
  ImPlot::PlotInfLines(id, &x, 1, line(colour, weight));
}

// Between BeginPlot and EndPlot: where the mouse points in the plot, if it does.
inline bool pointed(ImPlotPoint& at) {
  ImVec2 low = ImPlot::GetPlotPos(), size = ImPlot::GetPlotSize();
  if (!ImGui::IsWindowHovered() || !ImGui::IsMouseHoveringRect(low, {low.x + size.x, low.y + size.y})) return false;
  at = ImPlot::GetPlotMousePos();
  return true;
}

// What a formatter of an axis writes: as much as has room, with the 0 that ImPlot reads up to.
inline int write_label(char* out, int size, std::string_view text) {
  if (size <= 0) return 0;
  const size_t n = std::min(text.size(), static_cast<size_t>(size) - 1);
  std::copy_n(text.data(), n, out);
  out[n] = 0;
  return static_cast<int>(n);
}
// Milliseconds in microseconds, as a formatter.
inline int label_in_us(double ms, char* out, int size, void*) {
  return write_label(out, size, fmt::format("{:.4g}", ms * 1000));
}

// A decade as it stands beside a tick: "0.01", "1", "1000"; or "1e-2", "1", "1e3".
inline std::string decade_text(int d) {
  if (d >= 0) return "1" + std::string(static_cast<size_t>(d), '0');
  return "0." + std::string(static_cast<size_t>(-d - 1), '0') + "1";
}
inline std::string exponent_text(int d) { return d ? "1e" + std::to_string(d) : "1"; }
// The same of thousands of millions, with the prefix of its unit: "100 G", "1 T".
inline std::string giga_text(int d) {
  constexpr std::string_view prefixes[] = {"", "k", "M", "G", "T", "P", "E"};
  const int all = d + 9;
  if (all < 0 || all > 20) return "1e" + std::to_string(all);
  const std::string prefix(prefixes[all / 3]);
  return "1" + std::string(static_cast<size_t>(all % 3), '0') + (prefix.empty() ? "" : " " + prefix);
}

// Round numbers of a linear axis, so many that each has a line of text for its name. One alone says nothing of the
// axis: where a low one has no more of them, two finer ones stand there that are far enough apart.
inline std::vector<double> round_ticks(double low, double high, float height, float line) {
  const double span = high - low, most = std::max(1.0, std::floor(height / (1.25 * line)));
  if (!(span > 0) || !std::isfinite(span)) return {};
  double step = std::pow(10.0, std::floor(std::log10(span / most)));
  for (const double by : {1.0, 2.0, 5.0, 10.0, 20.0, 50.0})
    if (std::floor(high / (step * by)) - std::ceil(low / (step * by)) + 1 <= most) {
      step *= by;
      break;
    }
  std::vector<double> at;
  for (double i = std::ceil(low / step); i <= std::floor(high / step) && at.size() < 64; i++)
    at.push_back(i * step + 0.0);  // no -0
  const double decade = std::pow(10.0, std::floor(std::log10(span))), apart = 1.1 * span * line / height;
  for (const double by : {1.0, 0.5, 0.2, 0.1, 0.05}) {
    const double finer = decade * by, first = std::ceil(low / finer) * finer, last = std::floor(high / finer) * finer;
    if (at.size() < 2 && last - first >= apart) at = {first + 0.0, last + 0.0};
  }
  return at;
}
// "0.0002", "2e-5", "-0.1"
inline int label_plain(double v, char* out, int size, void*) {
  std::string text = fmt::format("{:.4g}", v);
  if (const size_t e = text.find("e-0"); e != text.npos) text.erase(e + 2, 1);
  return write_label(out, size, text);
}

// How decades of one axis are named: all with exponents where one of them would be long without.
using DecadeText = std::string (*)(int);
inline DecadeText alike(DecadeText text, int low, int high) {
  return text == decade_text && (low < -3 || high > 4) ? exponent_text : text;
}

// Ticks at whole decades, as many as have room, named by `text`.
inline void decades(ImAxis which, int low, int high, float room, DecadeText text = decade_text) {
  text = alike(text, low, high);
  std::array<std::string, 121> names;
  for (int d = std::max(low, -60); d <= std::min(high, 60); d++) names[static_cast<size_t>(d + 60)] = text(d);
  const float one = ImGui::GetFontSize() * (which < ImAxis_Y1 ? 3.2f : 1.5f);
  int step = 1;
  while (room < one * static_cast<float>((high - low) / step) && step < 32) step *= 2;
  double at[121];
  const char* labels[121];
  int n = 0;
  for (int d = low; d <= high && n < 121; d++)
    if (d % step == 0 && d >= -60 && d <= 60) at[n] = d, labels[n++] = names[static_cast<size_t>(d + 60)].c_str();
  ImPlot::SetupAxisTicks(which, at, n, labels);
}

}  // namespace convscope::ui::plots
