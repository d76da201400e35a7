#include "kernels/runtime/compile/python_syntax.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "kernels/runtime/compile/python_tokens.h"

namespace convscope {
namespace {

using Expression = PythonExpression;
using Statement = PythonStatement;

// By recursive descent (Python Language Reference, "Full Grammar specification"). What it does not know ends the
// expression: the statement is then unknown.
class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {
    for (const PythonToken& t : python_tokens(text))
      if (t.kind != PythonToken::sign || text[t.from] != '\\') tokens_.push_back(t);  // a line that goes on
    lines_.push_back(0);
    for (size_t i = 0; i < text.size(); i++)
      if (text[i] == '\n') lines_.push_back(i + 1);
  }

  // Nothing where blocks nest too deep.
  std::vector<Statement> all() try { return block(0); } catch (const NotKnown&) {
    return {};
  }

 private:
  struct NotKnown {};
  // What nests too deep for the stack is not known.
  struct Deeper {
    explicit Deeper(Parser& p) : parser(p) {
      if (++parser.deep_ > 100) parser.deep_--, throw NotKnown{};
    }
    ~Deeper() { parser.deep_--; }
    Deeper(const Deeper&) = delete;
    Parser& parser;
  };

  // ---- tokens

  bool ended() const { return at_ >= tokens_.size(); }
  const PythonToken& now() const { return tokens_[at_]; }
  std::string_view of(size_t i) const {
    return std::string_view(text_).substr(tokens_[i].from, tokens_[i].to - tokens_[i].from);
  }
  bool line_ended() const { return ended() || now().kind == PythonToken::line_end; }
  int line_of(size_t place) const {
    return static_cast<int>(std::upper_bound(lines_.begin(), lines_.end(), place) - lines_.begin());
  }
  int line() const { return ended() ? static_cast<int>(lines_.size()) : line_of(now().from); }
  bool is_word(std::string_view w) const { return !ended() && now().kind == PythonToken::name && of(at_) == w; }
  // Signs that stand one behind the other: "//=".
  bool is_sign(std::string_view s) const {
    for (size_t i = 0; i < s.size(); i++) {
      const size_t t = at_ + i;
      if (t >= tokens_.size() || tokens_[t].kind != PythonToken::sign || text_[tokens_[t].from] != s[i] ||
          tokens_[t].from != tokens_[at_].from + i)
        return false;
    }
    return true;
  }
  bool take_word(std::string_view w) { return is_word(w) && (at_++, true); }
  bool take_sign(std::string_view s) { return is_sign(s) && (at_ += s.size(), true); }
  void need(std::string_view s) {
    if (!take_sign(s)) throw NotKnown{};
  }
  std::string need_name() {
    if (ended() || now().kind != PythonToken::name) throw NotKnown{};
    return std::string(of(at_++));
  }

  // ---- expressions, from the loosest binding on

  Expression node(Expression::Kind kind, std::string word, std::vector<Expression> parts, int line) {
    return {kind, std::move(word), std::move(parts), {}, line};
  }

