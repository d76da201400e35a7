// The marks of the panel Roofline: the same in the plot and in its legend.
#pragma once
#include <algorithm>
#include <imgui.h>

#include "app/model/roof.h"
#include "app/ui/theme.h"

namespace convscope::ui {

struct Mark {
  enum class Shape { circle, square, diamond, triangle, cross, line } shape = Shape::circle;
  ImVec4 colour;
  bool filled = true;
  float size = 0.4f;  // radius, em
};

// `around`: the colour of what it lies on, which keeps marks that overlap apart.
inline void draw_mark(ImDrawList* draw, ImVec2 at, const Mark& m, float em, const ImVec4& around, float alpha = 1) {
  const float r = m.size * em, weight = std::max(1.5f, em * 0.11f);
  const ImU32 colour = packed(m.colour, alpha), edge = m.filled ? packed(around, alpha) : colour;
  auto polygon = [&](const ImVec2* p, int n) {
    if (m.filled) draw->AddConvexPolyFilled(p, n, colour);
    draw->AddPolyline(p, n, edge, m.filled ? 1 : weight, ImDrawFlags_Closed);
  };
  switch (m.shape) {
    case Mark::Shape::circle:
      if (m.filled) draw->AddCircleFilled(at, r, colour);
      draw->AddCircle(at, r, edge, 0, m.filled ? 1 : weight);
      return;
    case Mark::Shape::square: {
      const ImVec2 p[] = {{at.x - r, at.y - r}, {at.x + r, at.y - r}, {at.x + r, at.y + r}, {at.x - r, at.y + r}};
      return polygon(p, 4);
    }
    case Mark::Shape::diamond: {
      const ImVec2 p[] = {{at.x, at.y - r}, {at.x + r, at.y}, {at.x, at.y + r}, {at.x - r, at.y}};
      return polygon(p, 4);
    }
    case Mark::Shape::triangle: {
      const ImVec2 p[] = {{at.x, at.y - r}, {at.x + 0.9f * r, at.y + 0.7f * r}, {at.x - 0.9f * r, at.y + 0.7f * r}};
      return polygon(p, 3);
    }
    case Mark::Shape::cross:
      draw->AddLine({at.x - r, at.y - r}, {at.x + r, at.y + r}, colour, weight);
      draw->AddLine({at.x - r, at.y + r}, {at.x + r, at.y - r}, colour, weight);
      return;
    case Mark::Shape::line:
      draw->AddLine({at.x - r, at.y}, {at.x + r, at.y}, colour, weight);
      return;
  }
}

inline Mark mark_of(const Theme& t, const RoofPoint& p) {
  using Of = RoofPoint::Of;
  const bool small = p.of == Of::other || p.of == Of::earlier;
  const ImVec4& colour = p.of == Of::kernel ? t.kernel : p.of == Of::reference ? t.reference : t.dim;
  // A cold one is a ring around the hot one where both are the same.
  Mark m{p.of == Of::kernel ? Mark::Shape::circle : Mark::Shape::square, colour, !p.cold,
         small    ? 0.2f
         : p.cold ? 0.56f
                  : 0.38f};
  if (p.bytes == RoofPoint::Bytes::dram) m.shape = Mark::Shape::diamond, m.size = small ? 0.24f : 0.3f;
  if (p.bytes == RoofPoint::Bytes::l2) m.shape = Mark::Shape::triangle, m.size = 0.36f;
  return m;
}

}  // namespace convscope::ui
