// Two texts that PyTorch gives to two compilers, cpp_sources and cuda_sources, or those of two extensions, are one text
// here. What each of them defines for itself may be there in both.
#pragma once
#include <string>

namespace convscope {

// The text without what stands in `before` as well, to the letter but for blanks: functions that are static, inline,
// constexpr or templates, types and constants at the outer level. Line breaks stay.
std::string without_doubles(const std::string& text, const std::string& before);

}  // namespace convscope
