#include "kernels/verify/edit_zeros.h"

#include <string_view>
#include <utility>

#include "kernels/runtime/compile/host_functions.h"

namespace convscope {

std::vector<std::string> texts_with_zeros(const std::string& text) {
  constexpr std::pair<std::string_view, std::string_view> calls[] = {
      {"new_empty", "new_zeros"}, {"empty_like", "zeros_like"}, {"empty", "zeros"}};
  std::vector<std::string> all;
  for (size_t at = 0; at < text.size(); at++) {
    if (at == 0 || is_word(text[at - 1]) || (text[at - 1] != '.' && text[at - 1] != ':')) continue;
    for (const auto& [empty, zeros] : calls)
      if (text.compare(at, empty.size(), empty) == 0 && text.compare(at + empty.size(), 1, "(") == 0)
        all.push_back(std::string(text).replace(at, empty.size(), zeros));
  }
  return all;
}

}  // namespace convscope
