#include "kernels/runtime/compile/python_edits.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>

#include "kernels/runtime/compile/python_tokens.h"

namespace convscope {
namespace {

thread_local std::pair<const std::string*, const std::string*> instead{nullptr, nullptr};

// A name with what is asked of it: self.stride[0], params["stride"], *c.padding.
struct Chain {
  size_t begin, end, last;  // last: its last token
  std::string text;
};

class PythonEdits {
 public:
  explicit PythonEdits(const std::string& text) : text_(text), tokens_(python_tokens(text)) {}

  std::vector<PythonEdit> all() {
    for (size_t i = 0; i < tokens_.size(); i++) {
      if (!is(i, "self") || is(i - 1, ".")) continue;
      const Chain c = chain_at(i);
      constexpr size_t most = 12;
      const bool is_set = is(c.last + 1, "=") && c.last == i + 2;
      if (is_set && members_.size() < most && std::find(members_.begin(), members_.end(), c.text) == members_.end())
        members_.push_back(c.text);
    }
    for (size_t i = 0; i < tokens_.size(); i++) {
      if (!begins_line(i) || !is(i, "def")) continue;
      const size_t begin = behind_header(i);
      size_t end = begin;
      const size_t column = column_of(i);
      while (end < tokens_.size() && !(begins_line(end) && column_of(end) <= column)) end++;
      if (begin < end && !word(i + 1).starts_with("get_in")) function(begin, end);
      i = end - 1;
    }
    std::stable_sort(found_.begin(), found_.end(), [](const auto& a, const auto& b) { return a.cost < b.cost; });
    return std::move(found_);
  }

 private:
  // As in edit_words.cpp.
  enum Cost { slip, wrong_name, forgotten, off_by_one, dropped, term };

  std::string_view word(size_t i) const {
    if (i >= tokens_.size()) return "";
    return std::string_view(text_).substr(tokens_[i].from, tokens_[i].to - tokens_[i].from);
  }
  bool is(size_t i, std::string_view t) const {
    return i < tokens_.size() && tokens_[i].kind != PythonToken::literal && word(i) == t;
  }
  bool is_kind(size_t i, PythonToken::Kind k) const { return i < tokens_.size() && tokens_[i].kind == k; }
  // Of a literal: with its quotes and prefix, which are one sign here.
  size_t end_of(size_t i) const {
    const auto& t = tokens_[i];
    return t.kind == PythonToken::literal ? t.to + (t.three ? 3 : 1) : t.to;
  }
  size_t begin_of(size_t i) const {
    const auto& t = tokens_[i];
    return t.kind == PythonToken::literal ? t.from - (t.three ? 3 : 1) : t.from;
  }
  bool begins_line(size_t i) const { return i == 0 || is_kind(i - 1, PythonToken::line_end); }
  size_t column_of(size_t i) const {
    const size_t line = tokens_[i].from ? text_.rfind('\n', tokens_[i].from - 1) : text_.npos;
    return line == text_.npos ? tokens_[i].from : tokens_[i].from - line - 1;
  }
  size_t behind_header(size_t i) const {
    int depth = 0;
    for (; i < tokens_.size(); i++) {
      depth += is(i, "(") || is(i, "[") || is(i, "{"), depth -= is(i, ")") || is(i, "]") || is(i, "}");
      if (depth == 0 && is(i, ":")) return i + 1 + is_kind(i + 1, PythonToken::line_end);
    }
    return i;
  }
  size_t closing(size_t open) const {
    int depth = 0;
    for (size_t i = open; i < tokens_.size(); i++) {
      depth += is(i, "(") || is(i, "[") || is(i, "{"), depth -= is(i, ")") || is(i, "]") || is(i, "}");
      if (depth == 0) return i;
    }
    return tokens_.size();
  }
  std::string between(size_t first, size_t last) const {
    return text_.substr(begin_of(first), end_of(last) - begin_of(first));
  }
  void add(size_t begin, size_t end, std::string text, int cost) {
    constexpr size_t most = 6000;
    if (found_.size() < most && text_.compare(begin, end - begin, text) != 0)
      found_.push_back({begin, end, std::move(text), cost});
  }

  // What a name begins, unless it is called or assigned to.
  Chain chain_at(size_t i) const {
    size_t last = i;
    while (true) {
      if (is(last + 1, ".") && is_kind(last + 2, PythonToken::name))
        last += 2;
      else if (is(last + 1, "[") && is(last + 3, "]") &&
               (is_kind(last + 2, PythonToken::number) || is_kind(last + 2, PythonToken::literal)))
        last += 3;
      else
        break;
    }
    return {begin_of(i), end_of(last), last, between(i, last)};
  }
  static bool is_word_of_python(std::string_view w) {
    for (const char* k :
         {"return", "if",   "else",   "for",   "in",     "is",    "not",    "and",  "or",  "None",   "True",  "False",
          "with",   "as",   "assert", "raise", "lambda", "yield", "import", "from", "del", "global", "while", "try",
          "except", "pass", "def",    "class", "torch",  "nn",    "F",      "math", "os",  "super",  "self"})
      if (w == k) return true;
    return false;
  }

