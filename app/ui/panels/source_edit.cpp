#include "app/ui/panels/source_edit.h"

#include <TextEditor.h>
#include <imgui.h>
#include <unistd.h>
#include <utility>

#include "app/engine/kernel_file.h"
#include "app/model/lesson.h"
#include "app/ui/panels/flow.h"

namespace convscope::ui {
namespace {

constexpr double pause_seconds = 0.35;  // after the last key; between two of a word are some 0.2
constexpr double again_seconds = 5;     // after it could not be written

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

// Why the file that is shown cannot be typed in; "": it can.
std::string not_typed_in(const OpenedFile* own, const std::string& path, const std::string& shown_file) {
  if (!own || file_name(shown_file) != file_name(path)) return "It is the program's own text";
  if (comes_with_the_program(path)) return "It comes with the program";
  return own->gone || access(path.c_str(), W_OK) == 0 ? "" : "The file may not be written";
}

}  // namespace

SourceEdit& source_edit() {
  static SourceEdit all;
  return all;
}

std::string SourceEdit::text() const {
  const std::string all = editor_->GetText();
  return windows_lines_ ? with_windows_ends(all) : all;
}

// Whether the editor gives the text back as it is, but for the end of a last line that had none.
bool SourceEdit::take(const std::string& text) {
  windows_lines_ = text.find("\r\n") != text.npos;
  editor_->SetText(with_plain_ends(text));
  typed_ = false;
  const std::string back = this->text();
  return back == text || back == text + (windows_lines_ ? "\r\n" : "\n");
}

std::string SourceEdit::begin(TextEditor& editor, const std::string& path, const OpenedFile& file) {
  end();
  editor_ = &editor, path_ = path, written_ = file.text;
  trouble_.clear(), keys_at_ = -2;
  if (!take(file.text)) {
    editor_ = nullptr;
    return path +
           " has bytes or characters that would not come back as they are: use another editor, whose changes "
           "are followed";
  }
  editor.SetReadOnlyEnabled(false);
  editor.SetCompletePairedGlyphs(false);
  editor.SetTransactionCallback([this](const std::vector<TextEditor::Change>&) {
    typed_ = unseen_ = true;
    typed_at_ = ImGui::GetTime();
    trouble_.clear();
  });
  editor.SetFocus();
  return "";
}

void SourceEdit::end() {
  if (!editor_) return;
  if (auto w = taken()) left_ = std::move(w);
  editor_->ClearTransactionCallback();
  editor_->SetReadOnlyEnabled(true);
  editor_ = nullptr, typed_ = false;
}

bool SourceEdit::follow(const OpenedFile& file) {
  if (!editor_ || typed_ || underway_ || file.text == written_) return true;
  written_ = file.text;
  const auto at = editor_->GetMainCursorPosition();
  const size_t top = editor_->GetFirstVisibleRow();
  if (!take(file.text)) {
    end();
    return false;
  }
  editor_->SetCursor(at);
  editor_->ScrollToLine(top, TextEditor::Scroll::alignTop);
  typed_ = false, unseen_ = true;
  return true;
}

void SourceEdit::drawn(bool focused) {
  if (editor_ && focused) keys_at_ = ImGui::GetFrameCount();
}

bool SourceEdit::has_keys() const { return editor_ && keys_at_ + 1 >= ImGui::GetFrameCount(); }

bool SourceEdit::take_typed() { return std::exchange(unseen_, false); }

std::optional<WriteFile> SourceEdit::taken() {
  if (!std::exchange(typed_, false)) return {};
  WriteFile w{path_, text(), written_};
  // An empty file is no kernel's: whoever deletes all is about to paste.
  if (w.text == w.before || w.text.find_first_not_of(" \t\r\n") == w.text.npos) return {};
  written_ = w.text;
  return w;
}

void SourceEdit::keep(Frame& f) {
  underway_ = false;
  if (left_) f.out.push_back(*std::exchange(left_, {}));
  if (!typed_) return;
  if (has_keys() && ImGui::IsKeyChordPressed(ImGuiMod_Ctrl | ImGuiKey_S)) typed_at_ = -pause_seconds;
  if (const double left = typed_at_ + pause_seconds - ImGui::GetTime(); left > 0) return f.again_in(left);
  if (auto w = taken()) f.out.push_back(*std::move(w)), underway_ = true;
}

std::optional<WriteFile> SourceEdit::last_words() {
  if (editor_)
    if (auto w = taken()) left_ = std::move(w);
  return std::exchange(left_, {});
}

bool SourceEdit::not_written(const WriteFile& w, const std::string& why) {
  if (!editor_ || w.path != path_) return false;
  written_ = w.before, trouble_ = why;
  typed_ = true, typed_at_ = ImGui::GetTime() + again_seconds;
  return true;
}

void edit_choice(Frame& f, const std::string& shown_file) {
  const Theme& t = f.theme;
  SourceEdit& edit = source_edit();
  const OpenedFile* own = f.bench.file_of(f.document.kernel);
  const std::string path = file_of_kernel(f.document.kernel), why = not_typed_in(own, path, shown_file);
  if (!why.empty() && !edit.is_on()) {
    if (button_beside("Edit a copy…")) f.act("edit-copy");
    return tooltip(t, why + ": a copy of it, in a file of yours, becomes the kernel, and is judged anew as you type");
  }
  beside_if_fits(t.em * 4);
  bool on = edit.is_on();
  if (ImGui::Checkbox("Edit", &on)) {
    if (on)
      edit.wanted = path;
    else
      edit.end();
  }
  tooltip(t,
          "Type here: what is typed goes into the file after a short pause, and is compiled, run and judged. Ctrl+Z "
          "takes it back. Another editor's changes are followed as well.");
  if (!edit.is_on() || !own) return;
  beside_if_fits(t.em * 9);
  ImGui::AlignTextToFramePadding();
  if (!edit.trouble().empty()) {
    ImGui::TextColored(t.wrong, "not written");
    tooltip(t, edit.trouble() + "\nIt is tried again after the next key, and in a while.");
  } else if (edit.waits() || own->compiling) {
    ImGui::TextColored(t.dim, "compiling…");
  } else if (!own->trouble.empty()) {
    ImGui::TextColored(t.wrong, "does not compile");
  } else if (own->seconds > 0) {
    ImGui::TextColored(t.dim, "compiled in %.1f s", own->seconds);
  } else {
    ImGui::TextColored(t.dim, "compiled");
  }
}

}  // namespace convscope::ui
