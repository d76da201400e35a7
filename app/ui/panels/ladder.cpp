// How far every kernel is from the floor of this problem, and so from each other.
#include "app/model/ladder.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <imgui.h>
#include <imgui_internal.h>
#include <memory>
#include <optional>

#include "app/model/floor.h"
#include "app/ui/panel.h"
#include "app/ui/widgets.h"
#include "kernels/base/text.h"

namespace convscope::ui {
namespace {

using From = LadderRow::From;

std::string ratio(double v) { return times_text(v) + "×"; }
std::string ms_text(double ms) { return convscope::time_text(ms); }  // down to nanoseconds

// A logarithmic axis of milliseconds across the room between names and figures.
struct Axis {
  float left = 0, right = 0;
  double low = 0, high = 1;  // log10 of milliseconds
  float at(double ms) const {
    return left + (right - left) * static_cast<float>((std::log10(ms) - low) / (high - low));
  }
};

Axis axis_of(const Ladder& l, float left, float right) {
  Axis a{left, right, 1e9, -1e9};
  auto take = [&](double ms) { a.low = std::min(a.low, std::log10(ms)), a.high = std::max(a.high, std::log10(ms)); };
  for (const auto& r : l.rows)
    if (r.from != From::nothing && r.ms > 0) take(r.ms);
  if (l.floor_ms) take(*l.floor_ms);
  const double room = std::max(0.04 * (a.high - a.low), 0.05);
  a.low -= room, a.high += room;
  return a;
}

std::string from_words(const LadderRow& r) {
  switch (r.from) {
    case From::recorded:
      return "recorded";
    case From::measured:
      return "measured here";
    case From::predicted:
      return "predicted by the planner's model";
    case From::nothing:
      break;
  }
  return "";
}

// What stands beside a time that has the packing of weights in it, and beside one of before that was recorded; "": it
// has not.
const char* packing_mark(const LadderRow& r) {
  if (r.packs == true) return "+p";
  return r.from == From::recorded && !r.packs && r.kind != "reference" ? "+p?" : "";
}
constexpr const char* packing_about =
    "Times are of a whole call. +p: it packs weights as well, which inference does once; without that it is shorter, "
    "as "
    "the panels Timing and Compare have it. +p?: recorded before packing was timed apart: in it where the kernel "
    "packs.";
struct PackingMarks {
  bool packs = false, unknown = false;
  std::string words() const {
    return std::string(packs ? "+p packing included" : "") + (packs && unknown ? ", " : "") +
           (unknown ? "+p? where it packs" : "");
  }
};
PackingMarks packing_marks(const Ladder& l) {
  PackingMarks m;
  for (const auto& r : l.rows) {
    const std::string_view mark = packing_mark(r);
    m.packs |= mark == "+p", m.unknown |= mark == "+p?";
  }
  return m;
}

void about_row(const Theme& t, const Ladder& l, const LadderRow& r) {
  if (!ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip | ImGuiHoveredFlags_AllowWhenDisabled) ||
      !ImGui::BeginTooltip())
    return;
  ImGui::PushTextWrapPos(t.em * 28);
  ImGui::PushFont(t.code_font, 0);
  ImGui::TextUnformatted(r.name.c_str());
  ImGui::PopFont();
  if (!r.idea.empty()) ImGui::TextUnformatted(r.idea.c_str());
  if (r.from != From::nothing) {
    std::string s = fmt::format("{} hot, {}", ms_text(r.ms), from_words(r));
    if (r.from == From::predicted) s = fmt::format("{}, {}", ms_text(r.ms), from_words(r));
    if (!r.of.empty()) s += ", " + r.of;
    if (r.packs == true) s += ", packing included";
    if (packing_mark(r) == std::string_view("+p?")) s += ", packing included where it packs";
    if (r.from == From::predicted) s += ", weights packed before";
    ImGui::TextUnformatted(s.c_str());
    if (l.floor_ms && !r.looser)
      ImGui::TextUnformatted(fmt::format("{} times the floor of {} {}", times_text(r.ms / *l.floor_ms),
                                         ms_text(*l.floor_ms), l.floor_words)
                                 .c_str());
    if (const LadderRow* best = l.fastest(r.from); best && best->name != r.name)
      ImGui::TextUnformatted(fmt::format("{} times {}", times_text(r.ms / best->ms), best->name).c_str());
  } else {
    ImGui::TextDisabled("%s", r.why.c_str());
  }
  if (r.looser) ImGui::TextColored(t.warning, "its arithmetic is less accurate than what is asked for");
  if (r.status == "wrong") ImGui::TextColored(t.wrong, "wrong on this problem");
  if (r.status == "right") ImGui::TextColored(t.right, "right on this problem");
  if (r.not_judged()) ImGui::TextColored(t.warning, "timed, and not judged on this problem at this accuracy");
  ImGui::PopTextWrapPos();
  ImGui::EndTooltip();
}

// Full where it was timed, a ring where it is predicted; a square for references, an open diamond where no verdict is
// known.
void dot(ImDrawList* draw, const Theme& t, ImVec2 at, const LadderRow& r, bool chosen) {
  const float radius = t.em * (chosen ? 0.36f : 0.28f);
  const ImU32 colour = packed(chosen                  ? t.kernel
                              : r.status == "wrong"   ? t.wrong
                              : r.looser              ? t.dim
                              : r.not_judged()        ? t.warning
                              : r.kind == "reference" ? t.reference
                                                      : t.accent);
  if (r.kind == "reference")
    draw->AddRectFilled({at.x - radius * 0.9f, at.y - radius * 0.9f}, {at.x + radius * 0.9f, at.y + radius * 0.9f},
                        colour);
  else if (r.not_judged())
    draw->AddQuad({at.x, at.y - radius}, {at.x + radius, at.y}, {at.x, at.y + radius}, {at.x - radius, at.y}, colour,
                  std::max(1.5f, t.em * 0.12f));
  else if (r.from == From::predicted)
    draw->AddCircle(at, radius, colour, 0, std::max(1.5f, t.em * 0.12f));
  else
    draw->AddCircleFilled(at, radius, colour);
}

float row_height(const Theme& t) { return t.em * 1.4f; }

// What the marks mean, of those that are there; behind the buttons where there is room.
void legend(const Theme& t, const Ladder& l, bool one_line) {
  struct Entry {
    const char* text;
    LadderRow like;
    bool there = false;
  };
  LadderRow timed, predicted, reference, looser, wrong, not_judged;
  not_judged.from = From::recorded;
  timed.from = reference.from = looser.from = wrong.from = From::measured, predicted.from = From::predicted;
  reference.kind = "reference", looser.looser = true, wrong.status = "wrong";
  Entry all[] = {{"timed", timed},         {"predicted", predicted},
                 {"reference", reference}, {"less accurate than asked", looser},
                 {"wrong", wrong},         {"not judged", not_judged}};
  for (const auto& r : l.rows) {
    if (r.from == From::nothing) continue;
    all[0].there |=
        r.from != From::predicted && r.kind != "reference" && !r.looser && r.status != "wrong" && !r.not_judged();
    all[5].there |= r.not_judged() && !r.looser;
    all[4].there |= r.status == "wrong" && r.from != From::predicted;
    all[1].there |= r.from == From::predicted;
    all[2].there |= r.kind == "reference";
    all[3].there |= r.looser;
    if (r.looser) all[3].like.from = r.from, all[3].like.status = r.not_judged() ? "" : "right";
  }
  for (const auto& e : all) {
    if (!e.there) continue;
    ImGui::SameLine(0, t.em);
    const float wide = ImGui::CalcTextSize(e.text).x + t.em;
    if (ImGui::GetContentRegionAvail().x < wide) {
      ImGui::NewLine();
      if (one_line) return;
    }
    const ImVec2 at = ImGui::GetCursorScreenPos();
    dot(ImGui::GetWindowDrawList(), t, {at.x + t.em * 0.4f, at.y + ImGui::GetFrameHeight() / 2}, e.like, false);
    ImGui::Dummy({t.em * 0.8f, ImGui::GetFrameHeight()});
    ImGui::SameLine(0, t.em * 0.2f);
    ImGui::AlignTextToFramePadding();
    ImGui::TextDisabled("%s", e.text);
  }
  if (const std::string words = packing_marks(l).words(); !words.empty()) {
    ImGui::SameLine(0, t.em);
    if (ImGui::GetContentRegionAvail().x < ImGui::CalcTextSize(words.c_str()).x) {
      ImGui::NewLine();
      if (one_line) return;
    }
    ImGui::AlignTextToFramePadding();
    ImGui::TextColored(t.dim, "%s", words.c_str());
    tooltip(t, packing_about);
  }
}

struct Columns {
  float names = 0, ms = 0, times = 0;  // widths
  float mark = 0;                      // of packing_mark; 0: no time has it
  float figures(const Theme& t) const { return ms + times + t.em * 2; }
};

// Of arithmetic that is not allowed the floor is another.
std::string times_floor(const Ladder& l, const LadderRow& r) {
  return l.floor_ms && !r.looser ? ratio(r.ms / *l.floor_ms) : "";
}

float code_width(const Theme& t, const std::string& text) {
  return t.code_font->CalcTextSizeA(t.em, FLT_MAX, 0, text.c_str()).x;
}

Columns columns_of(const Theme& t, const Ladder& l) {
  Columns c;
  for (const auto& r : l.rows) {
    c.names = std::max(c.names, code_width(t, file_name(r.name)));
    if (r.from == From::nothing) continue;
    c.ms = std::max(c.ms, code_width(t, ms_text(r.ms))), c.times = std::max(c.times, code_width(t, times_floor(l, r)));
  }
  c.names += t.em * 2.6f;
  for (const auto& r : l.rows)
    if (const char* mark = packing_mark(r); *mark) c.mark = std::max(c.mark, code_width(t, mark) + t.em * 0.2f);
  c.ms += c.mark;
  return c;
}

void code(ImDrawList* draw, const Theme& t, ImVec2 at, const ImVec4& colour, const std::string& text) {
  draw->AddText(t.code_font, t.em, at, packed(colour), text.c_str());
}

// The list goes to a kernel that was chosen elsewhere, and keeps it where its room becomes another.
void bring_in_sight(bool chosen, const std::string& name) {
  static std::string in_sight;
  static float height = 0;
  if (!chosen || (in_sight == name && height == ImGui::GetWindowHeight())) return;
  in_sight = name, height = ImGui::GetWindowHeight();
  const ImRect room = ImGui::GetCurrentWindow()->InnerClipRect;
  if (ImGui::GetItemRectMin().y < room.Min.y || ImGui::GetItemRectMax().y > room.Max.y) ImGui::SetScrollHereY(0.5f);
}

void draw_row(Frame& f, const Ladder& l, const LadderRow& r, const Axis& axis, const Columns& columns) {
  const Theme& t = f.theme;
  const float height = row_height(t), width = ImGui::GetContentRegionAvail().x;
  const bool reference = r.kind == "reference",
             chosen = reference ? f.document.compare_with == r.name : f.document.kernel == r.name;
  ImGui::PushID(r.name.c_str());
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::BeginDisabled(!r.can_choose);
  if (ImGui::Selectable("##row", chosen && !reference, 0, {0, height}) && !chosen) {
    if (reference)
      f.command(SetCompareWith{r.name});
    else
      f.command(SetKernel{r.name});
  }
  ImGui::EndDisabled();
  about_row(t, l, r);
  bring_in_sight(chosen && !reference && r.from != From::nothing, r.name);
  ImGui::PopID();
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const float middle = at.y + height / 2, text_y = middle - t.em * 0.55f;
  if (r.status == "right" || r.status == "wrong" || r.not_judged()) {
    const ImVec2 back = ImGui::GetCursorScreenPos();
    ImGui::SetCursorScreenPos({at.x + t.em * 0.2f, at.y + (height - ImGui::GetTextLineHeight()) / 2});
    status_mark(t, r.status == "right" ? "pass" : r.status == "wrong" ? "fail" : "");
    ImGui::SetCursorScreenPos(back);
  }
  const ImVec4& ink = chosen && !reference ? t.kernel : !r.can_choose || r.looser ? t.dim : t.text;
  code(draw, t, {at.x + t.em * 1.6f, text_y}, ink, file_name(r.name));
  if (r.from == From::nothing) {
    ImGui::PushStyleColor(ImGuiCol_Text, t.dim);
    const float left = at.x + columns.names;
    ImGui::RenderTextEllipsis(draw, {left, text_y}, {at.x + width - t.em * 0.4f, at.y + height},
                              at.x + width - t.em * 0.4f, r.why.c_str(), nullptr, nullptr);
    ImGui::PopStyleColor();
    return;
  }
  const float x = axis.at(r.ms);
  if (l.floor_ms && (!r.looser || r.ms > *l.floor_ms)) {
    // What lies between the floor and it is what could be won.
    const float from = axis.at(*l.floor_ms);
    draw->AddLine({from, middle}, {x, middle},
                  packed(chosen     ? t.kernel
                         : r.looser ? t.dim
                                    : t.accent,
                         chosen ? 0.7f : 0.35f),
                  std::max(2.0f, t.em * 0.18f));
  }
  dot(draw, t, {x, middle}, r, chosen && !reference);
  const std::string times = times_floor(l, r), ms = ms_text(r.ms);
  const float right = at.x + width - t.em * 0.4f;
  code(draw, t, {right - code_width(t, times), text_y}, t.dim, times);
  const float ms_right = right - columns.times - t.em * 0.8f - columns.mark;
  code(draw, t, {ms_right - code_width(t, ms), text_y}, ink, ms);
  if (columns.mark > 0) code(draw, t, {ms_right + t.em * 0.2f, text_y}, t.dim, packing_mark(r));
}

// The axis' lines through the rows, and its names in the window above, where they stay when the rows are scrolled.
void draw_axis(const Theme& t, const Ladder& l, const Axis& a, ImDrawList* names, float header, float top,
               float bottom) {
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const int first = static_cast<int>(std::ceil(a.low)), last = static_cast<int>(std::floor(a.high));
  const float floor_x = l.floor_ms ? a.at(*l.floor_ms) : -1e9f;
  const std::string floor = l.floor_ms ? "floor " + ms_text(*l.floor_ms) : "";
  const float floor_wide = ImGui::CalcTextSize(floor.c_str()).x,
              floor_left = std::max(a.left, std::min(floor_x - floor_wide / 2, a.right - floor_wide));
  auto mark = [&](double ms, bool named) {
    const float x = a.at(ms);
    if (x < a.left || x > a.right) return;
    draw->AddLine({x, top}, {x, bottom}, packed(t.grid, named ? 1.0f : 0.5f));
    const std::string text = time_tick(ms);
    const float wide = ImGui::CalcTextSize(text.c_str()).x, left = x - wide / 2;
    const bool beside = floor.empty() || left > floor_left + floor_wide + t.em || left + wide + t.em < floor_left;
    if (named && beside && left + wide < a.right + t.em * 2)
      names->AddText({left, header}, packed(t.dim), text.c_str());
  };
  // Within one decade or two there is room for halves and fifths of them.
  const bool few = a.high - a.low < 2.2;
  for (int d = first - 1; d <= last; d++) {
    const double one = std::pow(10.0, d);
    mark(one, true);
    if (few) mark(2 * one, true), mark(5 * one, true);
  }
  if (!l.floor_ms) return;
  draw->AddLine({floor_x, top}, {floor_x, bottom}, packed(t.floor), std::max(1.5f, t.em * 0.12f));
  names->AddText({floor_left, header}, packed(t.floor), floor.c_str());
}

// Above the figures of the rows, where the axis leaves room.
void name_figures(const Theme& t, const Ladder& l, const Columns& columns, ImDrawList* names, float header, float right,
                  float free_from) {
  right -= t.em * 0.4f;
  auto put = [&](const char* text) {
    const float wide = ImGui::CalcTextSize(text).x;
    if (right - wide > free_from) names->AddText({right - wide, header}, packed(t.dim), text);
  };
  if (l.floor_ms) put("× floor");
  right -= std::max(columns.times, ImGui::CalcTextSize("× floor").x) + t.em * 0.8f + columns.mark;
  put("time");
}

std::string csv_of(const Ladder& l) {
  std::string s = "kernel,kind,ms,times floor,source,accurate enough,verdict,reason\n";
  for (const auto& r : l.rows)
    s +=
        fmt::format("{},{},{},{},{},{},{},{}\n", csv_field(r.name), r.kind,
                    r.from == From::nothing ? "" : fmt::format("{:.9g}", r.ms),
                    r.from != From::nothing && l.floor_ms && !r.looser ? fmt::format("{:.4g}", r.ms / *l.floor_ms) : "",
                    from_words(r), r.looser ? "no" : "yes", r.status, csv_field(r.why));
  if (l.floor_ms) s += fmt::format("floor,,{:.9g},1,{},,,\n", *l.floor_ms, csv_field(l.floor_words));
  return s;
}

// Made anew when something has changed that it is made of: a recording is searched for each of its rows.
struct Shown {
  Ladder ladder;
  bool stale = false;  // of the problem before: the times of this one are asked for
};
const Shown& shown_now(const Frame& f) {
  struct Of {
    Document document;
    const void* recording = nullptr;
    uint64_t predicted = 0, report = 0, profile = 0;
    const void* shown = nullptr;  // the report that stands for the document
    bool live = false;
    size_t kernels = 0, ran = 0;
    bool operator==(const Of&) const = default;
  };
  static std::optional<Of> made_of;
  static std::shared_ptr<const Recording> held;  // so that no other one has its address
  static Shown made;
  const Report* r = f.report();
  const PredictedTimes* predicted = f.bench.planning().times(f.document);
  size_t kernels = 0;
  for (const auto& k : f.bench.inventory().kernels())
    kernels = kernels * 31 + hash_of(k.name + k.idea + k.accuracy) + (k.available ? 1 : 0);
  Of now{f.document,
         f.bench.recorded().recording().get(),
         predicted ? predicted->serial : 0,
         r ? r->serial : 0,
         static_cast<uint64_t>(reinterpret_cast<uintptr_t>(f.bench.measuring().profile())),
         r,
         f.bench.live_shown(),
         kernels,
         f.bench.runs().ran().size()};
  if (made_of == now) return made;
  Ladder fresh = ladder_of(f.bench, f.document);
  made_of = std::move(now), held = f.bench.recorded().recording();
  // Never blank while the model is asked: it answers in a moment.
  made.stale = !fresh.any() && !predicted && made.ladder.any() && !made.ladder.recorded;
  if (!made.stale) made.ladder = std::move(fresh);
  return made;
}

void nothing_yet(Frame& f) {
  const PredictedTimes* predicted = f.bench.planning().times(f.document);
  if (!predicted)
    empty_state(f.theme, "Asking for times",
                f.bench.runs().running() ? "The planner's model says what each rung would take, once the run is over."
                                         : "The planner's model says in a moment what each rung would take.");
  else if (!predicted->trouble.empty())
    empty_state(f.theme, "No times", ("The planner's model cannot be asked: " + predicted->trouble).c_str());
  else
    empty_state(f.theme, "No times",
                "No kernel has run here on a GPU, and the planner's model knows none that takes this problem. Open a "
                "recording, or run on a GPU.");
}

}  // namespace

