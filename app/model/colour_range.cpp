#include "app/model/colour_range.h"

#include <algorithm>
#include <cmath>

namespace convscope {
namespace {

constexpr double least_scale = 1e-300, most_scale = 1e300;  // sums and products of ends stay finite
constexpr double least_decades = 0.05;                      // to each side of the bound: from 0.89 to 1.12 of it
constexpr double most_decades = 299;

double decades_of(const ColourRange& r) { return std::log10(r.high); }
ColourRange of_decades(double d) {
  d = std::clamp(d, least_decades, most_decades);
  return {std::pow(10, -d), std::pow(10, d)};
}

}  // namespace

std::string broken_rule(ColourScale scale, const ColourRange& r) {
  if (!std::isfinite(r.low) || !std::isfinite(r.high)) return "must be two finite numbers";
  if (!(r.low < r.high)) return "must go up: from the lower end to the upper one";
  if (std::max(std::fabs(r.low), std::fabs(r.high)) > most_scale || r.high - r.low < least_scale)
    return "must be within ±1e300, with 1e-300 between its ends";
  if (scale == ColourScale::error && r.low != -r.high) return "must be symmetric around 0";
  // The two are each other's inverse, as far as numbers are.
  if (scale == ColourScale::ratio &&
      !(r.low > 0 && std::fabs(r.low * r.high - 1) < 1e-6 && decades_of(r) > 0.98 * least_decades))
    return "must be symmetric around 1, the bound, from at most 0.89 to at least 1.12";
  return "";
}

ColourRange up_to(ColourScale scale, double high) { return {scale == ColourScale::ratio ? 1 / high : -high, high}; }

ColourRange dragged(ColourScale scale, const ColourRange& from, ScaleEnd end, double by) {
  constexpr double least = 0.01;
  const double span = from.high - from.low;
  ColourRange to = from;
  if (scale == ColourScale::values) {
    if (end == ScaleEnd::low) to.low = std::min(from.low + by * span, from.high - least * span);
    if (end == ScaleEnd::high) to.high = std::max(from.high + by * span, from.low + least * span);
    if (end == ScaleEnd::whole) to.low -= by * span, to.high -= by * span;
  } else if (end != ScaleEnd::whole) {
    const double factor = std::max(least, 1 + 2 * (end == ScaleEnd::high ? by : -by));
    to = scale == ColourScale::error ? up_to(scale, from.high * factor) : of_decades(decades_of(from) * factor);
  }
  return broken_rule(scale, to).empty() ? to : from;
}

ColourRange stretched(ColourScale scale, const ColourRange& r, double factor) {
  ColourRange to;
  if (scale == ColourScale::ratio) {
    to = of_decades(decades_of(r) * factor);
  } else {
    const double around = r.low <= 0 && r.high >= 0 ? 0 : r.low / 2 + r.high / 2;
    to = {around + (r.low - around) * factor, around + (r.high - around) * factor};
  }
  return broken_rule(scale, to).empty() ? to : r;
}

}  // namespace convscope
