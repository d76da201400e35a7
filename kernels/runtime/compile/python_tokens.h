// Pieces of a Python text.
#pragma once
#include <cstddef>
#include <string_view>
#include <vector>

namespace convscope {

// A literal (its body), a name, a number, a sign of one character, or a line's end outside of brackets.
struct PythonToken {
  enum Kind { literal, name, number, sign, line_end } kind;
  size_t from, to;  // of a literal its body
  bool raw = false, formatted = false, three = false;
};

// Python Language Reference, "Lexical analysis", as far as it matters here.
std::vector<PythonToken> python_tokens(std::string_view text);

}  // namespace convscope
