// The row above the text in which words are searched for, and in a text that is typed in replaced.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "app/model/text_search.h"
#include "app/ui/panel.h"

class TextEditor;

namespace convscope::ui {

class SourceFind {
 public:
  bool is_open() const { return open_; }
  // Looks for its keys, where the panel or something in it has the keyboard: Ctrl+F, F3 and Shift+F3.
  void keys(TextEditor& editor, bool focused);
  // The row. version: another number for another text; may_replace: the text is typed in.
  void draw(Frame& f, TextEditor& editor, uint64_t version, bool may_replace);

 private:
  void open(TextEditor& editor);
  void close(TextEditor& editor);
  void search(const TextEditor& editor);
  // From the selection on, or from the caret where nothing is selected.
  void go(TextEditor& editor, bool forward);
  void select(TextEditor& editor, size_t match);
  void replace(TextEditor& editor);
  void replace_all(Frame& f, TextEditor& editor);
  void highlight(const Theme& t, TextEditor& editor);
  std::string count(const TextEditor& editor) const;

  bool open_ = false, wants_keys_ = false, stale_ = true, shown_ = false;
  unsigned had_keys_ = 0;  // which of its fields had the keyboard in the last frame
  TextQuery query_;
  std::string with_;
  TextPlace origin_;  // where the search began, which goes on there as one types
  uint64_t version_ = 0;
  std::vector<TextMatch> matches_;
};

}  // namespace convscope::ui
