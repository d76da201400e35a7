#include "app/ui/panels/sweep_picture.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <imgui.h>
#include <limits>

#include "app/ui/widgets.h"
#include "kernels/base/text.h"

namespace convscope::ui {
namespace {

// Where things lie: names in the gutter at the left, a column for each value, times above and a row of cells for each
// kernel below.
struct Places {
  float left = 0, column = 0;            // of the first value; width of one
  float top = 0, bottom = 0;             // of the times; the same: there are none
  float labels = 0, cells = 0, row = 0;  // values' names; the first kernel's row; height of one
  double low = 0, high = 1;              // log10 of milliseconds, or of times the floor
  bool floor_below = false;              // so far below the times that it has no place in the picture
  bool of_floor = false;
  float x(size_t i) const { return left + column * (static_cast<float>(i) + 0.5f); }
  float y(double height) const {
    return bottom - (bottom - top) * static_cast<float>((std::log10(height) - low) / (high - low));
  }
  // How high a time stands; nothing: nowhere.
  std::optional<double> height(const SweepPoint& p, const std::optional<double>& ms) const {
    const double floor = of_floor ? p.floor_ms.value_or(0) : 1;
    return ms && *ms > 0 && floor > 0 ? std::optional(*ms / floor) : std::nullopt;
  }
  bool timed() const { return bottom > top; }
};

ImVec4 colour_of(const Theme& t, const Sweep& s, size_t kernel) {
  if (s.points().empty()) return t.text;
  return t.series[kernel % t.series.size()];
}

// False: there are no times.
bool put_range(Places& p, const Sweep& s) {
  double least = 1e300, most = 0, floor = std::numeric_limits<double>::infinity();
  for (const auto& point : s.points()) {
    for (const auto& e : point.entries)
      if (const auto height = p.height(point, e.ms)) least = std::min(least, *height), most = std::max(most, *height);
    if (const auto height = p.height(point, point.floor_ms)) floor = std::min(floor, *height);
  }
  const auto shown = shown_heights(least, most, floor);
  if (!shown) return false;
  p.low = shown->low, p.high = shown->high, p.floor_below = shown->floor_below;
  return true;
}

void text_right(ImDrawList* draw, float right, float y, ImU32 colour, const std::string& text) {
  draw->AddText({right - ImGui::CalcTextSize(text.c_str()).x, y}, colour, text.c_str());
}

// Lines at 1, 2 and 5 of each decade, at more of less than one; those with names that have room.
void draw_time_axis(const Theme& t, const Places& p, ImDrawList* draw, float right) {
  const float line = ImGui::GetTextLineHeight();
  float last = 1e9f;
  for (int d = static_cast<int>(std::floor(p.low)); d <= static_cast<int>(std::ceil(p.high)); d++)
    for (const int m : {1, 2, 3, 4, 5, 6, 8}) {
      const double height = m * std::pow(10.0, d);
      if (std::log10(height) < p.low || std::log10(height) > p.high) continue;
      const double span = p.high - p.low;
      const bool few = span < 2.2, very_few = span < 0.7;
      if (m != 1 && !(few && (very_few || m == 2 || m == 5))) continue;
      const float y = p.y(height);
      draw->AddLine({p.left, y}, {right, y}, packed(t.grid, m == 1 ? 1.0f : 0.6f));
      if (last - y < line * 1.2f) continue;
      last = y;
      text_right(draw, p.left - t.em * 0.4f, y - line / 2, packed(t.dim),
                 p.of_floor ? times_tick(height) : time_tick(height));
    }
}

// The words that stand for a floor that is below the picture.
std::string floor_words(const Sweep& s) {
  double low = 1e300, high = 0;
  for (const auto& point : s.points())
    if (point.floor_ms) low = std::min(low, *point.floor_ms), high = std::max(high, *point.floor_ms);
  const std::string least = convscope::time_text(low), most = convscope::time_text(high);
  return "floor below: " + (least == most ? least : least + " to " + most);
}

void draw_floor(const Theme& t, const Sweep& s, const Places& p, ImDrawList* draw) {
  if (p.floor_below) {
    const std::string words = floor_words(s);
    const float right = p.left + p.column * static_cast<float>(s.points().size()) - t.em * 0.4f,
                wide = ImGui::CalcTextSize(words.c_str()).x, y = p.bottom - t.em * 1.25f,
                x = right - wide - t.em * 0.8f;
    draw->AddTriangleFilled({x - t.em * 0.3f, y + t.em * 0.35f}, {x + t.em * 0.3f, y + t.em * 0.35f},
                            {x, y + t.em * 0.85f}, packed(t.floor));
    draw->AddText({right - wide, y}, packed(t.floor), words.c_str());
    return;
  }
  std::optional<ImVec2> before;
  const float thick = std::max(1.5f, t.em * 0.1f);
  for (size_t i = 0; i < s.points().size(); i++) {
    const auto height = p.height(s.points()[i], s.points()[i].floor_ms);
    if (!height) {
      before.reset();
      continue;
    }
    const ImVec2 at{p.x(i), p.y(*height)};
    if (before) draw->AddLine(*before, at, packed(t.floor), thick);
    draw->AddLine({at.x - t.em * 0.35f, at.y}, {at.x + t.em * 0.35f, at.y}, packed(t.floor), thick);
    before = at;
  }
  if (before) draw->AddText({before->x - t.em * 0.9f, before->y - t.em * 1.25f}, packed(t.floor), "floor");
}

// Full where it was timed, a ring where it is predicted, as in the ladder; a cross where the result is wrong.
void mark(const Theme& t, ImDrawList* draw, ImVec2 at, const ImVec4& colour, const SweepEntry& e) {
  const float r = t.em * 0.27f;
  if (e.wrong()) {
    const float thick = std::max(2.0f, t.em * 0.14f);
    draw->AddLine({at.x - r, at.y - r}, {at.x + r, at.y + r}, packed(t.wrong), thick);
    draw->AddLine({at.x - r, at.y + r}, {at.x + r, at.y - r}, packed(t.wrong), thick);
  } else if (e.reference) {
    draw->AddRectFilled({at.x - r, at.y - r}, {at.x + r, at.y + r}, packed(colour));
  } else if (e.source == "predicted") {
    draw->AddCircleFilled(at, r, packed(t.panel));
    draw->AddCircle(at, r, packed(colour), 0, std::max(1.5f, t.em * 0.11f));
  } else {
    draw->AddCircleFilled(at, r, packed(colour));
  }
}

void draw_times(const Theme& t, const Sweep& s, const Places& p, ImDrawList* draw) {
  for (size_t k = s.spec().kernels.size(); k-- > 0;) {  // the first lies above the others
    const ImVec4 colour = colour_of(t, s, k);
    std::optional<ImVec2> before;
    for (size_t i = 0; i < s.points().size(); i++) {
      const auto& entries = s.points()[i].entries;
      const auto height = entries.empty() ? std::nullopt : p.height(s.points()[i], entries[k].ms);
      if (!height) {
        before.reset();
        continue;
      }
      const SweepEntry& e = entries[k];
      const ImVec2 at{p.x(i), p.y(*height)};
      if (before) draw->AddLine(*before, at, packed(colour, 0.85f), std::max(1.5f, t.em * 0.12f));
      if (e.noise_pct) {
        const float up = p.y(*height * (1 + *e.noise_pct / 100)), down = p.y(*height / (1 + *e.noise_pct / 100));
        draw->AddLine({at.x, up}, {at.x, down}, packed(colour), std::max(1.0f, t.em * 0.08f));
      }
      before = at;
    }
    for (size_t i = 0; i < s.points().size(); i++)
      if (const auto& entries = s.points()[i].entries; !entries.empty())
        if (const auto height = p.height(s.points()[i], entries[k].ms))
          mark(t, draw, {p.x(i), p.y(*height)}, colour, entries[k]);
  }
}

void draw_cell(const Theme& t, const Places& p, ImDrawList* draw, size_t column, float y, const SweepEntry& e) {
  const ImVec2 low{p.left + p.column * static_cast<float>(column) + 1, y + 1},
      high{p.left + p.column * static_cast<float>(column + 1) - 1, y + p.row - 1};
  std::string text = "·";
  ImVec4 ground = t.raised, ink = t.dim;
  float alpha = 0.5f;
  if (e.reference) {
    text = "";
  } else if (e.status == Status::right) {
    text = "✓", ground = t.right, ink = t.right, alpha = 0.16f;
  } else if (e.wrong()) {
    const double share = e.status == Status::wrong && e.failing ? e.failing_fraction() : 1;
    text = e.status == Status::wrong ? (e.failing ? percent_text(share) : "✗") : name_of(*e.status);
    if (ImGui::CalcTextSize(text.c_str()).x > p.column - 4) text = e.status == Status::wrong ? "✗" : "!";
    ground = failing_ground(t, static_cast<float>(share)), ink = t.text, alpha = 1;
  } else if (e.status == Status::not_run) {
    text = "–";
  }
  draw->AddRectFilled(low, high, packed(ground, alpha), t.em * 0.15f);
  const ImVec2 size = ImGui::CalcTextSize(text.c_str());
  draw->AddText({(low.x + high.x - size.x) / 2, (low.y + high.y - size.y) / 2}, packed(ink), text.c_str());
}

void about_point(const Theme& t, const Sweep& s, const SweepPoint& p) {
  if (!ImGui::BeginTooltip()) return;
  ImGui::PushTextWrapPos(t.em * 34);
  ImGui::Text("%s %s", s.spec().axis.name().c_str(), grouped(p.value).c_str());
  if (!p.refused.empty()) {
    ImGui::TextColored(t.warning, "no problem: %s", p.refused.c_str());
  } else {
    std::string more = fmt::format("Lout {}", grouped(p.problem.out_length()));
    if (p.floor_ms) more += fmt::format(", floor {} {}", convscope::time_text(*p.floor_ms), p.floor_words);
    if (!p.note.empty()) more += ", " + p.note;
    ImGui::TextDisabled("%s", more.c_str());
  }
  for (size_t k = 0; k < p.entries.size(); k++) {
    const SweepEntry& e = p.entries[k];
    ImGui::Separator();
    ImGui::PushFont(t.code_font, 0);
    ImGui::TextColored(colour_of(t, s, k), "%s", file_name(e.kernel).c_str());
    ImGui::PopFont();
    if (e.ran != e.kernel) ImGui::SameLine(), ImGui::Text("which is %s here", e.ran.c_str());
    if (e.ms) {
      std::string time = convscope::time_text(*e.ms);
      if (e.noise_pct) time += " ± " + noise_text(*e.noise_pct);
      if (p.floor_ms && *p.floor_ms > 0) time += fmt::format(", {:.3g} times the floor", *e.ms / *p.floor_ms);
      if (e.cold_ms) time += ", cold " + convscope::time_text(*e.cold_ms);
      ImGui::TextUnformatted((time + ", " + e.source).c_str());
    } else if (!e.no_time.empty()) {
      ImGui::TextDisabled("no time: %s", in_the_window(e.no_time).c_str());
    }
    if (e.status)
      ImGui::TextColored(e.wrong() ? t.wrong : e.status == Status::right ? t.right : t.dim, "%s", e.sentence.c_str());
    else if (!e.sentence.empty())
      ImGui::TextDisabled("%s", in_the_window(e.sentence).c_str());
  }
  if (p.refused.empty()) ImGui::Separator(), ImGui::TextDisabled("a click sets the problem to this value");
  ImGui::PopTextWrapPos();
  ImGui::EndTooltip();
}

// Whether it has no curve: beside kernels that have one that is said.
bool untimed(const Sweep& s, size_t kernel) {
  return std::none_of(s.points().begin(), s.points().end(),
                      [&](const SweepPoint& at) { return !at.entries.empty() && at.entries[kernel].ms; });
}
constexpr const char* not_timed = "not timed";

// The rows' names are the legend, and choose their kernel.
void draw_names(Frame& f, const Sweep& s, const Places& p, float left) {
  const Theme& t = f.theme;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  for (size_t k = 0; k < s.spec().kernels.size(); k++) {
    const std::string& name = s.spec().kernels[k];
    const float y = p.cells + p.row * static_cast<float>(k);
    ImGui::SetCursorScreenPos({left, y});
    ImGui::PushID(static_cast<int>(k));
    const bool reference = !s.points().empty() &&
                           std::any_of(s.points().begin(), s.points().end(),
                                       [&](const auto& at) { return !at.entries.empty() && at.entries[k].reference; });
    const bool can = !reference && name != f.document.kernel;
    if (ImGui::InvisibleButton("##name", {p.left - left - t.em * 0.4f, p.row}) && can) {
      if (name == auto_kernel)
        f.act("best-kernel");
      else
        f.command(SetKernel{name});
    }
    if (can)
      tooltip(t, name == auto_kernel ? "The planner's choice at each value; a click takes that for this problem"
                                     : "A click chooses this kernel");
    const bool hovered = ImGui::IsItemHovered();
    ImGui::PopID();
    const float middle = y + p.row / 2;
    draw->AddRectFilled({left, middle - t.em * 0.3f}, {left + t.em * 0.5f, middle + t.em * 0.3f},
                        packed(colour_of(t, s, k)), t.em * 0.1f);
    draw->AddText(t.code_font, t.em, {left + t.em * 0.8f, middle - t.em * 0.55f},
                  packed(hovered && can              ? t.accent
                         : name == f.document.kernel ? t.kernel
                                                     : t.text),
                  file_name(name).c_str());
    if (p.timed() && untimed(s, k))
      text_right(draw, p.left - t.em * 0.4f, middle - t.em * 0.5f, packed(t.dim), not_timed);
  }
}

}  // namespace

std::optional<ShownHeights> shown_heights(double least, double most, double floor) {
  if (!(most > 0)) return {};
  // Of a tiny problem it is nanoseconds, and launching takes microseconds: with it the kernels would lie on one line.
  constexpr double far_below = 60;
  const bool any = std::isfinite(floor), below = any && floor * far_below < least;
  if (any && !below) least = std::min(least, floor), most = std::max(most, floor);
  const double low = std::log10(least), high = std::log10(most), room = std::max(0.06 * (high - low), 0.08);
  return ShownHeights{low - room, high + room, below};
}

void draw_sweep_picture(Frame& f, const Sweep& s, bool of_floor) {
  const Theme& t = f.theme;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const size_t columns = s.points().size(), kernels = s.spec().kernels.size();
  const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
  float gutter = t.em * 5;
  Places p;
  p.of_floor = of_floor;
  const bool timed = put_range(p, s);
  for (size_t k = 0; k < kernels; k++) {
    float wide = t.code_font->CalcTextSizeA(t.em, FLT_MAX, 0, file_name(s.spec().kernels[k]).c_str()).x + t.em * 1.6f;
    if (timed && untimed(s, k)) wide += ImGui::CalcTextSize(not_timed).x + t.em * 0.6f;
    gutter = std::max(gutter, wide);
  }
  p.row = t.em * 1.5f;
  p.left = at.x + gutter;
  p.column = std::max(t.em, (room.x - gutter - t.em * 0.4f) / static_cast<float>(columns));
  const float rows = p.row * static_cast<float>(kernels), line = ImGui::GetTextLineHeightWithSpacing();
  p.top = at.y + t.em * 0.3f;
  p.bottom = timed ? std::max(p.top + t.em * 7, at.y + room.y - rows - line - t.em * 0.8f) : p.top;
  p.labels = p.bottom + (p.timed() ? t.em * 0.2f : 0);
  p.cells = p.labels + line;
  const float right = p.left + p.column * static_cast<float>(columns), end = p.cells + rows;

  // What it stands at now, and what is pointed at.
  ImGui::SetCursorScreenPos({p.left, p.top});
  const bool clicked = ImGui::InvisibleButton("##columns", {right - p.left, end - p.top});
  std::optional<size_t> pointed;
  if (ImGui::IsItemHovered())
    pointed = std::min(columns - 1, static_cast<size_t>(std::max(0.0f, (ImGui::GetMousePos().x - p.left) / p.column)));
  copy_menu(f, "copy-sweep", [&] { return s.csv(); });
  auto band = [&](size_t i, const ImVec4& colour, float alpha) {
    draw->AddRectFilled({p.left + p.column * static_cast<float>(i), p.top},
                        {p.left + p.column * static_cast<float>(i + 1), end}, packed(colour, alpha));
  };
  auto stands_at = [&](const SweepPoint& point) {
    const auto& fields = s.spec().axis.fields;
    return std::all_of(fields.begin(), fields.end(),
                       [&](const ProblemField* field) { return f.document.problem.*field->value == point.value; });
  };
  for (size_t i = 0; i < columns; i++)
    if (stands_at(s.points()[i])) band(i, t.kernel, 0.12f);
  if (pointed) band(*pointed, t.text, 0.06f);

  if (p.timed()) {
    draw_time_axis(t, p, draw, right);
    draw->PushClipRect({p.left, p.top}, {right, p.bottom + t.em * 0.2f}, true);
    draw_floor(t, s, p, draw);
    draw_times(t, s, p, draw);
    draw->PopClipRect();
  }
  float last = -1e9f;
  text_right(draw, p.left - t.em * 0.4f, p.labels, packed(t.dim), s.spec().axis.name());
  for (size_t i = 0; i < columns; i++) {
    const std::string text = grouped(s.points()[i].value);
    const float wide = ImGui::CalcTextSize(text.c_str()).x, x = p.x(i) - wide / 2;
    if (x < last + t.em * 0.5f) continue;
    last = x + wide;
    draw->AddText({x, p.labels},
                  packed(stands_at(s.points()[i])         ? t.kernel
                         : !s.points()[i].refused.empty() ? t.dim
                                                          : t.text),
                  text.c_str());
  }
  for (size_t i = 0; i < columns; i++) {
    const auto& point = s.points()[i];
    if (point.entries.empty()) {
      const float x = p.x(i);
      draw->AddLine({x, p.cells + p.row * 0.2f}, {x, end - p.row * 0.2f}, packed(t.border), 1);
      continue;
    }
    for (size_t k = 0; k < kernels; k++)
      draw_cell(t, p, draw, i, p.cells + p.row * static_cast<float>(k), point.entries[k]);
  }
  draw_names(f, s, p, at.x);
  ImGui::SetCursorScreenPos({at.x, end + t.em * 0.2f});
  ImGui::Dummy({1, 1});
  if (!pointed) return;
  const SweepPoint& point = s.points()[*pointed];
  about_point(t, s, point);
  if (clicked && point.refused.empty() && !stands_at(point)) f.command(SetProblem{point.problem});
}

}  // namespace convscope::ui
