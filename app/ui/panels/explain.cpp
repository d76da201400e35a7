// Why has this element this value: its taps, one by one, and who wrote it.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <imgui.h>

#include "app/ui/panels/explain_ask.h"
#include "app/ui/panels/explain_guess.h"
#include "app/ui/panels/explain_table.h"
#include "app/ui/panels/flow.h"
#include "app/ui/panels/map_view.h"
#include "app/ui/panels/source_place.h"
#include "app/ui/widgets.h"

namespace convscope::ui {
namespace {

constexpr double step_seconds = 1;

struct ExplainState {
  // What is shown, and its words.
  const Explained* explained = nullptr;
  const Traced* traced = nullptr;
  ExplainWords words;
  TraceWords trace;
  TapTable table;
  // The walk through the taps.
  Direction direction = Direction::gather;
  int64_t input = 0;
  int step = -1;  // of words.taps, or of all taps k in the scatter direction; −1: all at once
  bool playing = false, follow = false;
  double next_at = 0;
};

// ---- the walk ------------------------------------------------------------------------------------------------------

enum class Icon { first, back, forward, play, pause };

bool icon_button(const Theme& t, const char* id, Icon icon, const char* about, bool enabled = true) {
  float size = ImGui::GetFrameHeight();
  ImGui::BeginDisabled(!enabled);
  bool pressed = ImGui::Button(id, {size * 1.15f, size});
  ImGui::EndDisabled();
  ImVec2 a = ImGui::GetItemRectMin(), b = ImGui::GetItemRectMax(), c{(a.x + b.x) / 2, (a.y + b.y) / 2};
  float r = size * 0.22f;
  ImU32 ink = ImGui::GetColorU32(enabled ? t.text : t.dim);
  ImDrawList* draw = ImGui::GetWindowDrawList();
  auto right = [&](float x) {
    draw->AddTriangleFilled({c.x + x - r * 0.8f, c.y - r}, {c.x + x + r * 0.9f, c.y}, {c.x + x - r * 0.8f, c.y + r},
                            ink);
  };
  auto left = [&](float x) {
    draw->AddTriangleFilled({c.x + x + r * 0.8f, c.y - r}, {c.x + x + r * 0.8f, c.y + r}, {c.x + x - r * 0.9f, c.y},
                            ink);
  };
  auto bar = [&](float x) { draw->AddRectFilled({c.x + x - r * 0.2f, c.y - r}, {c.x + x + r * 0.2f, c.y + r}, ink); };
  if (icon == Icon::first) bar(-r), left(r * 0.3f);
  if (icon == Icon::back) left(0);
  if (icon == Icon::forward) right(0), bar(r * 1.15f);
  if (icon == Icon::play) right(0);
  if (icon == Icon::pause) bar(-r * 0.5f), bar(r * 0.5f);
  tooltip(t, about);
  return pressed;
}

// Towards the output's side or the input's, which is a part of the view.
void turn(Frame& f, ExplainState& s, Direction d) {
  s.direction = d, s.step = -1, s.playing = false, s.follow = true;
  View v = f.view;
  v.from_input = d == Direction::scatter;
  f.view_to(v, false);
}

// Whether the panel asks before it tells.
void guess_switch(Frame& f, bool can, float tight) {
  const bool on = guess().is_on();
  ImGui::SameLine(0, tight);
  ImGui::BeginDisabled(!can && !on);
  if (on) ImGui::PushStyleColor(ImGuiCol_Button, ImGui::GetStyleColorVec4(ImGuiCol_HeaderActive));
  if (ImGui::Button("Guess")) f.act("guess");
  if (on) ImGui::PopStyleColor();
  ImGui::EndDisabled();
  tooltip(f.theme,
          "Asks before it tells: click what you think belongs to this element, then Check. Nothing here shows the "
          "answer until then. (G)");
}

void controls(Frame& f, ExplainState& s, const ConvProblem& p, int steps) {
  const Theme& t = f.theme;
  float tight = ImGui::GetFontSize() * 0.2f;
  auto choice = [&](const char* label, Direction d, const char* about) {
    bool on = s.direction == d;
    if (on) ImGui::PushStyleColor(ImGuiCol_Button, ImGui::GetStyleColorVec4(ImGuiCol_HeaderActive));
    if (ImGui::Button(label)) turn(f, s, d);
    if (on) ImGui::PopStyleColor();
    tooltip(t, about);
  };
  choice("Gather", Direction::gather,
         "All inputs that go into this one output: how most kernels loop. Compare with Scatter: the same sum, the "
         "other way round.");
  ImGui::SameLine(0, tight);
  choice("Scatter", Direction::scatter,
         "All outputs that one input goes to: j = i·s − p + k·d. Click an input cell to choose which.");
  guess_switch(f, can_be_guessed(p), tight);
  if (guess().waits()) return;
  beside_if_fits(ImGui::GetFrameHeight() * 1.15f * 4 + 3 * tight);
  auto go = [&](int step) { s.step = std::clamp(step, -1, steps - 1), s.playing = false, s.follow = true; };
  if (icon_button(t, "##first", Icon::first, "All terms at once", s.step >= 0)) go(-1);
  ImGui::SameLine(0, tight);
  if (icon_button(t, "##back", Icon::back, "The term before", s.step >= 0)) go(s.step - 1);
  ImGui::SameLine(0, tight);
  if (icon_button(t, "##play", s.playing ? Icon::pause : Icon::play,
                  s.playing ? "Stop" : "Walk through the terms, one a second", steps > 0)) {
    s.playing = !s.playing;
    if (s.playing && s.step >= steps - 1) s.step = -1;
    s.next_at = ImGui::GetTime();
  }
  ImGui::SameLine(0, tight);
  if (icon_button(t, "##forward", Icon::forward, "The next term", s.step + 1 < steps)) go(s.step + 1);
  if (!s.playing) return;
  if (ImGui::GetTime() >= s.next_at) {
    s.next_at = ImGui::GetTime() + step_seconds;
    s.follow = true;
    if (s.step + 1 < steps)
      s.step++;
    else
      s.playing = false;
  }
  if (s.playing) f.again_in(std::max(0.0, s.next_at - ImGui::GetTime()));
}

void step_line(Frame& f, const ExplainState& s, const Explained& e, int steps) {
  const Theme& t = f.theme;
  const ConvProblem& p = e.document.problem;
  if (s.step < 0) {
    dim_text(t, s.direction == Direction::gather ? s.words.inverse
                                                 : fmt::format("from i = {}: {}", s.input, s.words.forward));
    explain_item(t, {"The index of the operator, both ways",
                     "y[n, co, j] = b[co] + Σ over ci, k of x[n, ci, i] · w[ci, co, k]", "PyTorch's ConvTranspose1d"});
    return;
  }
  std::string count = fmt::format("term {} of {}: ", s.step + 1, steps);
  if (s.direction == Direction::scatter) {
    int64_t j = s.input * p.stride - p.padding + s.step * p.dilation;
    bool inside = j >= 0 && j < p.out_length();
    wrapped(fmt::format("{}k = {}, j = {}·{} − {} + {}·{} = {}{}", count, s.step, s.input, p.stride, p.padding, s.step,
                        p.dilation, j,
                        inside ? (j == e.j ? ", the explained output" : "")
                               : fmt::format(": outside 0…{}, dropped", p.out_length() - 1)));
    return;
  }
  const TapWords& x = s.words.taps[static_cast<size_t>(s.step)];
  wrapped(count + x.name);
  auto sum = [&](const char* name, const ImVec4& colour, const std::string& text) {
    std::string line = fmt::format("{} so far {}", name, text);
    beside_if_fits(ImGui::CalcTextSize(line.c_str()).x);
    ImGui::TextColored(colour, "%s", line.c_str());
    explain_item(t, {"The bias and all terms up to this one", "Σ over input channels of x[n, ci, i]·w[ci, co, k]",
                     "computed on the run's own inputs"});
  };
  sum("expected", t.reference, value_text(x.expected_so_far));
  sum("kernel", t.kernel, x.kernel_so_far ? value_text(*x.kernel_so_far) : "not known");
}

constexpr const char* traced_on_emulator = "Seen by running the traced build of the kernel on the emulator";

// The lines that read what does not belong to it, or write what belongs elsewhere, above all else.
void who_is_to_blame(Frame& f, const ExplainState& s) {
  const Theme& t = f.theme;
  if (!s.traced || !s.words.differs) return;
  if (s.trace.strays.empty() && !s.trace.writers.empty() && s.trace.line <= 0) dim_text(t, no_lines_words);
  for (const auto& stray : s.trace.strays) {
    ImGui::PushID(&stray);
    if (stray.line > 0) {  // a program without debug information knows none
      if (ImGui::SmallButton(stray.place.c_str())) show_in_source(f, stray.file, stray.line);
      tooltip(t, "Go to this line");
      ImGui::SameLine();
    }
    if (stray.from_line > 0) {
      if (ImGui::SmallButton(fmt::format("line {}", stray.from_line).c_str()))
        show_in_source(f, stray.from_file, stray.from_line);
      tooltip(t, "Go to the line that brings it to shared memory");
      ImGui::SameLine();
    }
    coloured(t.wrong, stray.words);
    explain_item(t, {traced_on_emulator, "", "traced"});
    ImGui::PopID();
  }
}

void who_wrote(Frame& f, const ExplainState& s, const Traced* now) {
  const Theme& t = f.theme;
  heading(t, "Who wrote it");
  if (!now) {
    dim_text(t, f.bench.link().waiting() || f.bench.explaining().waits()
                    ? "tracing the kernel on the emulator…"
                    : "The trace did not come back: the log says why.");
    return;
  }
  if (!now->reason.empty()) {
    dim_text(t, "not traced: " + now->reason);
    return;
  }
  if (s.trace.writers.empty()) {
    coloured(t.wrong, "No thread wrote it.");
    return;
  }
  About about{traced_on_emulator, "", "traced"};
  if (now->writes > 1) coloured(t.warning, fmt::format("written {} times", grouped(now->writes)));
  for (const auto& writer : s.trace.writers) wrapped(writer), explain_item(t, about);
  if (!s.trace.reads.empty()) dim_text(t, s.trace.reads), explain_item(t, about);
  if (!s.trace.outside.empty()) coloured(t.wrong, s.trace.outside), explain_item(t, about);
  if (s.trace.line && ImGui::Button(fmt::format("Show line {}", s.trace.line).c_str()))
    show_in_source(f, s.trace.file, s.trace.line);
}

void header(Frame& f, const ExplainState& s) {
  const Theme& t = f.theme;
  const ExplainWords& w = s.words;
  float em = ImGui::GetFontSize();
  ImGui::PushFont(t.code_font, ImGui::GetStyle().FontSizeBase * 1.2f);
  ImGui::AlignTextToFramePadding();
  ImGui::TextUnformatted(w.place.c_str());
  ImGui::PopFont();
  tooltip(t, "y[sequence n, output channel co, position j]");
  auto figure = [&](const char* name, const std::string& value, const ImVec4& colour, const About& about) {
    beside_if_fits(ImGui::CalcTextSize(name).x + ImGui::CalcTextSize(value.c_str()).x * 1.2f + em * 0.3f);
    ImGui::BeginGroup();
    ImGui::AlignTextToFramePadding();
    ImGui::TextColored(t.dim, "%s", name);
    ImGui::SameLine(0, em * 0.3f);
    ImGui::PushFont(t.code_font, 0);
    ImGui::TextColored(colour, "%s", value.c_str());
    ImGui::PopFont();
    ImGui::EndGroup();
    explain_item(t, about);
  };
  figure("got", w.got, t.kernel, {"What the kernel wrote", "", "read back from its output"});
  figure("expected", w.expected, t.reference,
         {"What it should be", "y = b[co] + Σ x[n, ci, i]·w[ci, co, k]", "computed in double precision"});
  figure("error", w.error, w.differs ? t.wrong : t.text, {"Kernel minus expected", "got − expected", "computed"});
  status_mark(t, w.differs ? "fail" : "pass");
  ImGui::SameLine(0, em * 0.3f);
  wrapped(w.sentence);
}

// All of the panel while a guess is waited for: what follows from the answer is not there.
void asked_instead(Frame& f, ExplainState& s, const Explained& e, const Question& q) {
  controls(f, s, e.document.problem, 0);
  guess_question(f, e, q);
  guess_choice(f, q);  // above the rows: in a low panel what is below them is out of sight
  const TapPicture picture{e, s.words.serial, s.words.order, s.direction, s.input, {}, s.follow, &guess()};
  s.follow = false;
  const TapPictureClick click = draw_tap_picture(f, picture);
  if (const auto& at = q.direction == Direction::gather ? click.input : click.output) guess().toggle(*at);
}

void ask_another(Frame& f, ExplainState& s, const Explained& e) {
  const int64_t at = guess().another();
  if (s.direction == Direction::scatter) {
    s.input = at, s.follow = true;
    return f.again_in(0);
  }
  View v = f.view;
  v.selected = ElementIndex{e.n * e.document.problem.out_channels + e.co, at};
  f.view_to(readable(v, f.extent(), *v.selected, f.cells));
}

}  // namespace

void draw_explain(Frame& f) {
  static ExplainState s;
  const Theme& t = f.theme;
  const Report* r = f.picture();
  if (!r) {
    no_output_state(f, "and click an element in a map");
    return;
  }
  if (!f.view.selected && guess().is_on() && r->columns() > 0) {  // a question needs an element
    View v = f.view;
    v.selected = ElementIndex{0, r->columns() / 2};
    f.view_to(readable(v, f.extent(), *v.selected, f.cells));
  }
  if (!f.view.selected) {
    bool none = r->failing && *r->failing == 0;
    const char* hint = none ? "No element fails. Click any element in a map to see how its value comes about."
                            : "Click an element in a map, or press N for the first failing one.";
    if (empty_state(t, "Why has this element this value?", hint, none ? nullptr : "First failing element"))
      f.act("next-failing");
    return;
  }
  const ConvProblem& p = r->document.problem;
  ElementIndex at = *f.view.selected;
  if (at.row >= r->rows() || at.column >= r->columns()) {
    empty_state(t, "The selected element is gone",
                "This result has fewer channels or positions. Click another element in a map.");
    return;
  }
  std::string place = fmt::format("y[{}, {}, {}]", at.row / p.out_channels, at.row % p.out_channels, at.column);
  ExplainAsked state = keep_explained(f, *r, at);
  if (state.seconds) {
    std::string hint = fmt::format("Explaining runs the kernel about {} times on one-hot inputs: some {:.0f} s here.",
                                   state.runs, *state.seconds);
    if (empty_state(t, fmt::format("Explain {}?", place).c_str(), hint.c_str(), "Explain")) ask_explanation(f, *r, at);
    return;
  }
  const Explained* e = f.bench.explaining().explained();
  bool asked = state.asked, fresh = state.explained;
  if (!f.bench.explaining().trouble().empty() && asked && !f.bench.explaining().waits()) {
    coloured(t.warning, fmt::format("{} cannot be explained: {}", place, f.bench.explaining().trouble()));
    if (ImGui::Button("Try again")) ask_explanation(f, *r, at);
    return;
  }
  if (asked && !fresh && !f.bench.explaining().waits() && !f.bench.runs().running()) {
    if (empty_state(t, fmt::format("{} is not explained", place).c_str(), "It was cancelled.", "Explain"))
      ask_explanation(f, *r, at);
    return;
  }
  if (!e) {
    empty_state(t, fmt::format("Explaining {}", place).c_str(),
                "The kernel is run on one-hot inputs, twice for each tap.");
    return;
  }
  if (s.explained != e || s.words.place.empty() || s.words.got != value_text(e->got)) {
    s.explained = e;
    s.traced = nullptr;
    s.words = words_of(*e);
    s.table = {};
    s.step = -1, s.playing = false, s.follow = true;
    const auto& taps = e->taps;
    auto any = std::find_if(taps.begin(), taps.end(), [](const auto& x) { return x.expected_i || x.read_i; });
    s.input = any == taps.end() ? std::clamp<int64_t>((e->j + e->document.problem.padding) / e->document.problem.stride,
                                                      0, e->document.problem.length - 1)
                                : any->expected_i.value_or(any->read_i.value_or(0));
  }
  stale_strip(f);
  if (!fresh) {
    const std::string differs = describe_difference(e->document, r->document).one;  // "": its file is another now
    const std::string of = place != s.words.place ? s.words.place : differs.empty() ? "of before" : "of " + differs;
    coloured(t.warning, f.bench.explaining().waits() || f.bench.runs().running()
                            ? fmt::format("{} is being explained; this is {}", place, of)
                            : fmt::format("This is {}, and not what is set now", of));
    ImGui::PushStyleVar(ImGuiStyleVar_Alpha, ImGui::GetStyle().Alpha * 0.55f);
  }
  if (const Direction d = f.view.from_input ? Direction::scatter : Direction::gather; d != s.direction)
    s.direction = d, s.step = -1, s.playing = false, s.follow = true;
  const Question question{e->document.problem, s.direction, s.direction == Direction::gather ? e->j : s.input};
  const bool guess_on = guess().is_on() && guess().ask(question);
  if (guess_on && guess().waits()) {
    asked_instead(f, s, *e, question);
    if (!fresh) ImGui::PopStyleVar();
    return;
  }
  if (state.traced && s.traced != state.traced) s.traced = state.traced, s.trace = words_of(*state.traced, *r);
  // Who has guessed looks for how that went, where the question was.
  auto what_came = [&] {
    header(f, s);
    for (const auto& n : s.words.notes) coloured(t.wrong, n);
    who_is_to_blame(f, s);
    ImGui::Spacing();
  };
  if (!guess_on) what_came();
  int steps = s.direction == Direction::gather
                  ? static_cast<int>(s.words.taps.size())
                  : static_cast<int>(std::min<int64_t>(e->document.problem.kernel_size, 128));
  s.step = std::min(s.step, steps - 1);
  controls(f, s, e->document.problem, steps);
  if (guess_on && guess_answer(f)) ask_another(f, s, *e);
  if (guess().is_on() && !guess_on)
    dim_text(t, "So many taps, or so far apart, are nothing to be guessed: a smaller kernel size or dilation is.");
  step_line(f, s, *e, steps);
  TapPicture picture{
      *e, s.words.serial, s.words.order, s.direction, s.input, {}, s.follow, guess_on ? &guess() : nullptr};
  if (s.direction == Direction::scatter) {
    if (s.step >= 0) picture.current = s.step;
  } else if (int row = s.table.hovered >= 0 ? s.table.hovered : s.step; row >= 0 && row < steps) {
    picture.current = s.words.taps[static_cast<size_t>(row)].k;
  }
  s.follow = false;
  TapPictureClick click = draw_tap_picture(f, picture);
  if (click.input) turn(f, s, Direction::scatter), s.input = *click.input;
  if (click.output && *click.output != e->j) {
    View v = f.view;
    v.selected = ElementIndex{e->n * e->document.problem.out_channels + e->co, *click.output};
    f.view_to(v);
  }
  draw_tap_legend(f, s.direction);
  ImGui::Spacing();
  if (guess_on) what_came();
  bool walking = s.direction == Direction::gather;
  if (auto row = draw_tap_table(f, *e, s.words, s.table, walking ? s.step : -1))
    turn(f, s, Direction::gather), s.step = *row;
  if (!s.words.check.empty()) dim_text(t, s.words.check);
  explain_item(t, {"The sum of what was found against what stands in the output: equal when nothing was overlooked", "",
                   "computed"});
  dim_text(t, fmt::format("input channels {}…{}; found from outside by {} runs on one-hot inputs", e->first_channel,
                          e->first_channel + e->channels - 1, e->launches));
  who_wrote(f, s, state.traced);
  if (!fresh) ImGui::PopStyleVar();
}

}  // namespace convscope::ui
