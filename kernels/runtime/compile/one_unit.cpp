#include "kernels/runtime/compile/one_unit.h"

#include <regex>
#include <set>
#include <string_view>
#include <vector>

#include "kernels/runtime/compile/host_functions.h"

namespace convscope {
namespace {

struct Definition {
  size_t from, to;
  std::string text;  // with one blank for several
};

// What a translation unit may have of its own (C++: "One-definition rule").
bool may_be_in_both(const std::string& code) {
  static const std::regex type(
      R"(^(?:struct|class|enum|union|using|typedef|const\b[^({]*=|template\s*<\s*\w|namespace\s*\{))"),
      own(R"(\b(?:static|inline|constexpr|__forceinline__)\b)");
  if (std::regex_search(code, type)) return true;
  const std::string head = code.substr(0, code.find_first_of("({=;"));
  return std::regex_search(head, own);
}

std::vector<Definition> definitions_in(const std::string& text) {
  const std::string code = code_of(text);
  std::vector<Definition> all;
  static const std::regex goes_on(R"(^(?:struct|class|enum|union|typedef)\b)");
  size_t from = code.find_first_not_of(" \t\n\r");
  int depth = 0;
  for (size_t at = from; at < code.size() && from != code.npos; at++) {
    depth += (code[at] == '{' || code[at] == '(') - (code[at] == '}' || code[at] == ')');
    if (depth < 0) return all;
    const bool body = code[at] == '}' && depth == 0;
    if (!(code[at] == ';' && depth == 0) && !body) continue;
    const std::string own = code.substr(from, at + 1 - from);
    const size_t next = code.find_first_not_of(" \t\n\r", at + 1);
    if (body && (std::regex_search(own.substr(0, 10), goes_on) || (next != code.npos && code[next] == ';'))) continue;
    if (may_be_in_both(with_short_blanks(own)))
      all.push_back({from, at + 1, with_short_blanks(text.substr(from, at + 1 - from))});
    from = next;
    if (from == code.npos) break;
    at = from - 1;
  }
  return all;
}

}  // namespace

std::string without_doubles(const std::string& text, const std::string& before) {
  std::set<std::string> known;
  for (Definition& d : definitions_in(before)) known.insert(std::move(d.text));
  std::string out = text;
  if (known.empty()) return out;
  for (const Definition& d : definitions_in(text)) {
    if (!known.erase(d.text)) continue;  // what stands in one of them twice is wrong there
    for (size_t i = d.from; i < d.to; i++)
      if (out[i] != '\n') out[i] = ' ';
  }
  return out;
}

}  // namespace convscope
