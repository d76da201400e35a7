// What a compiler must know beforehand, with another value: layouts of matrices, sizes that arrays and templates are
// made of, bounds of launches, and lines that say how a bare kernel is launched. Each is compiled to be tried.
#pragma once
#include <string>
#include <vector>

namespace convscope {

// The text of a .cu or .py file with one of them changed, for each; what is mostly meant comes first.
std::vector<std::string> texts_with_other_constants(const std::string& text);

}  // namespace convscope
