// The kernel's own text, with the lines that wrote and read the selected element, and what each asks of memory.
#include <TextEditor.h>
#include <algorithm>
#include <fmt/format.h>
#include <imgui.h>
#include <imgui_internal.h>
#include <utility>

#include "app/engine/kernel_file.h"
#include "app/ui/panels/explain_ask.h"
#include "app/ui/panels/explain_words.h"
#include "app/ui/panels/flow.h"
#include "app/ui/panels/follow_profile.h"
#include "app/ui/panels/machine_code.h"
#include "app/ui/panels/source_edit.h"
#include "app/ui/panels/source_find.h"
#include "app/ui/panels/source_heat.h"
#include "app/ui/panels/source_look.h"
#include "app/ui/panels/source_marks.h"
#include "app/ui/panels/source_notices.h"
#include "app/ui/panels/source_place.h"
#include "app/ui/widgets.h"

namespace convscope::ui {
namespace {

struct State {
  std::string kernel, shown, file;  // shown: what the editor has; file: what it shall have
  size_t print = 0;                 // of the text: a hash
  const Traced* traced = nullptr;
  bool differs = false;  // what the kernel takes for the element is not what the definition takes
  bool light = false, styled = false;
  ImVec4 writes{}, reads{}, strays{}, fills{};  // colours
  const Theme* theme = nullptr;                 // of this frame
  Marks marks;
  std::vector<HeatMeasure> measures = heat_measures(nullptr);  // of the profile that is shown
  std::string measure, heated_measure;                         // the name of the one that is drawn
  const HeatMeasure& measured() const {
    for (const auto& m : measures)
      if (m.name == measure) return m;
    return measures.front();
  }
  bool code = false;              // the instructions are shown beside
  bool code_chosen = false;       // so or so, by a person; else they are where the text has room for its lines as well
  float share = 0.5f;             // of the room that the text has of both
  bool typing = false;            // in the last frame
  bool gave_way = false;          // the instructions did, to what is typed
  std::vector<ErrorLine> errors;  // of the text that is typed, which are marked on their lines
  std::string told;               // the verdict's sentence, whose lines are marked
  MachineCodePane pane;
  CodeLink link;
  SourcePlace go_to;    // that was asked for
  SourcePlace pointed;  // the last of them: tinted until another kernel is chosen
  std::string pointed_of;
  TextEditor::DocPos cursor;  // where it was: a click moves it
  int keys_in = 0;            // frames until the text has the keyboard, when a place in it was asked for
  uint64_t texts = 0;         // that the editor was given
  // Of the text while it is typed in, in the panel: what stands above it has had so much room at this width.
  float top = 0, top_width = 0;
  float height = 0;                              // of the text in the last frame
  bool caret_seen = false, caret_hides = false;  // it was in sight, and there is less room since
  SourceFind find;
  uint64_t heated_serial = 0, sampled_serial = 0;
  Heat heat;
  HeatOfFiles files;
  SampledCode sampled;  // whether the samples are of this code
  const MachineCode* sampled_against = nullptr;
  TextEditor editor;
};

// The trace of the selected element, and whether it is known to be another than the definition's. Asks for it as the
// panel that explains does.
struct TraceHere {
  const Traced* traced = nullptr;
  bool differs = false;
  bool no_lines = false;  // it was traced, and by a build that does not know its lines
};
TraceHere trace_here(Frame& f) {
  const Report* r = f.picture();
  if (!r || !f.view.selected || r->kernel != f.document.kernel || f.bench.files().is_of_before(*r)) return {};
  ElementIndex at = *f.view.selected;
  if (at.row >= r->rows() || at.column >= r->columns()) return {};
  const ExplainAsked asked = keep_explained(f, *r, at);
  const Traced* t = asked.traced;
  if (!t || t->writers.empty()) return {};
  if (t->writers[0].line <= 0) return {nullptr, false, true};
  return {t, asked.explained && asked.explained->differs()};
}

const SourceText* find_file(const std::vector<SourceText>& files, const std::string& name) {
  auto it = std::find_if(files.begin(), files.end(),
                         [&](const auto& each) { return file_name(each.file) == file_name(name); });
  return it == files.end() ? nullptr : &*it;
}

// The profile whose lines are shown: of this document, else the newest, if it is of this kernel.
const Profile* profile_here(const Frame& f) {
  if (newer_gave_no_kernel(f)) return nullptr;  // what is shown are other lines
  if (const Profile* p = f.bench.profile_of(f.document)) return p;
  const Profile* newest = f.bench.measuring().profile();
  return newest && newest->kernel == f.document.kernel ? newest : nullptr;
}

// What the bars are a share of; without a profile, how to get one.
void heat_choice(Frame& f, State& s) {
  const Theme& t = f.theme;
  float em = ImGui::GetFontSize();
  const HeatMeasure m = s.measured();
  const Profile* p = profile_here(f);
  if (p && (!p->lines.empty() || p->samples.samples > 0)) {
    constexpr float width = 9.5f;  // em
    beside_if_fits(em * width);
    ImGui::SetNextItemWidth(em * width);
    if (ImGui::BeginCombo("##heat", m.label.c_str())) {
      for (const auto& each : s.measures) {
        if (ImGui::Selectable(each.label.c_str(), each.name == m.name)) s.measure = each.name;
        tooltip(t, each.about);
      }
      ImGui::EndCombo();
    }
    std::string about = fmt::format("What the bars beside the lines are shares of.\n\n{}: {}", m.label, m.about);
    if (s.heat.elsewhere > 0) about += fmt::format("\n{} of it is in other files", percent_text(s.heat.elsewhere));
    if (s.heat.lines.empty()) about += "\nThis kernel has none.";
    if (needs_run(p->document, f.document)) about += "\nCounted on " + describe(p->document.problem);
    tooltip(t, about + "\nsource: " + (m.sampled ? p->samples.source : p->lines_source));
    copy_menu(f, "copy-heat", [&s] { return s.heat.csv(); });
    if (s.heat.lines.empty()) {
      beside_if_fits(em * 4);
      ImGui::TextDisabled("none");
    }
    const bool here = s.files.hottest_file == file_name(s.file);
    if (s.files.hottest >= 0) {
      std::string place = fmt::format("{}{}", here ? "" : s.files.hottest_file + ":", s.files.hottest + 1);
      if (button_beside(fmt::format("Hottest: {}###hottest", place)))
        s.go_to = {s.files.hottest_file, s.files.hottest + 1};
      auto line = s.heat.lines.find(s.files.hottest);
      tooltip(t, here && line != s.heat.lines.end() ? line->second.about : "In a header that the kernel includes");
    }
    return;
  }
  if (newer_gave_no_kernel(f)) return;
  if (f.bench.measuring().waits()) {
    beside_if_fits(em * 5);
    ImGui::TextColored(t.accent, "counting…");
    return;
  }
  if (button_beside("Count lines")) f.act(f.report() && f.report()->device_kind == "cuda" ? "profile-full" : "profile");
  tooltip(t, fmt::format("What each line asks of memory, by tracing on the emulator{}",
                         p && !p->lines_reason.empty() ? "\nnot counted: " + p->lines_reason : ""));
}

// The kernel's file, or one of the headers it includes, each with its share of the heat.
void file_choice(const Theme& t, State& s, const std::vector<SourceText>& files, const std::string& idea) {
  ImGui::AlignTextToFramePadding();
  ImGui::PushFont(t.code_font, 0);
  if (files.size() < 2) {
    wrapped(s.file);
  } else {
    float widest = 0;
    for (const auto& each : files) widest = std::max(widest, ImGui::CalcTextSize(file_name(each.file).c_str()).x);
    ImGui::SetNextItemWidth(widest + 3 * ImGui::GetFontSize());
    if (ImGui::BeginCombo("##file", file_name(s.file).c_str(), ImGuiComboFlags_HeightLarge)) {
      for (const auto& each : files) {
        auto it = s.files.shares.find(file_name(each.file));
        std::string label = file_name(each.file);
        if (it != s.files.shares.end() && it->second >= 0.0005) label += fmt::format("   {}", percent_text(it->second));
        if (ImGui::Selectable(label.c_str(), each.file == s.file)) s.file = each.file;
      }
      ImGui::EndCombo();
    }
  }
  ImGui::PopFont();
  std::string about = idea.empty() ? "The file that the running kernel was compiled from" : idea;
  if (files.size() > 1) about = s.file + "\n\n" + about + "\nThe kernel's file, and the headers that it includes.";
  tooltip(t, about);
}

void head(Frame& f, State& s, const std::vector<SourceText>& files, const std::string& text, const std::string& idea) {
  const Theme& t = f.theme;
  file_choice(t, s, files, idea);
  edit_choice(f, s.file);
  bool copy = button_beside("Copy");
  tooltip(t, "Copy the whole text");
  if (copy) {
    ImGui::SetClipboardText(source_edit().is_on() ? source_edit().text().c_str() : text.c_str());
    f.toast(file_name(s.file) + " copied");
  }
  beside_if_fits(t.em * 7);
  // Half of a panel of the usual width cuts most lines of a text, which is what people come for.
  if (!s.code_chosen && !source_edit().is_on()) s.code = ImGui::GetWindowWidth() > t.em * 96;
  s.code_chosen |= checkbox("Instructions", &s.code);
  tooltip(t,
          "What the GPU runs, beside the lines that it comes from: click a line or an instruction to find the other");
  heat_choice(f, s);
  if (!s.traced) return;
  const TracedWriter& writer = s.traced->writers[0];
  std::string place = std::to_string(writer.line);
  if (s.marks.writes < 0) place = file_name(writer.file) + ":" + place;
  if (button_beside(fmt::format("Line {} wrote it", place))) s.go_to = {writer.file, writer.line};
  tooltip(t,
          "Go to the line that wrote the selected element. Marked W: writes it; R: reads for it; !: reads what "
          "does not belong to it, or writes what belongs elsewhere; F: fills the shared memory that it is read from.");
  // While one types, what comes and goes stays away from above the text; its line is marked.
  if (!s.differs || source_edit().is_on()) return;
  for (const auto& stray : s.traced->strays) {
    coloured(f.theme.wrong, fmt::format("{}:{} {}", file_name(stray.file), stray.line, stray.words));
    break;  // the first tells most; the others are marked
  }
}

// Between the text and the instructions: dragged, it gives one of them more of the room; a double click halves it.
void between(const Theme& t, State& s, bool beside, ImVec2 room) {
  const float wide = ImGui::GetStyle().ItemSpacing.x;
  if (beside) ImGui::SameLine(0, 0);
  ImGui::InvisibleButton("##between", beside ? ImVec2{wide, room.y} : ImVec2{room.x, wide});
  if (ImGui::IsItemHovered() || ImGui::IsItemActive()) {
    ImGui::SetMouseCursor(beside ? ImGuiMouseCursor_ResizeEW : ImGuiMouseCursor_ResizeNS);
    const ImVec2 low = ImGui::GetItemRectMin(), high = ImGui::GetItemRectMax(),
                 middle = {(low.x + high.x) / 2, (low.y + high.y) / 2};
    const ImVec2 from = beside ? ImVec2{middle.x, low.y} : ImVec2{low.x, middle.y},
                 to = beside ? ImVec2{middle.x, high.y} : ImVec2{high.x, middle.y};
    ImGui::GetWindowDrawList()->AddLine(from, to, packed(t.accent), wide * 0.25f);
  }
  if (ImGui::IsItemActive()) {
    const ImVec2 moved = ImGui::GetIO().MouseDelta;
    s.share += beside ? moved.x / room.x : moved.y / room.y;
  }
  if (ImGui::IsItemHovered() && ImGui::IsMouseDoubleClicked(0)) s.share = 0.5f;
  s.share = std::clamp(s.share, 0.2f, 0.8f);
  if (beside) ImGui::SameLine(0, wide * 0.5f);
}

// Whether the heat is of the source that is shown: a recording's is of another build.
void heat_build(Frame& f, State& s, const Profile* p) {
  if (!p || s.heat.lines.empty()) return;
  const Theme& t = f.theme;
  if (!s.measured().sampled) {
    if (!p->recorded.empty())
      coloured(t.warning, "counted with the recorded build (" + p->recorded + "); lines may have moved");
    return;
  }
  if (s.sampled.words.empty()) return;
  coloured(t.warning, s.sampled.words);
  tooltip(t, s.sampled.evidence);
}

// The gutter: a letter where the selected element was written or read, and the line's share of the heat.
void decorate(State& s) {
  constexpr size_t letters = 2, bar = 7;
  bool heat = !s.heat.lines.empty();
  // A text that is typed in does not move aside when its lines have been counted.
  s.editor.SetLineDecorator(letters + (heat || source_edit().is_on() ? bar : 0), [&s, heat](TextEditor::Decorator& d) {
    auto line = static_cast<int>(d.line);
    ImVec2 at = ImGui::GetCursorScreenPos();
    if (s.code && (line == s.link.code_hovered || line == s.link.source_chosen))
      ImGui::GetWindowDrawList()->AddRectFilled(
          {at.x - d.glyphSize.x * 0.5f, at.y}, {at.x - d.glyphSize.x * 0.1f, at.y + d.height}, packed(s.theme->accent));
    if (auto it = s.marks.letters.find(line); it != s.marks.letters.end()) {
      const char letter[] = {it->second, 0};
      ImGui::TextColored(it->second == 'W'   ? s.writes
                         : it->second == '!' ? s.strays
                         : it->second == 'E' ? s.strays
                         : it->second == 'F' ? s.fills
                                             : s.reads,
                         "%s", letter);
    }
    if (!heat) return;
    auto it = s.heat.lines.find(line);
    if (it == s.heat.lines.end()) return;
    float left = static_cast<float>(letters) * d.glyphSize.x;
    ImGui::SetCursorScreenPos({at.x + left, at.y});
    ImVec2 size{static_cast<float>(bar) * d.glyphSize.x, d.height};
    draw_heat(*s.theme, it->second, size.x, size.y);
    ImGui::Dummy(size);
    tooltip(*s.theme, it->second.about);
  });
}

// The editor while a file is typed in, and what is drawn beside its lines.
void keep_typing(Frame& f, State& s, bool marks_are_new) {
  SourceEdit& edit = source_edit();
  const std::string path = file_of_kernel(f.document.kernel);
  const OpenedFile* own = f.bench.files().of(f.document.kernel);
  const bool here = own && file_name(s.file) == file_name(path),
             broken = here && !own->trouble.empty() && (!own->ever || newer_gave_no_kernel(f));
  if (!edit.wanted.empty() && here && edit.wanted == path) {
    if (const std::string why = edit.begin(s.editor, path, *own); !why.empty()) f.toast(why);
    edit.wanted.clear(), s.shown.clear(), s.errors.clear();
    decorate(s);
    edit.type_what_is_put(f);
  }
  // It came, and another kernel was chosen meanwhile.
  if (const OpenedFile* w = f.bench.files().of(edit.wanted); w && !w->compiling && edit.wanted != path)
    edit.wanted.clear();
  if (!edit.is_on() && !broken) return s.errors.clear();
  if (edit.is_on() && !edit.follow(*own)) {
    s.shown.clear();
    return f.toast(path + " has bytes or characters now that would not come back as they are: it is shown only");
  }
  if (edit.is_on() && edit.take_typed()) {  // what stood beside the lines was of other lines
    s.editor.ClearMarkers();
    s.marks = {}, s.heat = {}, s.errors.clear();
    decorate(s);
  }
  static const std::vector<ErrorLine> none;
  const auto& errors = edit.waits() || own->compiling ? none : own->errors;
  if (errors == s.errors && !marks_are_new) return;
  // Who opens a file that does not compile has its line in sight; who types stays where they are.
  if (!edit.is_on() && errors != s.errors && !errors.empty())
    s.go_to = {s.file, errors.front().line, errors.front().column}, f.again_in(0);
  if (!s.errors.empty()) s.marks = mark_lines(s.editor, s.file, *s.theme, s.traced, s.differs, s.told);
  s.errors = errors;
  mark_errors(s.editor, s.marks, *s.theme, errors);
}

// Which line the pointer is on, and which was clicked, for the instructions.
void link_source(State& s) {
  ImVec2 mouse = ImGui::GetMousePos();
  bool over = ImGui::IsItemHovered() && s.editor.IsMousePosOverTextArea(mouse);
  s.link.source_hovered = over ? static_cast<int>(s.editor.GetDocPosAtMousePos(mouse).line) : -1;
  auto cursor = s.editor.GetMainCursorPosition();
  if (cursor != s.cursor) s.link.source_chosen = static_cast<int>(cursor.line);
  s.cursor = cursor;
}

// The line that one was led to, where nothing else is said of it.
void tint_pointed(State& s) {
  const int line = s.pointed.line - 1;
  const bool tinted =
      s.marks.letters.contains(line) || line < 0 || static_cast<size_t>(line) >= s.editor.GetLineCount();
  if (tinted || file_name(s.pointed.file) != file_name(s.file)) return;
  s.editor.AddMarker(static_cast<size_t>(line), packed(s.theme->accent, 0.4f), packed(s.theme->accent, 0.2f), "", "");
}

SourcePlace asked_for;  // by another panel
bool next_error_asked = false;

// The next line that does not compile behind the caret's, or the first of them.
void go_to_next_error(const Frame& f, State& s) {
  const OpenedFile* own = f.bench.files().of(f.document.kernel);
  if (!own) return;
  const int here = static_cast<int>(s.editor.GetMainCursorPosition().line) + 1;
  const ErrorLine *first = nullptr, *next = nullptr;
  for (const auto& e : own->errors) {
    if (!first || e.line < first->line) first = &e;
    if (e.line > here && (!next || e.line < next->line)) next = &e;
  }
  if (!next) next = first;
  if (next) s.go_to = {file_of_kernel(f.document.kernel), next->line, next->column};
}

void caret_into_sight(TextEditor& editor) {
  if (editor.GetNumberOfCursors() != 1) return;
  const auto selected = editor.GetMainCursorSelection();
  editor.SetCursor(editor.GetMainCursorPosition());
  if (selected.start != selected.end) editor.SelectRegion(selected.start, selected.end);
}

// The text and the instructions, and below them what became of what was typed.
void text_and_instructions(Frame& f, State& s, const Profile* profile, bool typing) {
  const Theme& t = f.theme;
  ImVec2 room = ImGui::GetContentRegionAvail();
  const float state_row = typing ? ImGui::GetFrameHeightWithSpacing() : 0;
  room.y = std::max(t.em * 3, room.y - state_row);
  const bool beside = room.x > t.em * 40;  // else one above the other, if there is room for two
  // Who begins to type has the panel for it, where half of it would cut off most lines.
  if (typing != s.typing) {
    if (typing && s.code && (!beside || room.x < t.em * 90)) s.code = false, s.gave_way = true;
    if (!typing && std::exchange(s.gave_way, false)) s.code = true;
    s.typing = typing;
  }
  // Of a text that gave no kernel there are none, and what runs has other lines.
  const bool code = s.code && (beside || room.y > t.em * 24) && (typing || !newer_gave_no_kernel(f));
  if (s.code && !code && !typing && !newer_gave_no_kernel(f)) {
    dim_text(t, "no room for instructions: a wider or a higher panel has them");
    room.y = std::max(t.em * 3, room.y - ImGui::GetTextLineHeightWithSpacing());
  }
  ImVec2 size = room;
  if (code) (beside ? size.x : size.y) *= s.share;
  // What is seen of a text stays in sight when there is less room for it. The editor knows its room a frame later.
  if (std::exchange(s.caret_hides, false)) caret_into_sight(s.editor);
  if (s.caret_seen && size.y < s.height - 0.5f) s.caret_hides = true, f.again_in(0);
  s.height = size.y;
  if (s.keys_in > 0) --s.keys_in ? f.again_in(0) : s.editor.SetFocus();
  ImGui::PushFont(t.code_font, 0);
  const ImGuiContext& g = *ImGui::GetCurrentContext();
  const bool other_field = g.PlatformImeData.WantTextInput;
  s.editor.Render("source", size);
  source_edit().drawn(g.PlatformImeData.WantTextInput && !other_field);
  ImGui::PopFont();
  keys_of_reader(f, s.file, "source");
  const size_t caret = s.editor.GetMainCursorPosition().line;
  const bool kept = typing || s.find.is_open() || static_cast<int>(caret) + 1 == s.pointed.line;  // where one was led
  s.caret_seen = kept && caret >= s.editor.GetFirstVisibleRow() && caret <= s.editor.GetLastVisibleRow();
  const OpenedFile* file = f.bench.files().of(f.document.kernel);
  if (!code && profile && profile->samples.samples > 0 && (!file || file->ever)) s.pane.ask(f);
  if (code) {
    link_source(s);
    between(t, s, beside, room);
    ImGui::BeginChild("instructions", {0, typing ? -state_row : 0});
    s.pane.draw(f, s.file, profile, s.measured().sampled ? s.measured().reason : "", s.link);
    ImGui::EndChild();
    if (s.link.code_chosen >= 0) {
      s.link.source_chosen = s.link.code_chosen;
      s.editor.ScrollToLine(static_cast<size_t>(s.link.code_chosen));
    }
  }
  if (typing && edit_state(f))
    if (const OpenedFile* own = f.bench.files().of(f.document.kernel))
      s.go_to = {s.file, own->errors.front().line, own->errors.front().column};
  source_edit().finish(f);
}

}  // namespace

void ask_next_error() { next_error_asked = true; }

void go_in_source(const std::string& file, int line) { asked_for = {file, line}; }

void show_in_source(const Frame& f, const std::string& file, int line) {
  go_in_source(file, line);
  f.show("Source");
}

void draw_source(Frame& f) {
  static State s;
  follow_with_profile(f);
  const Theme& t = f.theme;
  const std::string& kernel = f.document.kernel;
  if (not_trusted(f)) return;
  const std::vector<SourceText>* files = f.bench.sources().of(kernel);
  if (!files) f.wish([kernel](Workbench& b) { b.sources().want(kernel); });
  // What is typed stays there, with the keyboard, while the engine's copy of it comes.
  std::vector<SourceText> typed;
  if (const OpenedFile* own = f.bench.files().of(kernel);
      own && (!files || files->front().file.empty() || newer_gave_no_kernel(f)))
    typed = {{file_of_kernel(kernel), own->text}}, files = &typed;
  if (!files) {
    empty_state(t, kernel.empty() ? "No kernel is chosen" : "Reading the source",
                kernel.empty() ? "Choose one in the list of kernels." : kernel.c_str());
    return;
  }
  if (s.kernel != kernel) s.kernel = kernel, s.file = files->front().file, s.traced = nullptr;
  const auto [traced, differs, no_lines] = trace_here(f);
  // Whoever types stays where they are.
  const bool newly_traced = traced != s.traced, led = newly_traced && !source_edit().is_on();
  if (led && traced)
    if (const SourceText* writer = find_file(*files, traced->writers[0].file)) s.file = writer->file;
  if (asked_for.line) s.go_to = std::exchange(asked_for, {});
  if (std::exchange(next_error_asked, false)) go_to_next_error(f, s);
  if (s.go_to.line)
    if (const SourceText* there = find_file(*files, s.go_to.file)) s.file = there->file;
  const SourceText* source = find_file(*files, s.file);
  if (!source) source = &files->front(), s.file = source->file;
  const std::string* text = &source->text;
  s.theme = &t;
  const size_t print = std::hash<std::string>()(*text);
  const bool typing = source_edit().is_on() && file_name(source_edit().path()) == file_name(s.file) &&
                      source_edit().path() == file_of_kernel(kernel);
  // Before the editor gets another text: what was typed in it is still to be written.
  if (source_edit().is_on() && !typing) source_edit().end(), s.shown.clear();
  const bool fresh = !typing && (s.shown != kernel + " " + s.file || s.print != print);
  std::string idea;
  for (const auto& k : f.bench.inventory().kernels())
    if (k.name == kernel) idea = k.idea;
  const bool restyled = !s.styled || s.light != t.light;
  if (restyled) {
    s.styled = true, s.light = t.light;
    s.editor.SetFindReplaceEnabled(false);  // its Enter goes on in the text, where a second one replaces what was found
    s.editor.SetPalette(source_palette(t));
    s.editor.SetReadOnlyEnabled(!typing);
    s.editor.SetShowWhitespacesEnabled(false);
    s.editor.SetShowMatchingBrackets(false);
    s.editor.SetShowScrollbarMiniMapEnabled(true);
    s.editor.SetTabSize(2);
    s.writes = t.kernel, s.reads = t.accent, s.strays = t.wrong, s.fills = t.warning;
  }
  if (fresh) {
    // Who follows a file that is written elsewhere goes on looking at the same lines.
    const bool same = s.shown == kernel + " " + s.file;
    const size_t top = same ? s.editor.GetFirstVisibleRow() : 0;
    s.shown = kernel + " " + s.file, s.print = print;
    s.editor.SetLanguage(source_language(s.file));
    s.editor.SetText(*text);
    if (same) s.editor.ScrollToLine(top, TextEditor::Scroll::alignTop);
    s.link = {}, s.cursor = s.editor.GetMainCursorPosition(), s.texts++;
  }
  // What its verdict names stands beside what the element's trace knows.
  const Report* verdict = f.report();
  const bool tells = verdict && verdict->final && verdict->status != "right" && verdict->kernel == kernel &&
                     verdict->recorded.empty() && !f.bench.files().is_of_before(*verdict);
  const std::string told = tells ? verdict->sentence : "";
  const bool led_here = s.go_to.line > 0;
  const bool marks_are_new = newly_traced || differs != s.differs || told != s.told || fresh || restyled || led_here;
  if (marks_are_new) {
    s.traced = traced, s.differs = differs, s.told = told;
    s.marks = mark_lines(s.editor, s.file, t, traced, differs, told);
    if (s.marks.writes >= 0 && led) s.editor.ScrollToLine(static_cast<size_t>(s.marks.writes));
  }
  // Which line one was led to is seen from afar, too.
  if (s.kernel != s.pointed_of) s.pointed = {}, s.pointed_of = s.kernel;
  if (s.go_to.line) {
    const int column = s.go_to.column;
    s.pointed = std::exchange(s.go_to, {});
    s.link.source_chosen = s.pointed.line - 1;
    const auto line = static_cast<size_t>(s.link.source_chosen);
    s.editor.SetCursor({line, static_cast<size_t>(std::max(0, column - 1))});
    s.editor.ScrollToLine(line);
    s.cursor = s.editor.GetMainCursorPosition();
    if (typing) s.keys_in = 2;  // the panel that comes to the front takes the keyboard a frame later
  }
  if (marks_are_new && !typing) tint_pointed(s);
  const Profile* profile = profile_here(f);
  // Its address may be that of one that is gone: the serial tells them apart.
  uint64_t serial = profile ? profile->serial : 0;
  if (serial != s.heated_serial || s.measure != s.heated_measure || fresh) {
    if (serial != s.heated_serial) s.measures = heat_measures(profile);
    s.heated_serial = serial, s.heated_measure = s.measure;
    s.heat = profile ? heat_of(*profile, s.file, s.measured()) : Heat{};
    std::vector<std::string> names;
    for (const auto& each : *files) names.push_back(file_name(each.file));
    s.files = profile ? heat_of_files(*profile, s.measured(), names) : HeatOfFiles{};
    decorate(s);
  }
  if (const MachineCode* code = f.bench.sources().machine_code();
      fresh || code != s.sampled_against || serial != s.sampled_serial)
    s.sampled_against = code, s.sampled_serial = serial,
    s.sampled = profile ? sampled_code(*profile, code) : SampledCode{};
  keep_typing(f, s, marks_are_new);
  s.editor.SetCaretsVisible(source_edit().is_on());
  s.find.keys(s.editor, ImGui::IsWindowFocused(ImGuiFocusedFlags_ChildWindows));
  head(f, s, *files, *text, idea);
  // While one types the text keeps its place: what comes and goes above it has had its room, or stays away.
  if (typing) {
    if (std::exchange(s.top_width, ImGui::GetWindowWidth()) != ImGui::GetWindowWidth()) s.top = 0;
    s.top = std::max(s.top, ImGui::GetCursorPosY());
    ImGui::SetCursorPosY(s.top);
  } else {
    s.top = 0;
    if (no_lines) dim_text(t, no_lines_words);
    does_not_compile(f);
    heat_build(f, s, profile);
    what_is_missing(f, profile);
  }
  s.find.draw(f, s.editor, s.texts + source_edit().texts(), typing);
  text_and_instructions(f, s, profile, typing);
}

}  // namespace convscope::ui
