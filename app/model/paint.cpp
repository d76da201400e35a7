#include "app/model/paint.h"

#include <algorithm>
#include <cmath>

namespace convscope {
namespace {

struct Rgb {
  double r, g, b;
};

uint32_t pack(Rgb c) {
  auto byte = [](double v) { return static_cast<uint32_t>(std::lround(std::clamp(v, 0.0, 1.0) * 255)); };
  return 0xff000000u | byte(c.b) << 16 | byte(c.g) << 8 | byte(c.r);
}

Rgb mix(Rgb a, Rgb b, double t) { return {a.r + (b.r - a.r) * t, a.g + (b.g - a.g) * t, a.b + (b.b - a.b) * t}; }

Rgb along(std::span<const Rgb> stops, double t) {
  double at = (t > 0 ? std::min(t, 1.0) : 0.0) * static_cast<double>(stops.size() - 1);
  auto i = std::min(static_cast<size_t>(at), stops.size() - 2);
  return mix(stops[i], stops[i + 1], at - static_cast<double>(i));
}

// Nine and more points of the published tables, evenly spaced; between them linear, at most 2/255 off.
constexpr Rgb viridis[] = {{0.267, 0.005, 0.329}, {0.283, 0.141, 0.458}, {0.254, 0.265, 0.530}, {0.207, 0.372, 0.553},
                           {0.164, 0.471, 0.558}, {0.128, 0.567, 0.551}, {0.135, 0.659, 0.518}, {0.267, 0.749, 0.441},
                           {0.478, 0.821, 0.318}, {0.741, 0.873, 0.150}, {0.993, 0.906, 0.144}};
constexpr Rgb cividis[] = {{0.000, 0.135, 0.305}, {0.000, 0.189, 0.423}, {0.189, 0.252, 0.424}, {0.282, 0.312, 0.419},
                           {0.363, 0.372, 0.432}, {0.442, 0.434, 0.456}, {0.521, 0.496, 0.473}, {0.607, 0.561, 0.462},
                           {0.698, 0.631, 0.438}, {0.795, 0.706, 0.396}, {0.995, 0.909, 0.217}};
// Blue: too low. Orange: too high. The middle is the panel's own ground, so that nothing wrong shows as nothing.
constexpr Rgb below_dark[] = {{0.60, 0.82, 1.00}, {0.25, 0.55, 0.90}, {0.11, 0.28, 0.52}, {0.10, 0.12, 0.15}};
constexpr Rgb above_dark[] = {{0.10, 0.12, 0.15}, {0.52, 0.25, 0.09}, {0.92, 0.49, 0.15}, {1.00, 0.83, 0.52}};
constexpr Rgb below_light[] = {{0.02, 0.19, 0.42}, {0.13, 0.44, 0.78}, {0.62, 0.79, 0.94}, {0.97, 0.97, 0.97}};
constexpr Rgb above_light[] = {{0.97, 0.97, 0.97}, {0.99, 0.78, 0.55}, {0.86, 0.41, 0.06}, {0.45, 0.16, 0.00}};
// Within the bound: grey to teal. Beyond it: a jump to red, then to yellow.
constexpr Rgb within_dark[] = {{0.10, 0.12, 0.15}, {0.13, 0.22, 0.27}, {0.16, 0.38, 0.43}};
constexpr Rgb beyond_dark[] = {{0.72, 0.12, 0.20}, {0.93, 0.30, 0.25}, {1.00, 0.58, 0.25}, {1.00, 0.86, 0.45}};
constexpr Rgb within_light[] = {{0.97, 0.97, 0.97}, {0.84, 0.91, 0.92}, {0.62, 0.79, 0.81}};
constexpr Rgb beyond_light[] = {{0.95, 0.55, 0.42}, {0.85, 0.25, 0.22}, {0.62, 0.06, 0.16}, {0.33, 0.00, 0.12}};

Rgb raw(ColourMap map, double t, bool light) {
  switch (map) {
    case ColourMap::viridis:
      return along(viridis, t);
    case ColourMap::cividis:
      return along(cividis, t);
    case ColourMap::diverging:
      if (t < 0.5) return along(light ? below_light : below_dark, 2 * t);
      return along(light ? above_light : above_dark, 2 * t - 1);
    case ColourMap::excess:
      if (t <= 0.5) return along(light ? within_light : within_dark, 2 * t);
      return along(light ? beyond_light : beyond_dark, 2 * t - 1);
  }
  return {0, 0, 0};
}

}  // namespace

uint32_t colour(ColourMap map, double t, bool light_theme) { return pack(raw(map, t, light_theme)); }

double place_on(const Paint& paint, double value) {
  if (paint.map == ColourMap::excess) {
    double v = std::fabs(value);
    if (!(v > 0)) return 0;
    double t = 0.5 + std::log10(v) / (2 * paint.decades);
    // At the bound is within it, and beyond is beyond, however little.
    return v <= 1 ? std::clamp(t, 0.0, 0.5) : std::clamp(t, 0.5 + 1e-9, 1.0);
  }
  double span = paint.high - paint.low;
  return span > 0 ? std::clamp((value - paint.low) / span, 0.0, 1.0) : 0.5;
}

BeyondScale beyond_scale(std::span<const Cell> cells, const Paint& paint) {
  BeyondScale b;
  const bool excess = paint.map == ColourMap::excess;
  // Cells are in single precision, ends are not.
  const double slack = excess ? 0 : 1e-6 * (paint.high - paint.low), low = excess ? 0 : paint.low - slack,
               high = excess ? std::pow(10, paint.decades) : paint.high + slack;
  for (const Cell& c : cells) {
    if (!(c.minimum <= c.maximum)) continue;
    const auto shown = static_cast<double>(c.extreme);
    b.cells++;
    if (shown < low) b.below++;
    if (shown > high) b.above++;
  }
  return b;
}

namespace {

// Halfway between two colours.
uint32_t between(uint32_t a, uint32_t b) { return 0xff000000u | ((a >> 1 & 0x7f7f7f) + (b >> 1 & 0x7f7f7f)); }

// A failing cell that also holds elements within their bound.
bool mixed(const Cell& c) { return c.flags & flag_failing && c.minimum <= c.maximum && c.minimum <= 1; }

// Such a cell among its like: where there are few, each is painted as what is worst in it, or one wrong element in a
// million would be lost; where they fill an area, that it is not all wrong is what there is to see.
bool mixed_around(std::span<const Cell> cells, int width, int x, int y) {
  const int height = static_cast<int>(cells.size()) / width;
  if (cells.size() == 1) return false;  // it has no like
  for (auto [dx, dy] : {std::pair{0, 0}, {-1, 0}, {1, 0}, {0, -1}, {0, 1}}) {
    const int cx = x + dx, cy = y + dy;
    if (cx < 0 || cy < 0 || cx >= width || cy >= height) continue;
    if (!mixed(cells[static_cast<size_t>(cy) * static_cast<size_t>(width) + static_cast<size_t>(cx)])) return false;
  }
  return true;
}

}  // namespace

std::optional<size_t> first_muted(std::span<const Cell> cells, int width) {
  for (size_t i = 0; i < cells.size(); i++)
    if (mixed_around(cells, width, static_cast<int>(i % static_cast<size_t>(width)),
                     static_cast<int>(i / static_cast<size_t>(width))))
      return i;
  return {};
}

std::vector<uint32_t> paint_cells(std::span<const Cell> cells, int width, const Paint& paint) {
  constexpr int steps = 1024;  // of the table; excess: an odd split would blur its jump
  std::vector<uint32_t> table(steps + 1);
  for (int i = 0; i <= steps; i++)
    table[static_cast<size_t>(i)] = colour(
        paint.map,
        paint.map == ColourMap::excess && i > steps / 2 ? std::max(0.5 + 1e-9, i / double{steps}) : i / double{steps},
        paint.light_theme);
  // A failing cell is never painted as one within the bound: where the bound is 0 (no tap lands) the ratio is infinite,
  // and not among the finite ones that a cell's extreme is taken from.
  auto excess_step = [&](const Cell& c) {
    bool failing = c.flags & flag_failing;
    if (failing && !(c.extreme > 1)) return steps;
    int at = static_cast<int>(place_on(paint, static_cast<double>(c.extreme)) * steps);
    return failing ? std::max(steps / 2 + 1, at) : std::min(steps / 2, at);
  };
  std::vector<uint32_t> out(cells.size());
  const uint32_t dark = paint.light_theme ? 0xffb8b8b8 : 0xff3c3c3c, pale = paint.light_theme ? 0xffe8e8e8 : 0xff6e6e6e;
  const float low = static_cast<float>(paint.low),
              scale = paint.high > paint.low ? static_cast<float>(std::min(steps / (paint.high - paint.low), 1e38)) : 0;
  for (size_t i = 0; i < cells.size(); i++) {
    const Cell& c = cells[i];
    auto x = static_cast<int>(i % static_cast<size_t>(width)), y = static_cast<int>(i / static_cast<size_t>(width));
    if (c.flags & flag_nan)
      out[i] = nan_colour;
    else if (c.flags & flag_unwritten && c.minimum > c.maximum)
      out[i] = ((x / 4 + y / 4) & 1) ? pale : dark;
    else if (c.flags & flag_inf && paint.map != ColourMap::excess)
      out[i] = ((x + y) / 3 % 2) ? 0xff30d8ff : 0xff202020;
    else if (c.flags & flag_unwritten)
      out[i] = ((x / 4 + y / 4) & 1) ? pale : dark;
    else if (paint.map == ColourMap::excess && c.minimum > c.maximum)
      out[i] = table[c.flags & flag_failing ? steps : 0];
    else if (c.minimum > c.maximum)
      out[i] = dark;
    else if (paint.map == ColourMap::excess && mixed_around(cells, width, x, y)) {
      const uint32_t worst = table[static_cast<size_t>(excess_step(c))],
                     least = table[static_cast<size_t>(place_on(paint, static_cast<double>(c.minimum)) * steps)];
      out[i] = between(worst, between(worst, least));  // no less to be seen than what is wrong throughout
    } else if (paint.map == ColourMap::excess)
      out[i] = table[static_cast<size_t>(excess_step(c))];
    else
      out[i] = table[static_cast<size_t>(
          scale > 0 ? std::clamp((c.extreme - low) * scale, 0.0f, static_cast<float>(steps)) : steps / 2.0f)];
  }
  return out;
}

}  // namespace convscope
