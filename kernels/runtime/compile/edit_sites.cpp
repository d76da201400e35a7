#include "kernels/runtime/compile/edit_sites.h"

#include <algorithm>
#include <regex>

#include "kernels/base/trimmed.h"
#include "kernels/runtime/compile/edit_parser.h"
#include "kernels/runtime/compile/global_functions.h"
#include "kernels/runtime/compile/host_functions.h"
#include "kernels/runtime/compile/launch_lines.h"

namespace convscope {
namespace {

// Where a text from `at` on has its first ( and the body behind the ) of it; false: it only declares.
bool find_body(const std::string& code, size_t at, edits::ParsedFunction& f) {
  while (true) {
    const size_t open = code.find_first_of("(;{", at);
    if (open == code.npos || code[open] != '(') return false;
    const size_t close = closing(code, open, '(', ')');
    if (close == code.npos) return false;
    if (name_before(code, open).text == "__launch_bounds__") {
      at = close + 1;
      continue;
    }
    f.parameters = open, f.body = code.find_first_of("{;", close);
    if (f.body == code.npos || code[f.body] == ';') return false;
    f.end = closing(code, f.body, '{', '}');
    return f.end != code.npos;
  }
}

std::string head_before(const std::string& code, size_t at) {
  size_t begin = code.find_last_of(";}", at);
  begin = begin == code.npos ? 0 : begin + 1;
  const std::string before = code.substr(begin, at - begin);
  const size_t found = before.find("template");
  return found == before.npos ? "" : before.substr(found);
}

std::vector<edits::ParsedFunction> functions_of(const std::string& cuda, const std::string& code) {
  std::vector<edits::ParsedFunction> all;
  static const std::regex device(R"(\b__(?:device|global)__\b)");
  for (auto it = std::sregex_iterator(code.begin(), code.end(), device); it != std::sregex_iterator(); ++it) {
    const auto at = static_cast<size_t>(it->position() + it->length());
    if (!all.empty() && at < all.back().body) continue;  // __host__ __device__, or a kernel's second word
    edits::ParsedFunction f;
    f.is_kernel = it->str() == "__global__", f.head = head_before(code, static_cast<size_t>(it->position()));
    if (find_body(code, at, f)) all.push_back(f);
  }
  std::vector<edits::ParsedFunction> own;
  for (const HostFunction& h : functions_in(cuda)) {
    const bool inside =
        std::any_of(all.begin(), all.end(), [&](const auto& f) { return h.body <= f.end && h.end >= f.body; });
    if (inside || h.is_template) continue;
    edits::ParsedFunction f{0, h.body, h.end, "", true, false};
    f.parameters = code.find('(', h.begin);
    if (f.parameters < h.body) own.push_back(f);
  }
  all.insert(all.end(), own.begin(), own.end());
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.body < b.body; });
  // A function in another one, a lambda's say.
  std::vector<edits::ParsedFunction> outer;
  for (const auto& f : all)
    if (outer.empty() || f.body > outer.back().end) outer.push_back(f);
  return outer;
}

}  // namespace

EditSites edit_sites(const std::string& cuda, EditsOf what, const std::set<int>& without) {
  const std::string code = code_of(cuda);
  EditSites all;
  all.sites.emplace_back();
  std::vector<std::string> constants;
  const auto functions = functions_of(cuda, code);
  static const std::regex constant(
      R"(\b(?:constexpr\s+(?:static\s+)?|const\s+|static\s+const\s+)(?:int|unsigned|long|size_t|int64_t)\s+(\w+)\s*=)");
  for (auto it = std::sregex_iterator(code.begin(), code.end(), constant); it != std::sregex_iterator(); ++it) {
    const auto at = static_cast<size_t>(it->position());
    if (std::none_of(functions.begin(), functions.end(),
                     [&](const auto& f) { return at > f.parameters && at < f.end; })) {
      // int a = 2, b = 4;
      const auto names = static_cast<size_t>(it->position(1));
      for (const std::string& one : list_parts(code.substr(names, code.find(';', names) - names)))
        if (const std::string name = trimmed(one.substr(0, one.find('=')));
            std::all_of(name.begin(), name.end(), is_word))
          constants.push_back(name);
    }
  }
  edits::Insertions insertions;
  for (const auto& f : functions) edits::FunctionParser(code, f, constants, what, without, all, insertions).parse();
  all.text = insertions.applied(cuda);
  return all;
}

}  // namespace convscope
