// Lines of a file that a compiler names.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace convscope {

struct ErrorLine {
  int line = 0;  // from 1
  std::string text;
  int column = 0;  // from 1, in bytes; 0: the compiler names none
  bool operator==(const ErrorLine&) const = default;
};

// The line of this file that a text names ("mine.cu:12:9: error: …" of g++, "mine.cu(12): error: …" of nvcc); 0: none.
// `column`: the 9, or 0. The file's name without folders decides.
int line_named(std::string_view text, std::string_view file, int* column = nullptr);

// The errors of a compiler's log that lie in this file, each once and in the log's order. `first`: the sentence that is
// said of all of it ("mine.cu:12: …"), whose words stand for its line's, and which alone counts where the log knows no
// line.
std::vector<ErrorLine> error_lines(const std::string& log, const std::string& file, const std::string& first);

}  // namespace convscope