void draw_ladder(Frame& f) {
  const Theme& t = f.theme;
  static bool by_time = false;
  const Shown& shown = shown_now(f);
  const Ladder& l = shown.ladder;
  if (!l.recorded || shown.stale) f.wish([d = f.document](Workbench& b) { b.planning().want_times(d); });
  if (!l.any()) return nothing_yet(f);
  if (shown.stale) {
    ImGui::PushStyleColor(ImGuiCol_Text, t.warning);
    wrapped("stale: of the problem before, while the planner's model is asked");
    ImGui::PopStyleColor();
  }

  if (const std::string says = shown.stale ? "" : ladder_sentence(l, f.document); !says.empty()) {
    ImGui::PushFont(t.bold_font, 0);
    wrapped(says);
    ImGui::PopFont();
  }
  // Where there is little room it goes to the rows: what is said besides stands in a line, and whole in its tooltip.
  const bool low = ImGui::GetContentRegionAvail().y < t.em * 20;
  const std::string floor =
      l.floor_ms ? fmt::format("floor {} {}", ms_text(*l.floor_ms), l.floor_words) : std::string();
  if (low) {
    std::string all;
    for (const auto& source : l.sources) all += (all.empty() ? "" : "; ") + source;
    if (!floor.empty()) all += (all.empty() ? "" : "; ") + floor;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float wide = ImGui::GetContentRegionAvail().x, line = ImGui::GetTextLineHeight();
    ImGui::Dummy({wide, line});
    ImGui::PushStyleColor(ImGuiCol_Text, t.dim);
    ImGui::RenderTextEllipsis(ImGui::GetWindowDrawList(), at, {at.x + wide, at.y + line}, at.x + wide, all.c_str(),
                              nullptr, nullptr);
    ImGui::PopStyleColor();
    tooltip(t, all);
  } else {
    for (const auto& source : l.sources) dim_text(t, source);
  }
  if (l.floor_ms && !low) {
    dim_text(t, floor);
    explain_item(t, {floor_rule, floor_formula, "computed"});
  }
  if (radio_button("by rung", !by_time)) by_time = false;
  tooltip(t, "Specimens, rungs from the plainest to the fastest, references");
  ImGui::SameLine();
  if (radio_button("by time", by_time)) by_time = true;
  ImGui::SameLine();
  if (ImGui::Button("Best for this problem")) f.act("best-kernel");
  tooltip(t, "What the planner takes for this problem, accuracy and device (B); the log says why");
  ImGui::SameLine();
  const LadderRow* own = l.of(f.document.kernel);
  ImGui::BeginDisabled(!own || own->kind != "ladder");
  if (ImGui::Button("Export kernel…")) ImGui::OpenPopup("export");
  ImGui::EndDisabled();
  tooltip(t, "The chosen rung as a file of its own, for this problem");
  if (ImGui::BeginPopup("export")) {
    if (ImGui::MenuItem("As a PyTorch module…")) f.act("export-pytorch");
    if (ImGui::MenuItem("As CUDA C++…")) f.act("export-cuda");
    ImGui::EndPopup();
  }

  legend(t, l, low);

  std::vector<const LadderRow*> rows;
  for (const auto& r : l.rows) rows.push_back(&r);
  if (by_time)
    std::stable_sort(rows.begin(), rows.end(), [](const LadderRow* a, const LadderRow* b) {
      const bool known = a->from != From::nothing, other = b->from != From::nothing;
      return known != other ? known : known && a->ms < b->ms;
    });
  const float header = ImGui::GetCursorScreenPos().y;
  ImDrawList* names = ImGui::GetWindowDrawList();
  ImGui::Dummy({1, t.em * 1.1f});
  if (!ImGui::BeginChild("rows", {0, 0}, ImGuiChildFlags_None)) return ImGui::EndChild();
  Columns columns = columns_of(t, l);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  // Where there is little room a row says when it is pointed at whether packing is in its time.
  if (width < columns.names + columns.figures(t) + t.em * 6) columns.ms -= std::exchange(columns.mark, 0.0f);
  const Axis axis =
      axis_of(l, at.x + columns.names, at.x + std::max(width - columns.figures(t), columns.names + t.em * 4));
  ImGui::PushStyleVarY(ImGuiStyleVar_ItemSpacing, 0);
  const auto timed =
      std::count_if(rows.begin(), rows.end(), [](const LadderRow* r) { return r->from != From::nothing; });
  draw_axis(t, l, axis, names, header, at.y, at.y + static_cast<float>(timed) * row_height(t));
  name_figures(t, l, columns, names, header, at.x + width, axis.right + t.em * 0.5f);
  for (const auto* r : rows)
    if (r->from != From::nothing) draw_row(f, l, *r, axis, columns);
  if (static_cast<size_t>(timed) < rows.size()) {
    ImGui::Dummy({1, t.em * 0.4f});
    // The chosen one's reason is seen at once; the others' leave the room to what has a time.
    if (own && own->from == From::nothing) draw_row(f, l, *own, axis, columns);
    const std::string without = fmt::format("Without a time here: {}", rows.size() - static_cast<size_t>(timed));
    if (ImGui::TreeNodeEx("without", ImGuiTreeNodeFlags_NoTreePushOnOpen, "%s", without.c_str()))
      for (const auto* r : rows)
        if (r->from == From::nothing && r != own) draw_row(f, l, *r, axis, columns);
  }
  ImGui::PopStyleVar();
  ImGui::EndChild();
  copy_menu(f, "copy-ladder", [&] { return csv_of(l); });
}

}  // namespace convscope::ui