  void function(size_t begin, size_t end) {
    std::vector<Chain> chains;
    std::vector<std::string> names;
    for (size_t i = begin; i < end; i++) {
      if (tokens_[i].kind != PythonToken::name || (is_word_of_python(word(i)) && word(i) != "self")) continue;
      if (is(i - 1, ".")) continue;
      const Chain c = chain_at(i);
      const bool is_set = is(c.last + 1, "=") && !is(c.last + 2, "=");
      if (!is(c.last + 1, "(") && !is_set && c.text != "self") {
        chains.push_back(c);
        constexpr size_t most = 24;
        if (names.size() < most && std::find(names.begin(), names.end(), c.text) == names.end())
          names.push_back(c.text);
      }
      i = c.last;
    }
    // What the module keeps may be lacking where it is called.
    const bool of_module =
        std::any_of(names.begin(), names.end(), [](const auto& n) { return n.starts_with("self."); });
    for (const std::string& member : members_)
      if (of_module && std::find(names.begin(), names.end(), member) == names.end()) names.push_back(member);
    for (const Chain& c : chains) {
      for (const std::string& other : names)
        if (other != c.text) add(c.begin, c.end, other, wrong_name);
      operand(c, names);
    }
    for (size_t i = begin; i < end; i++) {
      if (is(i, "(") || is(i, "[") || is(i, "{")) exchanged(i);
      if (is(i, "(")) instead_of_sums(i, names);
      if (is_kind(i, PythonToken::number)) number(i, names);
      if (is_kind(i, PythonToken::sign)) sign(i, begin, end);
      if (is_kind(i, PythonToken::name) && is(i - 1, ".")) method(i);
    }
  }

  // A term or a factor more; in brackets where what is around would take it apart.
  void operand(const Chain& c, const std::vector<std::string>& names) {
    for (const std::string& other : names) {
      add(c.begin, c.end, c.text + " + " + other, term), add(c.begin, c.end, c.text + " - " + other, term);
      add(c.begin, c.end, c.text + " * " + other, term);
    }
  }

  // Of what stands between brackets and commas, and has no name there: first and last token.
  std::vector<std::pair<size_t, size_t>> arguments(size_t open) const {
    const size_t close = closing(open);
    std::vector<std::pair<size_t, size_t>> parts;
    size_t first = open + 1;
    bool named = false;
    for (size_t i = open + 1; i <= close && i < tokens_.size(); i++) {
      if (is(i, "(") || is(i, "[") || is(i, "{")) i = closing(i);
      if (i >= tokens_.size()) return {};
      named |= is(i, "=") || is(i, ":") || is(i, "for");
      if (!is(i, ",") && i != close) continue;
      if (i > first && !named) parts.emplace_back(first, i - 1);
      first = i + 1, named = false;
    }
    return parts;
  }

  // An argument that is computed: a name alone.
  void instead_of_sums(size_t open, const std::vector<std::string>& names) {
    for (const auto& [first, last] : arguments(open)) {
      bool computed = false;
      for (size_t i = first; i <= last; i++)
        computed |= is_kind(i, PythonToken::sign) && (is(i, "+") || is(i, "-") || is(i, "*") || is(i, "/"));
      if (!computed || last - first > 12) continue;
      for (const std::string& other : names) add(begin_of(first), end_of(last), other, dropped);
    }
  }

  void exchanged(size_t open) {
    constexpr size_t most = 16;
    const auto parts = arguments(open);
    if (parts.size() > most) return;
    for (size_t i = 0; i < parts.size(); i++)
      for (size_t k = i + 1; k < parts.size(); k++) {
        const size_t a = begin_of(parts[i].first), b = end_of(parts[i].second), c = begin_of(parts[k].first),
                     d = end_of(parts[k].second);
        add(a, d, text_.substr(c, d - c) + text_.substr(b, c - b) + text_.substr(a, b - a), slip);
      }
  }

