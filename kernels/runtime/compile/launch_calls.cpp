#include "kernels/runtime/compile/launch_calls.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <regex>
#include <vector>

#include "kernels/runtime/compile/host_functions.h"
#include "kernels/runtime/compile/launch_lines.h"

namespace convscope {
namespace {

std::string trimmed(std::string s) {
  auto blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!s.empty() && blank(s.back())) s.pop_back();
  s.erase(s.begin(), std::find_if_not(s.begin(), s.end(), blank));
  return s;
}

std::string lines_of_text(const std::string& text) {
  return std::string(static_cast<size_t>(std::count(text.begin(), text.end(), '\n')), '\n');
}

// Without casts, brackets around all of it and &: "(void*)&x" → "x". address: whether there was one.
std::string what_is_pointed_at(std::string s, bool& address) {
  address = false;
  for (bool again = true; again;) {
    again = false;
    s = trimmed(s);
    static const std::regex named(R"(^(?:reinterpret|static|const)_cast\s*<[^()]*>\s*\()");
    std::smatch m;
    if (std::regex_search(s, m, named) && s.back() == ')') {
      s = s.substr(static_cast<size_t>(m.length(0)), s.size() - static_cast<size_t>(m.length(0)) - 1), again = true;
    } else if (!s.empty() && s[0] == '(') {
      const size_t close = closing(s, 0, '(', ')');
      if (close == s.npos) break;
      if (close + 1 == s.size())
        s = s.substr(1, close - 1), again = true;
      else if (s.substr(1, close - 1).find('*') != s.npos)
        s = s.substr(close + 1), again = true;
    } else if (!s.empty() && s[0] == '&') {
      s = s.substr(1), address = again = true;
    }
  }
  return s;
}

// The arguments that an array of pointers to them is made of, before a place.
std::optional<std::string> arguments_in(const std::string& text, const std::string& code, const std::string& array,
                                        size_t before) {
  const std::regex made("\\b" + array + R"(\s*\[[^\]]*\]\s*=?\s*\{)");
  size_t open = code.npos;
  for (auto it = std::sregex_iterator(code.begin(), code.begin() + static_cast<std::ptrdiff_t>(before), made);
       it != std::sregex_iterator(); ++it)
    open = static_cast<size_t>(it->position(0) + it->length(0)) - 1;
  const size_t close = open == code.npos ? open : closing(code, open, '{', '}');
  if (close == code.npos) return {};
  std::string list;
  for (const std::string& part : list_parts(text.substr(open + 1, close - open - 1))) {
    bool address = false;
    const std::string argument = what_is_pointed_at(part, address);
    if (argument.empty()) continue;  // behind a last comma
    if (!address) return {};
    list += (list.empty() ? "" : ", ") + argument;
  }
  return list;
}

std::string with_calls(const std::string& text) {
  static const std::regex call(R"(\b(?:cudaLaunchKernel|cudaLaunchCooperativeKernel)\s*\()"),
      identifier(R"(^[A-Za-z_]\w*$)");
  const std::string code = code_of(text, true);
  std::string out;
  size_t at = 0;
  for (auto it = std::sregex_iterator(code.begin(), code.end(), call); it != std::sregex_iterator(); ++it) {
    const auto begin = static_cast<size_t>(it->position(0)), open = begin + static_cast<size_t>(it->length(0)) - 1,
               close = closing(code, open, '(', ')');
    if (begin < at || close == code.npos) continue;
    const auto parts = list_parts(text.substr(open + 1, close - open - 1));
    if (parts.size() < 4 || parts.size() > 6) continue;
    bool address = false;
    const std::string kernel = what_is_pointed_at(parts[0], address), array = trimmed(parts[3]);
    if (kernel.empty() || !std::regex_match(array, identifier)) continue;
    const auto arguments = arguments_in(text, code, array, begin);
    if (!arguments) continue;
    out += text.substr(at, begin - at) + "(" + kernel + "<<<" + trimmed(parts[1]) + ", " + trimmed(parts[2]);
    for (size_t i = 4; i < parts.size(); i++) out += ", " + trimmed(parts[i]);
    out += ">>>(" + *arguments + "), cudaSuccess)" + lines_of_text(text.substr(begin, close - begin));
    at = close + 1;
  }
  return out + text.substr(at);
}

// "s == 1 ? k<1> : k<0>": a condition and two kernels; nothing where it is none.
struct Choice {
  std::string condition, one, other;
};
std::optional<Choice> choice_in(const std::string& value) {
  int depth = 0;
  size_t asks = value.npos, otherwise = value.npos;
  for (size_t i = 0; i < value.size(); i++) {
    depth += value[i] == '(' || value[i] == '[' || value[i] == '{';
    depth -= value[i] == ')' || value[i] == ']' || value[i] == '}';
    const bool double_colon = value[i] == ':' && ((i && value[i - 1] == ':') || value.substr(i, 2) == "::");
    if (depth == 0 && value[i] == '?' && asks != value.npos) return {};  // of more than two
    if (depth == 0 && value[i] == '?') asks = i;
    if (depth == 0 && value[i] == ':' && !double_colon && asks != value.npos) otherwise = i;
  }
  if (otherwise == value.npos) return {};
  Choice c{trimmed(value.substr(0, asks)), trimmed(value.substr(asks + 1, otherwise - asks - 1)),
           trimmed(value.substr(otherwise + 1))};
  static const std::regex kernel(R"(^[A-Za-z_][\w:]*\s*(?:<[^?;]*>)?$)");
  for (std::string* k : {&c.one, &c.other}) {
    if (k->starts_with("&")) *k = trimmed(k->substr(1));
    if (!std::regex_match(*k, kernel)) return {};
  }
  return c;
}

std::string with_choices(const std::string& text) {
  const std::string code = code_of(text, true);
  std::string out;
  size_t at = 0;
  for (const LaunchSite& l : launches_in(code)) {
    if (l.callee < at) continue;
    const std::string name = trimmed(code.substr(l.callee, l.arrows - l.callee));
    if (!std::all_of(name.begin(), name.end(), is_word)) continue;
    const std::regex made("\\b(?:const\\s+)?auto\\s*\\*?\\s*(?:const\\s+)?" + name + "\\s*=\\s*([^;]*);");
    std::optional<Choice> choice;
    for (auto it = std::sregex_iterator(code.begin(), code.begin() + static_cast<std::ptrdiff_t>(l.callee), made);
         it != std::sregex_iterator(); ++it)
      choice = choice_in(text.substr(static_cast<size_t>(it->position(1)), static_cast<size_t>(it->length(1))));
    const size_t open = code.find('(', l.config_end + 3), close = closing(code, open, '(', ')');
    if (!choice || close == code.npos) continue;
    const std::string launch = text.substr(l.arrows, close + 1 - l.arrows);
    std::string one_line = launch;
    std::replace(one_line.begin(), one_line.end(), '\n', ' ');
    out += text.substr(at, l.callee - at) + "((" + choice->condition + ") ? (" + choice->one + one_line + ") : (" +
           choice->other + one_line + "))" + lines_of_text(launch);
    at = close + 1;
  }
  return out + text.substr(at);
}

}  // namespace

std::string with_plain_launches(const std::string& text) { return with_choices(with_calls(text)); }

}  // namespace convscope
