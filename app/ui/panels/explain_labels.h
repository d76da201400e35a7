// Names and marks of the arrows in the picture of a tap: each beside its own arrow, none over another.
#pragma once
#include <imgui.h>
#include <optional>
#include <string>
#include <vector>

#include "app/ui/panels/explain_strokes.h"

namespace convscope::ui {

struct TapLabel {
  enum class Mark { none, cross, missing };
  Curve curve;
  float along = 0.2f;  // where on the curve it would like to stand, 0 to 1
  std::string text;
  ImU32 ink = 0;
  float alpha = 1;
  Mark sign = Mark::none;
  bool first = false;  // it gets its place before the others
};

// The middle of each label of these sizes, so that no two overlap; none for a label that finds no free place at its
// arrow. `gap`: pixels that stay free between two.
std::vector<std::optional<ImVec2>> place_labels(const std::vector<TapLabel>& labels, const std::vector<ImVec2>& sizes,
                                                float gap);

// In the current font. Marks are as in the legend.
void draw_labels(ImDrawList* draw, const Theme& t, const std::vector<TapLabel>& labels);

}  // namespace convscope::ui
