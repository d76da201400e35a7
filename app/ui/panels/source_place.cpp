#include "app/ui/panels/source_place.h"

#include <algorithm>
#include <cctype>

namespace convscope::ui {

std::vector<SourcePlace> places_in(std::string_view words) {
  constexpr std::string_view endings[] = {".cu", ".cuh", ".h", ".hpp", ".py"};
  auto of_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.'; };
  std::vector<SourcePlace> all;
  for (size_t colon = words.find(':'); colon != words.npos; colon = words.find(':', colon + 1)) {
    size_t begin = colon, end = colon + 1;
    while (begin > 0 && of_name(words[begin - 1])) begin--;
    int line = 0;
    for (; end < words.size() && end < colon + 8 && std::isdigit(static_cast<unsigned char>(words[end])); end++)
      line = line * 10 + (words[end] - '0');
    const std::string_view name = words.substr(begin, colon - begin);
    if (!line || std::none_of(std::begin(endings), std::end(endings),
                              [&](std::string_view e) { return name.size() > e.size() && name.ends_with(e); }))
      continue;
    if (std::none_of(all.begin(), all.end(), [&](const auto& p) { return p.file == name && p.line == line; }))
      all.push_back({std::string(name), line});
  }
  return all;
}

}  // namespace convscope::ui
