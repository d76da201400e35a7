// Lines of a kernel's text that are marked: those that wrote and read the selected element, and those that its verdict
// names.
#pragma once
#include <TextEditor.h>
#include <map>
#include <string>
#include <vector>

#include "app/model/error_lines.h"
#include "app/model/workbench.h"
#include "app/ui/theme.h"

namespace convscope::ui {

struct Marks {
  std::map<int, char> letters;  // by line, from 0: W writes the element, R reads for it, ! also what does not belong; E
                                // does not compile
  int writes = -1;              // the line that wrote it first
};

// Marks them in the editor, in the place of those that were. traced: null where nothing is known of an element.
// differs: what the kernel takes for it is not what the definition takes. told: the sentence of a verdict that is not
// "right"; "": none.
Marks mark_lines(TextEditor& editor, const std::string& file, const Theme& theme, const Traced* traced, bool differs,
                 const std::string& told);
// The lines that do not compile, over what is marked there already.
void mark_errors(TextEditor& editor, Marks& marks, const Theme& theme, const std::vector<ErrorLine>& errors);

}  // namespace convscope::ui
