// The taps of one output element as a table: formula, what belongs there, what the kernel took.
#pragma once
#include <optional>
#include <vector>

#include "app/ui/panels/explain_words.h"

namespace convscope::ui {

struct TapTable {
  std::vector<float> heights;  // of the rows, so that those out of sight cost nothing
  int hovered = -1;            // row, of the last frame
};
// current: the row that is highlighted, or −1. Returns the row that was clicked, −1 when it was the current one.
std::optional<int> draw_tap_table(Frame& f, const Explained& e, const ExplainWords& w, TapTable& table, int current);

}  // namespace convscope::ui
