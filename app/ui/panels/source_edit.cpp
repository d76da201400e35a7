#include "app/ui/panels/source_edit.h"

#include <TextEditor.h>
#include <algorithm>
#include <fmt/format.h>
#include <imgui.h>
#include <imgui_internal.h>
#include <unistd.h>
#include <utility>

#include "app/engine/kernel_file.h"
#include "app/model/lesson.h"
#include "app/ui/panels/flow.h"
#include "app/ui/widgets.h"
#include "kernels/runtime/registry.h"

namespace convscope::ui {
namespace {

constexpr double pause_seconds = 0.35;  // after the last key; between two of a word are some 0.2
// Where compiling takes a while, and keys keep coming: one that is begun between two words is begun in vain, and takes
// the processor from drawing.
constexpr double long_pause_seconds = 0.8, keys_keep_coming = 1, takes_a_while = 1;
constexpr double again_seconds = 5;  // after it could not be written

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
  typed_ = false, texts_++;
  bursts_.clear(), steps_ = 0, way_ = Way::none;  // nor does the editor undo what is before this
  const std::string back = this->text();
  return back == text || back == text + (windows_lines_ ? "\r\n" : "\n");
}

std::string SourceEdit::begin(TextEditor& editor, const std::string& path, const OpenedFile& file) {
  end();
  editor_ = &editor, path_ = path, written_ = file.text;
  trouble_.clear(), keys_at_ = -2;
  const auto at = editor.GetMainCursorPosition();
  const size_t top = editor.GetFirstVisibleRow();
  if (!take(file.text)) {
    editor_ = nullptr;
    return path +
           " has bytes or characters that would not come back as they are: use another editor, whose changes "
           "are followed";
  }
  editor.SetReadOnlyEnabled(false);
  editor.SetCompletePairedGlyphs(false);
  editor.SetTransactionCallback([this](const std::vector<TextEditor::Change>& changes) {
    std::vector<TextChange> all;
    for (const auto& c : changes)
      all.push_back({c.insert, {c.start.line, c.start.index}, {c.end.line, c.end.index}, c.text});
    changed(std::move(all));
  });
  // Whoever begins to type goes on looking at the same lines.
  editor.SetCursor(at);
  editor.ScrollToLine(top, TextEditor::Scroll::alignTop);
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

void SourceEdit::changed(std::vector<TextChange> changes) {
  const double now = ImGui::GetTime();
  keys_follow_ = now - typed_at_ < keys_keep_coming;
  typed_ = unseen_ = true, typed_at_ = now, texts_++;
  trouble_.clear();
  const size_t step = editor_->GetUndoIndex();
  if (step < steps_) {
    way_ = Way::undo;
  } else if (bursts_.has(step, changes)) {
    way_ = Way::redo;
  } else {
    way_ = Way::none;
    bursts_.made(step, std::move(changes), now);
  }
  steps_ = step;
}

void SourceEdit::finish(Frame& f) {
  const Way way = std::exchange(way_, Way::none);
  if (!editor_ || way == Way::none) return;
  auto goes_on = [&] { return !bursts_.begins(editor_->GetUndoIndex() + 1); };
  if (way == Way::undo)
    while (editor_->CanUndo() && goes_on()) editor_->Undo();
  else
    while (editor_->CanRedo() && goes_on()) editor_->Redo();
  way_ = Way::none;
  f.again_in(0);
}

void SourceEdit::type_what_is_put(Frame& f) {
  if (!editor_ || put.second.empty()) return;
  const auto [before, after] = std::exchange(put, {});
  const std::string now = text();
  if (now != before && now != before + '\n') return f.toast("The text has been changed since: nothing was put into it");
  // Only what differs: the cursor and the marks of other lines stay, and one step takes it back.
  const std::string from = with_plain_ends(now), to = with_plain_ends(after);
  size_t head = 0, tail = 0;
  while (head < std::min(from.size(), to.size()) && from[head] == to[head]) head++;
  while (tail < std::min(from.size(), to.size()) - head && from[from.size() - 1 - tail] == to[to.size() - 1 - tail])
    tail++;
  // At whole lines: places count characters, not bytes.
  while (head && from[head - 1] != '\n') head--;
  while (tail && from[from.size() - tail - 1] != '\n') tail--;
  auto line = [&](size_t at) {
    return static_cast<size_t>(std::count(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  };
  const TextEditor::DocPos begin(line(head), 0), end(line(from.size() - tail), 0);
  editor_->ReplaceSectionText(begin, end, to.substr(head, to.size() - tail - head));
  editor_->SetCursor(begin);
  editor_->ScrollToLine(begin.line, TextEditor::Scroll::alignMiddle);
  focus_in_ = 2;
  f.again_in(0);
}

void SourceEdit::drawn(bool focused) {
  if (editor_ && focused) keys_at_ = ImGui::GetFrameCount();
  if (editor_ && focus_in_ && --focus_in_ == 0) editor_->SetFocus();
}

bool SourceEdit::has_keys() const { return editor_ && keys_at_ + 1 >= ImGui::GetFrameCount(); }

void SourceEdit::read(bool focused) {
  if (focused)
    read_at_ = ImGui::GetFrameCount();
  else
    told_how_ = false;
}

bool SourceEdit::is_read() const { return !editor_ && read_at_ + 1 >= ImGui::GetFrameCount(); }

bool SourceEdit::take_typed() { return std::exchange(unseen_, false); }

std::optional<WriteFile> SourceEdit::taken() {
  if (!std::exchange(typed_, false)) return {};
  WriteFile w{path_, text(), written_};
  // An empty file is no kernel's: whoever deletes all is about to paste.
  if (w.text == w.before || w.text.find_first_not_of(" \t\r\n") == w.text.npos) return {};
  written_ = w.text;
  return w;
}

double SourceEdit::pause(const Frame& f) const {
  const OpenedFile* own = f.bench.files().of(path_);
  return keys_follow_ && own && own->waited > takes_a_while ? long_pause_seconds : pause_seconds;
}

void SourceEdit::keep(Frame& f) {
  underway_ = false;
  if (left_) f.out.push_back(*std::exchange(left_, {}));
  if (!typed_) return;
  if (has_keys() && ImGui::IsKeyChordPressed(ImGuiMod_Ctrl | ImGuiKey_S)) typed_at_ = -long_pause_seconds;
  if (const double left = typed_at_ + pause(f) - ImGui::GetTime(); left > 0) return f.again_in(left);
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
  const OpenedFile* own = f.bench.files().of(f.document.kernel);
  const std::string path = file_of_kernel(f.document.kernel), why = not_typed_in(own, path, shown_file);
  if (!why.empty() && !edit.is_on()) {
    if (button_beside("Edit a copy…")) f.act("edit-copy");
    return tooltip(t, why + ": a copy of it, in a file of yours, becomes the kernel, and is judged anew as you type");
  }
  beside_if_fits(t.em * 4);
  bool on = edit.is_on();
  if (checkbox("Edit", &on)) {
    if (on)
      edit.wanted = path;
    else
      edit.end();
  }
  tooltip(t,
          "Type here: what is typed goes into the file after a short pause, and is compiled, run and judged. Ctrl+Z "
          "takes it back. Another editor's changes are followed as well.");
}

bool is_sign(int chord) {
  if (chord & (ImGuiMod_Ctrl | ImGuiMod_Alt | ImGuiMod_Super)) return false;
  const int key = chord & ~ImGuiMod_Mask_;
  return key == ImGuiKey_Space || (key >= ImGuiKey_0 && key <= ImGuiKey_Z) ||
         (key >= ImGuiKey_Apostrophe && key <= ImGuiKey_GraveAccent) ||
         (key >= ImGuiKey_Keypad0 && key <= ImGuiKey_KeypadEqual && key != ImGuiKey_KeypadEnter);
}

void keys_of_reader(Frame& f, const std::string& shown_file, const char* id) {
  SourceEdit& edit = source_edit();
  const std::string path = file_of_kernel(f.document.kernel);
  const ImGuiWindow* focused = ImGui::GetCurrentContext()->NavWindow;
  const bool here = !edit.is_on() && focused && focused->ChildId == ImGui::GetCurrentWindow()->GetID(id) &&
                    not_typed_in(f.bench.files().of(f.document.kernel), path, shown_file).empty();
  edit.read(here);
  if (!here) return;
  if (ImGui::IsKeyChordPressed(ImGuiKey_Enter) || ImGui::IsKeyChordPressed(ImGuiKey_KeypadEnter)) {
    edit.wanted = path;
    return f.again_in(0);
  }
  const ImGuiIO& io = ImGui::GetIO();
  if (io.KeyCtrl || io.KeyAlt || io.KeySuper) return;
  for (int key = ImGuiKey_NamedKey_BEGIN; key < ImGuiKey_NamedKey_END; key++)
    if (is_sign(key) && ImGui::IsKeyPressed(static_cast<ImGuiKey>(key), false) && edit.tells_how())
      return f.toast("Typing is off: tick Edit above the text, or press Enter in it");
}

bool is_being_compiled(const Frame& f) {
  const OpenedFile* file = f.bench.files().of(f.document.kernel);
  if (!file || file->gone) return false;
  const SourceEdit& edit = source_edit();
  return file->compiling ||
         (edit.is_on() && edit.waits() && edit.trouble().empty() && edit.path() == file_of_kernel(f.document.kernel));
}

bool edit_state(Frame& f) {
  const Theme& t = f.theme;
  const SourceEdit& edit = source_edit();
  const OpenedFile* own = f.bench.files().of(f.document.kernel);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  std::string words = "compiled";
  ImVec4 colour = t.dim;
  bool clicked = false;
  if (!edit.trouble().empty()) {
    words = "not written: " + edit.trouble(), colour = t.wrong;
  } else if (!own || edit.waits() || own->compiling) {
    words = "compiling…";
  } else if (!own->trouble.empty() && own->errors.empty()) {
    words = own->gone ? own->trouble : "does not compile: " + own->trouble, colour = t.wrong;
  } else if (!own->trouble.empty()) {
    const size_t count = own->errors.size();
    const ErrorLine& first = own->errors.front();
    words =
        fmt::format("does not compile, {} error{}: line {}: {}", count, count == 1 ? "" : "s", first.line, first.text);
    colour = t.wrong;
    const float wide = std::min(ImGui::CalcTextSize(words.c_str()).x, ImGui::GetContentRegionAvail().x);
    clicked = ImGui::InvisibleButton("##first error", {std::max(wide, t.em), ImGui::GetFrameHeight()});
    if (ImGui::IsItemHovered()) {
      ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
      const float y = at.y + ImGui::GetFrameHeight() - ImGui::GetStyle().FramePadding.y;
      ImGui::GetWindowDrawList()->AddLine({at.x, y}, {at.x + wide, y}, packed(colour));
    }
    tooltip(t, own->trouble + "\nClick: to this line. F4: to the next one. What the compiler said stands in the log.");
    ImGui::SetCursorScreenPos(at);
  } else if (own->seconds > 0) {
    words = fmt::format("compiled in {:.1f} s", own->seconds);
  }
  ImGui::AlignTextToFramePadding();
  ImGui::TextColored(colour, "%s", words.c_str());
  if (!edit.trouble().empty()) tooltip(t, edit.trouble() + "\nIt is tried again after the next key, and in a while.");
  return clicked;
}

bool not_trusted(Frame& f) {
  const std::string path = file_of_kernel(f.document.kernel), name = file_name(path);
  if (!names_file(path) || f.bench.files().of(path)) return false;
  if (access(path.c_str(), R_OK) != 0) {
    empty_state(f.theme, (name + " is not there").c_str(), (path + ": File, Open takes one from elsewhere.").c_str());
  } else if (empty_state(f.theme, (name + " has not been trusted yet").c_str(),
                         "It is compiled and runs with your rights once you say so. Its text is shown first.",
                         "Compile and run it…")) {
    f.out.push_back(OpenFile{path});
  }
  return true;
}

}  // namespace convscope::ui
