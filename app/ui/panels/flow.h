// Rows that wrap: items stand beside each other while there is room.
#pragma once
#include <imgui.h>
#include <string>
#include <string_view>

#include "app/ui/widgets.h"

namespace convscope::ui {

// The next item goes on the same line when `width` fits there.
inline void beside_if_fits(float width) {
  float gap = ImGui::GetFontSize() * 0.8f, right = ImGui::GetCursorScreenPos().x + ImGui::GetContentRegionAvail().x;
  if (ImGui::GetItemRectMax().x + gap + width <= right) ImGui::SameLine(0, gap);
}

inline bool button_beside(const std::string& label) {
  beside_if_fits(ImGui::CalcTextSize(label.c_str(), nullptr, true).x + 2 * ImGui::GetStyle().FramePadding.x);
  return ImGui::Button(label.c_str());
}

inline void coloured(const ImVec4& c, std::string_view text) {
  ImGui::PushStyleColor(ImGuiCol_Text, c);
  wrapped(text);
  ImGui::PopStyleColor();
}

}  // namespace convscope::ui
