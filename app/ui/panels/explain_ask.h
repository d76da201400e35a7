// One explanation for all panels that show it: asked for once, when the selection or the result has changed.
#pragma once
#include <optional>

#include "app/ui/panel.h"

namespace convscope::ui {

// Of a trace by a build that does not know its lines.
inline constexpr const char* no_lines_words =
    "which lines wrote and read this element is not known: this program has no debug information (it was installed "
    "with --strip). To see them, run the program in its build folder, or Edit a copy: a file of yours is compiled with "
    "its lines";

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
