#include "kernels/runtime/compile/python_syntax.h"

#include <cctype>
#include <optional>
#include <string_view>
#include <utility>

#include "kernels/runtime/compile/python_expressions.h"

namespace convscope {
namespace {

using Expression = PythonExpression;
using Statement = PythonStatement;

class Parser : PythonExpressions {
 public:
  explicit Parser(const std::string& text) : PythonExpressions(text) {}

  // Nothing where blocks nest too deep.
  std::vector<Statement> all() try { return block(0); } catch (const NotKnown&) {
    return {};
  }

 private:
  size_t column() const {
    size_t begin = now().from;
    if (now().kind == PythonToken::literal) {  // of which that is its body's
      begin -= now().three ? 3 : 1;
      while (begin > 0 && std::isalpha(static_cast<unsigned char>(text_[begin - 1]))) begin--;
    }
    return begin - lines_[static_cast<size_t>(line()) - 1];
  }
  void skip_ends() {
    while (!ended() && (now().kind == PythonToken::line_end || is_sign(";"))) at_++;
  }
  void to_line_end() {
    while (!line_ended()) at_++;
  }

  // The statements of a block whose first one stands in at least that column.
  std::vector<Statement> block(size_t least) {
    std::vector<Statement> all;
    skip_ends();
    if (ended() || column() < least) return all;
    const size_t own = column();
    while (!ended() && column() >= own) {
      all.push_back(statement());
      skip_ends();
    }
    return all;
  }
  // What stands behind a colon: on the same line, or further in on the next ones.
  std::vector<Statement> suite(size_t outer) {
    need(":");
    if (line_ended()) return block(outer + 1);
    std::vector<Statement> all;
    while (!line_ended()) {
      all.push_back(statement());
      while (take_sign(";")) {
      }
    }
    return all;
  }

  Statement statement() {
    const Deeper one(*this);
    const size_t begin = at_, outer = column();
    const int l = line();
    Statement s;
    try {
      s = known(outer);
      if (!line_ended() && !is_sign(";") && s.body.empty() && s.kind != Statement::branch) throw NotKnown{};
    } catch (const NotKnown&) {
      at_ = begin;
      to_line_end();
      s = {};
      s.kind = Statement::unknown;
      const size_t from = tokens_[begin].from, end = std::min(text_.find('\n', from), text_.size());
      s.word = text_.substr(from, end - from);
      // What belongs to it stands further in.
      skip_ends();
      while (!ended() && column() > outer) to_line_end(), skip_ends();
    }
    s.line = l;
    return s;
  }

  Statement of_kind(Statement::Kind kind) {
    Statement s;
    s.kind = kind;
    return s;
  }

