// A text without the blanks at its ends.
#pragma once
#include <string>
#include <string_view>

namespace convscope {

inline std::string trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\n\v\f\r";
  const size_t begin = text.find_first_not_of(blanks), end = text.find_last_not_of(blanks);
  return begin == text.npos ? std::string() : std::string(text.substr(begin, end + 1 - begin));
}

}  // namespace convscope
