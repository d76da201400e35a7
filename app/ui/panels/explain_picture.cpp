#include "app/ui/panels/explain_picture.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <imgui.h>

#include "app/ui/widgets.h"
#include "kernels/problem/counts.h"

namespace convscope::ui {
namespace {

constexpr int64_t most_outputs = 128;  // of one input, in the scatter direction
constexpr size_t few = 10;             // arrows that can all carry a label

// Positions side by side; where some are left out, a gap.
struct Strip {
  std::vector<int64_t> positions;
  std::vector<float> left;
  float cell = 0, width = 0;

  void set(std::vector<int64_t> wanted, float cell_width, float gap) {
    std::sort(wanted.begin(), wanted.end());
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    positions = std::move(wanted);
    cell = cell_width;
    left.clear();
    width = gap;
    for (size_t i = 0; i < positions.size(); i++) {
      if (i && positions[i] != positions[i - 1] + 1) width += gap;
      left.push_back(width);
      width += cell;
    }
    width += gap;
  }
  std::optional<float> centre(double at) const {
    auto low = static_cast<int64_t>(std::floor(at));
    auto it = std::lower_bound(positions.begin(), positions.end(), low);
    if (it == positions.end() || *it != low) return {};
    auto i = static_cast<size_t>(it - positions.begin());
    float c = left[i] + cell / 2;
    if (at == std::floor(at)) return c;
    if (i + 1 == positions.size()) return {};
    return c + (left[i + 1] - left[i]) * static_cast<float>(at - std::floor(at));
  }
};

struct Layout {
  uint64_t serial = 0;
  Direction direction = Direction::gather;
  int64_t input = -1;
  float em = 0;
  Strip top, bottom;
  std::vector<int64_t> taps;      // k of every arrow, ascending
  std::vector<int64_t> untapped;  // outputs of the bottom row that no tap reaches
};

void add_around(std::vector<int64_t>& to, int64_t at, int64_t reach, int64_t limit) {
  for (int64_t i = at - reach; i <= at + reach; i++)
    if (i >= 0 && i < limit) to.push_back(i);
}

void make_layout(Layout& l, const TapPicture& picture, float em) {
  const Explained& e = picture.of;
  const ConvProblem& p = e.document.problem;
  l.serial = picture.serial, l.direction = picture.direction, l.input = picture.input, l.em = em;
  l.taps.clear(), l.untapped.clear();
  std::vector<int64_t> inputs, outputs;
  if (picture.direction == Direction::gather) {
    for (int t : picture.order) {
      const ExplainedTap& tap = e.taps[static_cast<size_t>(t)];
      l.taps.push_back(tap.k);
      if (tap.expected_i) add_around(inputs, *tap.expected_i, 1, p.length);
      if (tap.read_i) add_around(inputs, *tap.read_i, 1, p.length);
      double place = tap_place(p, e.j, tap.k);
      bool near = place > -3 && place < static_cast<double>(p.length + 2);
      if (near) {
        inputs.push_back(static_cast<int64_t>(std::floor(place)));
        inputs.push_back(static_cast<int64_t>(std::ceil(place)));
      }
    }
    if (inputs.empty())
      add_around(inputs, std::clamp<int64_t>((e.j + p.padding) / p.stride, 0, p.length - 1), 2, p.length);
    add_around(outputs, e.j, 3, p.out_length());
  } else {
    add_around(inputs, picture.input, 2, p.length);
    add_around(outputs, e.j, 1, p.out_length());
    for (int64_t k = 0; k < std::min(p.kernel_size, most_outputs); k++) l.taps.push_back(k);
    for (int64_t k : l.taps) outputs.push_back(picture.input * p.stride - p.padding + k * p.dilation);
  }
  int64_t longest = 0;
  for (const auto* v : {&inputs, &outputs})
    for (int64_t i : *v) longest = std::max(longest, i < 0 ? -i * 10 : i);
  float cell = std::max(em * 2.1f, static_cast<float>(std::to_string(longest).size()) * em * 0.55f + em * 0.7f);
  l.top.set(std::move(inputs), cell, em * 1.4f);
  l.bottom.set(std::move(outputs), cell, em * 1.4f);
  if (p.kernel_size <= most_outputs)
    for (int64_t j : l.bottom.positions)
      if (j >= 0 && j < p.out_length() && taps_reaching(p, j) == 0) l.untapped.push_back(j);
}

// ---- strokes
// --------------------------------------------------------------------------------------------------------------

constexpr int curve_points = 25;
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
  ImVec2 point(float t) const { return at[static_cast<int>(t * (curve_points - 1))]; }
};

void dashes(ImDrawList* draw, const Curve& c, ImU32 colour, float thick, float on, float off) {
  float walked = 0, period = on + off;
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

void head(ImDrawList* draw, const Curve& c, ImU32 colour, float size) {
  ImVec2 tip = c.at[curve_points - 1], back = c.at[curve_points - 3];
  float length = std::max(0.001f, std::hypot(tip.x - back.x, tip.y - back.y));
  float x = (tip.x - back.x) / length, y = (tip.y - back.y) / length;
  ImVec2 base{tip.x - x * size, tip.y - y * size};
  draw->AddTriangleFilled(tip, {base.x - y * size * 0.5f, base.y + x * size * 0.5f},
                          {base.x + y * size * 0.5f, base.y - x * size * 0.5f}, colour);
}

// A cross: what does not belong; a struck circle: what is missing.
void mark(ImDrawList* draw, const Theme& t, ImVec2 at, float r, bool missing, float alpha) {
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

void pill(ImDrawList* draw, const Theme& t, ImVec2 at, const char* text, ImU32 colour) {
  ImVec2 size = ImGui::CalcTextSize(text);
  float pad = size.y * 0.18f;
  ImVec2 a{at.x - size.x / 2 - pad, at.y - size.y / 2}, b{at.x + size.x / 2 + pad, at.y + size.y / 2};
  draw->AddRectFilled(a, b, ImGui::GetColorU32(t.panel), size.y * 0.3f);
  draw->AddText({at.x - size.x / 2, a.y}, colour, text);
}

// ---- the two rows
// ---------------------------------------------------------------------------------------------------------

struct Canvas {
  Frame& f;
  const TapPicture& picture;
  const Layout& layout;
  ImDrawList* draw;
  ImVec2 at;  // top left of the content
  float width, em, top_y, bottom_y, cell_h;

  float top_x(float c) const { return at.x + (width - layout.top.width) / 2 + c; }
  float bottom_x(float c) const { return at.x + (width - layout.bottom.width) / 2 + c; }
  float alpha(int64_t k) const { return !picture.current || *picture.current == k ? 1.0f : 0.22f; }
  static ImU32 ink(const ImVec4& c, float alpha) { return ImGui::GetColorU32({c.x, c.y, c.z, c.w * alpha}); }
};

std::string taps_words(const ConvProblem& p, int64_t j) {
  if (p.kernel_size > most_outputs) return "";
  auto taps = taps_at(p, j);
  if (taps.empty()) return "no tap reaches it: it is exactly the bias";
  std::string s = "reached by ";
  for (size_t i = 0; i < taps.size() && i < 8; i++)
    s += fmt::format("{}k = {} from i = {}", i ? ", " : "", taps[i].k, taps[i].i);
  return s + (taps.size() > 8 ? fmt::format(" and {} more", taps.size() - 8) : "");
}

// Draws one row of cells; the one under the mouse, if any.
std::optional<int64_t> row(const Canvas& c, bool inputs) {
  const Strip& s = inputs ? c.layout.top : c.layout.bottom;
  const Theme& t = c.f.theme;
  const ConvProblem& p = c.picture.of.document.problem;
  int64_t limit = inputs ? p.length : p.out_length();
  float y = inputs ? c.top_y : c.bottom_y, line = std::max(1.0f, c.em * 0.07f);
  int64_t special = inputs ? (c.picture.direction == Direction::scatter ? c.picture.input : -1) : c.picture.of.j;
  std::optional<int64_t> under;
  float text_y = y + (c.cell_h - ImGui::GetFontSize()) / 2;
  auto dots = [&](float x) { c.draw->AddText({x, text_y}, Canvas::ink(t.dim, 1), "…"); };
  for (size_t i = 0; i < s.positions.size(); i++) {
    int64_t position = s.positions[i];
    float x = inputs ? c.top_x(s.left[i]) : c.bottom_x(s.left[i]);
    ImVec2 a{x, y}, b{x + s.cell, y + c.cell_h};
    if (i && position != s.positions[i - 1] + 1) dots(x - c.em * 1.05f);
    if (!ImGui::IsRectVisible(a, b)) continue;
    bool ghost = position < 0 || position >= limit;
    if (!ghost)
      c.draw->AddRectFilled(a, b,
                            Canvas::ink(position == special ? t.accent : t.raised, position == special ? 0.28f : 1));
    if (!inputs && std::binary_search(c.layout.untapped.begin(), c.layout.untapped.end(), position)) {
      c.draw->PushClipRect(a, b, true);
      for (float h = -c.cell_h; h < s.cell; h += c.em * 0.4f)
        c.draw->AddLine({x + h, b.y}, {x + h + c.cell_h, y}, Canvas::ink(t.dim, 0.35f), line);
      c.draw->PopClipRect();
    }
    c.draw->AddRect(a, b,
                    Canvas::ink(position == special ? t.accent
                                : ghost             ? t.warning
                                                    : t.border,
                                ghost ? 0.5f : 1),
                    0, position == special ? line * 2 : line);
    std::string text = std::to_string(position);
    float w = ImGui::CalcTextSize(text.c_str()).x;
    c.draw->AddText({x + (s.cell - w) / 2, text_y}, Canvas::ink(ghost ? t.warning : t.text, 1), text.c_str());
    if (ImGui::IsWindowHovered() && ImGui::IsMouseHoveringRect(a, b)) under = position;
  }
  if (!s.positions.empty()) {
    if (s.positions.front() > 0) dots((inputs ? c.top_x(0) : c.bottom_x(0)) + c.em * 0.35f);
    if (s.positions.back() < limit - 1) dots((inputs ? c.top_x(s.width) : c.bottom_x(s.width)) - c.em * 1.05f);
  }
  return under;
}

void cell_tooltip(const Canvas& c, bool inputs, int64_t position) {
  const Explained& e = c.picture.of;
  const ConvProblem& p = e.document.problem;
  int64_t limit = inputs ? p.length : p.out_length();
  std::string text;
  if (position < 0 || position >= limit) {
    text = fmt::format("{} position {} does not exist: {} = 0…{}. A tap that points there counts as zero.",
                       inputs ? "Input" : "Output", position, inputs ? 'i' : 'j', limit - 1);
  } else if (inputs) {
    text = fmt::format(
        "x[{}, {}…{}, {}]\nk = 0…{} sends it to j = {}·{} − {} + k·{}: {} to {}\nclick to see where it goes", e.n,
        e.first_channel, e.first_channel + e.channels - 1, position, p.kernel_size - 1, position, p.stride, p.padding,
        p.dilation, position * p.stride - p.padding,
        position * p.stride - p.padding + (p.kernel_size - 1) * p.dilation);
  } else {
    text = fmt::format("y[{}, {}, {}]\n{}{}", e.n, e.co, position, taps_words(p, position),
                       position == e.j ? "" : "\nclick to explain it");
  }
  ImGui::BeginTooltip();
  ImGui::PushTextWrapPos(c.em * 26);
  ImGui::TextUnformatted(text.c_str());
  ImGui::PopTextWrapPos();
  ImGui::EndTooltip();
}

// One tap: where it should come from (solid), where the kernel took it from (dashed).
void gather_tap(const Canvas& c, const ExplainedTap& tap, size_t rank, size_t count) {
  const Theme& t = c.f.theme;
  const ConvProblem& p = c.picture.of.document.problem;
  TapState state = tap_state(tap);
  float alpha = c.alpha(tap.k), thin = std::max(1.2f, c.em * 0.1f), size = c.em * 0.5f;
  bool current = c.picture.current == tap.k, label = current || count <= few;
  auto out = c.layout.bottom.centre(static_cast<double>(c.picture.of.j));
  if (!out) return;
  float spread =
      c.layout.bottom.cell * 0.8f * ((static_cast<float>(count - 1 - rank) + 0.5f) / static_cast<float>(count) - 0.5f);
  ImVec2 end{c.bottom_x(*out) + spread, c.bottom_y};
  float from_y = c.top_y + c.cell_h, stagger = 0.12f * static_cast<float>(rank % 3);
  auto start = [&](int64_t i) -> std::optional<ImVec2> {
    auto x = c.layout.top.centre(static_cast<double>(i));
    return x ? std::optional(ImVec2(c.top_x(*x), from_y)) : std::nullopt;
  };
  std::string name = fmt::format("k {}", tap.k);
  double place = tap_place(p, c.picture.of.j, tap.k);
  if (!tap.expected_i) {  // it points between two inputs, or past their ends
    if (auto x = c.layout.top.centre(place)) {
      ImVec2 a{c.top_x(*x), from_y};
      bool between = place != std::floor(place);
      if (between) a.y += c.em * 0.35f;
      Curve curve(a, end);
      dashes(c.draw, curve, Canvas::ink(t.dim, alpha), thin, c.em * 0.1f, c.em * 0.28f);
      if (between) c.draw->AddCircle(a, c.em * 0.22f, Canvas::ink(t.dim, alpha), 0, thin);
      if (current && between)
        pill(c.draw, t, {a.x, a.y + c.em * 0.85f}, fmt::format("{:.4g}", place).c_str(), Canvas::ink(t.text, alpha));
      else if (label && state == TapState::idle)
        pill(c.draw, t, curve.point(0.24f + stagger), name.c_str(), Canvas::ink(t.dim, alpha));
    }
  }
  if (tap.expected_i)
    if (auto a = start(*tap.expected_i)) {
      Curve curve(*a, end);
      ImU32 ink = Canvas::ink(t.reference, alpha);
      c.draw->AddPolyline(curve.at, curve_points, ink, thin * (current ? 2.6f : 2.0f));
      head(c.draw, curve, ink, size);
      if (state == TapState::moved || state == TapState::missing || state == TapState::strange)
        mark(c.draw, t, curve.point(0.58f - stagger), c.em * 0.36f, true, alpha);
      if (label) pill(c.draw, t, curve.point(0.2f + stagger), name.c_str(), ink);
    }
  if (tap.read_i)
    if (auto a = start(*tap.read_i)) {
      Curve curve(*a, end);
      ImU32 ink = Canvas::ink(t.kernel, alpha);
      dashes(c.draw, curve, ink, thin * (current ? 1.7f : 1.2f), c.em * 0.42f, c.em * 0.3f);
      head(c.draw, curve, ink, size * (state == TapState::right ? 0.7f : 1));
      if (state != TapState::right) {
        mark(c.draw, t, curve.point(0.62f - stagger), c.em * 0.36f, false, alpha);
        if (label) pill(c.draw, t, curve.point(0.2f + stagger), name.c_str(), ink);
      }
    }
}

// Tap k of one input: where its product should land. What the kernel does is known for the explained output only.
void scatter_tap(const Canvas& c, int64_t k, size_t rank, size_t count) {
  const Theme& t = c.f.theme;
  const Explained& e = c.picture.of;
  const ConvProblem& p = e.document.problem;
  int64_t j = c.picture.input * p.stride - p.padding + k * p.dilation;
  auto in = c.layout.top.centre(static_cast<double>(c.picture.input)),
       out = c.layout.bottom.centre(static_cast<double>(j));
  if (!in) return;
  float alpha = c.alpha(k), thin = std::max(1.2f, c.em * 0.1f);
  bool current = c.picture.current == k, label = current || count <= few, inside = j >= 0 && j < p.out_length();
  float spread = c.layout.top.cell * 0.8f * ((static_cast<float>(rank) + 0.5f) / static_cast<float>(count) - 0.5f);
  ImVec2 a{c.top_x(*in) + spread, c.top_y + c.cell_h};
  std::string name = fmt::format("k {}", k);
  if (out) {
    Curve curve(a, {c.bottom_x(*out), c.bottom_y});
    ImU32 ink = Canvas::ink(inside ? t.reference : t.dim, alpha);
    if (inside)
      c.draw->AddPolyline(curve.at, curve_points, ink, thin * (current ? 2.6f : 2.0f));
    else
      dashes(c.draw, curve, ink, thin, c.em * 0.1f, c.em * 0.28f);
    head(c.draw, curve, ink, c.em * 0.5f);
    if (label) pill(c.draw, t, curve.point(0.66f + 0.1f * static_cast<float>(rank % 2)), name.c_str(), ink);
  }
  for (const ExplainedTap& tap : e.taps) {
    if (tap.k != k || tap.read_i != c.picture.input) continue;
    auto end = c.layout.bottom.centre(static_cast<double>(e.j));
    if (!end) return;
    Curve curve(a, {c.bottom_x(*end), c.bottom_y});
    ImU32 ink = Canvas::ink(t.kernel, alpha);
    dashes(c.draw, curve, ink, thin * (current ? 1.7f : 1.2f), c.em * 0.42f, c.em * 0.3f);
    head(c.draw, curve, ink, c.em * (j == e.j ? 0.35f : 0.5f));
    if (j != e.j) mark(c.draw, t, curve.point(0.46f), c.em * 0.36f, false, alpha);
  }
}

}  // namespace

TapState tap_state(const ExplainedTap& t) {
  if (!t.note.empty()) return TapState::strange;
  if (t.expected_i && t.read_i) return *t.expected_i == *t.read_i ? TapState::right : TapState::moved;
  if (t.expected_i) return TapState::missing;
  return t.read_i ? TapState::extra : TapState::idle;
}

double tap_place(const ConvProblem& p, int64_t j, int64_t k) {
  return static_cast<double>(j + p.padding - k * p.dilation) / static_cast<double>(p.stride);
}

TapPictureClick draw_tap_picture(Frame& f, const TapPicture& picture) {
  static Layout layout;
  float em = ImGui::GetFontSize();
  if (layout.serial != picture.serial || layout.direction != picture.direction || layout.em != em ||
      (picture.direction == Direction::scatter && layout.input != picture.input))
    make_layout(layout, picture, em);
  float cell_h = em * 1.7f, arrows = em * 6.2f, label = em * 1.25f,
        need = std::max(layout.top.width, layout.bottom.width);
  float room = ImGui::GetContentRegionAvail().x;
  float height = 2 * label + 2 * cell_h + arrows + (need > room ? ImGui::GetStyle().ScrollbarSize : 0);
  TapPictureClick click;
  ImGui::SetNextWindowContentSize({std::max(need, 1.0f), 0});
  if (ImGui::BeginChild("taps", {0, height}, ImGuiChildFlags_None,
                        ImGuiWindowFlags_HorizontalScrollbar | ImGuiWindowFlags_NoScrollWithMouse)) {
    float width = std::max(need, ImGui::GetContentRegionAvail().x);
    ImVec2 at = ImGui::GetCursorScreenPos();
    Canvas c{f,     picture, layout,       ImGui::GetWindowDrawList(),     at,
             width, em,      at.y + label, at.y + label + cell_h + arrows, cell_h};
    ImGui::PushFont(f.theme.code_font, ImGui::GetStyle().FontSizeBase * 0.85f);
    auto over_input = row(c, true), over_output = row(c, false);
    if (picture.direction == Direction::gather) {
      size_t count = picture.order.size();
      for (int pass = 0; pass < 2; pass++)  // the strongest last, over the others
        for (size_t rank = 0; rank < count; rank++) {
          const ExplainedTap& tap = picture.of.taps[static_cast<size_t>(picture.order[rank])];
          if ((picture.current == tap.k) == (pass == 1)) gather_tap(c, tap, rank, count);
        }
    } else {
      for (int pass = 0; pass < 2; pass++)
        for (size_t rank = 0; rank < layout.taps.size(); rank++)
          if ((picture.current == layout.taps[rank]) == (pass == 1))
            scatter_tap(c, layout.taps[rank], rank, layout.taps.size());
    }
    ImGui::PopFont();
    // The names of the rows stay in sight when the cells are scrolled.
    float x = ImGui::GetWindowPos().x;
    ImGui::PushFont(nullptr, ImGui::GetStyle().FontSizeBase * 0.87f);
    c.draw->AddText({x, at.y}, ImGui::GetColorU32(f.theme.dim), "input x, position i");
    c.draw->AddText({x, c.bottom_y + cell_h + em * 0.15f}, ImGui::GetColorU32(f.theme.dim), "output y, position j");
    ImGui::PopFont();
    if (over_input) cell_tooltip(c, true, *over_input);
    if (over_output) cell_tooltip(c, false, *over_output);
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) click = {over_input, over_output};
    const ConvProblem& p = picture.of.document.problem;
    if (click.input && (*click.input < 0 || *click.input >= p.length)) click.input.reset();
    if (click.output && (*click.output < 0 || *click.output >= p.out_length())) click.output.reset();
    if (picture.follow && need > room) {
      std::optional<float> to;
      if (picture.direction == Direction::gather && picture.current) {
        if (auto c0 = layout.top.centre(std::floor(tap_place(p, picture.of.j, *picture.current))))
          to = c.top_x(*c0) - at.x;
      } else if (picture.current) {
        auto j = static_cast<double>(picture.input * p.stride - p.padding + *picture.current * p.dilation);
        if (auto c0 = layout.bottom.centre(j)) to = c.bottom_x(*c0) - at.x;
      } else {
        to = width / 2;
      }
      if (to) ImGui::SetScrollX(std::max(0.0f, *to - room / 2));
    }
    ImGui::Dummy({width, 1});
  }
  ImGui::EndChild();
  return click;
}

void draw_tap_legend(Frame& f, Direction direction) {
  struct Entry {
    const char *text, *about;
  };
  static const Entry gather[] = {
      {"expected", "Where the value must come from: i = (j + p − k·d)/s, when that is whole and inside the input"},
      {"kernel", "Which input the kernel took through this tap: found by running it on one-hot inputs"},
      {"no tap", "(j + p − k·d)/s is not whole or lies outside: nothing may come through this tap"},
      {"not belonging", "The kernel takes an input that does not belong to this output"},
      {"missing", "The kernel does not take the input that belongs"}};
  static const Entry scatter[] = {{"expected", "Where the product must land: j = i·s − p + k·d"},
                                  {"kernel", "Where the kernel used this input; known for the explained output only"},
                                  {"outside", "j lies outside the output: the product is dropped"},
                                  {"not belonging", "The kernel uses this input for an output it does not belong to"}};
  const Theme& t = f.theme;
  float em = ImGui::GetFontSize(), line = ImGui::GetTextLineHeight(), sample = em * 1.8f,
        thin = std::max(1.2f, em * 0.1f);
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const Entry* all = direction == Direction::gather ? gather : scatter;
  int count = direction == Direction::gather ? 5 : 4;
  float right = ImGui::GetCursorScreenPos().x + ImGui::GetContentRegionAvail().x;
  for (int i = 0; i < count; i++) {
    float need = sample + em * 0.4f + ImGui::CalcTextSize(all[i].text).x;
    if (i && ImGui::GetItemRectMax().x + em + need <= right) ImGui::SameLine(0, em);
    ImVec2 at = ImGui::GetCursorScreenPos();
    float y = at.y + line / 2;
    auto straight = [&](ImU32 colour, float thick, float on, float off) {
      for (float x = 0; x < sample; x += on + off)
        draw->AddLine({at.x + x, y}, {at.x + std::min(sample, x + on), y}, colour, thick);
    };
    if (i == 0)
      straight(ImGui::GetColorU32(t.reference), thin * 2, sample, 1);
    else if (i == 1)
      straight(ImGui::GetColorU32(t.kernel), thin * 1.4f, em * 0.42f, em * 0.3f);
    else if (i == 2)
      straight(ImGui::GetColorU32(t.dim), thin, em * 0.1f, em * 0.28f);
    else
      mark(draw, t, {at.x + sample / 2, y}, em * 0.36f, i == 4, 1);
    ImGui::BeginGroup();
    ImGui::Dummy({sample, line});
    ImGui::SameLine(0, em * 0.4f);
    ImGui::TextColored(t.dim, "%s", all[i].text);
    ImGui::EndGroup();
    tooltip(t, all[i].about);
  }
}

}  // namespace convscope::ui
