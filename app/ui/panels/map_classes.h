// Polyphase classes over the maps: the tint of each residue (j + p) mod s, and what it means.
#pragma once
#include "app/ui/panel.h"

namespace convscope::ui {

constexpr float tint_share = 0.22f;  // of a tint over a map's colours

ImVec4 class_tint(const ConvProblem& p, int64_t j);
// A line that names tints and hatch, as many as have a tint of their own.
void class_legend(const Frame& f, const ConvProblem& p);

}  // namespace convscope::ui
