#include "kernels/runtime/compile/launch_calls.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <regex>
#include <vector>

#include "kernels/runtime/compile/host_functions.h"
#include "kernels/base/trimmed.h"
#include "kernels/runtime/compile/launch_lines.h"

namespace convscope {
namespace {

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

// "" where it is not of this form.
std::string launch_by_config(const std::vector<std::string>& parts) {
  if (parts.size() < 2) return "";
  bool address = false;
  const std::string kernel = what_is_pointed_at(parts[1], address), config = "(*(" + trimmed(parts[0]) + "))";
  if (kernel.empty()) return "";
  std::string out = "(" + kernel + "<<<" + config + ".gridDim, " + config + ".blockDim, " + config +
                    ".dynamicSmemBytes, " + config + ".stream>>>(";
  for (size_t i = 2; i < parts.size(); i++) out += (i > 2 ? ", " : "") + trimmed(parts[i]);
  return out + "), cudaSuccess)";
}

}  // namespace

std::string with_plain_launches(const std::string& text) {
  static const std::regex call(R"(\b(?:cudaLaunchKernel|cudaLaunchCooperativeKernel|cudaLaunchKernelEx)\s*\()"),
      identifier(R"(^[A-Za-z_]\w*$)");
  const std::string code = code_of(text, true);
  std::string out;
  size_t at = 0;
  for (auto it = std::sregex_iterator(code.begin(), code.end(), call); it != std::sregex_iterator(); ++it) {
    const auto begin = static_cast<size_t>(it->position(0)), open = begin + static_cast<size_t>(it->length(0)) - 1,
               close = closing(code, open, '(', ')');
    if (begin < at || close == code.npos) continue;
    const auto parts = list_parts(text.substr(open + 1, close - open - 1));
    if (code.substr(begin, open - begin).find("KernelEx") != code.npos) {
      const std::string launch = launch_by_config(parts);
      if (launch.empty()) continue;
      out += text.substr(at, begin - at) + launch + lines_of_text(text.substr(begin, close - begin));
      at = close + 1;
      continue;
    }
    if (parts.size() < 4 || parts.size() > 6) continue;
    bool address = false;
    const std::string kernel = what_is_pointed_at(parts[0], address), array = trimmed(parts[3]);
    if (kernel.empty() || !std::regex_match(array, identifier)) continue;
    const auto arguments = arguments_in(text, code, array, begin);
    if (!arguments) continue;
    out += text.substr(at, begin - at) + "((void)" + array + ", " + kernel + "<<<" + trimmed(parts[1]) + ", " +
           trimmed(parts[2]);
    for (size_t i = 4; i < parts.size(); i++) out += ", " + trimmed(parts[i]);
    out += ">>>(" + *arguments + "), cudaSuccess)" + lines_of_text(text.substr(begin, close - begin));
    at = close + 1;
  }
  return out + text.substr(at);
}

}  // namespace convscope
