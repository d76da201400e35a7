#include "kernels/runtime/compile/python_source.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string_view>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/runtime/compile/for_layers.h"
#include "kernels/runtime/compile/host_functions.h"
#include "kernels/runtime/compile/one_unit.h"
#include "kernels/runtime/compile/python_run.h"
#include "kernels/runtime/compile/python_tokens.h"
#include "kernels/runtime/compile/python_values.h"

namespace convscope {
namespace {

using Token = PythonToken;

// A kernel or a function with a body: not what only speaks of them, nor declarations.
bool defines_something(std::string_view body) {
  const std::string code = code_of(body);
  for (size_t at = 0; (at = code.find("__global__", at)) != code.npos; at++) {
    const size_t next = code.find_first_of(";{", at);
    if (next != code.npos && code[next] == '{') return true;
  }
  for (const auto& f : functions_in(std::string(body)))
    if (f.launches || f.parameters.find("Tensor") != f.parameters.npos) return true;
  return false;
}

// How a string is formatted: {name}, %(name)s.
struct How {
  bool fields = false, percents = false;
  How with(How other) const { return {fields || other.fields, percents || other.percents}; }
};

class PythonFile {
 public:
  PythonFile(const std::string& text, const std::string& name)
      : text_(text), name_(name), tokens_(python_tokens(text)) {
    for (size_t i = 0; i < tokens_.size(); i++) {
      const bool begins = i == 0 || tokens_[i - 1].kind == Token::line_end;
      if (!begins || tokens_[i].kind != Token::name) continue;
      size_t at = i + 1;
      if (is(at, "+")) at++;  // name += …
      if (!is(at, "=") || is(at + 1, "=")) continue;
      size_t end = at + 1;
      while (tokens_[end].kind != Token::line_end) end++;
      assigned_[std::string(of(i))].push_back({at + 1, end});
    }
  }

  std::string cuda() {
    if (const auto known = source_behind(text_)) return *known + products();
    for (size_t i = 0; i + 2 < tokens_.size(); i++)
      if (of(i) == "cuda_sources" && is(i + 1, "=")) {
        const std::set<size_t> before = kept_;
        take(i + 2, argument_end(i + 2));
        for (const size_t literal : kept_)
          if (!before.contains(literal)) compiled_with_[literal] = i;
      }
    for (size_t i = 0; i < tokens_.size(); i++)
      if (tokens_[i].kind == Token::literal && tokens_[i].three && defines_something(body(tokens_[i])))
        keep(i, formats(i + 1));
    const bool any =
        std::any_of(kept_.begin(), kept_.end(), [&](size_t i) { return defines_something(body(tokens_[i])); });
    if (!any) {
      static const std::regex file(R"re(["']([^"'\n]*\.cu)["'])re");
      std::smatch m;
      if (std::regex_search(text_, m, file))
        throw InputError("kernel", name_,
                         "has no CUDA source of its own: it loads " + m[1].str() + ", which is the file to name");
      throw InputError("kernel", name_, "has no CUDA source: no triple-quoted string with a __global__ function");
    }
    std::string out;
    size_t done = 0;
    std::map<size_t, std::string> apart;  // what each compiler is given; cpp_sources' behind no cuda_sources
    for (const size_t i : kept_) {
      blank(done, tokens_[i].from, out);
      std::string part = converted(i);
      const auto with = compiled_with_.find(i);
      const size_t own = with == compiled_with_.end() ? std::string::npos : with->second;
      for (const auto& [other, text] : apart)
        if (other != own && !compiled_with_.empty()) part = without_doubles(part, text);
      out += part, apart[own] += part + "\n";
      done = tokens_[i].to;
    }
    blank(done, text_.size(), out);
    return out + products();
  }

