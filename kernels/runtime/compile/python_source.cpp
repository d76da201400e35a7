#include "kernels/runtime/compile/python_source.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string_view>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/runtime/compile/host_functions.h"

namespace convscope {
namespace {

// A piece of Python: a literal (its body), a name, a number, a sign of one character, or a line's end outside of
// brackets.
struct Token {
  enum Kind { literal, name, number, sign, line_end } kind;
  size_t from, to;  // of a literal its body
  bool raw = false, formatted = false, three = false;
};

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool goes_on(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Python Language Reference, "Lexical analysis", as far as it matters here.
std::vector<Token> tokens_of(std::string_view text) {
  std::vector<Token> all;
  int depth = 0;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '#') {
      i = std::min(text.find('\n', i), text.size());
    } else if (starts_name(c) || c == '"' || c == '\'') {
      size_t quote = i;
      while (quote < text.size() && goes_on(text[quote])) quote++;
      const bool prefix = quote - i <= 2 && quote < text.size() && (text[quote] == '"' || text[quote] == '\'');
      if (!prefix) {
        all.push_back({Token::name, i, quote});
        i = quote;
        continue;
      }
      Token t{Token::literal, 0, 0};
      for (size_t p = i; p < quote; p++) t.raw |= (text[p] | 32) == 'r', t.formatted |= (text[p] | 32) == 'f';
      const std::string_view mark = text.substr(quote, 3);
      t.three = mark == "\"\"\"" || mark == "'''";
      const std::string_view closes = text.substr(quote, t.three ? 3 : 1);
      t.from = t.to = quote + closes.size();
      while (t.to < text.size() && text.substr(t.to, closes.size()) != closes && (t.three || text[t.to] != '\n'))
        t.to += text[t.to] == '\\' ? 2 : 1;
      if (t.to > text.size()) t.to = text.size();
      all.push_back(t);
      i = t.to + closes.size();
    } else if (std::isdigit(static_cast<unsigned char>(c))) {
      size_t end = i;
      while (end < text.size() && (goes_on(text[end]) || text[end] == '.')) end++;
      all.push_back({Token::number, i, end});
      i = end;
    } else if (c == '\n') {
      if (depth <= 0 && !(i > 0 && text[i - 1] == '\\')) all.push_back({Token::line_end, i, i + 1});
      i++;
    } else {
      if (!std::isspace(static_cast<unsigned char>(c))) {
        depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
        all.push_back({Token::sign, i, i + 1});
      }
      i++;
    }
  }
  all.push_back({Token::line_end, text.size(), text.size()});
  return all;
}

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
  PythonFile(const std::string& text, const std::string& name) : text_(text), name_(name), tokens_(tokens_of(text)) {
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
    for (size_t i = 0; i + 2 < tokens_.size(); i++)
      if (of(i) == "cuda_sources" && is(i + 1, "=")) take(i + 2, argument_end(i + 2));
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
    refuse_what_is_not_followed();
    std::string out;
    size_t done = 0;
    for (const size_t i : kept_) {
      blank(done, tokens_[i].from, out);
      out += converted(i);
      done = tokens_[i].to;
    }
    blank(done, text_.size(), out);
    return out;
  }

