#include "kernels/runtime/compile/global_functions.h"

#include <algorithm>
#include <cctype>
#include <regex>
#include <string_view>
#include <utility>

#include "kernels/runtime/compile/host_functions.h"
#include "kernels/runtime/compile/launch_lines.h"

namespace convscope {
namespace {

// The first of a list of expressions; "" where it cannot be told, since < may begin a template's arguments.
std::string first_expression(const std::string& list) {
  int depth = 0;
  std::string first;
  for (const char c : list) {
    if (c == '(' || c == '[' || c == '{') depth++;
    if (c == ')' || c == ']' || c == '}') depth--;
    if (c == ',' && depth == 0) break;
    first += c;
  }
  int opened = 0;
  for (size_t i = 0; i < first.size(); i++) {
    const bool twice = i + 1 < first.size() && (first[i + 1] == first[i] || first[i + 1] == '=');
    if ((first[i] == '<' || first[i] == '>') && twice) {
      i++;
      continue;
    }
    opened += first[i] == '<';
    opened -= first[i] == '>' && opened > 0;
  }
  return opened ? "" : first;
}

// Errors: none; a name of "" where it is not understood.
GlobalFunction function_at(const std::string& code, size_t global) {
  GlobalFunction d;
  d.begin = code.find_last_of(";{}", global);
  d.begin = d.begin == code.npos ? 0 : d.begin + 1;
  while (d.begin < global && std::isspace(static_cast<unsigned char>(code[d.begin]))) d.begin++;
  std::string text = code.substr(d.begin, code.find_first_of(";{", global) - d.begin);
  d.head_end = d.begin + text.size();
  d.defines = d.begin + text.size() < code.size() && code[d.begin + text.size()] == '{';
  if (text.starts_with("template")) {
    int depth = 0, brackets = 0;
    size_t end = text.find('<');
    for (; end < text.size(); end++) {
      brackets += text[end] == '(';
      brackets -= text[end] == ')';
      if (brackets) continue;  // < and > compare there
      if (text[end] == '<') depth++;
      if (text[end] == '>' && --depth == 0) break;
    }
    if (end >= text.size()) return d;
    d.head = text.substr(0, end + 1);
    text.erase(0, end + 1);
  }
  if (const size_t at = text.find("__launch_bounds__"); at != text.npos) {
    const size_t open = text.find('(', at), close = closing(text, open, '(', ')');
    if (close == text.npos) return d;
    d.threads = first_expression(text.substr(open + 1, close - open - 1));
    text.erase(at, close + 1 - at);
  }
  const size_t open = text.find('(');
  if (open == text.npos || text.find('#') != text.npos) return d;
  const size_t close = closing(text, open, '(', ')');
  if (close == text.npos) return d;
  d.parameters = text.substr(open + 1, close - open - 1);
  d.name = name_before(text, open).text;
  return d;
}

}  // namespace

NameAt name_before(const std::string& code, size_t at) {
  size_t end = std::min(at, code.size());
  while (end > 0 && std::isspace(static_cast<unsigned char>(code[end - 1]))) end--;
  size_t begin = end;
  while (begin > 0 && is_word(code[begin - 1])) begin--;
  return {begin, end, code.substr(begin, end - begin)};
}

std::vector<std::string> template_parameters(const std::string& head) {
  const size_t open = head.find('<');
  return list_parts(head.substr(open + 1, head.rfind('>') - open - 1));
}

std::vector<GlobalFunction> global_functions(const std::string& code) {
  std::vector<GlobalFunction> all;
  constexpr std::string_view word = "__global__";
  for (size_t at = 0; (at = code.find(word, at)) != code.npos; at += word.size())
    if (GlobalFunction d = function_at(code, at); !d.name.empty()) all.push_back(std::move(d));
  return all;
}

std::string namespaces_at(const std::string& code, size_t place) {
  std::vector<std::string> open;  // of each brace that is
  static const std::regex named(R"(\bnamespace\s+([\w:]+)\s*$)");
  size_t behind = 0;  // what ended before it
  for (size_t i = 0; i < std::min(place, code.size()); i++) {
    if (code[i] == '{') {
      const std::string before = code.substr(behind, i - behind);
      std::smatch m;
      open.push_back(std::regex_search(before, m, named) ? m[1].str() + "::" : "");
    } else if (code[i] == '}' && !open.empty()) {
      open.pop_back();
    }
    if (code[i] == '{' || code[i] == '}' || code[i] == ';') behind = i + 1;
  }
  std::string all;
  for (const std::string& each : open) all += each;
  return all;
}

}  // namespace convscope
