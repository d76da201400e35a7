#include "kernels/runtime/compile/dynamic_shared.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <regex>
#include <vector>

#include "kernels/runtime/compile/host_functions.h"

namespace convscope {
namespace {

bool of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Places in the code: of a function's parameters in their brackets, and of its body in its own.
struct Function {
  size_t parameters, parameters_end, body, end;
};

// Functions outside of others, those of classes as well.
std::vector<Function> outermost_functions(const std::string& code) {
  std::vector<Function> all;
  int inside = 0;  // braces of a function's body
  for (size_t at = 0; at < code.size(); at++) {
    if (code[at] == '}' && inside && !--inside) all.back().end = at;
    if (code[at] != '{') continue;
    if (inside) {
      inside++;
      continue;
    }
    // What stands before a body: ), and perhaps words like const and noexcept.
    size_t before = at;
    while (before > 0 && (std::isspace(static_cast<unsigned char>(code[before - 1])) || of_name(code[before - 1])))
      before--;
    if (before == 0 || code[before - 1] != ')') continue;
    size_t open = before - 1;
    for (int depth = 0; open > 0; open--) {
      depth += code[open] == ')';
      depth -= code[open] == '(';
      if (!depth) break;
    }
    all.push_back({open, before, at, code.size()});
    inside = 1;
  }
  return all;
}

bool names(std::string_view code, const std::string& name) {
  for (size_t at = code.find(name); at != code.npos; at = code.find(name, at + 1)) {
    const size_t end = at + name.size();
    if ((at == 0 || !of_name(code[at - 1])) && (end == code.size() || !of_name(code[end]))) return true;
  }
  return false;
}

}  // namespace

std::string with_dynamic_shared(const std::string& cuda) {
  static const std::regex declaration(
      R"(extern\s+__shared__\s+(?:(?:__align__|alignas)\s*\((?:[^()]|\([^()]*\))*\)\s*)?((?:unsigned\s+|signed\s+|long\s+)*\w+)\s+(\w+)\s*\[\s*\]\s*;)");
  const std::string code = code_of(cuda), with_macros = code_of(cuda, true);
  const auto functions = outermost_functions(code);
  struct Change {
    size_t at, length;
    std::string text;
  };
  std::vector<Change> changes;
  for (auto it = std::sregex_iterator(with_macros.begin(), with_macros.end(), declaration);
       it != std::sregex_iterator(); ++it) {
    const auto at = static_cast<size_t>(it->position()), length = static_cast<size_t>(it->length());
    const std::string name = (*it)[2], own = fmt::format("CONVSCOPE_DYNAMIC_SHARED({}, {});", (*it)[1].str(), name);
    std::string blank = it->str();
    std::erase_if(blank, [](char c) { return c != '\n'; });
    const bool in_a_macro = code[at] != cuda[at];
    if (in_a_macro ||
        std::any_of(functions.begin(), functions.end(), [&](const auto& f) { return f.body < at && at < f.end; })) {
      changes.push_back({at, length, own + blank});
      continue;
    }
    changes.push_back({at, length, blank});
    for (const auto& f : functions) {
      const std::string_view all = code;
      if (names(all.substr(f.body, f.end - f.body), name) &&
          !names(all.substr(f.parameters, f.parameters_end - f.parameters), name))
        changes.push_back({f.body + 1, 0, " " + own});
    }
  }
  std::stable_sort(changes.begin(), changes.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  std::string out;
  size_t from = 0;
  for (const auto& c : changes) {
    out.append(cuda, from, c.at - from).append(c.text);
    from = c.at + c.length;
  }
  return out.append(cuda, from);
}

}  // namespace convscope
