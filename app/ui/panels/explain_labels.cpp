#include "app/ui/panels/explain_labels.h"

#include <algorithm>
#include <cmath>

namespace convscope::ui {
namespace {

// Close to its ends a curve is at the cells, and at its lower end all curves meet.
constexpr int first_point = 3, last_point = 18;
static_assert(last_point < curve_points);

float mark_radius() { return ImGui::GetFontSize() * 0.42f; }
float padding() { return ImGui::GetFontSize() * 0.18f; }

ImVec2 size_of(const TapLabel& l) {
  ImVec2 size = l.text.empty() ? ImVec2(0, ImGui::GetFontSize()) : ImGui::CalcTextSize(l.text.c_str());
  if (l.sign != TapLabel::Mark::none) size.x += 2.4f * mark_radius() + (l.text.empty() ? 0 : padding());
  return {size.x + 2 * padding(), size.y};
}

}  // namespace

std::vector<std::optional<ImVec2>> place_labels(const std::vector<TapLabel>& labels, const std::vector<ImVec2>& sizes,
                                                float gap) {
  std::vector<std::optional<ImVec2>> at(labels.size());
  auto free = [&](size_t label, ImVec2 p) {
    for (size_t i = 0; i < labels.size(); i++)
      if (at[i] && std::fabs(at[i]->x - p.x) < (sizes[i].x + sizes[label].x) / 2 + gap &&
          std::fabs(at[i]->y - p.y) < (sizes[i].y + sizes[label].y) / 2 + gap)
        return false;
    return true;
  };
  auto place = [&](size_t label) {
    const int wanted =
        std::clamp(static_cast<int>(std::lround(labels[label].along * (curve_points - 1))), first_point, last_point);
    // On the curve as near to where it would like to be as there is room; else beside it.
    for (float aside : {0.0f, 0.6f, -0.6f, 1.2f, -1.2f})
      for (int step = 0; step <= last_point - first_point; step++)
        for (int point : {wanted + step, wanted - step}) {
          if (point < first_point || point > last_point) continue;
          ImVec2 p = labels[label].curve.at[point];
          p.x += aside * sizes[label].x;
          if (!free(label, p)) continue;
          at[label] = p;
          return;
        }
  };
  for (bool first : {true, false})
    for (size_t i = 0; i < labels.size(); i++)
      if (labels[i].first == first) place(i);
  return at;
}

void draw_labels(ImDrawList* draw, const Theme& t, const std::vector<TapLabel>& labels) {
  std::vector<ImVec2> sizes;
  for (const auto& l : labels) sizes.push_back(size_of(l));
  const auto places = place_labels(labels, sizes, padding() * 0.5f);
  for (size_t i = 0; i < labels.size(); i++) {
    if (!places[i]) continue;
    const TapLabel& l = labels[i];
    const ImVec2 a{places[i]->x - sizes[i].x / 2, places[i]->y - sizes[i].y / 2}, b{a.x + sizes[i].x, a.y + sizes[i].y};
    draw->AddRectFilled(a, b, ImGui::GetColorU32(t.panel), sizes[i].y * 0.3f);
    float x = a.x + padding();
    if (l.sign != TapLabel::Mark::none) {
      mark(draw, t, {x + 1.2f * mark_radius(), places[i]->y}, mark_radius(), l.sign == TapLabel::Mark::missing,
           l.alpha);
      x += 2.4f * mark_radius() + padding();
    }
    draw->AddText({x, a.y}, l.ink, l.text.c_str());
  }
}

}  // namespace convscope::ui
