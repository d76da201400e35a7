// Two kernels side by side on this problem: times taken in turn with a verdict, and every counter of both.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <imgui.h>
#include <utility>

#include "app/model/compared_figures.h"
#include "app/model/floor.h"
#include "app/model/ladder.h"
#include "app/model/times.h"
#include "app/ui/panel.h"
#include "app/ui/panels/flow.h"
#include "app/ui/widgets.h"

namespace convscope::ui {
namespace {

struct State {
  const Workbench* of = nullptr;
  std::string other, before, kernel;  // with which; the kernel before this one; this one
  bool chosen = false;                // `other`, by a person
  uint64_t asked_for = 0;             // the comparison whose counters were asked for
  bool asked_first = false, asked_second = false;
};

Document with_kernel(const Document& d, const std::string& kernel) {
  Document other = d;
  other.kernel = kernel;
  return other;
}

// The counters of a kernel; a recording may hold it at its own accuracy only.
const Profile* counters_of(const Frame& f, const Document& d, const std::string& kernel) {
  Document other = with_kernel(d, kernel);
  const Profile* p = f.bench.profile_of(other);
  return p || !f.bench.recorded().is_open() ? p : f.bench.profile_of(f.bench.recorded().nearest(other));
}

const KernelEntry* entry_of(const Frame& f, const std::string& name) {
  for (const auto& k : f.bench.inventory().kernels())
    if (k.name == name) return &k;
  return nullptr;
}

// It runs here, or was recorded.
bool can_stand(const Frame& f, const KernelEntry& k) {
  return k.available || (f.bench.shows_recorded(f.document) && f.bench.recorded().holds_kernel(f.document, k.name));
}

// Whom to compare with when nobody was chosen: the kernel before this one, else what the window compares pictures with,
// else the first of ours.
std::string guess(const Frame& f, const State& s) {
  auto fits = [&](const std::string& name) {
    const KernelEntry* k = entry_of(f, name);
    return k && can_stand(f, *k) && name != f.document.kernel && name != "oracle";
  };
  if (f.bench.shows_recorded(f.document)) {
    // What was timed in turn with it.
    auto recorded = [&](const std::string& name) {
      return fits(name) && f.bench.recorded().comparison(f.document, name);
    };
    for (const std::string& name : {s.before, f.document.compare_with, std::string("cudnn"), std::string("cudnn-tf32")})
      if (recorded(name)) return name;
    // Exhibits are wrong on purpose: how fast they are says little.
    for (const char* kind : {"ladder", "reference", ""})
      for (const auto& k : f.bench.inventory().kernels())
        if ((!*kind || k.kind == kind) && recorded(k.name)) return k.name;
  }
  if (fits(s.before)) return s.before;
  const Report* r = f.report();
  if (r && r->device_kind == "cuda" && fits(f.document.compare_with)) return f.document.compare_with;
  for (const auto& k : f.bench.inventory().kernels())
    if (k.kind == "ladder" && fits(k.name)) return k.name;
  return "";
}

// Times come first; the counters of both follow, one after the other.
void ask_counters(Frame& f, State& s, const KernelComparison& c) {
  if (!c.recorded.empty()) return;
  if (s.asked_for != c.serial) s.asked_for = c.serial, s.asked_first = s.asked_second = false;
  if (f.bench.runs().running() || f.bench.measuring().waits()) return;
  auto ask = [&](bool& asked, const std::string& kernel) {
    Document d = with_kernel(c.document, kernel);
    if (asked || f.bench.profile_of(d)) return false;
    asked = true;
    f.wish([d](Workbench& b) { b.measuring().want_profile(d, false); });
    return true;
  };
  if (!ask(s.asked_first, c.first.name)) ask(s.asked_second, c.second.name);
}

void choice_of_other(Frame& f, State& s) {
  const Theme& t = f.theme;
  float right = ImGui::GetCursorScreenPos().x + ImGui::GetContentRegionAvail().x;
  ImGui::AlignTextToFramePadding();
  ImGui::PushStyleColor(ImGuiCol_Text, t.kernel);
  ImGui::TextUnformatted(f.document.kernel.c_str());
  ImGui::PopStyleColor();
  ImGui::SameLine();
  ImGui::TextDisabled("with");
  ImGui::SameLine();
  std::vector<Choice> all;
  for (const auto& k : f.bench.inventory().kernels())
    if (can_stand(f, k) && k.name != f.document.kernel && k.name != "oracle") all.push_back({k.name, k.idea});
  std::string chosen;
  float need =
      ImGui::CalcTextSize("Compare").x + ImGui::GetStyle().FramePadding.x * 2 + ImGui::GetStyle().ItemSpacing.x;
  float width = std::clamp(ImGui::GetContentRegionAvail().x - need, t.em * 6, t.em * 14);
  if (choose("##other", all, s.other, chosen, width)) s.other = chosen, s.chosen = true;
  if (ImGui::GetItemRectMax().x + need <= right + 1) ImGui::SameLine();
  if (f.bench.measuring().waits()) {
    ImGui::TextColored(t.accent, "measuring…");
    tooltip(t, "Esc cancels it");
    f.again_in(0.25);
    return;
  }
  // What is asked for while a run is under way begins when it is over.
  const bool can = !s.other.empty() && !f.bench.runs().running(), asked = f.compare && !f.bench.runs().running();
  if (asked) f.compare = false;
  ImGui::BeginDisabled(!can);
  if (ImGui::Button("Compare") || (asked && can))
    f.wish([d = f.document, other = s.other](Workbench& b) {
      b.show_live(true);
      b.measuring().want_comparison(d, other);
    });
  ImGui::EndDisabled();
  tooltip(t, "Times both in turn, so that what drifts drifts for both, and counts both (F7)");
}

std::string sentence_of(const KernelComparison& c) {
  const ComparedTime& v = c.counted();
  const std::string &a = c.first.name, &b = c.second.name, with = c.packed ? ", weights packed before" : "";
  if (v.verdict == "SAME") return fmt::format("{} and {} take the same time{}", a, b, with);
  if (v.verdict == "AMBIGUOUS") return fmt::format("Which of {} and {} is faster is not certain{}", a, b, with);
  if (!v.speedup) return "";
  double by = *v.speedup >= 1 ? *v.speedup : 1 / *v.speedup;
  return fmt::format("{} is {:.3g} times as fast as {}{}", *v.speedup >= 1 ? a : b, by, *v.speedup >= 1 ? b : a, with);
}

void verdict(Frame& f, const KernelComparison& c) {
  const Theme& t = f.theme;
  const ComparedTime &v = c.counted(), &cold = c.packed ? c.first.packed_cold : c.first.cold;
  const std::string s = sentence_of(c);
  const bool emulated = c.source == "emulated" && !s.empty();
  if (!s.empty()) {
    if (emulated) {  // no news of either kernel: of how the emulator takes them
      coloured(t.warning,
               "emulated time, which says nothing of a GPU: " + (s.starts_with("Which") ? "w" + s.substr(1) : s));
    } else {
      ImGui::PushFont(t.bold_font, 0);
      wrapped(s);
      ImGui::PopFont();
    }
    // Each line says of which of its times it is.
    const std::string packed = c.packed ? ", weights packed before" : "";
    dim_text(t, fmt::format("hot{}, {}: {}", packed, v.verdict, v.evidence));
    if (!cold.verdict.empty()) dim_text(t, fmt::format("cold{}, {}: {}", packed, cold.verdict, cold.evidence));
    if (c.packed && !c.first.hot.verdict.empty())
      dim_text(t, fmt::format("with packing in every call, {}: {}", c.first.hot.verdict, c.first.hot.evidence));
  }
  ImGui::PushStyleColor(ImGuiCol_Text, t.warning);
  for (const auto* side : {&c.first, &c.second}) {
    if (!side->reason.empty()) wrapped(fmt::format("{} was not measured: {}", side->name, side->reason));
    if (!side->doubt.empty()) wrapped(fmt::format("{}: {}", side->name, side->doubt));
  }
  if (v.verdict.empty() && !v.reason.empty()) wrapped("no verdict: " + v.reason);
  if (!c.reason.empty() && !emulated) wrapped(c.reason);
  for (const auto& w : c.warnings) wrapped(w);
  ImGui::PopStyleColor();
}

ImVec4 colour_of(const Theme& t, FigureVerdict v) {
  switch (v) {
    case FigureVerdict::better:
      return t.right;
    case FigureVerdict::worse:
      return t.wrong;
    case FigureVerdict::ambiguous:
      return t.warning;
    default:
      return t.dim;
  }
}

// How wide the columns are; 0: it has no room, and is in a row's tooltip all the same.
struct Columns {
  float title = 0, value = 0, difference = 0, ratio = 0, verdict = 0;
  int count() const { return 4 + (difference > 0) + (ratio > 0); }
  float all_but_title() const { return 2 * value + difference + ratio + verdict; }
};

// A number is whole before a title stands in one line: titles wrap.
Columns columns_for(const Theme& t, const KernelComparison& c, const std::vector<ComparedFigure>& rows, float room) {
  // Names of kernels may be longer than any number, and counts of thousands of millions have a short form. Widths are
  // cut to whole pixels.
  const float em = ImGui::GetFontSize(), widest = 6.5f, slack = 2;
  auto grow = [&](float& width, float need, float most) { width = std::max(width, std::min(need, most * em) + slack); };
  auto text = [&](float& width, const std::string& s, float most) {
    grow(width, ImGui::CalcTextSize(s.c_str()).x, most);
  };
  auto code = [&](float& width, const std::string& s, float most) {
    grow(width, t.code_font->CalcTextSizeA(em, FLT_MAX, 0, s.c_str()).x, most);
  };
  Columns w;
  text(w.value, c.first.name, widest), text(w.value, c.second.name, widest);
  text(w.difference, "difference", widest), text(w.ratio, "ratio", widest), text(w.verdict, "first is", widest);
  for (const auto& r : rows) {
    text(w.title, r.title, 30);
    code(w.value, r.a_words.empty() ? (r.estimate_a ? "≈ " : "") + value_words(r.a, r.unit, r.b) : r.a_words, widest);
    code(w.value, r.b_words.empty() ? (r.estimate_b ? "≈ " : "") + value_words(r.b, r.unit, r.a) : r.b_words, widest);
    code(w.difference, difference_words(r), widest), code(w.ratio, ratio_words(r), widest);
    if (r.verdict) text(w.verdict, std::string(name_of(*r.verdict)), 30);
  }
  auto left = [&] {
    return room - w.all_but_title() - 2 * ImGui::GetStyle().CellPadding.x * static_cast<float>(w.count());
  };
  const float wrapped_title = std::min(w.title, em * 8), least_title = em * 6.5f;
  if (left() < wrapped_title) w.ratio = 0;
  if (left() < wrapped_title) w.difference = 0;
  if (left() < least_title) w.value = std::max(em, w.value - (least_title - left()) / 2);
  w.title = std::max(em, std::min(w.title, left()));
  return w;
}

void group_row(Frame& f, const KernelComparison& c, FigureGroup group, const Columns& columns) {
  const Theme& t = f.theme;
  ImGui::TableNextRow();
  ImGui::TableSetBgColor(ImGuiTableBgTarget_RowBg0, packed(t.raised));
  auto head = [&](const std::string& text, const ImVec4& colour, const std::string& about) {
    ImGui::TableNextColumn();
    const std::string shown = text_within(text, ImGui::GetContentRegionAvail().x);
    right_aligned(shown, colour);
    tooltip(t, shown == text ? about : about.empty() ? text : text + "\n" + about);
  };
  ImGui::TableNextColumn();
  ImGui::PushFont(t.bold_font, 0);
  ImGui::TextUnformatted(title_of(group));
  ImGui::PopFont();
  head(c.first.name, t.kernel, "The first");
  head(c.second.name, t.reference, "The second");
  if (columns.difference > 0)
    head("difference", t.dim, "first − second, signed, in the unit of the values; of shares in percentage points (pp)");
  if (columns.ratio > 0) head("ratio", t.dim, "first / second");
  head("first is", t.dim,
       fmt::format("What {} is beside {}, by the way that is good for the figure. Medians have the verdict of the "
                   "statistics; counts are the same within what two runs of one kernel differ by.",
                   c.first.name, c.second.name));
}

std::string about_row(const ComparedFigure& r, const KernelComparison& c) {
  std::string out = r.title;
  if (!r.unit.empty() && r.unit != "1") out += ", in " + r.unit;
  if (!r.about.empty()) out += "\n" + r.about;
  out += "\n";
  auto side = [&](const std::string& kernel, const std::optional<double>& v, const std::string& words,
                  const std::string& reason, const std::optional<double>& beside, bool estimate) {
    if (v)
      out += fmt::format("\n{}: {}{}", kernel, estimate ? "≈ " : "", value_words(v, r.unit, beside));
    else if (!words.empty() || !reason.empty())
      out += fmt::format("\n{}: {}", kernel, words.empty() ? "none: " + reason : words);
  };
  side(c.first.name, r.a, r.a_words, r.a_reason, r.b, r.estimate_a);
  side(c.second.name, r.b, r.b_words, r.b_reason, r.a, r.estimate_b);
  if (std::string d = difference_words(r); !d.empty()) {
    out += "\ndifference " + d;
    if (std::string ratio = ratio_words(r); !ratio.empty()) out += ", ratio " + ratio;
  }
  if (r.verdict) out += fmt::format("\n{}: {}", name_of(*r.verdict), r.rule);
  if (r.source_a == r.source_b)
    out += "\nsource: " + r.source_a;
  else
    out += fmt::format("\nsource: {} ({}), {} ({})", r.source_a, c.first.name, r.source_b, c.second.name);
  return out;
}

void figure_row(Frame& f, const KernelComparison& c, const ComparedFigure& r, const Columns& columns) {
  const Theme& t = f.theme;
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  // The whole row shows its tooltip.
  ImGui::PushStyleColor(ImGuiCol_HeaderHovered, {t.accent.x, t.accent.y, t.accent.z, 0.12f});
  ImGui::PushStyleColor(ImGuiCol_HeaderActive, {t.accent.x, t.accent.y, t.accent.z, 0.12f});
  const float width = ImGui::GetContentRegionAvail().x;
  const bool wraps = ImGui::CalcTextSize(r.title.c_str()).x > width;
  const ImVec2 at = ImGui::GetCursorPos();
  ImGui::Selectable(wraps ? "###title" : r.title.c_str(), false, ImGuiSelectableFlags_SpanAllColumns,
                    {0, wraps ? ImGui::CalcTextSize(r.title.c_str(), nullptr, false, width).y : 0});
  ImGui::PopStyleColor(2);
  if (ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip)) tooltip(t, about_row(r, c));
  if (wraps) {
    ImGui::SetCursorPos(at);
    wrapped(r.title);
  }
  ImGui::PushFont(t.code_font, 0);
  auto cell = [&](const std::string& text, const ImVec4& colour) {
    ImGui::TableNextColumn();
    right_aligned(text_within(text, ImGui::GetContentRegionAvail().x), colour);
  };
  // A number is not cut: what has no room is shorter, in thousands or millions.
  auto number = [&](std::string text, const std::optional<double>& v, const std::string& before, const ImVec4& colour) {
    ImGui::TableNextColumn();
    const float room = ImGui::GetContentRegionAvail().x;
    const char* plus = text.starts_with("+") ? "+" : "";
    text = before + text;
    if (ImGui::CalcTextSize(text.c_str()).x > room)
      if (std::string less = short_words(v, r.unit); !less.empty()) text = (before.empty() ? plus : "≈") + less;
    right_aligned(text_within(text, room), colour);
  };
  const bool emulated = r.verdict == FigureVerdict::emulated;
  auto value = [&](const std::optional<double>& v, const std::string& words, const std::optional<double>& beside,
                   bool estimate) {
    if (words.empty())
      number(value_words(v, r.unit, beside), v, estimate ? "≈ " : "", v && !emulated ? t.text : t.dim);
    else
      cell(words, t.text);
  };
  value(r.a, r.a_words, r.b, r.estimate_a), value(r.b, r.b_words, r.a, r.estimate_b);
  const bool same = r.verdict == FigureVerdict::same;
  if (columns.difference > 0) {
    // Its sign stands before it.
    const auto d = r.difference();
    number(difference_words(r), d, "", same || emulated ? t.dim : t.text);
  }
  if (columns.ratio > 0) cell(ratio_words(r), same || emulated ? t.dim : t.text);
  ImGui::PopFont();
  cell(r.verdict ? name_of(*r.verdict) : "", r.verdict ? colour_of(t, *r.verdict) : t.dim);
}

// What limits each of them, in its profile's own sentence.
void limits(Frame& f, const KernelComparison& c) {
  const Theme& t = f.theme;
  const Profile *first = counters_of(f, c.document, c.first.name), *second = counters_of(f, c.document, c.second.name);
  if (first && second && !first->sentence.empty() && first->sentence == second->sentence)
    return dim_text(t, "Of both, " + first->sentence);
  for (const auto& [name, colour] : {std::pair(&c.first.name, &t.kernel), std::pair(&c.second.name, &t.reference)}) {
    const Profile* p = counters_of(f, c.document, *name);
    if (!p || p->sentence.empty()) continue;
    ImGui::PushStyleColor(ImGuiCol_Text, *colour);
    ImGui::TextUnformatted(name->c_str());
    ImGui::PopStyleColor();
    ImGui::SameLine(0, t.em * 0.4f);
    wrapped(p->sentence);
    tooltip(t, p->next.empty() ? "" : "To try: " + p->next);
  }
}

// Whether the report is of the first kernel on the same problem.
bool is_first_of(const KernelComparison& c, const Frame& f) {
  const Report* r = f.report();
  return r && r->kernel == c.first.name && r->document.problem == c.document.problem;
}

// The floor of the ladder and of the other panels, where both ran on a GPU that is known.
std::optional<HeldFloor> floor_held(const Frame& f, const KernelComparison& c) {
  if (c.source == "emulated") return {};
  const Profile* p = counters_of(f, c.document, c.first.name);
  const std::string gpu = !c.recorded.empty()             ? c.recorded.substr(0, c.recorded.find(','))
                          : p && p->device_kind == "cuda" ? p->device_name
                                                          : f.bench.runs().ran_device();
  const auto floor = floor_under(known_roof(f.bench, c.document, gpu, !c.recorded.empty()), c.document.problem);
  if (!floor) return {};
  return HeldFloor{floor->ms, floor->words, is_looser(f.bench, c.document, c.first.name),
                   is_looser(f.bench, c.document, c.second.name)};
}

void table(Frame& f, const KernelComparison& c) {
  const Theme& t = f.theme;
  const auto rows = compared_figures(c, counters_of(f, c.document, c.first.name),
                                     counters_of(f, c.document, c.second.name), floor_held(f, c));
  const Columns columns = columns_for(t, c, rows, ImGui::GetContentRegionAvail().x);
  ImGui::BeginGroup();
  constexpr auto flags = ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingStretchProp | ImGuiTableFlags_NoSavedSettings;
  if (ImGui::BeginTable("compare", columns.count(), flags)) {
    auto column = [](const char* name, float weight) {
      ImGui::TableSetupColumn(name, ImGuiTableColumnFlags_WidthStretch, weight);
    };
    column("figure", columns.title), column("first", columns.value), column("second", columns.value);
    if (columns.difference > 0) column("difference", columns.difference);
    if (columns.ratio > 0) column("ratio", columns.ratio);
    column("verdict", columns.verdict);
    for (size_t i = 0; i < rows.size(); i++) {
      if (!i || rows[i].group != rows[i - 1].group) group_row(f, c, rows[i].group, columns);
      ImGui::PushID(static_cast<int>(i));
      figure_row(f, c, rows[i], columns);
      ImGui::PopID();
    }
    ImGui::EndTable();
  }
  ImGui::EndGroup();
  copy_menu(f, "copy-comparison", [&] { return csv_of(rows, c.first.name, c.second.name); });
  for (const std::string& kernel : {c.first.name, c.second.name}) {
    const Profile* p = counters_of(f, c.document, kernel);
    if (p && !p->gap.empty()) dim_text(t, fmt::format("{}: {}", kernel, p->gap));
    if (!p && !c.recorded.empty()) dim_text(t, fmt::format("{}: the recording has no counters of it", kernel));
  }
  dim_text(
      t, fmt::format("Times: {}, {} rounds of this comparison, taken in turn. Nothing here is judged: the verdict "
                     "says what is right.",
                     c.packed ? "whole calls and calls with weights packed before" : "whole calls", grouped(c.rounds)));
  if (is_first_of(c, f))
    if (std::string words = times_in_words(f.report(), counters_of(f, c.document, c.first.name), &c); !words.empty())
      dim_text(t, words);
  for (const auto& r : rows)
    if (r.estimate_a || r.estimate_b) {
      dim_text(t, "≈: an estimate from some of the blocks, all others being taken to be like them");
      break;
    }
}

// Of which of both it is known that they are wrong here: the kernel's own verdict, what the recording holds, and that
// of what stands beside it in the maps.
void wrong_ones(const Frame& f, const KernelComparison& c) {
  std::vector<std::string> wrong;
  if (const Report* r = f.report(); r && r->status == "wrong" && is_first_of(c, f)) wrong.push_back(c.first.name);
  const Ladder all = ladder_of(f.bench, f.document);
  const LadderRow* row = all.of(c.second.name);
  const Beside* b = f.beside();
  if ((row && row->status == "wrong") || (b && b->with == c.second.name && b->status == "wrong"))
    wrong.push_back(c.second.name);
  if (wrong.empty()) return;
  ImGui::PushStyleColor(ImGuiCol_Text, f.theme.wrong);
  wrapped(wrong.size() == 1
              ? fmt::format("{} is wrong on this problem: how fast it is says nothing", wrong[0])
              : fmt::format("{} and {} are wrong on this problem: how fast they are says nothing", wrong[0], wrong[1]));
  ImGui::PopStyleColor();
}

}  // namespace

