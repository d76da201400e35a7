// Which positions the picture of a tap shows, and where they stand.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/ui/panels/explain_picture.h"

namespace convscope::ui {

inline constexpr int64_t most_scatter_taps = 128;  // arrows out of one input

// Positions side by side; where some are left out, a gap.
struct Strip {
  std::vector<int64_t> positions;
  std::vector<float> left;  // of each, in pixels
  float cell = 0, width = 0;

  void set(std::vector<int64_t> wanted, float cell_width, float gap);
  // The middle of a position, or of a place between two that stand beside each other.
  std::optional<float> centre(double at) const;
};

// An arrow into the explained output: from where a tap should come, from where the kernel took it, or from a place
// where no input stands.
struct TapArrow {
  enum class Kind { nowhere, expected, taken };
  size_t tap;  // of Explained::taps
  Kind kind;
  double place;              // the input position it starts at
  float start = 0, end = 0;  // where in its cells, −0.5 to 0.5: side by side in the order of their other ends
};
// In the order in which they stand, so that none crosses another.
std::vector<TapArrow> arrows_of(const TapPicture& picture);

struct TapLayout {
  uint64_t serial = 0;
  Direction direction = Direction::gather;
  int64_t input = -1;
  bool asking = false;  // a guess is waited for
  float em = 0, room = 0;
  Strip top, bottom;
  bool values = false;            // cells have room for what stands there, under their positions
  std::vector<int64_t> taps;      // k of every arrow, ascending
  std::vector<TapArrow> arrows;   // gather
  std::vector<int64_t> untapped;  // outputs of the bottom row that no tap reaches
};

// What stands at a position, in at most six characters; "" where it is not known.
std::string cell_value(const ValuesNear& values, int64_t position);

void make_layout(TapLayout& l, const TapPicture& picture, float em, float room);

}  // namespace convscope::ui
