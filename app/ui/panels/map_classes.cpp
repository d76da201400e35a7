#include "app/ui/panels/map_classes.h"

#include <algorithm>
#include <fmt/format.h>
#include <imgui.h>
#include <iterator>

#include "app/ui/panels/flow.h"
#include "app/ui/widgets.h"

namespace convscope::ui {
namespace {

constexpr ImVec4 tints[] = {{0.30f, 0.65f, 1, 1},     {1, 0.65f, 0.30f, 1},     {0.45f, 0.85f, 0.55f, 1},
                            {0.80f, 0.50f, 0.95f, 1}, {0.95f, 0.85f, 0.35f, 1}, {0.40f, 0.85f, 0.85f, 1}};

const ImVec4& tint_of(int64_t residue) { return tints[static_cast<size_t>(residue) % std::size(tints)]; }

// Whether one of its taps lands on positions of this residue: j + p − k·d is a multiple of s.
bool some_tap_lands(const ConvProblem& p, int64_t residue) {
  int64_t at = 0;
  for (int64_t k = 0; k < std::min(p.kernel_size, p.stride); k++) {  // from there on they begin again
    if (at == residue) return true;
    at = (at + p.dilation % p.stride) % p.stride;
  }
  return false;
}

void swatch(const Theme& t, const ImVec4* tint, const std::string& name, const char* about) {
  const float em = t.em, line = ImGui::GetTextLineHeight(), side = em * 0.9f;
  beside_if_fits(side + em * 0.4f + ImGui::CalcTextSize(name.c_str()).x);
  ImGui::BeginGroup();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const ImVec2 low{at.x, at.y + (line - side) / 2}, high{low.x + side, low.y + side};
  if (tint) {
    draw->AddRectFilled(low, high, packed(*tint, 0.75f));
  } else {
    draw->PushClipRect(low, high, true);
    for (float y = low.y; y < high.y + side; y += em * 0.3f)
      draw->AddLine({low.x, y}, {high.x, y - side}, packed(t.text, 0.6f));
    draw->PopClipRect();
  }
  draw->AddRect(low, high, packed(t.border));
  ImGui::Dummy({side, line});
  ImGui::SameLine(0, em * 0.4f);
  ImGui::TextUnformatted(name.c_str());
  ImGui::EndGroup();
  tooltip(t, about);
}

}  // namespace

ImVec4 class_tint(const ConvProblem& p, int64_t j) { return tint_of((j + p.padding) % p.stride); }

void class_legend(const Frame& f, const ConvProblem& p) {
  constexpr const char* about =
      "Positions by the remainder of j + p by the stride: the same taps reach all of one class. Seen when positions "
      "are at least 3 pixels wide.";
  const char* no_tap = p.bias ? "No tap reaches these: structural zeros, which have the bias alone."
                              : "No tap reaches these: structural zeros.";
  ImGui::TextColored(f.theme.dim, "%s", p.stride == 1 ? "(j + p) mod 1: one class, no tint" : "(j + p) mod s");
  tooltip(f.theme, about);
  const auto named = std::min<int64_t>(p.stride == 1 ? 0 : p.stride, std::size(tints));
  bool hatched = false;
  for (int64_t r = 0; r < named; r++) {
    const bool lands = some_tap_lands(p, r);
    hatched |= !lands;
    swatch(f.theme, lands ? &tint_of(r) : nullptr, fmt::format("{}{}", r, lands ? "" : ": no tap"),
           lands ? about : no_tap);
  }
  if (named < p.stride && p.stride > 1) {
    beside_if_fits(ImGui::CalcTextSize("…").x);
    ImGui::TextUnformatted("…");
    tooltip(f.theme, fmt::format("up to {}; from {} on the tints begin again", grouped(p.stride - 1), named));
  }
  if (!hatched) swatch(f.theme, nullptr, "no tap", no_tap);  // at the ends
}

}  // namespace convscope::ui
