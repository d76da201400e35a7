#include "app/ui/panels/source_find.h"

#include <TextEditor.h>
#include <algorithm>
#include <fmt/format.h>
#include <imgui.h>
#include <imgui_internal.h>
#include <misc/cpp/imgui_stdlib.h>
#include <utility>

#include "app/ui/panels/flow.h"
#include "app/ui/widgets.h"

namespace convscope::ui {
namespace {

constexpr const char *find_field = "##find", *replace_field = "##replace";
constexpr size_t most_highlights = 2000;  // more are found and counted, and not coloured
constexpr size_t mark_of_match = 1;       // the kind of mark that a match has in the editor

TextEditor::DocPos in_editor(TextPlace p) { return {p.line, p.at}; }
TextPlace of_editor(TextEditor::DocPos p) { return {p.line, p.index}; }

}  // namespace

void SourceFind::keys(TextEditor& editor, bool focused) {
  if (!focused) return;
  const bool in_field = open_ && ImGui::GetActiveID() == ImGui::GetID(find_field);
  if (!in_field && ImGui::IsKeyChordPressed(ImGuiMod_Ctrl | ImGuiKey_F)) open(editor);
  for (const bool forward : {true, false}) {
    if (!ImGui::IsKeyPressed(ImGuiKey_F3) || ImGui::GetIO().KeyShift == forward || ImGui::GetIO().KeyCtrl) continue;
    if (query_.words.empty())
      open(editor);
    else
      search(editor), go(editor, forward);
  }
}

void SourceFind::open(TextEditor& editor) {
  const auto selected = editor.GetMainCursorSelection();
  origin_ = of_editor(selected.start);
  if (selected.start == selected.end) {
    const WordHere here = word_at(editor.GetLineText(origin_.line), origin_.at);
    if (!here.word.empty()) query_.words = here.word, origin_.at = here.begin;
  } else if (selected.start.line == selected.end.line) {
    query_.words = editor.GetSectionText(selected);
  }
  open_ = wants_keys_ = stale_ = true;
  search(editor);
  if (const auto first = match_from(matches_, origin_)) select(editor, *first);
}

void SourceFind::close(TextEditor& editor) {
  open_ = false, had_keys_ = 0;
  editor.ClearSquiggles();
  ImGui::ClearActiveID();
  editor.SetFocus();
}

void SourceFind::search(const TextEditor& editor) { matches_ = matches_in(editor.GetText(), query_), shown_ = false; }

void SourceFind::select(TextEditor& editor, size_t match) {
  const TextMatch& m = matches_[match];
  editor.SetCursor(in_editor(m.end));  // which brings it into sight
  editor.SelectRegion(in_editor(m.begin), in_editor(m.end));
}

void SourceFind::go(TextEditor& editor, bool forward) {
  const auto selected = editor.GetMainCursorSelection();
  TextPlace from = of_editor(selected.start);
  if (forward && selected.start != selected.end) from.at++;
  const auto next = forward ? match_from(matches_, from) : match_before(matches_, from);
  if (!next) return;
  select(editor, *next);
  origin_ = matches_[*next].begin;
}

void SourceFind::replace(TextEditor& editor) {
  const auto selected = editor.GetMainCursorSelection();
  const TextMatch here{of_editor(selected.start), of_editor(selected.end)};
  // The first press shows what the second one replaces.
  if (std::find(matches_.begin(), matches_.end(), here) == matches_.end()) return go(editor, true);
  editor.ReplaceSectionText(selected.start, selected.end, with_);
  search(editor);
  const auto next = match_from(matches_, of_editor(editor.GetMainCursorPosition()));
  if (next) select(editor, *next), origin_ = matches_[*next].begin;
}

void SourceFind::replace_all(Frame& f, TextEditor& editor) {
  const size_t count = matches_.size();
  if (!count) return;
  // Of all lines in one step, which undo takes back at once.
  editor.FilterLines([this](std::string_view line) { return replaced_in(line, query_, with_); });
  search(editor);
  f.toast(fmt::format("{} replaced", count));
}

void SourceFind::highlight(const Theme& t, TextEditor& editor) {
  if (std::exchange(shown_, true)) return;
  editor.ClearSquiggles();
  for (size_t i = 0; i < std::min(matches_.size(), most_highlights); i++)
    editor.AddSquiggle(in_editor(matches_[i].begin), in_editor(matches_[i].end), mark_of_match,
                       packed(t.warning, 0.28f), "", TextEditor::SquiggleStyle::background);
}

// "3 of 12" while a match is selected, as it is after every step; "12" when the caret was moved elsewhere.
std::string SourceFind::count(const TextEditor& editor) const {
  if (query_.words.empty()) return "";
  if (matches_.empty()) return "none";
  const auto selected = editor.GetMainCursorSelection();
  const TextMatch here{of_editor(selected.start), of_editor(selected.end)};
  const auto it = std::find(matches_.begin(), matches_.end(), here);
  return it == matches_.end() ? std::to_string(matches_.size())
                              : fmt::format("{} of {}", it - matches_.begin() + 1, matches_.size());
}

void SourceFind::draw(Frame& f, TextEditor& editor, uint64_t version, bool may_replace) {
  if (!open_) return;
  const Theme& t = f.theme;
  if (std::exchange(version_, version) != version) stale_ = true;
  if (std::exchange(stale_, false)) search(editor);
  const ImGuiID field = ImGui::GetID(find_field), with_field = ImGui::GetID(replace_field);
  if (std::exchange(wants_keys_, false)) ImGui::SetKeyboardFocusHere();
  // A field would end at Enter, and at Esc take its words back: both are the row's while it has the keyboard.
  const ImGuiID now = ImGui::GetActiveID(), in = now == field || now == with_field ? now : had_keys_;
  had_keys_ = now == field || now == with_field ? now : 0;
  if (had_keys_)
    for (ImGuiKey key : {ImGuiKey_Enter, ImGuiKey_KeypadEnter, ImGuiKey_Escape})
      ImGui::SetKeyOwner(key, ImGui::GetID("##keys of find"));
  const bool enter = in && (ImGui::IsKeyPressed(ImGuiKey_Enter) || ImGui::IsKeyPressed(ImGuiKey_KeypadEnter));
  const bool escape = in && ImGui::IsKeyPressed(ImGuiKey_Escape);
  const TextQuery before = query_;
  ImGui::SetNextItemWidth(std::clamp(ImGui::GetContentRegionAvail().x, t.em * 4, t.em * 16));
  ImGui::InputTextWithHint(find_field, "find", &query_.words, ImGuiInputTextFlags_AutoSelectAll);
  // It came by a key: that begins no walk through the controls, nor a tooltip over the text.
  if (ImGui::IsItemActivated()) ImGui::SetNavCursorVisible(false);
  tooltip(t, "Enter: next. Shift+Enter: previous. Esc: back to the text.");
  const float button = ImGui::GetFrameHeight();
  beside_if_fits(2 * button + t.em * 5);
  if (ImGui::ArrowButton("##previous match", ImGuiDir_Up)) go(editor, false);
  tooltip(t, "Previous (Shift+Enter, Shift+F3)");
  ImGui::SameLine(0, ImGui::GetStyle().ItemInnerSpacing.x);
  if (ImGui::ArrowButton("##next match", ImGuiDir_Down)) go(editor, true);
  tooltip(t, "Next (Enter, F3)");
  if (enter && in == field) go(editor, !ImGui::GetIO().KeyShift);
  // The count keeps its room, so that what stands behind it stays where it is.
  ImGui::SameLine();
  const float at = ImGui::GetCursorPosX();
  ImGui::AlignTextToFramePadding();
  const std::string words = count(editor);
  ImGui::TextColored(matches_.empty() ? t.warning : t.dim, "%s", words.c_str());
  ImGui::SameLine(0, 0);
  ImGui::SetCursorPosX(std::max(ImGui::GetCursorPosX(), at + t.em * 5));
  ImGui::Dummy({0, button});
  beside_if_fits(t.em * 3);
  checkbox("Aa", &query_.match_case);
  tooltip(t, "Capital and small letters are told apart");
  beside_if_fits(t.em * 5);
  checkbox("Word", &query_.whole_words);
  tooltip(t, "Whole words only: not what stands within a longer name");
  if (button_beside("×###close find") || escape) return close(editor);
  tooltip(t, "Close (Esc)");
  if (may_replace) {
    beside_if_fits(t.em * 28);
    ImGui::SetNextItemWidth(std::clamp(ImGui::GetContentRegionAvail().x, t.em * 4, t.em * 16));
    ImGui::InputTextWithHint(replace_field, "replace with", &with_);
    ImGui::BeginDisabled(matches_.empty());
    if (button_beside("Replace") || (enter && in == with_field)) replace(editor);
    tooltip(t, "This one, and on to the next");
    if (button_beside("All")) replace_all(f, editor);
    tooltip(t, "Every one; Ctrl+Z in the text takes all of them back");
    ImGui::EndDisabled();
  }
  if (!(query_ == before)) {
    search(editor);
    if (const auto first = match_from(matches_, origin_)) select(editor, *first);
    f.again_in(0);  // the count is of the selection before
  }
  highlight(t, editor);
}

}  // namespace convscope::ui
