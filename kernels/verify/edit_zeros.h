// Where a tensor is taken as memory is, and may have to be taken as zeros: torch::empty, new_empty, empty_like.
#pragma once
#include <string>
#include <vector>

namespace convscope {

// The text of a .cu or .py file with one such call made another, for each of them.
std::vector<std::string> texts_with_zeros(const std::string& text);

}  // namespace convscope
