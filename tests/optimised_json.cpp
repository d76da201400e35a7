// Tests are compiled unoptimised, and of a template that a test and the program both use the linker takes the first:
// with a test's, an answer of megabytes is parsed twenty times slower. This file comes first, and is optimised.
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace convscope::test {

using nlohmann::json;

std::string parsed_and_written(const std::string& text) {
  std::string_view view = text;
  json all = {json::parse(text, nullptr, false), json::parse(view, nullptr, false),
              json::parse(text.data(), text.data() + text.size(), nullptr, false)};
  return all.dump();
}

}  // namespace convscope::test
