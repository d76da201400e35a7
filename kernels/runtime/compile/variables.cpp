#include "kernels/runtime/compile/variables.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <regex>

#include "kernels/runtime/compile/host_functions.h"
#include "kernels/runtime/compile/launch_lines.h"

namespace convscope {
namespace {

constexpr int most_constant_bytes = 65536;  // CUDA C++ Programming Guide, table "Technical Specifications"

bool part_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// The place behind the bracket that closes the one at `open`.
size_t behind(const std::string& code, size_t open) {
  int depth = 0;
  for (size_t i = open; i < code.size(); i++) {
    depth += code[i] == '{' || code[i] == '(';
    depth -= code[i] == '}' || code[i] == ')';
    if (!depth) return i + 1;
  }
  return code.size();
}

// Of one declaration its variables. `from`: where it begins in the text.
void take_declaration(const std::string& text, const std::string& code, size_t from, size_t to,
                      const std::string& space, std::vector<DeclaredVariable>& all) {
  std::string statement = code.substr(from, to - from);
  static const std::regex memory(R"(\b(__constant__|__device__)\b)"),
      other(R"(\b(extern|template|typedef|using|operator|friend)\b)"),
      attribute(R"(\b(?:__align__|alignas|__attribute__)\b)");
  if (!std::regex_search(statement, memory) || std::regex_search(statement, other)) return;
  const bool is_constant = statement.find("__constant__") != statement.npos;
  for (std::smatch m; std::regex_search(statement, m, attribute);) {
    const auto begin = static_cast<size_t>(m.position()), after = begin + static_cast<size_t>(m.length()),
               end = behind(statement, std::min(statement.find('(', after), statement.size()));
    std::fill(statement.begin() + m.position(), statement.begin() + static_cast<std::ptrdiff_t>(end), ' ');
  }
  // Set apart by commas that are in no brackets; of a part the name is what stands before [, = or {.
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= statement.size(); i++) {
    const char c = i < statement.size() ? statement[i] : ',';
    depth += c == '<' || c == '[' || c == '(' || c == '{';
    depth -= c == '>' || c == ']' || c == ')' || c == '}';
    if (c != ',' || depth) continue;
    const std::string part = statement.substr(begin, i - begin);
    size_t end = std::min({part.find('['), part.find('='), part.find('{'), part.size()});
    if (part.substr(0, end).find('(') != part.npos) return;  // a function
    const bool is_set = part.find('=') != part.npos || part.find('{') != part.npos;
    while (end > 0 && !part_of_name(part[end - 1])) end--;
    size_t name = end;
    while (name > 0 && part_of_name(part[name - 1])) name--;
    if (name == end) return;
    const auto place = static_cast<std::ptrdiff_t>(from + begin + name);
    all.push_back({space + part.substr(name, end - name),
                   1 + static_cast<int>(std::count(text.begin(), text.begin() + place, '\n')), is_constant, is_set});
    begin = i + 1;
  }
}

// Blanks for what stands between #if and #endif.
void leave_out_conditional(const std::string& text, std::string& code) {
  int depth = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    size_t at = text.find_first_not_of(" \t", begin);
    if (at < end && text[at] == '#') {
      at = std::min(text.find_first_not_of(" \t", at + 1), text.size());
      if (text.compare(at, 2, "if") == 0) depth++;
      if (text.compare(at, 5, "endif") == 0) depth = std::max(0, depth - 1);
    }
    if (depth)
      for (size_t i = begin; i < std::min(end, code.size()); i++)
        if (code[i] != '{' && code[i] != '}') code[i] = ' ';
    begin = end + 1;
  }
}

}  // namespace

std::vector<DeclaredVariable> variables_in(const std::string& text) {
  std::string code = code_of(text);
  leave_out_conditional(text, code);
  std::vector<DeclaredVariable> all;
  std::vector<std::string> spaces;
  size_t from = 0;
  for (size_t i = 0; i < code.size(); i++) {
    if (code[i] == ';') {
      std::string path;
      for (const auto& s : spaces) path += s;
      take_declaration(text, code, from, i, path, all);
      from = i + 1;
    } else if (code[i] == '}') {
      if (!spaces.empty()) spaces.pop_back();
      from = i + 1;
    } else if (code[i] == '{') {
      const std::string head = with_short_blanks(std::string_view(code).substr(from, i - from));
      static const std::regex space(R"(^\s*(?:inline\s+)?namespace\b\s*([\w:]*)\s*$)"),
          linkage(R"(^\s*extern\s*"\s*"\s*$)"), set(R"((=|\])\s*$)"), memory(R"(\b(__constant__|__device__)\b)"),
          other(R"(\(|\b(struct|class|union|enum)\b)");
      std::smatch m;
      if (std::regex_match(head, m, space) || std::regex_match(head, linkage)) {
        spaces.push_back(m.size() > 1 && m[1].length() ? m[1].str() + "::" : "");
        from = i + 1;
        continue;
      }
      const bool initialises =
          std::regex_search(head, set) || (std::regex_search(head, memory) && !std::regex_search(head, other));
      i = behind(code, i) - 1;
      if (!initialises) from = i + 1;
    }
  }
  return all;
}

std::string registration_of_variables(const std::string& text, const std::string& name, bool for_host_code) {
  const auto all = variables_in(text);
  std::string out, sizes;
  int first = 0;
  for (size_t i = 0; i < all.size(); i++) {
    const auto& v = all[i];
    if (v.is_constant) {
      sizes += fmt::format("{}sizeof(::{})", sizes.empty() ? "" : " + ", v.name);
      if (!first) first = v.line;
    }
    if (for_host_code)
      out += fmt::format("#line {} {}\nstatic const ::convscope::host::Declared convscope_declared_{}({}, ::{}, {});\n",
                         v.line, c_string(name), i, c_string(last_part(v.name)), v.name, v.is_constant);
  }
  if (first)
    out += fmt::format(
        "#line {} {}\nstatic_assert({} <= {}, \"its __constant__ memory is more than the {} bytes that a GPU has\");\n",
        first, c_string(name), sizes, most_constant_bytes, most_constant_bytes);
  return out;
}

}  // namespace convscope