  Expression expression() {
    const Deeper one(*this);
    Expression e = either();
    if (!is_word("if")) return e;
    const int l = line();
    at_++;
    Expression condition = either();
    if (!take_word("else")) throw NotKnown{};
    Expression other = expression();
    return node(Expression::conditional, "", {std::move(e), std::move(condition), std::move(other)}, l);
  }
  Expression either() {
    Expression e = both();
    while (is_word("or")) {
      const int l = line();
      at_++;
      e = node(Expression::either, "or", {std::move(e), both()}, l);
    }
    return e;
  }
  Expression both() {
    Expression e = negated();
    while (is_word("and")) {
      const int l = line();
      at_++;
      e = node(Expression::both, "and", {std::move(e), negated()}, l);
    }
    return e;
  }
  Expression negated() {
    const Deeper one(*this);
    const int l = line();
    if (take_word("not")) return node(Expression::unary, "not", {negated()}, l);
    return comparison();
  }
  std::string comparing() {
    for (const char* s : {"==", "!=", "<=", ">=", "<", ">"})
      if (take_sign(s)) return s;
    if (take_word("is")) return take_word("not") ? "is not" : "is";
    if (take_word("in")) return "in";
    if (is_word("not") && at_ + 1 < tokens_.size() && of(at_ + 1) == "in") return at_ += 2, "not in";
    return "";
  }
  Expression comparison() {
    Expression left = sum(), chain;
    while (true) {
      const int l = line();
      const std::string sign = comparing();
      if (sign.empty()) return chain.kind == Expression::nothing ? left : chain;
      Expression right = sum();
      Expression one = node(Expression::compare, sign, {std::move(left), right}, l);
      chain = chain.kind == Expression::nothing ? std::move(one)
                                                : node(Expression::both, "and", {std::move(chain), std::move(one)}, l);
      left = std::move(right);
    }
  }
  bool assigns(std::string_view sign) const {  // "+=" is none of a sum's
    const size_t behind = at_ + sign.size();
    return behind < tokens_.size() && tokens_[behind].kind == PythonToken::sign && text_[tokens_[behind].from] == '=' &&
           tokens_[behind].from == tokens_[at_].from + sign.size();
  }
  Expression sum() {
    Expression e = product();
    while ((is_sign("+") || is_sign("-")) && !assigns("+")) {
      const int l = line();
      const std::string sign(of(at_++));
      e = node(Expression::binary, sign, {std::move(e), product()}, l);
    }
    return e;
  }
  Expression product() {
    Expression e = signed_one();
    while (true) {
      std::string sign;
      for (const char* s : {"//", "**", "*", "/", "%", "@"})
        if (sign.empty() && is_sign(s) && !assigns(s)) sign = s;
      if (sign.empty()) return e;
      const int l = line();
      at_ += sign.size();
      e = node(Expression::binary, sign, {std::move(e), signed_one()}, l);
    }
  }
  Expression signed_one() {
    const Deeper one(*this);
    const int l = line();
    if (take_sign("-")) return node(Expression::unary, "-", {signed_one()}, l);
    if (take_sign("+")) return signed_one();
    return with_what_follows(atom());
  }
  Expression with_what_follows(Expression e) {
    while (true) {
      const int l = line();
      if (take_sign(".")) {
        std::string word = need_name();
        e = node(Expression::attribute, std::move(word), {std::move(e)}, l);
      } else if (take_sign("(")) {
        Expression call = node(Expression::call, "", {std::move(e)}, l);
        while (!take_sign(")")) {
          if (is_sign("*")) {
            const std::string stars = is_sign("**") ? "**" : "*";
            at_ += stars.size();
            call.parts.push_back(node(Expression::star, stars, {expression()}, l));
            if (!is_sign(")")) need(",");
            continue;
          }
          const bool by_name =
              now().kind == PythonToken::name && at_ + 1 < tokens_.size() && of(at_ + 1) == "=" && of(at_ + 2) != "=";
          if (by_name) {
            std::string word = need_name();
            at_++;
            call.named.emplace_back(std::move(word), expression());
          } else {
            call.parts.push_back(expression());
          }
          if (!is_sign(")")) need(",");
        }
        e = std::move(call);
      } else if (take_sign("[")) {
        Expression sub = node(Expression::subscript, "", {std::move(e)}, l);
        while (!take_sign("]")) {
          sub.parts.push_back(index());
          if (!is_sign("]")) need(",");
        }
        e = std::move(sub);
      } else {
        return e;
      }
    }
  }
  Expression index() {
    const int l = line();
    if (take_sign("...")) return node(Expression::name, "...", {}, l);
    Expression first;
    if (!is_sign(":")) first = expression();
    if (!is_sign(":")) return first;
    std::vector<Expression> parts{std::move(first), {}, {}};
    for (size_t part = 1; part < 3 && take_sign(":"); part++)
      if (!is_sign(":") && !is_sign("]") && !is_sign(",")) parts[part] = expression();
    return node(Expression::slice, "", std::move(parts), l);
  }
  Expression atom() {
    if (ended()) throw NotKnown{};
    const PythonToken t = now();
    const int l = line();
    if (t.kind == PythonToken::name) {
      for (const char* w : {"lambda", "yield", "await"})
        if (of(at_) == w) throw NotKnown{};
      return node(Expression::name, std::string(of(at_++)), {}, l);
    }
    if (t.kind == PythonToken::number) return node(Expression::number, std::string(of(at_++)), {}, l);
    if (t.kind == PythonToken::literal) {
      std::string all;
      while (!ended() && now().kind == PythonToken::literal) all += of(at_++);
      return node(Expression::text, std::move(all), {}, l);
    }
    for (const auto& [open, close] : {std::pair{"(", ")"}, std::pair{"[", "]"}}) {
      if (!take_sign(open)) continue;
      Expression e = node(*open == '(' ? Expression::tuple : Expression::list, "", {}, l);
      bool comma = false;
      while (!take_sign(close)) {
        e.parts.push_back(expression());
        if (is_word("for")) throw NotKnown{};
        if (!is_sign(close)) need(","), comma = true;
      }
      if (e.kind == Expression::tuple && e.parts.size() == 1 && !comma) return std::move(e.parts.front());
      return e;
    }
    throw NotKnown{};
  }
  // a, b
  Expression expressions() {
    const int l = line();
    Expression e = expression();
    if (!is_sign(",")) return e;
    std::vector<Expression> all{std::move(e)};
    while (take_sign(","))
      if (!line_ended() && !is_sign("=")) all.push_back(expression());
    return node(Expression::tuple, "", std::move(all), l);
  }

