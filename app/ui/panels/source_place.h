// A line of a kernel's file or of a header it includes: shown by the panel Source.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "app/ui/panel.h"

namespace convscope::ui {

struct SourcePlace {
  std::string file;  // its name without folders decides
  int line = 0;      // from 1; 0: none
  int column = 0;    // from 1; 0: the line's beginning
};

// The places that a sentence names: of "a race in block 0: thread 0 writes at up.cu:14, …" up.cu, 14. Each once.
std::vector<SourcePlace> places_in(std::string_view words);

// Brings the panel Source to the front, with this line in view.
void show_in_source(const Frame& f, const std::string& file, int line);
// The same, where the panel is.
void go_in_source(const std::string& file, int line);
// Once it is shown, the panel goes to the next line behind the caret that does not compile, or to the first.
void ask_next_error();

}  // namespace convscope::ui
