// Arrows and marks of the picture of a tap.
#pragma once
#include <algorithm>
#include <cmath>
#include <imgui.h>

#include "app/ui/theme.h"

namespace convscope::ui {

inline constexpr int curve_points = 25;
struct Curve {
  ImVec2 at[curve_points];
  Curve(ImVec2 a, ImVec2 b) {
    float bend = (b.y - a.y) * 0.45f;
    for (int i = 0; i < curve_points; i++) {
      float t = static_cast<float>(i) / (curve_points - 1), u = 1 - t;
      float c0 = u * u * u, c1 = 3 * u * u * t, c2 = 3 * u * t * t, c3 = t * t * t;
      at[i] = {(c0 + c1) * a.x + (c2 + c3) * b.x, c0 * a.y + c1 * (a.y + bend) + c2 * (b.y - bend) + c3 * b.y};
    }
  }
};

inline void dashes(ImDrawList* draw, const Curve& c, ImU32 colour, float thick, float on, float off, float walked = 0) {
  float period = on + off;
  for (int i = 1; i < curve_points; i++) {
    ImVec2 a = c.at[i - 1], b = c.at[i];
    float length = std::hypot(b.x - a.x, b.y - a.y), from = 0;
    while (from < length) {
      float phase = std::fmod(walked + from, period), left = phase < on ? on - phase : period - phase;
      float to = std::min(length, from + std::max(left, 0.1f));
      auto mix = [&](float s) { return ImVec2(a.x + (b.x - a.x) * s / length, a.y + (b.y - a.y) * s / length); };
      if (phase < on) draw->AddLine(mix(from), mix(to), colour, thick);
      from = to;
    }
    walked += length;
  }
}

inline void head(ImDrawList* draw, const Curve& c, ImU32 colour, float size) {
  ImVec2 tip = c.at[curve_points - 1], back = c.at[curve_points - 3];
  float length = std::max(0.001f, std::hypot(tip.x - back.x, tip.y - back.y));
  float x = (tip.x - back.x) / length, y = (tip.y - back.y) / length;
  ImVec2 base{tip.x - x * size, tip.y - y * size};
  draw->AddTriangleFilled(tip, {base.x - y * size * 0.5f, base.y + x * size * 0.5f},
                          {base.x + y * size * 0.5f, base.y - x * size * 0.5f}, colour);
}

// A cross: what does not belong; a struck circle: what is missing.
inline void mark(ImDrawList* draw, const Theme& t, ImVec2 at, float r, bool missing, float alpha) {
  ImU32 wrong = ImGui::GetColorU32({t.wrong.x, t.wrong.y, t.wrong.z, alpha});
  draw->AddCircleFilled(at, r * 1.35f, ImGui::GetColorU32(t.panel));
  float d = r * 0.7f, thick = std::max(1.5f, r * 0.28f);
  if (missing) {
    draw->AddCircle(at, r, wrong, 0, thick);
    draw->AddLine({at.x - d, at.y + d}, {at.x + d, at.y - d}, wrong, thick);
  } else {
    draw->AddLine({at.x - d, at.y - d}, {at.x + d, at.y + d}, wrong, thick);
    draw->AddLine({at.x - d, at.y + d}, {at.x + d, at.y - d}, wrong, thick);
  }
}

}  // namespace convscope::ui
