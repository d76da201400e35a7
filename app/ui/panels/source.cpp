// The kernel's own text, with the lines that wrote and read the selected element.
#include <TextEditor.h>
#include <fmt/format.h>
#include <imgui.h>
#include <map>

#include "app/ui/panels/explain_ask.h"
#include "app/ui/panels/explain_words.h"
#include "app/ui/widgets.h"

namespace convscope::ui {
namespace {

struct Marks {
  std::map<int, char> letters;  // by line, from 0: W writes the element, R reads for it
  int writes = -1;              // the line that wrote it first
};

struct State {
  std::string asked, shown, file;
  int starts = 0;     // of the engine, when it was asked
  size_t length = 0;  // of the text
  const Traced* traced = nullptr;
  bool light = false, styled = false;
  ImVec4 writes{}, reads{};  // colours
  Marks marks;
  TextEditor editor;
};

TextEditor::Palette palette(const Theme& t) {
  using C = TextEditor::Color;
  TextEditor::Palette p = t.light ? TextEditor::GetLightPalette() : TextEditor::GetDarkPalette();
  auto set = [&](C c, const ImVec4& colour, float alpha = 1) { p[static_cast<size_t>(c)] = packed(colour, alpha); };
  set(C::text, t.text), set(C::identifier, t.text), set(C::knownIdentifier, t.floor), set(C::punctuation, t.text, 0.8f);
  set(C::keyword, t.accent), set(C::declaration, t.floor), set(C::preprocessor, t.floor);
  set(C::number, t.right), set(C::string, t.warning), set(C::comment, t.dim);
  set(C::background, t.background), set(C::cursor, t.text, 0), set(C::selection, t.accent, 0.35f),
      set(C::whitespace, t.border);
  set(C::lineNumber, t.dim, 0.8f), set(C::currentLineNumber, t.text);
  set(C::currentLineHighlight, t.text, 0), set(C::currentLineHighlightBorder, t.text, 0);
  set(C::matchingBracketBackground, t.accent, 0.25f), set(C::matchingBracketActive, t.dim);
  return p;
}

// The trace of the selected element, when it is of this file. Asks for it as the panel that explains does.
const Traced* trace_here(Frame& f, const std::string& file) {
  const Report* r = f.picture();
  if (!r || !f.view.selected || r->kernel != f.document.kernel) return nullptr;
  ElementIndex at = *f.view.selected;
  if (at.row >= r->rows() || at.column >= r->columns()) return nullptr;
  const Traced* t = keep_explained(f, *r, at).traced;
  if (!t || t->writers.empty() || t->writers[0].line <= 0) return nullptr;
  return file_name(t->writers[0].file) == file_name(file) ? t : nullptr;
}

void set_marks(State& s, const Theme& theme, const Traced* t) {
  s.editor.ClearMarkers();
  s.marks = {};
  if (!t) return;
  struct Line {
    int64_t writers = 0;
    std::map<char, int64_t> reads;
    std::string who;
  };
  std::map<int, Line> lines;
  for (const auto& w : t->writers) {
    if (w.line <= 0) continue;
    Line& l = lines[w.line - 1];
    if (!l.writers++) l.who = fmt::format("block {}, thread {}", w.block, w.thread);
  }
  for (const auto& r : t->reads)
    if (r.line > 0) lines[r.line - 1].reads[r.tensor]++;
  s.marks.writes = t->writers[0].line - 1;
  std::string element = fmt::format("y[{}, {}, {}]", t->n, t->co, t->j);
  for (const auto& [line, l] : lines) {
    if (static_cast<size_t>(line) >= s.editor.GetLineCount()) continue;
    std::string about;
    if (l.writers)
      about = fmt::format("writes {}: {}{}", element, l.who,
                          l.writers > 1 ? fmt::format(" and {} more", l.writers - 1) : "");
    for (const auto& [tensor, count] : l.reads)
      about += fmt::format("{}reads {} {} time{} for {}", about.empty() ? "" : "\n", tensor, grouped(count),
                           count == 1 ? "" : "s", element);
    about += "\nsource: traced on the emulator";
    const ImVec4& c = l.writers ? theme.kernel : theme.accent;
    s.editor.AddMarker(static_cast<size_t>(line), packed(c, 0.35f), packed(c, l.writers ? 0.22f : 0.13f), about, about);
    s.marks.letters[line] = l.writers ? 'W' : 'R';
  }
}

void head(Frame& f, State& s, const std::string& text, const std::string& idea) {
  const Theme& t = f.theme;
  float em = ImGui::GetFontSize();
  ImGui::AlignTextToFramePadding();
  ImGui::PushFont(t.code_font, 0);
  wrapped(s.file);
  ImGui::PopFont();
  tooltip(t, idea.empty() ? "The file that the running kernel was compiled from" : idea);
  auto button = [&](const char* label, const char* about) {
    float need = ImGui::CalcTextSize(label).x + 2 * ImGui::GetStyle().FramePadding.x;
    float right = ImGui::GetCursorScreenPos().x + ImGui::GetContentRegionAvail().x;
    if (ImGui::GetItemRectMax().x + em + need <= right) ImGui::SameLine(0, em * 0.6f);
    bool pressed = ImGui::Button(label);
    tooltip(t, about);
    return pressed;
  };
  if (button("Copy", "Copy the whole text")) {
    ImGui::SetClipboardText(text.c_str());
    f.toast(file_name(s.file) + " copied");
  }
  if (s.marks.writes < 0) return;
  std::string label = fmt::format("Line {} wrote it", s.marks.writes + 1);
  if (button(label.c_str(), "Go to the line that wrote the selected element. Marked W: writes it; R: reads for it."))
    s.editor.ScrollToLine(static_cast<size_t>(s.marks.writes));
}

}  // namespace

void draw_source(Frame& f) {
  static State s;
  const Theme& t = f.theme;
  const std::string& kernel = f.document.kernel;
  const std::string* text = f.bench.source(kernel);
  int starts = f.bench.engine().starts;
  if (!text && (s.asked != kernel || s.starts != starts)) {
    s.asked = kernel, s.starts = starts;
    f.wish([kernel](Workbench& b) { b.want_source(kernel); });
  }
  if (!text) {
    empty_state(t, kernel.empty() ? "No kernel is chosen" : "Reading the source",
                kernel.empty() ? "Choose one in the list of kernels." : kernel.c_str());
    return;
  }
  bool fresh = s.shown != kernel || s.length != text->size();
  std::string idea;
  for (const auto& k : f.bench.kernels())
    if (k.name == kernel) {
      if (fresh || s.file.empty()) s.file = k.file;
      idea = k.idea;
    }
  if (!s.styled || s.light != t.light) {
    s.styled = true, s.light = t.light;
    s.editor.SetPalette(palette(t));
    s.editor.SetReadOnlyEnabled(true);
    s.editor.SetLanguage(TextEditor::Language::Cpp());
    s.editor.SetShowWhitespacesEnabled(false);
    s.editor.SetShowMatchingBrackets(false);
    s.editor.SetShowScrollbarMiniMapEnabled(true);
    s.editor.SetTabSize(2);
    s.writes = t.kernel, s.reads = t.accent;
    s.editor.SetLineDecorator(2, [](TextEditor::Decorator& d) {
      auto it = s.marks.letters.find(static_cast<int>(d.line));
      if (it == s.marks.letters.end()) return;
      const char letter[] = {it->second, 0};
      ImGui::TextColored(it->second == 'W' ? s.writes : s.reads, "%s", letter);
    });
    s.traced = nullptr;
    s.marks = {};
    s.editor.ClearMarkers();
  }
  if (fresh) {
    s.shown = kernel, s.length = text->size();
    s.editor.SetText(*text);
    s.traced = nullptr;
    s.marks = {};
  }
  const Traced* traced = trace_here(f, s.file);
  if (traced != s.traced) {
    s.traced = traced;
    set_marks(s, t, traced);
    if (s.marks.writes >= 0) s.editor.ScrollToLine(static_cast<size_t>(s.marks.writes));
  }
  head(f, s, *text, idea);
  ImGui::PushFont(t.code_font, 0);
  s.editor.Render("source", ImGui::GetContentRegionAvail());
  ImGui::PopFont();
}

}  // namespace convscope::ui