void draw_compare(Frame& f) {
  static State s;
  const Theme& t = f.theme;
  if (s.of != &f.bench) s = {}, s.of = &f.bench, s.kernel = f.document.kernel, s.before = f.kernel_before;
  if (s.kernel != f.document.kernel) {
    s.before = f.kernel_before, s.kernel = f.document.kernel;
    if (!s.chosen || s.other == s.kernel) s.other = s.before, s.chosen = false;
  }
  const bool recorded = f.bench.shows_recorded(f.document);
  if (s.other.empty() || !entry_of(f, s.other) ||
      (recorded && !s.chosen && !f.bench.recorded().comparison(f.document, s.other)))
    s.other = guess(f, s);
  choice_of_other(f, s);
  if (!f.bench.measuring().trouble().empty()) {
    ImGui::PushStyleColor(ImGuiCol_Text, t.warning);
    wrapped("not measured: " + f.bench.measuring().trouble());
    ImGui::PopStyleColor();
  }
  const KernelComparison* c = f.bench.comparison_of(f.document, s.other);
  if (recorded && (!c || c->recorded.empty()))
    dim_text(t, fmt::format("The recording ({}) holds no comparison with {}: they were not timed in turn.",
                            f.bench.recorded().source(), s.other.empty() ? "another kernel" : s.other));
  else if (c)
    source_strip(f, c->recorded);
  else
    beside_recording(f);
  // Of the recording's problem nothing: figures of another one would be taken for its.
  if (c && recorded && c->recorded.empty() && !(c->document.problem == f.document.problem)) c = nullptr;
  if (!c) {
    if (!f.bench.measuring().waits())
      empty_state(t, "Nothing compared yet",
                  "Choose the other kernel, then Compare: who is faster, and every counter of both.");
    return;
  }
  ask_counters(f, s, *c);
  if (c->first.name != f.document.kernel || c->second.name != s.other) {
    ImGui::PushStyleColor(ImGuiCol_Text, t.warning);
    wrapped(fmt::format("of {} with {}, measured before; Compare measures {} with {}", c->first.name, c->second.name,
                        f.document.kernel, s.other.empty() ? "another" : s.other));
    ImGui::PopStyleColor();
  }
  wrong_ones(f, *c);
  const Document now = with_kernel(f.document, c->first.name);
  const bool old = needs_run(c->document, now);
  if (old) {
    ImGui::PushStyleColor(ImGuiCol_Text, t.warning);
    wrapped(other_document_words(c->document, now));
    ImGui::PopStyleColor();
  }
  if (old) ImGui::PushStyleVar(ImGuiStyleVar_Alpha, stands_back);
  verdict(f, *c);
  limits(f, *c);
  table(f, *c);
  if (old) ImGui::PopStyleVar();
}

}  // namespace convscope::ui
