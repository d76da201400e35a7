// The taps of one output element as arrows between the row of inputs and the row of outputs.
#pragma once
#include <optional>
#include <vector>

#include "app/ui/panel.h"

namespace convscope::ui {

// What a tap does against what it should do.
enum class TapState { right, idle, moved, missing, extra, beside, strange };
TapState tap_state(const ExplainedTap& t);
inline bool tap_differs(TapState s) { return s != TapState::right && s != TapState::idle; }

// (j + p − k·d)/s before anything is rounded.
double tap_place(const ConvProblem& p, int64_t j, int64_t k);

enum class Direction { gather, scatter };  // all arrows into one output, or all out of one input

class Guess;

struct TapPicture {
  const Explained& of;
  uint64_t serial;                // of `of`: layouts are kept as long as it stays
  const std::vector<int>& order;  // of of.taps: those that are walked through
  Direction direction = Direction::gather;
  int64_t input = 0;               // scatter: the input the arrows leave
  std::optional<int64_t> current;  // the tap k that is shown strongest; none: all alike
  bool follow = false;             // scroll so that it is seen
  const Guess* guess = nullptr;    // what was chosen is marked; while it waits, nothing is drawn that gives it away
};
struct TapPictureClick {
  std::optional<int64_t> input, output;  // a cell that was clicked
};
TapPictureClick draw_tap_picture(Frame& f, const TapPicture& picture);
// What the arrows mean; wraps.
void draw_tap_legend(Frame& f, Direction direction);

}  // namespace convscope::ui