 private:
  // For includes_before(): what the module multiplies is a kernel of ours.
  std::string products() const {
    static const std::regex product(R"(\b(matmul|mm|bmm|einsum)\s*\(|\s@\s)");
    return has_python_module(text_) && std::regex_search(text_, product) ? products_mark : "";
  }
  struct Range {
    size_t from, to;  // tokens
  };
  std::string_view of(size_t i) const {
    return std::string_view(text_).substr(tokens_[i].from, tokens_[i].to - tokens_[i].from);
  }
  std::string_view body(const Token& t) const { return std::string_view(text_).substr(t.from, t.to - t.from); }
  bool is(size_t i, std::string_view sign) const {
    return i < tokens_.size() && tokens_[i].kind == Token::sign && of(i) == sign;
  }
  bool is_name(size_t i, std::string_view word) const {
    return i < tokens_.size() && tokens_[i].kind == Token::name && of(i) == word;
  }
  size_t line(size_t at) const {
    return 1 + static_cast<size_t>(std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  }
  // Where an argument ends that begins there.
  size_t argument_end(size_t i) const {
    int depth = 0;
    for (; i < tokens_.size() && tokens_[i].kind != Token::line_end; i++) {
      if (is(i, "(") || is(i, "[") || is(i, "{")) depth++;
      if ((is(i, ")") || is(i, "]") || is(i, "}")) && --depth < 0) break;
      if (depth == 0 && is(i, ",")) break;
    }
    return i;
  }

  void keep(size_t literal, How how) {
    kept_.insert(literal);
    if (how.fields) by_fields_.insert(literal);
    if (how.percents) by_percents_.insert(literal);
  }

  // All strings that an expression is made of, and how they are formatted.
  void take(size_t from, size_t to, How how = {}) {
    for (size_t i = from; i < to; i++) {
      if (tokens_[i].kind == Token::literal) {
        keep(i, how.with(formats(i + 1)));
      } else if (tokens_[i].kind == Token::name && !is(i - 1, ".")) {
        const How own = how.with(formats(i + 1));
        const auto found = assigned_.find(std::string(of(i)));
        if (found == assigned_.end()) continue;
        if (taken_.insert(found->first).second) {
          for (const Range& r : found->second) take(r.from, r.to, own);
        } else if (own.fields || own.percents) {  // source = source.format(…)
          for (const size_t literal : std::set<size_t>(kept_)) keep(literal, own);
        }
      } else if (const size_t inside = format_at(i); inside < to) {
        i = closing(argument_end(inside));  // what stands in its brackets is no part of the source
      }
    }
  }
  // Where the arguments of a format that stands there begin; else npos.
  size_t format_at(size_t i) const {
    if (is(i, ".") && (is_name(i + 1, "replace") || is_name(i + 1, "format")) && is(i + 2, "(")) return i + 3;
    if (is(i, "%") && is(i + 1, "{")) return i + 2;
    if (is(i, "%") && is_name(i + 1, "dict") && is(i + 2, "(")) return i + 3;
    return std::string::npos;
  }
  // The bracket that closes the list in which i stands.
  size_t closing(size_t i) const {
    while (i < tokens_.size() && is(i, ",")) i = argument_end(i + 1);
    return i;
  }

  // What a number, a string, or a name for one is, also in str(…).
  std::optional<std::string> value(size_t from, size_t to, int names = 16) const {  // names: that stand for each other
    if (to == from + 4 && is_name(from, "str") && is(from + 1, "(") && is(from + 3, ")"))
      return value(from + 2, from + 3, names);
    if (to > from + 1) {
      for (size_t i = from; i < to; i++)
        if (tokens_[i].kind == Token::literal) return {};
      return computed(text_.substr(tokens_[from].from, tokens_[to - 1].to - tokens_[from].from), names);
    }
    if (to != from + 1) return {};
    const Token& t = tokens_[from];
    if (t.kind == Token::number) return std::string(of(from));
    if (t.kind == Token::literal && !t.formatted && of(from).find_first_of("\\\n") == std::string_view::npos)
      return std::string(of(from));
    return t.kind == Token::name && names > 0 ? value_of(std::string(of(from)), names - 1) : std::nullopt;
  }
  // {BLOCK * 4}: of numbers, and names for numbers.
  std::optional<std::string> computed(const std::string& text, int names = 16) const {
    try {
      return names > 0 ? std::optional(host::text_of(number_of(python_expression(text, 0), names - 1))) : std::nullopt;
    } catch (const host::NotFollowed&) {
      return {};
    }
  }
  // Errors: NotFollowed.
  host::PythonValue number_of(const PythonExpression& e, int names) const {
    if (e.kind == PythonExpression::unary && e.word == "-")
      return host::python_arithmetic("-", {int64_t{0}}, number_of(e.parts[0], names));
    if (e.kind == PythonExpression::binary)
      return host::python_arithmetic(e.word, number_of(e.parts[0], names), number_of(e.parts[1], names));
    if (e.kind != PythonExpression::number && e.kind != PythonExpression::name) throw host::NotFollowed{};
    const std::string s = e.kind == PythonExpression::number ? e.word : value_of(e.word, names).value_or("");
    char* end = nullptr;
    const bool whole = s.find_first_of(".eE") == s.npos || s.starts_with("0x");
    const host::PythonValue v = whole ? host::PythonValue{int64_t{std::strtoll(s.c_str(), &end, 0)}}
                                      : host::PythonValue{std::strtod(s.c_str(), &end)};
    if (s.empty() || *end) throw host::NotFollowed{};
    return v;
  }
  std::optional<std::string> value_of(const std::string& name, int names = 16) const {
    const auto found = assigned_.find(name);
    if (found == assigned_.end() || found->second.size() != 1) return {};
    return value(found->second.front().from, found->second.front().to, names);
  }
  std::string known(size_t from, size_t to) const {
    if (auto v = value(from, to)) return *v;
    const size_t begin = tokens_[from].from, end = tokens_[to - 1].to;
    throw SourceNotKnown(
        "kernel", name_,
        fmt::format("puts {} into its CUDA source in line {}, whose value is not known here: a number or "
                    "a string that a name stands for is, and what differs between layers can be an "
                    "argument of the kernel",
                    text_.substr(begin, end - begin), line(begin)));
  }

  // .replace(a, b), .format(a=b) and % {…} behind a string or a name.
  How formats(size_t i) {
    How how;
    for (size_t at = format_at(i); at != std::string::npos; at = format_at(i)) {
      size_t end = argument_end(at);
      if (is_name(i + 1, "replace") && is(end, ",")) {
        const size_t next = end + 1, last = argument_end(next);
        replaced_[known(at, end)] = known(next, last);
        end = last;
      } else {
        named_values(at);
        (is(i, "%") ? how.percents : how.fields) = true;
      }
      i = closing(end) + 1;
    }
    return how;
  }
  // a=b, … or "a": b, …
  void named_values(size_t at) {
    while (at + 2 < tokens_.size() && (is(at + 1, "=") || is(at + 1, ":"))) {
      const size_t end = argument_end(at + 2);
      values_[std::string(of(at))] = known(at + 2, end);
      if (!is(end, ",")) return;
      at = end + 1;
    }
  }

  std::string converted(size_t literal) const {
    const Token& t = tokens_[literal];
    std::string s;
    const std::string_view b = body(t);
    for (size_t i = 0; i < b.size(); i++) {
      if (t.raw || b[i] != '\\' || i + 1 == b.size()) {
        s += b[i];
      } else if (b[i + 1] == '\\' || b[i + 1] == '"' || b[i + 1] == '\'') {
        s += b[++i];  // \" is a quotation mark, \\ one backslash
      } else if (!t.three && b[i + 1] == 'n') {
        s += '\n', i++;
      } else {
        s += b[i];
      }
    }
    if (t.formatted || by_fields_.contains(literal)) s = with_fields(s, t);
    if (by_percents_.contains(literal)) s = with_percents(s);
    for (const auto& [from, to] : replaced_)
      for (size_t at = 0; !from.empty() && (at = s.find(from, at)) != s.npos; at += to.size())
        s.replace(at, from.size(), to);
    return t.three ? s : one_line(s);
  }
  // {name}, and {{ for a bracket.
  std::string with_fields(const std::string& s, const Token& t) const {
    std::string out;
    for (size_t i = 0; i < s.size(); i++) {
      if ((s[i] == '{' || s[i] == '}') && i + 1 < s.size() && s[i + 1] == s[i]) {
        out += s[i++];
      } else if (s[i] == '{') {
        const size_t end = std::min(s.find('}', i), s.size());
        const std::string field = s.substr(i + 1, end - i - 1);
        std::optional<std::string> v;
        if (const auto own = values_.find(field); own != values_.end()) v = own->second;
        if (!v && t.formatted) v = value_of(field);
        if (!v && t.formatted) v = computed(field);
        if (!v)
          throw SourceNotKnown(
              "kernel", name_,
              fmt::format(
                  "has {{{}}} in its CUDA source, a string that is formatted: its value is not known here. Let it "
                  "be a number or a string that a name stands for, or give it to the kernel as an argument",
                  field));
        out += *v, i = end;
      } else {
        out += s[i];
      }
    }
    return out;
  }
  // %(name)s and %(name)d, and %% for one.
  std::string with_percents(const std::string& s) const {
    std::string out;
    for (size_t i = 0; i < s.size(); i++) {
      const size_t end = s.compare(i, 2, "%(") == 0 ? s.find(')', i) : s.npos;
      const auto v = end == s.npos ? values_.end() : values_.find(s.substr(i + 2, end - i - 2));
      if (v != values_.end() && end + 1 < s.size())
        out += v->second, i = end + 1;
      else if (s.compare(i, 2, "%%") == 0)
        out += '%', i++;
      else
        out += s[i];
    }
    return out;
  }
  // A string of one line with several of the source's: of these what is no #include, which our own header stands for.
  std::string one_line(const std::string& s) const {
    std::string out;
    int directives = 0;
    for (size_t at = 0; at < s.size();) {
      const size_t end = std::min(s.find('\n', at), s.size());
      const std::string part = s.substr(at, end - at);
      const size_t first = part.find_first_not_of(" \t");
      at = end + 1;
      if (first == part.npos || part.compare(first, 8, "#include") == 0) continue;
      directives += part[first] == '#';
      out += (out.empty() ? "" : " ") + part;
    }
    if (directives > 1 || (directives == 1 && out.find('#') != out.find_first_not_of(" \t")))
      throw InputError(
          "kernel", name_,
          "has several lines of its CUDA source in a string of one line: write it with three quotation marks");
    return out;
  }

  // Empty lines, but for what is said to convscope in comments.
  void blank(size_t from, size_t to, std::string& out) const {
    constexpr std::string_view mark = "# convscope:";
    for (size_t i = from; i < to; i++) {
      if (text_[i] == '#' && std::string_view(text_).substr(i, mark.size()) == mark) {
        const size_t end = std::min(text_.find('\n', i), to);
        out += "//" + text_.substr(i + 1, end - i - 1), i = end - 1;
      } else if (text_[i] == '\n') {
        out += '\n';
      }
    }
  }

  const std::string& text_;
  const std::string& name_;
  std::vector<Token> tokens_;
  std::map<std::string, std::vector<Range>> assigned_;
  std::set<size_t> kept_, by_fields_, by_percents_;  // literals
  std::map<size_t, size_t> compiled_with_;           // literals by the place of their cuda_sources
  std::set<std::string> taken_;
  std::map<std::string, std::string> replaced_, values_;
};

}  // namespace

std::string cuda_of_python(const std::string& text, const std::string& name) { return PythonFile(text, name).cuda(); }

}  // namespace convscope
