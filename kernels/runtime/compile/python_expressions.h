// Expressions of a Python text, by recursive descent (Python Language Reference, "Full Grammar specification"); the
// statements around them are python_syntax.cpp's.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "kernels/runtime/compile/python_syntax.h"
#include "kernels/runtime/compile/python_tokens.h"

namespace convscope {

// What it does not know ends the expression: the statement is then unknown.
class PythonExpressions {
 protected:
  using Expression = PythonExpression;
  explicit PythonExpressions(const std::string& text);
  ~PythonExpressions() = default;

  struct NotKnown {};
  // What nests too deep for the stack is not known.
  struct Deeper {
    explicit Deeper(PythonExpressions& p) : parser(p) {
      if (++parser.deep_ > 100) parser.deep_--, throw NotKnown{};
    }
    ~Deeper() { parser.deep_--; }
    Deeper(const Deeper&) = delete;
    PythonExpressions& parser;
  };

  // ---- tokens

  bool ended() const { return at_ >= tokens_.size(); }
  const PythonToken& now() const { return tokens_[at_]; }
  std::string_view of(size_t i) const {
    return std::string_view(text_).substr(tokens_[i].from, tokens_[i].to - tokens_[i].from);
  }
  bool line_ended() const { return ended() || now().kind == PythonToken::line_end; }
  int line_of(size_t place) const;
  int line() const { return ended() ? static_cast<int>(lines_.size()) : line_of(now().from); }
  bool is_word(std::string_view w) const { return !ended() && now().kind == PythonToken::name && of(at_) == w; }
  // Signs that stand one behind the other: "//=".
  bool is_sign(std::string_view s) const;
  bool take_word(std::string_view w) { return is_word(w) && (at_++, true); }
  bool take_sign(std::string_view s) { return is_sign(s) && (at_ += s.size(), true); }
  void need(std::string_view s);
  std::string need_name();

  // ---- expressions

  Expression expression();
  Expression with_what_follows(Expression e);
  Expression atom();
  Expression expressions();  // a, b, *c
  Expression starred();      // a, *a
  Expression target();       // of a loop
  std::vector<PythonParameter> parameters(std::string_view closes);
  void skip_type();

  static Expression node(Expression::Kind kind, std::string word, std::vector<Expression> parts, int line) {
    return {kind, std::move(word), std::move(parts), {}, line};
  }

  const std::string& text_;
  std::vector<PythonToken> tokens_;
  std::vector<size_t> lines_;  // where each begins
  size_t at_ = 0;
  int deep_ = 0;
  bool yields_ = false;  // in the function that is read

 private:
  Expression either();
  Expression both();
  Expression negated();
  std::string comparing();
  Expression comparison();
  bool assigns(std::string_view sign) const;
  Expression sum();
  Expression product();
  Expression signed_one();
  Expression power();
  // A chain of so many is not known: what walks it goes as deep.
  void one_more(int& links) const {
    if (++links > 500) throw NotKnown{};
  }
  Expression index();
  Expression string();
  void add_pieces(Expression& to, const std::string& body) const;
  Expression names();
  Expression lambda();
  Expression walked(Expression element, const char* opens);
  Expression yielded(int line);
};

}  // namespace convscope
