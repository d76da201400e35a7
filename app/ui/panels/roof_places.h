// Where text stands in the panel Roofline's plot, so that none goes over other text or over marks.
#pragma once
#include <algorithm>
#include <cmath>
#include <imgui.h>
#include <string>
#include <vector>

namespace convscope::ui {

// Text along a line that rises through `at`, above it; what lies under it is covered.
inline void text_along(ImDrawList* draw, ImVec2 at, float angle, ImU32 colour, ImU32 cover, const std::string& text) {
  const int first = draw->VtxBuffer.Size;
  const ImVec2 size = ImGui::CalcTextSize(text.c_str());
  draw->AddRectFilled({at.x - size.y * 0.2f, at.y - size.y * 1.05f},
                      {at.x + size.x + size.y * 0.2f, at.y - size.y * 0.08f}, cover, size.y * 0.2f);
  draw->AddText({at.x, at.y - size.y * 1.05f}, colour, text.c_str());
  const float c = std::cos(angle), s = std::sin(angle);
  for (int i = first; i < draw->VtxBuffer.Size; i++) {
    ImVec2& p = draw->VtxBuffer[i].pos;
    const float x = p.x - at.x, y = p.y - at.y;
    p = {at.x + x * c - y * s, at.y + x * s + y * c};
  }
}

// Where text stands in the plot already: none goes over other.
class Taken {
 public:
  bool free(ImVec2 corner, ImVec2 size) const {
    return std::none_of(boxes_.begin(), boxes_.end(), [&](const ImVec4& b) {
      return corner.x < b.z && corner.x + size.x > b.x && corner.y < b.w && corner.y + size.y > b.y;
    });
  }
  void take(ImVec2 corner, ImVec2 size) {
    boxes_.push_back({corner.x, corner.y, corner.x + size.x, corner.y + size.y});
  }

 private:
  std::vector<ImVec4> boxes_;
};

// Lines between points, as small squares along them: names keep away from them where they can.
inline void take_line(ImVec2 a, ImVec2 b, float em, Taken& lines) {
  const float length = std::hypot(b.x - a.x, b.y - a.y), step = em * 0.4f;
  for (float at = 0; at < length; at += step) {
    const float part = at / length;
    lines.take({a.x + (b.x - a.x) * part - 1, a.y + (b.y - a.y) * part - 1}, {2, 2});
  }
}

}  // namespace convscope::ui
