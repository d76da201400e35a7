// Writing in the panel Source: what is typed goes into the kernel's file a moment after the last key, where everything
// that follows a changed file begins: compiling, running, judging.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/model/kernel_file.h"
#include "app/model/undo_bursts.h"
#include "app/ui/panel.h"

class TextEditor;

namespace convscope::ui {

class SourceEdit {
 public:
  bool is_on() const { return editor_ != nullptr; }
  const std::string& path() const { return path_; }
  bool waits() const { return typed_; }                    // for the keys to pause
  const std::string& trouble() const { return trouble_; }  // why what waits could not be written

  // From now on the editor has this file's text and may be typed in, until end(). Returns "", or why not: a text that
  // the editor would not give back as it is (bytes that are no UTF-8, characters beyond U+FFFF, mixed ends of lines).
  std::string begin(TextEditor& editor, const std::string& path, const OpenedFile& file);
  void end();
  // The file has another text that was not typed here: the editor gets it. False: it cannot, and typing has ended.
  bool follow(const OpenedFile& file);
  // The editor has been drawn: whether it has the keyboard. has_keys() is true in the frame after, when the window's
  // own shortcuts are looked for.
  void drawn(bool focused);
  bool has_keys() const;
  // The text is only shown, could be typed in, and has the keyboard: what is typed there is no command of the window.
  // As has_keys(): in the frame after.
  void read(bool focused);
  bool is_read() const;
  bool tells_how() { return !std::exchange(told_how_, true); }  // once while it has the keyboard
  // At the end of the panel, since the editor knows its lines again when it is drawn: undo and redo, of which it does a
  // single key, go on to where the word or the burst of keys begins or ends.
  void finish(Frame& f);
  // Whether something was typed since this was asked: what is drawn beside the old lines is then no longer true.
  bool take_typed();
  uint64_t texts() const { return texts_; }  // another number for another text
  std::string text() const;                  // as the file would have it

  // Every frame, whether the panel is drawn or not: writes what waits.
  void keep(Frame& f);
  // What waits, at once: the window closes.
  std::optional<WriteFile> last_words();
  // It could not be written. True: it is tried again, after the next key or in a while; false: nobody types in this
  // file any more, and the text is the caller's to keep.
  bool not_written(const WriteFile& w, const std::string& why);

  // A file that is to be typed in as soon as it is there and its panel is drawn.
  std::string wanted;
  // What is to be typed then: the whole text, in the place of one that the file has to have still.
  std::pair<std::string, std::string> put;
  void type_what_is_put(Frame& f);

 private:
  bool take(const std::string& text);
  void changed(std::vector<TextChange> changes);
  double pause(const Frame& f) const;
  std::optional<WriteFile> taken();  // what is to be written; none: nothing, or nothing but blanks

  TextEditor* editor_ = nullptr;
  std::string path_, trouble_;
  std::string written_;         // the file's text, as far as is known here
  bool windows_lines_ = false;  // \r\n
  bool typed_ = false, unseen_ = false, underway_ = false;
  bool keys_follow_ = false;  // the last key came soon after the one before it
  double typed_at_ = 0;
  uint64_t texts_ = 0;
  UndoBursts bursts_;
  size_t steps_ = 0;  // that could be undone when the text changed last
  enum class Way { none, undo, redo } way_ = Way::none;
  int focus_in_ = 0;               // frames: who clicked elsewhere goes on in the text
  int keys_at_ = -2;               // the frame in which it had the keyboard
  int read_at_ = -2;               // the same while it is only shown
  bool told_how_ = false;          // how one begins to type
  std::optional<WriteFile> left_;  // by end()
};

SourceEdit& source_edit();  // the window's

// In the row above the text: whether the file that is shown is typed in; of one that is not the person's own, a button
// for a copy that is.
void edit_choice(Frame& f, const std::string& shown_file);
// Behind the editor's child window `id`, while nobody types in it: who has put the keyboard there and types learns how
// one begins, and Enter does.
void keys_of_reader(Frame& f, const std::string& shown_file, const char* id);
// Whether this key, without Ctrl and Alt, is a sign that somebody types.
bool is_sign(int chord);
// The kernel's file has a newer text than what was compiled last: it waits for the keys to pause, or is compiled.
bool is_being_compiled(const Frame& f);
// The row below the text, of one height, while it is typed in: what became of what was typed. True: a person wants to
// see the first line that does not compile.
bool edit_state(Frame& f);

// In the text's place, of a kernel's file that nobody has said may run: a session's, or one that was refused. False: it
// is none.
bool not_trusted(Frame& f);

}  // namespace convscope::ui
