// What stands at the pointer over a map.
#pragma once
#include <optional>
#include <string>

#include "app/ui/panel.h"

namespace convscope::ui {

// How far the elements of a cell that covers several are from their bounds: "1.2 to 56 the bound". Where 0 is right, as
// at structural zeros, the bound is no number that an error could be a multiple of: cells leave those out that fail
// there. zeros: the cell has such elements; pointed: the multiple of the one under the pointer, where it is known.
std::string words_of_bounds(const Cell& cell, bool zeros, std::optional<double> pointed, const char* bound);

// The words for an element: indices, values, class.
void element_tooltip(Frame& f, ElementIndex at);

}  // namespace convscope::ui
