#include "kernels/runtime/compile/python_syntax.h"

#include <cctype>
#include <string_view>

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
    for (const char* w : {"nonlocal", "pass", "del"})
      if (is_word(w)) return to_line_end(), Statement{};
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
    if (take_word("while")) {
      Statement s = of_kind(Statement::loop);
      s.value = expression();
      s.body = suite(outer);
      return s;
    }
    if (take_word("for")) {
      Statement s = of_kind(Statement::each);
      s.targets.push_back(target());
      if (!take_word("in")) throw NotKnown{};
      s.value = expressions();
      s.body = suite(outer);
      return s;
    }
    if (take_word("with")) {
      Statement s = of_kind(Statement::with);
      while (!is_sign(":") && !line_ended()) at_++;
      s.body = suite(outer);
      return s;
    }
    if (take_word("try")) {
      Statement s = of_kind(Statement::tries);
      s.body = suite(outer);
      for (skip_ends(); !ended() && column() == outer; skip_ends()) {
        const bool last = is_word("finally") || is_word("else");
        if (!last && !is_word("except")) break;
        while (!is_sign(":") && !line_ended()) at_++;
        std::vector<Statement> part = suite(outer);
        if (last) s.body.insert(s.body.end(), part.begin(), part.end());
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
  // What decorates a function changes none of its results but for a few, by name (python_run.cpp).
  Statement decorated(size_t outer) {
    std::vector<Expression> decorators;
    while (take_sign("@")) {
      try {
        decorators.push_back(expression());
      } catch (const NotKnown&) {
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
  Statement function(size_t outer) {
    Statement s = of_kind(Statement::function);
    s.word = need_name();
    need("(");
    s.parameters = parameters(")");
    if (take_sign("->")) skip_type();
    s.body = suite(outer);
    return s;
  }
  Statement simple() {
    Expression first = expressions();
    for (const char* s : {"+=", "-=", "*=", "//=", "/=", "%=", "@="})
      if (take_sign(s)) {
        Statement out = of_kind(Statement::augmented);
        out.word = std::string(s).substr(0, std::string_view(s).size() - 1);
        out.targets.push_back(std::move(first));
        out.value = expressions();
        return out;
      }
    Statement out = of_kind(Statement::expression);
    if (take_sign(":")) {
      skip_type();
      out.word = ":";
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

}  // namespace convscope
