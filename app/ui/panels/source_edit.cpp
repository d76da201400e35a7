#include "app/ui/panels/source_edit.h"

#include <TextEditor.h>
#include <imgui.h>
#include <utility>

namespace convscope::ui {
namespace {

constexpr double pause_seconds = 0.35;  // after the last key; between two of a word are some 0.2

std::string with_plain_ends(std::string text) {
  std::erase(text, '\r');
  return text;
}

std::string with_windows_ends(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '\n') out += '\r';
    out += c;
  }
  return out;
}

}  // namespace

SourceEdit& source_edit() {
  static SourceEdit all;
  return all;
}

void SourceEdit::begin(TextEditor& editor, const std::string& path, const OpenedFile& file) {
  end();
  editor_ = &editor, path_ = path, written_ = file.text;
  windows_lines_ = file.text.find("\r\n") != file.text.npos;
  editor.SetText(with_plain_ends(file.text));
  editor.SetReadOnlyEnabled(false);
  editor.SetCompletePairedGlyphs(false);
  editor.SetTransactionCallback([this](const std::vector<TextEditor::Change>&) {
    typed_ = unseen_ = true;
    typed_at_ = ImGui::GetTime();
  });
  editor.SetFocus();
}

void SourceEdit::end() {
  if (!editor_) return;
  if (typed_) left_ = taken();
  editor_->ClearTransactionCallback();
  editor_->SetReadOnlyEnabled(true);
  editor_ = nullptr;
}

void SourceEdit::follow(const OpenedFile& file) {
  if (!editor_ || typed_ || underway_ || file.text == written_) return;
  written_ = file.text;
  windows_lines_ = file.text.find("\r\n") != file.text.npos;
  const auto at = editor_->GetMainCursorPosition();
  const size_t top = editor_->GetFirstVisibleRow();
  editor_->SetText(with_plain_ends(file.text));
  editor_->SetCursor(at);
  editor_->ScrollToLine(top, TextEditor::Scroll::alignTop);
  typed_ = false, unseen_ = true;
}

void SourceEdit::drawn(bool focused) {
  if (editor_ && focused) keys_at_ = ImGui::GetFrameCount();
}

bool SourceEdit::has_keys() const { return editor_ && keys_at_ + 1 >= ImGui::GetFrameCount(); }

bool SourceEdit::take_typed() { return std::exchange(unseen_, false); }

WriteFile SourceEdit::taken() {
  typed_ = false;
  std::string text = editor_->GetText();
  if (windows_lines_) text = with_windows_ends(text);
  WriteFile w{path_, text, written_};
  written_ = std::move(text);
  return w;
}

void SourceEdit::keep(Frame& f) {
  underway_ = false;
  if (left_) f.out.push_back(*std::exchange(left_, {}));
  if (!typed_) return;
  if (has_keys() && ImGui::IsKeyChordPressed(ImGuiMod_Ctrl | ImGuiKey_S)) typed_at_ = -pause_seconds;
  if (const double left = typed_at_ + pause_seconds - ImGui::GetTime(); left > 0) return f.again_in(left);
  WriteFile w = taken();
  // An empty file is no kernel's: whoever deletes all is about to paste.
  if (w.text.find_first_not_of(" \t\r\n") == w.text.npos) return not_written(w);
  if (w.text != w.before) f.out.push_back(std::move(w)), underway_ = true;
}

std::optional<WriteFile> SourceEdit::last_words() {
  if (typed_ && editor_) left_ = taken();
  return std::exchange(left_, {});
}

void SourceEdit::not_written(const WriteFile& w) {
  if (w.path == path_) written_ = w.before;
}

}  // namespace convscope::ui
