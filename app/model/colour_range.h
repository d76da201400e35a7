// What the ends of a colour scale stand for, where somebody has set them: the automatic ones show all there is, and not
// what is small beside it.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace convscope {

// values: of a kernel and of what stands beside it, one for both. error: of their difference, symmetric around 0.
// ratio: of |error|/bound, logarithmic and symmetric around 1, the bound.
enum class ColourScale : uint8_t { values, error, ratio };
inline constexpr size_t colour_scales = 3;

struct ColourRange {
  double low = 0, high = 1;
  bool operator==(const ColourRange&) const = default;
};
// By scale; nothing: automatic.
using OwnColours = std::array<std::optional<ColourRange>, colour_scales>;

// Why these cannot be the ends of a scale, as a rule behind them ("must …"); "" when they can.
std::string broken_rule(ColourScale scale, const ColourRange& r);

// A symmetric scale by its upper end.
ColourRange up_to(ColourScale scale, double high);

// An end that was dragged by a part of the scale's length (> 0: to the right), or the scale as a whole: then its
// colours go with the hand. A symmetric scale has its middle, and both ends move. Never less than a hundredth of what
// it was.
enum class ScaleEnd : uint8_t { low, whole, high };
ColourRange dragged(ColourScale scale, const ColourRange& from, ScaleEnd end, double by);

// Half of it or twice as much and the like: around 0 where that is on it, else around its middle. As it was where that
// would be no scale any more.
ColourRange stretched(ColourScale scale, const ColourRange& r, double factor);

}  // namespace convscope
