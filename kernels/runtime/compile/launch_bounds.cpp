#include "kernels/runtime/compile/launch_bounds.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <regex>
#include <vector>

#include "kernels/runtime/compile/host_functions.h"
#include "kernels/runtime/compile/launch_lines.h"

namespace convscope {
namespace {

const std::string prefix = "convscope_bounds_";

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Behind the bracket that ends what begins at `open`.
size_t behind_bracket(const std::string& code, size_t open) {
  int depth = 0;
  for (size_t i = open; i < code.size(); i++) {
    if (code[i] == '(') depth++;
    if (code[i] == ')' && --depth == 0) return i + 1;
  }
  return code.npos;
}

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

bool has_word(const std::string& code, const std::string& word, size_t end) {
  for (size_t at = 0; (at = code.find(word, at)) < end; at += word.size())
    if ((at == 0 || !is_word(code[at - 1])) && (at + word.size() >= code.size() || !is_word(code[at + word.size()])))
      return true;
  return false;
}

// What is declared where a __global__ stands: from behind what ends the declaration before it.
struct Declaration {
  size_t begin;
  std::string name, head, threads;  // head: template <…>, or ""; threads: the first argument of its bounds, or ""
  bool defines = false;
};

// Errors: none; a name of "" where it is not understood.
Declaration declaration_at(const std::string& code, size_t global) {
  Declaration d{code.find_last_of(";{}", global), "", "", "", false};
  d.begin = d.begin == code.npos ? 0 : d.begin + 1;
  while (d.begin < global && std::isspace(static_cast<unsigned char>(code[d.begin]))) d.begin++;
  std::string text = code.substr(d.begin, code.find_first_of(";{", global) - d.begin);
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
    const size_t open = text.find('(', at), end = open == text.npos ? open : behind_bracket(text, open);
    if (end == text.npos) return d;
    d.threads = first_expression(text.substr(open + 1, end - open - 2));
    text.erase(at, end - at);
  }
  const size_t open = text.find('(');
  if (open == text.npos || text.find('#') != text.npos) return d;
  size_t end = open;
  while (end > 0 && std::isspace(static_cast<unsigned char>(text[end - 1]))) end--;
  size_t begin = end;
  while (begin > 0 && is_word(text[begin - 1])) begin--;
  d.name = text.substr(begin, end - begin);
  return d;
}

}  // namespace

BoundedText with_launch_bounds(const std::string& text) {
  BoundedText out{text, {}};
  const std::string code = code_of(text);
  if (code.find("__launch_bounds__") == code.npos) return out;
  std::vector<Declaration> all;
  std::map<std::string, int> times;
  constexpr std::string_view word = "__global__";
  for (size_t at = 0; (at = code.find(word, at)) != code.npos; at += word.size()) {
    Declaration d = declaration_at(code, at);
    if (!d.defines || d.name.empty()) continue;
    times[d.name]++;
    if (!d.threads.empty()) all.push_back(std::move(d));
  }
  for (auto d = all.rbegin(); d != all.rend(); ++d) {
    if (times[d->name] != 1 || d->head == "template <>" || d->head == "template<>") continue;
    // Its constant stands before the definition, in its namespace: what launches it there and then knows no other.
    if (has_word(code, d->name, d->begin) ||
        std::regex_search(code, std::regex("using\\s[\\w:\\s]*::\\s*" + d->name + "\\s*;")))
      continue;
    std::string constant =
        d->head + (d->head.empty() ? "" : " ") + "constexpr int " + prefix + d->name + " = (" + d->threads + "); ";
    std::replace(constant.begin(), constant.end(), '\n', ' ');
    out.text.insert(d->begin, constant);
    out.names.insert(d->name);
  }
  return out;
}

std::string bounds_of(const std::string& callee, const std::set<std::string>& names) {
  const size_t end = std::min(callee.find('<'), callee.size());
  size_t last = end;
  while (last > 0 && std::isspace(static_cast<unsigned char>(callee[last - 1]))) last--;
  size_t begin = last;
  while (begin > 0 && is_word(callee[begin - 1])) begin--;
  const std::string name = callee.substr(begin, last - begin);
  return names.contains(name) ? callee.substr(0, begin) + prefix + name + callee.substr(last) : "";
}

}  // namespace convscope
