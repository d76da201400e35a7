#include "kernels/runtime/compile/deduced.h"

#include <algorithm>
#include <vector>

#include "kernels/runtime/compile/global_functions.h"
#include "kernels/runtime/compile/host_functions.h"
#include "kernels/runtime/compile/launch_lines.h"

namespace convscope {
namespace {

// The names by which a template's parameters are its arguments: T, K, Rest...; none where one has no name.
std::vector<std::string> arguments_of(const std::string& head) {
  std::vector<std::string> all;
  for (const std::string& part : template_parameters(head)) {
    const NameAt name = name_before(part, part.find('='));
    const std::string kind = part.substr(0, name.begin);
    const size_t end = kind.find_last_not_of(" \t\n");
    if (end == kind.npos || name.text.empty()) return {};  // typename alone
    all.push_back(name.text + (kind.substr(0, end + 1).ends_with("...") ? "..." : ""));
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

// The end of its body or declaration.
size_t end_of(const std::string& code, const GlobalFunction& f) {
  return f.defines ? closing(code, f.head_end, '{', '}') : f.head_end;
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
    if (arguments.empty() || end >= code.size()) continue;
    std::string list;
    for (const auto& a : arguments) list += (list.empty() ? "" : ", ") + a;
    const bool limited = bounded.contains(f->name) && f->defines;  // its constant stands before the definition
    const std::string kernel = "&" + f->name + "<" + list + ">";
    const std::string type = limited ? "Bounded<" + kernel + ", convscope_bounds_" + f->name + "<" + list + ">>"
                                     : "Launching<" + kernel + ">";
    out.text.insert(end + 1, on_one_line(" " + f->head + " ::convscope::host::" + type + " convscope_deduced_" +
                                         f->name + "(" + f->parameters + ");"));
    out.takes[f->name] = arguments.size();
  }
  return out;
}

std::string deduced_launch(const std::string& callee, const std::string& arguments, const DeducedText& all) {
  const size_t open = std::min(callee.find('<'), callee.size());
  const NameAt name = name_before(callee, open);
  const auto known = all.takes.find(name.text);
  if (known == all.takes.end()) return "";
  const size_t close = callee.rfind('>');
  if (open < callee.size() && close > open &&
      list_parts(callee.substr(open + 1, close - open - 1)).size() >= known->second)
    return "";
  return on_one_line("decltype(" + callee.substr(0, name.begin) + "convscope_deduced_" + callee.substr(name.begin) +
                     arguments + ")");
}

}  // namespace convscope
