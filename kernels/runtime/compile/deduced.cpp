#include "kernels/runtime/compile/deduced.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "kernels/runtime/compile/global_functions.h"
#include "kernels/runtime/compile/host_functions.h"
#include "kernels/runtime/compile/launch_lines.h"

namespace convscope {
namespace {

// The names by which a template's parameters are its arguments: T, K, Rest...; none where one has no name.
std::vector<std::string> arguments_of(const std::string& head) {
  const size_t open = head.find('<');
  std::vector<std::string> all;
  for (std::string part : list_parts(head.substr(open + 1, head.rfind('>') - open - 1))) {
    part = part.substr(0, part.find('='));
    while (!part.empty() && std::isspace(static_cast<unsigned char>(part.back()))) part.pop_back();
    size_t begin = part.size();
    while (begin > 0 && (std::isalnum(static_cast<unsigned char>(part[begin - 1])) || part[begin - 1] == '_')) begin--;
    const std::string name = part.substr(begin);
    while (begin > 0 && std::isspace(static_cast<unsigned char>(part[begin - 1]))) begin--;
    if (begin == 0 || name.empty()) return {};  // typename alone
    all.push_back(name + (part.substr(0, begin).ends_with("...") ? "..." : ""));
  }
  return all;
}

std::string on_one_line(std::string text) {
  for (size_t i = 0; i < text.size(); i++)
    if (text[i] == '\n') {
      text[i] = ' ';
      if (i && text[i - 1] == '\\') text[i - 1] = ' ';
    }
  return text;
}

// Behind the body or the declaration.
size_t end_of(const std::string& code, const GlobalFunction& f) {
  if (!f.defines) return f.head_end + 1;
  int depth = 0;
  for (size_t i = f.head_end; i < code.size(); i++) {
    depth += code[i] == '{';
    if (code[i] == '}' && --depth == 0) return i + 1;
  }
  return code.npos;
}

}  // namespace

DeducedText with_deducers(const std::string& text, const std::set<std::string>& bounded) {
  DeducedText out{text, {}};
  const std::string code = code_of(text);
  const auto all = global_functions(code);
  std::map<std::string, int> times;
  for (const auto& f : all) times[f.name] += f.defines;
  // Behind the first declaration of each: from there on it may be launched.
  std::map<std::string, const GlobalFunction*> first;
  for (const auto& f : all) first.emplace(f.name, &f);
  for (auto f = all.rbegin(); f != all.rend(); ++f) {
    if (f->head.empty() || times[f->name] != 1 || first[f->name] != &*f) continue;
    const auto arguments = arguments_of(f->head);
    const size_t end = end_of(code, *f);
    if (arguments.empty() || end > code.size()) continue;
    std::string list;
    for (const auto& a : arguments) list += (list.empty() ? "" : ", ") + a;
    const bool limited = bounded.contains(f->name) && f->defines;  // its constant stands before the definition
    const std::string kernel = "&" + f->name + "<" + list + ">";
    const std::string type = limited ? "Bounded<" + kernel + ", convscope_bounds_" + f->name + "<" + list + ">>"
                                     : "Launching<" + kernel + ">";
    out.text.insert(end, on_one_line(" " + f->head + " ::convscope::host::" + type + " convscope_deduced_" + f->name +
                                     "(" + f->parameters + ");"));
    out.takes[f->name] = arguments.size();
  }
  return out;
}

std::string deduced_launch(const std::string& callee, const std::string& arguments, const DeducedText& all) {
  const size_t open = std::min(callee.find('<'), callee.size());
  size_t end = open;
  while (end > 0 && std::isspace(static_cast<unsigned char>(callee[end - 1]))) end--;
  size_t begin = end;
  while (begin > 0 && (std::isalnum(static_cast<unsigned char>(callee[begin - 1])) || callee[begin - 1] == '_'))
    begin--;
  const std::string name = callee.substr(begin, end - begin);
  const auto known = all.takes.find(name);
  if (known == all.takes.end()) return "";
  const size_t close = callee.rfind('>');
  if (open < callee.size() && close > open &&
      list_parts(callee.substr(open + 1, close - open - 1)).size() >= known->second)
    return "";
  return on_one_line("decltype(" + callee.substr(0, begin) + "convscope_deduced_" + callee.substr(begin) + arguments +
                     ")");
}

}  // namespace convscope
