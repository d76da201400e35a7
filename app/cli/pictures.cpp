#include "app/cli/pictures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <stdexcept>

#include "kernels/base/text.h"

namespace convscope {
namespace {

using Rgb = std::array<double, 3>;

// viridis (Smith & van der Walt, matplotlib, CC0) at eighths; RdBu (Brewer, ColorBrewer 2.0) with white in the middle;
// and a pair of ramps that meet at the bound.
constexpr Rgb viridis[] = {{68, 1, 84},    {71, 44, 122}, {59, 81, 139},  {44, 113, 142}, {33, 144, 141},
                           {39, 173, 129}, {92, 200, 99}, {170, 220, 50}, {253, 231, 37}};
constexpr Rgb diverging[] = {{5, 48, 97},     {67, 147, 195}, {209, 229, 240}, {247, 247, 247},
                             {253, 219, 199}, {214, 96, 77},  {103, 0, 31}};
constexpr Rgb within[] = {{240, 245, 250}, {163, 190, 214}};
constexpr Rgb beyond[] = {{253, 174, 97}, {215, 48, 39}, {110, 0, 20}};

template <size_t n>
Rgb ramp(const Rgb (&table)[n], double t) {
  t = std::clamp(t, 0.0, 1.0) * (n - 1);
  auto i = std::min(static_cast<size_t>(t), n - 2);
  double f = t - static_cast<double>(i);
  Rgb c;
  for (size_t k = 0; k < 3; k++) c[k] = table[i][k] * (1 - f) + table[i + 1][k] * f;
  return c;
}

Rgb ratio_colour(double ratio) {
  if (ratio <= 1) return ramp(within, std::clamp(1 + std::log10(std::max(ratio, 1e-6)) / 4, 0.0, 1.0));
  return ramp(beyond, std::log10(std::min(ratio, 1e12)) / 6);
}

Rgb cell_colour(const Cell& c, const MapStyle& s) {
  switch (s.colours) {
    case MapStyle::Colours::values:
      return ramp(viridis, s.high > s.low ? (c.extreme - s.low) / (s.high - s.low) : 0.5);
    case MapStyle::Colours::signed_error:
      return ramp(diverging, s.high > 0 ? 0.5 + 0.5 * c.extreme / s.high : 0.5);
    case MapStyle::Colours::bound_ratio:
      return ratio_colour(c.flags & flag_failing && !(c.maximum > 1) ? 1e12 : c.maximum);
  }
  return {};
}

template <size_t n>
std::string gradient(const Rgb (&table)[n], double from, double to) {
  std::string out;
  for (size_t i = 0; i < n; i++)
    out += fmt::format("{}rgb({:.0f},{:.0f},{:.0f}) {:.1f}%", i ? ", " : "", table[i][0], table[i][1], table[i][2],
                       from + (to - from) * static_cast<double>(i) / static_cast<double>(n - 1));
  return out;
}

}  // namespace

Image draw_map(std::span<const Cell> cells, int width, int height, const MapStyle& style) {
  Image image(width * style.zoom, height * style.zoom);
  for (int y = 0; y < image.height; y++)
    for (int x = 0; x < image.width; x++) {
      const Cell& c =
          cells[static_cast<size_t>(y / style.zoom) * static_cast<size_t>(width) + static_cast<size_t>(x / style.zoom)];
      Rgb colour;
      bool empty = c.minimum > c.maximum;
      if (c.flags & flag_unwritten && style.colours != MapStyle::Colours::bound_ratio)
        colour = (x / 3 + y / 3) % 2 ? Rgb{120, 120, 120} : Rgb{190, 190, 190};
      else if (c.flags & flag_nan && style.colours != MapStyle::Colours::bound_ratio)
        colour = {255, 0, 255};
      else if (c.flags & flag_inf && style.colours != MapStyle::Colours::bound_ratio)
        colour = (x + y) % 4 < 2 ? Rgb{0, 0, 0} : Rgb{255, 200, 0};
      else if (empty && !(c.flags & flag_failing))
        colour = {200, 200, 200};
      else
        colour = cell_colour(c, style);
      size_t at = (static_cast<size_t>(y) * static_cast<size_t>(image.width) + static_cast<size_t>(x)) * 3;
      for (size_t k = 0; k < 3; k++)
        image.rgb[at + k] = static_cast<uint8_t>(std::lround(std::clamp(colour[k], 0.0, 255.0)));
    }
  return image;
}

std::string css_gradient(MapStyle::Colours colours) {
  switch (colours) {
    case MapStyle::Colours::values:
      return "linear-gradient(to right, " + gradient(viridis, 0, 100) + ")";
    case MapStyle::Colours::signed_error:
      return "linear-gradient(to right, " + gradient(diverging, 0, 100) + ")";
    case MapStyle::Colours::bound_ratio:
      return "linear-gradient(to right, " + gradient(within, 0, 33) + ", " + gradient(beyond, 33, 100) + ")";
  }
  return "";
}

std::string plot_lines(const std::vector<Line>& lines, int64_t first, const std::string& y_label, int width,
                       int height) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  size_t n = 0;
  for (const auto& l : lines) {
    n = std::max(n, l.values.size());
    for (double v : l.values)
      if (std::isfinite(v)) low = std::min(low, v), high = std::max(high, v);
  }
  if (!(low <= high)) low = 0, high = 1;
  if (low == high) low -= 1, high += 1;
  double margin = 0.06 * (high - low);
  low -= margin, high += margin;
  const double left = 64, right = 12, top = 10, bottom = 30, w = width - left - right, h = height - top - bottom;
  auto px = [&](double i) { return left + w * (n > 1 ? i / static_cast<double>(n - 1) : 0.5); };
  auto py = [&](double v) { return top + h * (high - v) / (high - low); };

