#include "kernels/runtime/compile/launch_bounds.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <regex>
#include <vector>

#include "kernels/runtime/compile/global_functions.h"
#include "kernels/runtime/compile/host_functions.h"
#include "kernels/runtime/compile/launch_lines.h"

namespace convscope {
namespace {

const std::string prefix = "convscope_bounds_";

bool has_word(const std::string& code, const std::string& word, size_t end) {
  for (size_t at = 0; (at = code.find(word, at)) < end; at += word.size())
    if ((at == 0 || !is_word(code[at - 1])) && (at + word.size() >= code.size() || !is_word(code[at + word.size()])))
      return true;
  return false;
}

// A kernel's template may have defaults before parameters without, which are deduced; a constant's may not.
std::string head_of_constant(const std::string& head) {
  if (head.empty()) return "";
  std::string list;
  bool needed = false;
  const auto parts = template_parameters(head);
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    const size_t equals = part->find('=');
    needed |= equals == part->npos && part->find("...") == part->npos;
    list.insert(0, (needed ? part->substr(0, equals) : *part) + (list.empty() ? "" : ","));
  }
  return "template <" + list + ">";
}

}  // namespace

BoundedText with_launch_bounds(const std::string& text) {
  BoundedText out{text, {}};
  const std::string code = code_of(text);
  if (code.find("__launch_bounds__") == code.npos) return out;
  std::vector<GlobalFunction> all;
  std::map<std::string, int> times;
  for (GlobalFunction& d : global_functions(code)) {
    if (!d.defines) continue;
    times[d.name]++;
    if (!d.threads.empty()) all.push_back(std::move(d));
  }
  for (auto d = all.rbegin(); d != all.rend(); ++d) {
    if (times[d->name] != 1 || d->head == "template <>" || d->head == "template<>") continue;
    // Its constant stands before the definition, in its namespace: what launches it there and then knows no other.
    if (has_word(code, d->name, d->begin) ||
        std::regex_search(code, std::regex("using\\s[\\w:\\s]*::\\s*" + d->name + "\\s*;")))
      continue;
    std::string constant = head_of_constant(d->head) + (d->head.empty() ? "" : " ") + "constexpr int " + prefix +
                           d->name + " = (" + d->threads + "); ";
    std::replace(constant.begin(), constant.end(), '\n', ' ');
    out.text.insert(d->begin, constant);
    out.names.insert(d->name);
  }
  return out;
}

std::string bounds_of(const std::string& callee, const std::set<std::string>& names) {
  const auto [begin, end, name] = name_before(callee, callee.find('<'));
  return names.contains(name) ? callee.substr(0, begin) + prefix + name + callee.substr(end) : "";
}

}  // namespace convscope