  Statement known(size_t outer) {
    if (is_sign("@")) return decorated(outer);
    if (take_word("import")) return imported("");
    if (take_word("from")) {
      std::string module;
      while (!is_word("import") && !line_ended()) module += of(at_++);
      if (!take_word("import")) throw NotKnown{};
      return imported(module + ".");
    }
    if (take_word("break")) return of_kind(Statement::breaks);
    if (take_word("continue")) return of_kind(Statement::continues);
    if (take_word("pass")) return Statement{};
    if (is_word("nonlocal")) throw NotKnown{};
    if (take_word("del")) {
      Statement s = of_kind(Statement::deletes);
      Expression e = target();
      s.targets = e.kind == Expression::tuple ? std::move(e.parts) : std::vector<Expression>{std::move(e)};
      return s;
    }
    if (take_word("global")) {
      Statement s = of_kind(Statement::globals);
      do s.targets.push_back(atom());
      while (take_sign(","));
      return s;
    }
    if (take_word("return")) {
      Statement s = of_kind(Statement::returns);
      if (!line_ended()) s.value = expressions();
      return s;
    }
    if (take_word("raise")) {
      Statement s = of_kind(Statement::raises);
      const size_t from = at_;
      to_line_end();
      if (at_ > from) s.word = text_.substr(tokens_[from].from, tokens_[at_ - 1].to - tokens_[from].from);
      return s;
    }
    if (take_word("assert")) {
      Statement s = of_kind(Statement::asserts);
      s.value = expression();
      to_line_end();
      return s;
    }
    if (take_word("if")) return branch(outer);
    if (is_word("match"))
      if (auto s = match(outer)) return *s;
    if (take_word("while")) {
      Statement s = of_kind(Statement::loop);
      s.value = expression();
      s.body = suite(outer);
      s.otherwise = behind(outer);
      return s;
    }
    if (take_word("for")) {
      Statement s = of_kind(Statement::each);
      s.targets.push_back(target());
      if (!take_word("in")) throw NotKnown{};
      s.value = expressions();
      s.body = suite(outer);
      s.otherwise = behind(outer);
      return s;
    }
    if (take_word("with")) return entered(outer);
    if (take_word("try")) {
      Statement s = of_kind(Statement::tries);
      s.body = suite(outer);
      for (skip_ends(); !ended() && column() == outer; skip_ends()) {
        const bool finally = is_word("finally"), last = finally || is_word("else");
        if (!last && !is_word("except")) break;
        while (!is_sign(":") && !line_ended()) at_++;
        std::vector<Statement> part = suite(outer);
        if (last)
          (finally ? s.otherwise : s.body).insert((finally ? s.otherwise : s.body).end(), part.begin(), part.end());
        if (!last) s.word = "except";
      }
      back_to_line_end();
      return s;
    }
    if (take_word("def")) return function(outer);
    if (take_word("class")) {
      Statement s = of_kind(Statement::type);
      s.word = need_name();
      if (take_sign("("))
        while (!take_sign(")")) {
          s.bases.push_back(expression());
          if (!is_sign(")")) need(",");
        }
      s.body = suite(outer);
      return s;
    }
    return simple();
  }
  // with a, b as c:, also in brackets.
  Statement entered(size_t outer) {
    Statement s = of_kind(Statement::with);
    const size_t begin = at_;
    for (const bool brackets : {false, true}) {
      at_ = begin, s.targets.clear();
      if (brackets) need("(");
      do {
        if (brackets && is_sign(")")) break;
        const int l = line();
        Expression e = expression();
        if (take_word("as")) e = node(Expression::naming, "", {with_what_follows(atom()), std::move(e)}, l);
        s.targets.push_back(std::move(e));
      } while (take_sign(","));
      if (brackets) need(")");
      if (is_sign(":")) break;
    }
    s.body = suite(outer);
    return s;
  }
  // The `else` of a loop.
  std::vector<Statement> behind(size_t outer) {
    std::vector<Statement> all;
    const size_t here = at_;
    skip_ends();
    if (!ended() && column() == outer && take_word("else")) return suite(outer);
    at_ = here;
    return all;
  }
  // What each of them does, or that it is not known: python_globals.cpp.
  Statement decorated(size_t outer) {
    std::vector<Expression> decorators;
    while (take_sign("@")) {
      try {
        decorators.push_back(expression());
      } catch (const NotKnown&) {
        decorators.emplace_back();
      }
      to_line_end();
      skip_ends();
      if (ended() || column() != outer) throw NotKnown{};
    }
    Statement s = known(outer);
    s.decorators = std::move(decorators);
    return s;
  }
  // a.b as c, d: the names that stand for something else.
  Statement imported(const std::string& module) {
    Statement s;
    const bool brackets = take_sign("(");
    while (!line_ended() && !is_sign(")") && !is_sign("*")) {
      std::string path = need_name();
      while (take_sign(".")) path += "." + need_name();
      PythonParameter p{path};
      if (take_word("as"))
        p.name = need_name();
      else if (module.empty())
        p.name.clear();  // a.b is known as a, and stands for itself
      p.value = node(Expression::text, module + path, {}, line());
      if (!p.name.empty()) s.parameters.push_back(std::move(p));
      if (!take_sign(",")) break;
    }
    if (brackets) take_sign(")");
    to_line_end();
    return s;
  }
  // A block has taken the ends of its last line: the statement ends there.
  void back_to_line_end() {
    while (at_ > 0 && (ended() || now().kind != PythonToken::line_end)) at_--;
  }
  Statement branch(size_t outer) {
    const Deeper one(*this);
    Statement s = of_kind(Statement::branch);
    s.value = expression();
    s.body = suite(outer);
    skip_ends();
    if (!ended() && column() == outer && is_word("elif")) {
      const int l = line();
      at_++;
      Statement other = branch(outer);
      other.line = l;
      s.otherwise.push_back(std::move(other));
      return s;
    }
    if (!ended() && column() == outer && take_word("else")) s.otherwise = suite(outer);
    back_to_line_end();
    return s;
  }
  // Where `match` is a name like any other: nothing.
  std::optional<Statement> match(size_t outer) {
    const size_t begin = at_++;
    Statement s = of_kind(Statement::matches);
    try {
      s.value = expressions();
      if (!take_sign(":") || !line_ended()) throw NotKnown{};
    } catch (const NotKnown&) {
      return at_ = begin, std::nullopt;
    }
    skip_ends();
    if (ended() || column() <= outer || !is_word("case")) return at_ = begin, std::nullopt;
    const size_t own = column();
    for (; !ended() && column() == own && is_word("case"); skip_ends()) {
      Statement one = of_kind(Statement::cases);
      one.line = line(), at_++;
      one.targets.push_back(patterns());
      if (take_word("if")) one.value = expression();
      one.body = suite(own);
      s.body.push_back(std::move(one));
    }
    if (!ended() && column() > outer) throw NotKnown{};
    back_to_line_end();
    return s;
  }
  // a, *b
  Expression patterns() {
    const int l = line();
    Expression first = pattern();
    if (!is_sign(",")) return first.kind == Expression::star ? throw NotKnown{} : first;
    std::vector<Expression> all{std::move(first)};
    while (take_sign(","))
      if (!is_sign(":") && !is_word("if")) all.push_back(pattern());
    return node(Expression::tuple, "", std::move(all), l);
  }
  // a | b as c; what stands for a value is an expression, and a name alone takes what is there.
  Expression pattern() {
    const Deeper deeper(*this);
    const int l = line();
    if (take_sign("*")) return node(Expression::star, "*", {node(Expression::name, need_name(), {}, l)}, l);
    Expression e = one_pattern();
    while (take_sign("|")) e = node(Expression::either, "|", {std::move(e), one_pattern()}, l);
    if (!take_word("as")) return e;
    return node(Expression::naming, "", {node(Expression::name, need_name(), {}, l), std::move(e)}, l);
  }
  // {"a": pattern, **rest}
  Expression names_pattern(int l) {
    std::vector<Expression> all;
    while (!take_sign("}")) {
      if (take_sign("**")) {
        all.emplace_back(), all.push_back(node(Expression::name, need_name(), {}, l));
      } else {
        all.push_back(one_pattern()), need(":"), all.push_back(pattern());
      }
      if (!is_sign("}")) need(",");
    }
    return node(Expression::names, "", std::move(all), l);
  }
  Expression one_pattern() {
    const int l = line();
    if (take_sign("{")) return names_pattern(l);
    for (const auto& [open, close] : {std::pair{"(", ")"}, std::pair{"[", "]"}}) {
      if (!take_sign(open)) continue;
      std::vector<Expression> all;
      bool comma = *open == '[';
      while (!take_sign(close)) {
        all.push_back(pattern());
        if (!is_sign(close)) need(","), comma = true;
      }
      if (all.size() == 1 && !comma) return std::move(all.front());
      return node(Expression::list, "", std::move(all), l);
    }
    if (is_sign("{")) throw NotKnown{};
    if (take_sign("-")) return node(Expression::unary, "-", {atom()}, l);
    Expression e = atom();
    while (take_sign(".")) {
      std::string word = need_name();
      e = node(Expression::attribute, std::move(word), {std::move(e)}, l);
    }
    if (!take_sign("(")) return e;
    Expression of_class = node(Expression::call, "", {std::move(e)}, l);
    while (!take_sign(")")) {
      const bool by_name = now().kind == PythonToken::name && at_ + 1 < tokens_.size() && of(at_ + 1) == "=";
      if (by_name) {
        std::string word = need_name();
        at_++;
        of_class.named.emplace_back(std::move(word), pattern());
      } else {
        of_class.parts.push_back(pattern());
      }
      if (!is_sign(")")) need(",");
    }
    return of_class;
  }
  Statement function(size_t outer) {
    Statement s = of_kind(Statement::function);
    s.word = need_name();
    need("(");
    s.parameters = parameters(")");
    if (take_sign("->")) skip_type();
    const bool around = std::exchange(yields_, false);
    s.body = suite(outer);
    s.yields = std::exchange(yields_, around);
    return s;
  }
  Statement simple() {
    Expression first = expressions();
    for (const char* s : {"+=", "-=", "**=", "*=", "//=", "/=", "%=", "@="})
      if (take_sign(s)) {
        Statement out = of_kind(Statement::augmented);
        out.word = std::string(s).substr(0, std::string_view(s).size() - 1);
        out.targets.push_back(std::move(first));
        out.value = expressions();
        return out;
      }
    Statement out = of_kind(Statement::expression);
    if (take_sign(":")) {
      const size_t from = at_;
      skip_type();
      out.word = ":";
      for (size_t i = from; i < at_; i++)
        if (of(i) == "ClassVar") out.word = "class";
      if (line_ended()) {
        out.kind = Statement::none;
        out.targets.push_back(std::move(first));
        return out;
      }
    }
    out.value = std::move(first);
    while (is_sign("=") && !is_sign("==")) {
      at_++;
      out.kind = Statement::assignment;
      out.targets.push_back(std::move(out.value));
      out.value = expressions();
    }
    return out;
  }
};

}  // namespace

std::vector<PythonStatement> python_statements(const std::string& text) { return Parser(text).all(); }

PythonExpression python_expression(const std::string& text, int line) {
  auto all = python_statements("(" + text + ")");
  if (all.size() != 1 || all.front().kind != Statement::expression) return {};
  const auto moved = [&](auto& self, Expression& e) -> void {
    e.line = line;
    for (Expression& part : e.parts) self(self, part);
    for (auto& [name, part] : e.named) self(self, part);
  };
  moved(moved, all.front().value);
  return std::move(all.front().value);
}

}  // namespace convscope