  // ---- statements

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
    if (is_sign("@")) return to_line_end(), Statement{};  // what decorates a function changes none of its results
    for (const char* w : {"import", "from", "nonlocal", "pass", "del", "break", "continue"})
      if (is_word(w)) {
        if (*w == 'b' || *w == 'c') throw NotKnown{};
        return to_line_end(), Statement{};
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
    while (!take_sign(")")) {
      int stars = 0;
      while (take_sign("*")) stars++;
      if (is_sign(")") || is_sign(",")) {  // * alone
        take_sign(",");
        continue;
      }
      PythonParameter p{need_name()};
      p.stars = stars;
      if (take_sign(":")) skip_type();
      if (take_sign("=")) p.value = expression();
      s.parameters.push_back(std::move(p));
      if (!is_sign(")")) need(",");
    }
    if (take_sign("->")) skip_type();
    s.body = suite(outer);
    return s;
  }
  // An annotation, up to what ends it.
  void skip_type() {
    for (int depth = 0; !line_ended(); at_++) {
      if (!depth && (is_sign(",") || is_sign(")") || is_sign("=") || is_sign(":"))) return;
      depth += (is_sign("[") || is_sign("(")) - (is_sign("]") || is_sign(")"));
    }
  }
  Expression target() {
    const int l = line();
    Expression e = with_what_follows(atom());
    if (!is_sign(",")) return e;
    std::vector<Expression> all{std::move(e)};
    while (take_sign(","))
      if (!is_sign("=") && !is_word("in")) all.push_back(with_what_follows(atom()));
    return node(Expression::tuple, "", std::move(all), l);
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
    if (take_sign(":")) {
      skip_type();
      if (line_ended()) return {};
    }
    Statement out = of_kind(Statement::expression);
    out.value = std::move(first);
    while (is_sign("=") && !is_sign("==")) {
      at_++;
      out.kind = Statement::assignment;
      out.targets.push_back(std::move(out.value));
      out.value = expressions();
    }
    return out;
  }

  const std::string& text_;
  std::vector<PythonToken> tokens_;
  std::vector<size_t> lines_;  // where each begins
  size_t at_ = 0;
  int deep_ = 0;
};

}  // namespace

std::vector<PythonStatement> python_statements(const std::string& text) { return Parser(text).all(); }

}  // namespace convscope