  std::string s =
      fmt::format(R"(<svg viewBox="0 0 {} {}" role="img" aria-label="{} over position">)", width, height, y_label);
  // Ticks at round numbers: 1, 2 or 5 times a power of ten.
  auto step_for = [](double span, int count) {
    double raw = span / count, power = std::pow(10, std::floor(std::log10(raw))), m = raw / power;
    return power * (m < 1.5 ? 1 : m < 3.5 ? 2 : m < 7.5 ? 5 : 10);
  };
  double dy = step_for(high - low, 4);
  for (double v = std::ceil(low / dy) * dy; v <= high; v += dy)
    s += fmt::format(
        R"(<line class="grid" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/><text class="tick" x="{:.1f}" y="{:.1f}" text-anchor="end">{}</text>)",
        left, left + w, py(v), py(v), left - 6, py(v) + 4, number_text(std::fabs(v) < dy / 1e6 ? 0 : v));
  auto dx = static_cast<int64_t>(std::max(1.0, step_for(static_cast<double>(n), 8)));
  for (int64_t j = (first + dx - 1) / dx * dx; j < first + static_cast<int64_t>(n); j += dx)
    s += fmt::format(R"(<text class="tick" x="{:.1f}" y="{}" text-anchor="middle">{}</text>)",
                     px(static_cast<double>(j - first)), height - 14, j);
  s += fmt::format(R"(<text class="tick" x="{:.1f}" y="{}" text-anchor="end">position j</text>)", left + w, height - 2);
  s += fmt::format(
      R"x(<text class="tick" x="10" y="{:.1f}" transform="rotate(-90 10 {:.1f})" text-anchor="middle">{}</text>)x",
      top + h / 2, top + h / 2, y_label);
  for (const auto& l : lines) {
    std::string path;
    bool pen = false;
    for (size_t i = 0; i < l.values.size(); i++) {
      if (!std::isfinite(l.values[i])) {
        pen = false;
        continue;
      }
      path += fmt::format("{}{:.1f} {:.1f}", pen ? "L" : "M", px(static_cast<double>(i)), py(l.values[i]));
      pen = true;
    }
    s += fmt::format(R"(<path class="line {}" d="{}"/>)", l.css_class, path);
    if (n <= 128)
      for (size_t i = 0; i < l.values.size(); i++)
        if (std::isfinite(l.values[i]))
          s += fmt::format(R"(<circle class="dot {}" cx="{:.1f}" cy="{:.1f}" r="2"/>)", l.css_class,
                           px(static_cast<double>(i)), py(l.values[i]));
  }
  return s + "</svg>";
}

std::string base64(std::string_view bytes) {
  static constexpr char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t v = 0;
    for (size_t k = 0; k < 3; k++) v = v << 8 | (i + k < bytes.size() ? static_cast<uint8_t>(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; k++) out += i + k <= bytes.size() ? letters[v >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

}  // namespace convscope