  void number(size_t i, const std::vector<std::string>& names) {
    const std::string digits(word(i));
    if (digits.find_first_not_of("0123456789") != digits.npos || digits.size() > 6) return;
    const int n = std::atoi(digits.c_str());
    // What does nothing then is rather left out.
    const bool nothing = (is(i - 1, "*") && n == 2) || ((is(i - 1, "+") || is(i - 1, "-")) && n == 1);
    // transpose(1, 2): the same dimension twice is none.
    const auto is_beside = [&](int m) {
      const std::string other = std::to_string(m);
      return (is(i - 1, "(") && is(i + 1, ",") && is(i + 2, other) && is(i + 3, ")")) ||
             (is(i + 1, ")") && is(i - 1, ",") && is(i - 2, other) && is(i - 3, "("));
    };
    if (!is_beside(n + 1)) add(tokens_[i].from, tokens_[i].to, std::to_string(n + 1), off_by_one);
    if (n > 0 && !nothing && !is_beside(n - 1)) add(tokens_[i].from, tokens_[i].to, std::to_string(n - 1), off_by_one);
    // k - 1 of a dilated kernel is d * (k - 1).
    if (n != 1 || !is(i - 1, "-") || i < 2) return;
    size_t from = i - 2;
    if (is(from, ")")) {
      while (from > 0 && !(is(from, "(") && closing(from) == i - 2)) from--;
    } else {
      while (from > 1 && is(from - 1, ".")) from -= 2;
    }
    const bool around = is(from - 1, "(") && is(i + 1, ")");
    for (const std::string& other : names) {
      if (around)
        add(begin_of(from - 1), begin_of(from - 1), other + " * ", forgotten);
      else
        add(begin_of(from), end_of(i), other + " * (" + between(from, i) + ")", forgotten);
    }
  }

  // a + b: another operator, or one operand left out.
  void sign(size_t i, size_t begin, size_t end) {
    const std::string_view op = word(i);
    if (op != "+" && op != "-" && op != "*" && op != "/") return;
    if (i == begin || i + 1 >= end || is(i - 1, op) || is(i + 1, op) || is(i + 1, "=")) return;
    const bool ends =
        is_kind(i - 1, PythonToken::name) || is_kind(i - 1, PythonToken::number) || is(i - 1, ")") || is(i - 1, "]");
    if (!ends || is_word_of_python(word(i - 1))) return;
    if (op == "+" || op == "-") add(tokens_[i].from, tokens_[i].to, op == "+" ? "-" : "+", slip);
    size_t last = i + 1;
    if (is(last, "(") || is(last, "["))
      last = closing(last);
    else if (is_kind(last, PythonToken::name))
      last = chain_at(last).last;
    if (is(last + 1, "(") || is(last + 1, "[")) last = closing(last + 1);
    if (last < end) add(end_of(i - 1), end_of(last), "", dropped);
  }

  void method(size_t i) {
    constexpr std::pair<const char*, const char*> pairs[] = {
        {"empty", "zeros"}, {"new_empty", "new_zeros"}, {"empty_like", "zeros_like"},
        {"sub", "add"},     {"sub_", "add_"},           {"add", "sub"},
        {"add_", "sub_"}};
    for (const auto& [own, other] : pairs)
      if (is(i, own)) add(tokens_[i].from, tokens_[i].to, other, slip);
    if (is(i, "weight") && !is(i + 1, "=")) add(tokens_[i].to, tokens_[i].to, ".flip(-1)", forgotten);
    if (!is(i + 1, "(")) return;
    const size_t close = closing(i + 1);
    if (close >= tokens_.size()) return;
    for (const char* makes : {"transpose", "permute"})
      if (is(i, makes) && !is(close + 1, ".")) add(end_of(close), end_of(close), ".contiguous()", forgotten);
    for (const char* moves : {"flip", "transpose", "permute"})
      if (is(i, moves)) add(begin_of(i - 1), end_of(close), "", dropped);
    if (is(i, "view") || is(i, "reshape")) in_another_order(i, close);
  }

  // Sizes alone move nothing: .view(c, a, b) of [a, b, c] is no .permute(2, 0, 1).
  void in_another_order(size_t i, size_t close) {
    if (arguments(i + 1).size() != 3) return;
    const std::string behind = is(close + 1, ".") && is(close + 2, "contiguous") ? "" : ".contiguous()";
    for (const char* order :
         {"transpose(1, 2)", "transpose(0, 1)", "transpose(0, 2)", "permute(2, 0, 1)", "permute(1, 2, 0)"})
      add(begin_of(i), end_of(close), order + behind, dropped);
  }

  const std::string& text_;
  const std::vector<PythonToken> tokens_;
  std::vector<std::string> members_;  // self.x that are set
  std::vector<PythonEdit> found_;
};

}  // namespace

std::vector<PythonEdit> python_edits(const std::string& text) { return PythonEdits(text).all(); }

std::string with_edit(const std::string& text, const PythonEdit& edit) {
  return std::string(text).replace(edit.begin, edit.end - edit.begin, edit.text);
}

PythonTextInstead::PythonTextInstead(const std::string& text, const std::string& other) { instead = {&text, &other}; }
PythonTextInstead::~PythonTextInstead() { instead = {nullptr, nullptr}; }

const char* followed_text(const char* text) {
  return instead.first && *instead.first == text ? instead.second->c_str() : text;
}

}  // namespace convscope
