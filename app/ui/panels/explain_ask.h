// One explanation for all panels that show it: asked for once, when the selection or the result has changed.
#pragma once
#include <optional>

#include "app/ui/panel.h"

namespace convscope::ui {

struct ExplainAsked {
  bool asked = false;                    // for this element of this result
  std::optional<double> seconds;         // it was not asked for, since it takes this long: a person decides
  int runs = 0;                          // of the kernel, that explaining takes
  const Explained* explained = nullptr;  // of this element; null: not here
  const Traced* traced = nullptr;
};
// at: within the picture.
ExplainAsked keep_explained(Frame& f, const Report& picture, ElementIndex at);
void ask_explanation(Frame& f, const Report& picture, ElementIndex at);

}  // namespace convscope::ui
