// Small edits of a Python file's own statements: what its module hands to the host code, and does with what comes back.
// Each is tried by following the module with another text, which compiles nothing.
#pragma once
#include <string>
#include <vector>

namespace convscope {

// text in the place of what stands from begin to end. cost: as TextEdit has it.
struct PythonEdit {
  size_t begin, end;
  std::string text;
  int cost;
};

// Of statements in functions, not of strings (the CUDA source among them) and not of what makes inputs; likely ones
// first.
std::vector<PythonEdit> python_edits(const std::string& text);
std::string with_edit(const std::string& text, const PythonEdit& edit);

// While it lives, modules of the file with this text are followed as if it had the other one, on this thread.
class PythonTextInstead {
 public:
  PythonTextInstead(const std::string& text, const std::string& other);
  ~PythonTextInstead();
  PythonTextInstead(const PythonTextInstead&) = delete;
};
// The text that a module with this one is followed by.
const char* followed_text(const char* text);

}  // namespace convscope