 private:
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
    if (to != from + 1) return {};
    const Token& t = tokens_[from];
    if (t.kind == Token::number) return std::string(of(from));
    if (t.kind == Token::literal && !t.formatted && of(from).find_first_of("\\\n") == std::string_view::npos)
      return std::string(of(from));
    return t.kind == Token::name && names > 0 ? value_of(std::string(of(from)), names - 1) : std::nullopt;
  }
  std::optional<std::string> value_of(const std::string& name, int names = 16) const {
    const auto found = assigned_.find(name);
    if (found == assigned_.end() || found->second.size() != 1) return {};
    return value(found->second.front().from, found->second.front().to, names);
  }
  std::string known(size_t from, size_t to) const {
    if (auto v = value(from, to)) return *v;
    const size_t begin = tokens_[from].from, end = tokens_[to - 1].to;
    throw InputError("kernel", name_,
                     fmt::format("puts {} into its CUDA source in line {}, whose value is not known here",
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
        if (!v)
          throw InputError(
              "kernel", name_,
              fmt::format("has {{{}}} in its CUDA source, a string that is formatted: its value is not known here",
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

  // What a module does to tensors before the call: where the call alone is judged, a right kernel would be wrong. (A
  // bias that is added behind it is none of the call's: problems without one are left.) A comment `# convscope: call …`
  // says that the call alone is meant.
  void refuse_what_is_not_followed() const {
    static const std::regex said(R"(#\s*convscope:\s*call\b)"), forward(R"(^([ \t]*)def forward\b)"),
        changes(
            R"(\.(permute|transpose|flip|roll|t|swapaxes|movedim|index_select|repeat)\(|\.(T|mT)\b|\bF\.pad\(|\bfunctional\.pad\(|\btorch\.(flip|cat|stack|matmul|einsum|bmm|mm|roll|transpose|permute)\()"),
        strides(R"(\[[^\]\n]*::[^\]\n]*\]\s*=[^=])");
    if (std::regex_search(text_, said)) return;
    std::string code = text_;  // without strings and comments
    size_t done = 0;
    for (const Token& t : tokens_) {
      for (size_t i = done; i < std::min(t.from, code.size()); i++)
        if (code[i] == '#')
          while (i < t.from && code[i] != '\n') code[i++] = ' ';
      if (t.kind == Token::literal)
        for (size_t i = t.from; i < t.to; i++)
          if (code[i] != '\n') code[i] = ' ';
      done = t.to;
    }
    const std::set<std::string> functions = functions_named();
    std::set<std::string> called;
    size_t number = 0, indent = std::string::npos;
    bool branches = false;
    for (size_t at = 0; at < code.size();) {
      const size_t end = std::min(code.find('\n', at), code.size());
      const std::string each = code.substr(at, end - at);
      const size_t first = each.find_first_not_of(" \t");
      number++;
      if (first != each.npos && indent != std::string::npos && first <= indent) indent = std::string::npos;
      std::smatch m;
      if (std::regex_search(each, m, forward)) {
        indent = static_cast<size_t>(m.length(1));
      } else if (indent != std::string::npos && first != each.npos) {
        if (std::regex_search(each, changes) || std::regex_search(each, strides))
          throw InputError(
              "kernel", name_,
              fmt::format("does more in forward() than call its host code, which is not followed here: line {}, {}. {}",
                          number, text_.substr(at + first, end - at - first), instead));
        static const std::regex branch(R"(^\s*(if|elif|else)\b|\bif\b.*\belse\b)");
        branches |= std::regex_search(each, branch);
        for (const std::string& f : functions)
          if (each.find("." + f + "(") != each.npos) called.insert(f);
      }
      at = end + 1;
    }
    if (called.size() > 1 && !branches) {
      std::string all;
      for (const std::string& f : called) all += (all.empty() ? "" : " and ") + f;
      throw InputError("kernel", name_,
                       fmt::format("calls {} in forward(), of which one alone is followed here. {}", all, instead));
    }
  }
  // functions=["a", "b"], of all modules.
  std::set<std::string> functions_named() const {
    std::set<std::string> all;
    for (size_t i = 0; i + 2 < tokens_.size(); i++)
      if (is_name(i, "functions") && is(i + 1, "=") && is(i + 2, "["))
        for (size_t at = i + 3; at < tokens_.size() && !is(at, "]"); at++)
          if (tokens_[at].kind == Token::literal) all.emplace(of(at));
    return all;
  }
  static constexpr const char* instead =
      "Do it in the host code, or say `# convscope: call` with the function's name where the call alone is meant";

  const std::string& text_;
  const std::string& name_;
  std::vector<Token> tokens_;
  std::map<std::string, std::vector<Range>> assigned_;
  std::set<size_t> kept_, by_fields_, by_percents_;  // literals
  std::set<std::string> taken_;
  std::map<std::string, std::string> replaced_, values_;
};

}  // namespace

std::string cuda_of_python(const std::string& text, const std::string& name) { return PythonFile(text, name).cuda(); }

}  // namespace convscope
