#include "app/ui/panels/explain_picture.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <imgui.h>
#include <span>

#include "app/ui/panels/explain_guess.h"
#include "app/ui/panels/explain_labels.h"
#include "app/ui/panels/explain_layout.h"
#include "app/ui/panels/explain_strokes.h"
#include "app/ui/panels/flow.h"
#include "app/ui/widgets.h"
#include "kernels/problem/counts.h"

namespace convscope::ui {
namespace {

constexpr size_t few = 10;  // arrows that can all carry a label

// Whether something is taken by a tap, or should be: of many taps that end nowhere these are the ones to be told apart.
bool takes_or_should(const ExplainedTap& t) { return t.expected_i || t.read_i; }

// ---- the two rows --------------------------------------------------------------------------------------------------

struct Canvas {
  Frame& f;
  const TapPicture& picture;
  const TapLayout& layout;
  ImDrawList* draw;
  ImVec2 at;  // top left of the content
  float width, em, top_y, bottom_y, cell_h;

  float top_x(float c) const { return at.x + (width - layout.top.width) / 2 + c; }
  float bottom_x(float c) const { return at.x + (width - layout.bottom.width) / 2 + c; }
  float alpha(int64_t k) const { return !picture.current || *picture.current == k ? 1.0f : 0.22f; }
  static ImU32 ink(const ImVec4& c, float alpha) { return ImGui::GetColorU32({c.x, c.y, c.z, c.w * alpha}); }
};

std::string taps_words(const ConvProblem& p, int64_t j) {
  if (p.kernel_size > most_scatter_taps) return "";
  auto taps = taps_at(p, j);
  if (taps.empty()) return p.bias ? "no tap reaches it: it is exactly the bias" : "no tap reaches it: it is exactly 0";
  std::string s = "reached by ";
  for (size_t i = 0; i < taps.size() && i < 8; i++)
    s += fmt::format("{}k = {} from i = {}", i ? ", " : "", taps[i].k, taps[i].i);
  return s + (taps.size() > 8 ? fmt::format(" and {} more", taps.size() - 8) : "");
}

// Chosen by a person, or about to be; once there is an answer: whether it belongs there, by its shape as well.
void guessed_cell(const Canvas& c, ImVec2 a, ImVec2 b, int64_t position, bool hovered) {
  const Guess& g = *c.picture.guess;
  const Theme& t = c.f.theme;
  const float line = std::max(2.0f, c.em * 0.16f);
  if (g.waits()) {
    if (g.has(position)) c.draw->AddRectFilled(a, b, Canvas::ink(t.accent, 0.3f));
    if (g.has(position) || hovered) c.draw->AddRect(a, b, Canvas::ink(t.accent, g.has(position) ? 1 : 0.6f), 0, line);
  } else if (g.has(position)) {
    const Question q{c.picture.of.document.problem, c.picture.direction,
                     c.picture.direction == Direction::gather ? c.picture.of.j : c.picture.input};
    const auto right = right_positions(q);
    const bool belongs = std::binary_search(right.begin(), right.end(), position);
    c.draw->AddRect(a, b, Canvas::ink(belongs ? t.right : t.wrong, 1), 0, line);
    if (!belongs) mark(c.draw, t, {b.x - c.em * 0.4f, a.y + c.em * 0.4f}, c.em * 0.26f, false, 1);
  }
}

// Draws one row of cells; the one under the mouse, if any.
std::optional<int64_t> row(const Canvas& c, bool inputs) {
  const Strip& s = inputs ? c.layout.top : c.layout.bottom;
  const Theme& t = c.f.theme;
  const ConvProblem& p = c.picture.of.document.problem;
  int64_t limit = inputs ? p.length : p.out_length();
  float y = inputs ? c.top_y : c.bottom_y, line = std::max(1.0f, c.em * 0.07f);
  const bool has_special =
      inputs ? c.picture.direction == Direction::scatter : !c.layout.asking || c.picture.direction == Direction::gather;
  const int64_t special_one = inputs ? c.picture.input : c.picture.of.j;
  std::optional<int64_t> under;
  const ValuesNear& near = inputs ? c.picture.of.near_x : c.picture.of.near_y;
  // What stands at the outputs would give a guess away: those that are reached by no tap are 0.
  const bool values = c.layout.values && !near.values.empty() && (inputs || !c.layout.asking);
  const bool chosen_here = c.picture.guess && inputs == (c.picture.direction == Direction::gather);
  const float text_y = values ? y + c.em * 0.1f : y + (c.cell_h - ImGui::GetFontSize()) / 2;
  const float small = values ? 0.85f : 1;  // positions, where values stand under them
  auto dots = [&](float x) { c.draw->AddText({x, text_y}, Canvas::ink(t.dim, 1), "…"); };
  for (size_t i = 0; i < s.positions.size(); i++) {
    int64_t position = s.positions[i];
    const bool special = has_special && position == special_one;
    float x = inputs ? c.top_x(s.left[i]) : c.bottom_x(s.left[i]);
    ImVec2 a{x, y}, b{x + s.cell, y + c.cell_h};
    if (i && position != s.positions[i - 1] + 1) dots(x - c.em * 1.05f);
    if (!ImGui::IsRectVisible(a, b)) continue;
    bool ghost = position < 0 || position >= limit;
    if (!ghost) c.draw->AddRectFilled(a, b, Canvas::ink(special ? t.accent : t.raised, special ? 0.28f : 1));
    if (!inputs && std::binary_search(c.layout.untapped.begin(), c.layout.untapped.end(), position)) {
      c.draw->PushClipRect(a, b, true);
      for (float h = -c.cell_h; h < s.cell; h += c.em * 0.4f)
        c.draw->AddLine({x + h, b.y}, {x + h + c.cell_h, y}, Canvas::ink(t.dim, values ? 0.22f : 0.35f), line);
      c.draw->PopClipRect();
    }
    c.draw->AddRect(a, b,
                    Canvas::ink(special ? t.accent
                                : ghost ? t.warning
                                        : t.border,
                                ghost ? 0.5f : 1),
                    0, special ? line * 2 : line);
    std::string text = std::to_string(position);
    float w = ImGui::CalcTextSize(text.c_str()).x * small;
    const ImVec4& ink = ghost ? t.warning : values ? t.dim : t.text;
    c.draw->AddText(nullptr, ImGui::GetFontSize() * small, {x + (s.cell - w) / 2, text_y}, Canvas::ink(ink, 1),
                    text.c_str());
    if (values && !ghost) {
      text = cell_value(near, position);
      w = ImGui::CalcTextSize(text.c_str()).x;
      c.draw->AddText({x + (s.cell - w) / 2, y + c.em * 1.02f}, Canvas::ink(inputs ? t.text : t.kernel, 1),
                      text.c_str());
    }
    if (ImGui::IsWindowHovered() && ImGui::IsMouseHoveringRect(a, b)) under = position;
    if (chosen_here) guessed_cell(c, a, b, position, under == position && !ghost);
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

// One arrow of a tap: where it should come from (solid), where the kernel took it from (dashed), or where no input
// stands (dotted).
void gather_arrow(const Canvas& c, const TapArrow& arrow, size_t count, size_t taking, std::vector<TapLabel>& labels) {
  const Theme& t = c.f.theme;
  const ExplainedTap& tap = c.picture.of.taps[arrow.tap];
  const TapState state = tap_state(tap);
  float alpha = c.alpha(tap.k), thin = std::max(1.2f, c.em * 0.1f), size = c.em * 0.5f;
  const bool current = c.picture.current == tap.k,
             label = current || count <= few || (taking <= few && takes_or_should(tap));
  if (!label) thin *= 0.7f, size *= 0.7f;
  auto out = c.layout.bottom.centre(static_cast<double>(c.picture.of.j)), in = c.layout.top.centre(arrow.place);
  if (!out || !in) return;
  const ImVec2 end{c.bottom_x(*out) + arrow.end * c.layout.bottom.cell * 0.86f, c.bottom_y};
  ImVec2 start{c.top_x(*in) + arrow.start * c.layout.top.cell * 0.8f, c.top_y + c.cell_h};
  const std::string name = fmt::format("k {}", tap.k);
  using Mark = TapLabel::Mark;
  if (arrow.kind == TapArrow::Kind::nowhere) {
    const bool between = arrow.place != std::floor(arrow.place);
    const ImU32 ink = Canvas::ink(t.dim, alpha);
    if (between) start.y += c.em * 0.35f;
    Curve curve(start, end);
    dashes(c.draw, curve, ink, thin, c.em * 0.1f, c.em * 0.28f);
    if (between) c.draw->AddCircle(start, c.em * 0.22f, ink, 0, thin);
    if (current && between)
      labels.push_back(
          {curve, 0.2f, fmt::format("{:.4g}", arrow.place), Canvas::ink(t.text, alpha), alpha, Mark::none, current});
    else if (label && state == TapState::idle)
      labels.push_back({curve, 0.2f, name, ink, alpha, Mark::none, current});
  } else if (arrow.kind == TapArrow::Kind::expected) {
    Curve curve(start, end);
    const ImU32 ink = Canvas::ink(t.reference, alpha);
    c.draw->AddPolyline(curve.at, curve_points, ink, thin * (current ? 2.6f : 2.0f));
    head(c.draw, curve, ink, size);
    if (tap.read_i == tap.expected_i) {  // the kernel goes the same way
      const ImU32 own = Canvas::ink(t.kernel, alpha);
      dashes(c.draw, curve, own, thin * (current ? 1.7f : 1.2f), c.em * 0.42f, c.em * 0.3f);
      head(c.draw, curve, own, size * 0.7f);
    }
    const bool missing = state == TapState::missing || state == TapState::strange;
    if (label) labels.push_back({curve, 0.2f, name, ink, alpha, missing ? Mark::missing : Mark::none, current});
  } else {
    Curve curve(start, end);
    const ImU32 ink = Canvas::ink(t.kernel, alpha);
    dashes(c.draw, curve, ink, thin * (current ? 1.7f : 1.2f), c.em * 0.42f, c.em * 0.3f);
    head(c.draw, curve, ink, size);
    // Below the names of what is expected from the same inputs.
    if (label) labels.push_back({curve, 0.42f, name, ink, alpha, Mark::cross, current});
  }
}

constexpr float not_asked = 0.45f;  // how dense such an arrow is

// Tap k of one input: where its product should land. What the kernel does is known for the explained output only.
void scatter_tap(const Canvas& c, int64_t k, size_t rank, size_t count, std::vector<TapLabel>& labels) {
  const Theme& t = c.f.theme;
  const Explained& e = c.picture.of;
  const ConvProblem& p = e.document.problem;
  int64_t j = c.picture.input * p.stride - p.padding + k * p.dilation;
  auto in = c.layout.top.centre(static_cast<double>(c.picture.input)),
       out = c.layout.bottom.centre(static_cast<double>(j));
  if (!in) return;
  float alpha = c.alpha(k), thin = std::max(1.2f, c.em * 0.1f);
  bool current = c.picture.current == k, label = current || count <= few || j == e.j,
       inside = j >= 0 && j < p.out_length();
  float spread = c.layout.top.cell * 0.9f * ((static_cast<float>(rank) + 0.5f) / static_cast<float>(count) - 0.5f);
  ImVec2 a{c.top_x(*in) + spread, c.top_y + c.cell_h};
  std::string name = fmt::format("k {}", k);
  if (out) {
    Curve curve(a, {c.bottom_x(*out), c.bottom_y});
    // Of other outputs nobody has asked whether the kernel takes it: their arrows stand back.
    const bool asked = j == e.j;
    ImU32 ink = Canvas::ink(inside ? t.reference : t.dim, inside && !asked ? alpha * not_asked : alpha);
    if (inside)
      c.draw->AddPolyline(curve.at, curve_points, ink, thin * (current ? 2.6f : asked ? 2.0f : 1.2f));
    else
      dashes(c.draw, curve, ink, thin, c.em * 0.1f, c.em * 0.28f);
    head(c.draw, curve, ink, c.em * 0.5f);
    if (label) labels.push_back({curve, 0.66f, name, ink, alpha, TapLabel::Mark::none, current});
  }
  for (const ExplainedTap& tap : e.taps) {
    if (tap.k != k || tap.read_i != c.picture.input) continue;
    auto end = c.layout.bottom.centre(static_cast<double>(e.j));
    if (!end) return;
    Curve curve(a, {c.bottom_x(*end), c.bottom_y});
    ImU32 ink = Canvas::ink(t.kernel, alpha);
    dashes(c.draw, curve, ink, thin * (current ? 1.7f : 1.2f), c.em * 0.42f, c.em * 0.3f);
    head(c.draw, curve, ink, c.em * (j == e.j ? 0.35f : 0.5f));
    if (j != e.j) labels.push_back({curve, 0.46f, label ? name : "", ink, alpha, TapLabel::Mark::cross, current});
  }
}

}  // namespace

TapState tap_state(const ExplainedTap& t) {
  if (t.beside_i) return TapState::beside;
  if (!t.note.empty()) return TapState::strange;
  if (t.expected_i && t.read_i) return *t.expected_i == *t.read_i ? TapState::right : TapState::moved;
  if (t.expected_i) return TapState::missing;
  return t.read_i ? TapState::extra : TapState::idle;
}

double tap_place(const ConvProblem& p, int64_t j, int64_t k) {
  return static_cast<double>(j + p.padding - k * p.dilation) / static_cast<double>(p.stride);
}

TapPictureClick draw_tap_picture(Frame& f, const TapPicture& picture) {
  static TapLayout layout;
  float em = ImGui::GetFontSize(), room = ImGui::GetContentRegionAvail().x;
  if (layout.room != room || layout.serial != picture.serial || layout.direction != picture.direction ||
      layout.em != em || layout.asking != (picture.guess && picture.guess->waits()) ||
      (picture.direction == Direction::scatter && layout.input != picture.input))
    make_layout(layout, picture, em, room);
  float cell_h = em * (layout.values ? 2.05f : 1.7f),
        arrows = layout.asking ? em * 2 : std::clamp(ImGui::GetContentRegionAvail().y * 0.24f, em * 5.2f, em * 9),
        label = em * 1.25f, need = std::max(layout.top.width, layout.bottom.width);
  float height = 2 * label + 2 * cell_h + arrows + (need > room ? ImGui::GetStyle().ScrollbarSize : 0);
  TapPictureClick click;
  ImGui::SetNextWindowContentSize({std::max(need, 1.0f), 0});
  if (ImGui::BeginChild("taps", {0, height}, ImGuiChildFlags_None,
                        ImGuiWindowFlags_HorizontalScrollbar | ImGuiWindowFlags_NoScrollWithMouse)) {
    float width = std::max(need, room);
    ImVec2 at = ImGui::GetCursorScreenPos();
    Canvas c{f,     picture, layout,       ImGui::GetWindowDrawList(),     at,
             width, em,      at.y + label, at.y + label + cell_h + arrows, cell_h};
    ImGui::PushFont(f.theme.code_font, ImGui::GetStyle().FontSizeBase * 0.85f);
    auto over_input = row(c, true), over_output = row(c, false);
    const auto chosen_input = over_input, chosen_output = over_output;
    std::vector<TapLabel> labels;
    if (layout.asking) {
      over_input.reset(), over_output.reset();
    } else if (picture.direction == Direction::gather) {
      const auto taking =
          static_cast<size_t>(std::count_if(picture.of.taps.begin(), picture.of.taps.end(), takes_or_should));
      for (int pass = 0; pass < 2; pass++)  // the strongest last, over the others
        for (const TapArrow& arrow : layout.arrows)
          if ((picture.current == picture.of.taps[arrow.tap].k) == (pass == 1))
            gather_arrow(c, arrow, picture.order.size(), taking, labels);
    } else {
      for (int pass = 0; pass < 2; pass++)
        for (size_t rank = 0; rank < layout.taps.size(); rank++)
          if ((picture.current == layout.taps[rank]) == (pass == 1))
            scatter_tap(c, layout.taps[rank], rank, layout.taps.size(), labels);
    }
    draw_labels(c.draw, f.theme, labels);
    ImGui::PopFont();
    const Explained& of = picture.of;
    const bool one = layout.values && !of.near_x.values.empty();
    const std::string inputs = one ? fmt::format("input x[{}, {}, i]: position i and its value", of.n, of.first_channel)
                                   : "input x, position i",
                      outputs =
                          layout.values && !of.near_y.values.empty() && !layout.asking
                              ? fmt::format("output y[{}, {}, j]: position j and what the kernel wrote", of.n, of.co)
                              : "output y, position j";
    // The names of the rows stay in sight when the cells are scrolled.
    float x = ImGui::GetWindowPos().x;
    ImGui::PushFont(nullptr, ImGui::GetStyle().FontSizeBase * 0.87f);
    c.draw->AddText({x, at.y}, ImGui::GetColorU32(f.theme.dim), inputs.c_str());
    c.draw->AddText({x, c.bottom_y + cell_h + em * 0.15f}, ImGui::GetColorU32(f.theme.dim), outputs.c_str());
    ImGui::PopFont();
    if (over_input) cell_tooltip(c, true, *over_input);
    if (over_output) cell_tooltip(c, false, *over_output);
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) click = {chosen_input, chosen_output};
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

// A cell of the picture: one that does not exist, or one that no tap reaches.
static void cell_sample(const Theme& t, ImVec2 a, ImVec2 b, bool unreached) {
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const float em = ImGui::GetFontSize(), high = b.y - a.y;
  if (unreached) {
    draw->AddRectFilled(a, b, ImGui::GetColorU32(t.raised));
    draw->PushClipRect(a, b, true);
    for (float h = -high; h < b.x - a.x; h += em * 0.4f)
      draw->AddLine({a.x + h, b.y}, {a.x + h + high, a.y}, packed(t.dim, 0.6f));
    draw->PopClipRect();
  }
  draw->AddRect(a, b, packed(unreached ? t.border : t.warning, unreached ? 1.0f : 0.7f));
}

void draw_tap_legend(Frame& f, Direction direction) {
  enum class Sign { expected, kernel, other, dots, cross, missing, nowhere, unreached };
  struct Entry {
    Sign sign;
    const char *text, *about;
  };
  static const Entry gather[] = {
      {Sign::expected, "expected",
       "Where the value must come from: i = (j + p − k·d)/s, when that is whole and inside the input"},
      {Sign::kernel, "kernel", "Which input the kernel took through this tap: found by running it on one-hot inputs"},
      {Sign::dots, "no tap", "(j + p − k·d)/s is not whole or lies outside: nothing may come through this tap"},
      {Sign::cross, "does not belong", "The kernel takes an input that does not belong to this output"},
      {Sign::missing, "missing", "The kernel does not take the input that belongs"},
      {Sign::nowhere, "no such position", "Before the first input or behind the last one: it counts as zero"},
      {Sign::unreached, "no tap reaches it", "An output that stays 0, or the bias: the stride divides no j + p − k·d"}};
  static const Entry scatter[] = {
      {Sign::expected, "expected", "Where the product must land: j = i·s − p + k·d"},
      {Sign::kernel, "kernel", "Where the kernel used this input, as far as the explained output goes"},
      {Sign::other, "other outputs",
       "It must land there as well. Whether the kernel takes it there nobody has asked: click on that output"},
      {Sign::dots, "outside", "j lies outside the output: the product is dropped"},
      {Sign::cross, "does not belong", "The kernel uses this input for an output it does not belong to"},
      {Sign::nowhere, "no such position", "Before the first output or behind the last one"},
      {Sign::unreached, "no tap reaches it", "An output that stays 0, or the bias: the stride divides no j + p − k·d"}};
  const Theme& t = f.theme;
  float em = ImGui::GetFontSize(), line = ImGui::GetTextLineHeight(), sample = em * 1.8f,
        thin = std::max(1.2f, em * 0.1f);
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const std::span<const Entry> all = direction == Direction::gather ? std::span<const Entry>(gather) : scatter;
  for (const Entry& entry : all) {
    float need = sample + em * 0.4f + ImGui::CalcTextSize(entry.text).x;
    if (&entry != &all.front()) beside_if_fits(need);
    ImVec2 at = ImGui::GetCursorScreenPos();
    float y = at.y + line / 2;
    auto straight = [&](ImU32 colour, float thick, float on, float off) {
      for (float x = 0; x < sample; x += on + off)
        draw->AddLine({at.x + x, y}, {at.x + std::min(sample, x + on), y}, colour, thick);
    };
    switch (entry.sign) {
      case Sign::expected:
        straight(ImGui::GetColorU32(t.reference), thin * 2, sample, 1);
        break;
      case Sign::kernel:
        straight(ImGui::GetColorU32(t.kernel), thin * 1.4f, em * 0.42f, em * 0.3f);
        break;
      case Sign::other:
        straight(packed(t.reference, not_asked), thin * 1.2f, sample, 1);
        break;
      case Sign::dots:
        straight(ImGui::GetColorU32(t.dim), thin, em * 0.1f, em * 0.28f);
        break;
      case Sign::cross:
      case Sign::missing:
        mark(draw, t, {at.x + sample / 2, y}, em * 0.36f, entry.sign == Sign::missing, 1);
        break;
      case Sign::nowhere:
      case Sign::unreached:
        cell_sample(t, {at.x + sample * 0.2f, y - em * 0.42f}, {at.x + sample * 0.8f, y + em * 0.42f},
                    entry.sign == Sign::unreached);
        break;
    }
    ImGui::BeginGroup();
    ImGui::Dummy({sample, line});
    ImGui::SameLine(0, em * 0.4f);
    ImGui::TextColored(t.dim, "%s", entry.text);
    ImGui::EndGroup();
    tooltip(t, entry.about);
  }
}

}  // namespace convscope::ui
