#include "kernels/runtime/compile/python_expressions.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>

namespace convscope {

PythonExpressions::PythonExpressions(const std::string& text) : text_(text) {
  for (const PythonToken& t : python_tokens(text))
    if (t.kind != PythonToken::sign || text[t.from] != '\\') tokens_.push_back(t);  // a line that goes on
  lines_.push_back(0);
  for (size_t i = 0; i < text.size(); i++)
    if (text[i] == '\n') lines_.push_back(i + 1);
}

int PythonExpressions::line_of(size_t place) const {
  return static_cast<int>(std::upper_bound(lines_.begin(), lines_.end(), place) - lines_.begin());
}

bool PythonExpressions::is_sign(std::string_view s) const {
  for (size_t i = 0; i < s.size(); i++) {
    const size_t t = at_ + i;
    if (t >= tokens_.size() || tokens_[t].kind != PythonToken::sign || text_[tokens_[t].from] != s[i] ||
        tokens_[t].from != tokens_[at_].from + i)
      return false;
  }
  return true;
}

void PythonExpressions::need(std::string_view s) {
  if (!take_sign(s)) throw NotKnown{};
}

std::string PythonExpressions::need_name() {
  if (ended() || now().kind != PythonToken::name) throw NotKnown{};
  return std::string(of(at_++));
}

// ---- expressions, from the loosest binding on

PythonExpression PythonExpressions::expression() {
  const Deeper one(*this);
  const bool names_it = !ended() && now().kind == PythonToken::name && at_ + 1 < tokens_.size() && of(at_ + 1) == ":";
  if (at_++; names_it && is_sign(":=")) {
    at_--;
    const int l = line();
    Expression name = node(Expression::name, need_name(), {}, l);
    at_ += 2;
    return node(Expression::naming, "", {std::move(name), expression()}, l);
  }
  at_--;
  Expression e = either();
  if (!is_word("if")) return e;
  const int l = line();
  at_++;
  Expression condition = either();
  if (!take_word("else")) throw NotKnown{};
  Expression other = expression();
  return node(Expression::conditional, "", {std::move(e), std::move(condition), std::move(other)}, l);
}
PythonExpression PythonExpressions::either() {
  Expression e = both();
  for (int links = 0; is_word("or"); one_more(links)) {
    const int l = line();
    at_++;
    e = node(Expression::either, "or", {std::move(e), both()}, l);
  }
  return e;
}
PythonExpression PythonExpressions::both() {
  Expression e = negated();
  for (int links = 0; is_word("and"); one_more(links)) {
    const int l = line();
    at_++;
    e = node(Expression::both, "and", {std::move(e), negated()}, l);
  }
  return e;
}
PythonExpression PythonExpressions::negated() {
  const Deeper one(*this);
  const int l = line();
  if (take_word("not")) return node(Expression::unary, "not", {negated()}, l);
  return comparison();
}
std::string PythonExpressions::comparing() {
  for (const char* s : {"==", "!=", "<=", ">=", "<", ">"})
    if (take_sign(s)) return s;
  if (take_word("is")) return take_word("not") ? "is not" : "is";
  if (take_word("in")) return "in";
  if (is_word("not") && at_ + 1 < tokens_.size() && of(at_ + 1) == "in") return at_ += 2, "not in";
  return "";
}
PythonExpression PythonExpressions::comparison() {
  Expression left = sum(), chain;
  for (int links = 0;; one_more(links)) {
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
bool PythonExpressions::assigns(std::string_view sign) const {  // "+=" is none of a sum's
  const size_t behind = at_ + sign.size();
  return behind < tokens_.size() && tokens_[behind].kind == PythonToken::sign && text_[tokens_[behind].from] == '=' &&
         tokens_[behind].from == tokens_[at_].from + sign.size();
}
PythonExpression PythonExpressions::sum() {
  Expression e = product();
  for (int links = 0; (is_sign("+") || is_sign("-")) && !assigns("+"); one_more(links)) {
    const int l = line();
    const std::string sign(of(at_++));
    e = node(Expression::binary, sign, {std::move(e), product()}, l);
  }
  return e;
}
PythonExpression PythonExpressions::product() {
  Expression e = signed_one();
  for (int links = 0;; one_more(links)) {
    std::string sign;
    for (const char* s : {"//", "**", "*", "/", "%", "@"})
      if (sign.empty() && is_sign(s)) sign = s;
    if (sign.empty() || assigns(sign)) return e;
    const int l = line();
    at_ += sign.size();
    e = node(Expression::binary, sign, {std::move(e), signed_one()}, l);
  }
}
PythonExpression PythonExpressions::signed_one() {
  const Deeper one(*this);
  const int l = line();
  if (take_sign("-")) return node(Expression::unary, "-", {signed_one()}, l);
  if (take_sign("+")) return signed_one();
  return power();
}
// Binds closer than the sign before it, and less than the one behind it: -2 ** -1. From the right: a ** (b ** c).
PythonExpression PythonExpressions::power() {
  Expression e = with_what_follows(atom());
  if (!is_sign("**") || assigns("**")) return e;
  const int l = line();
  at_ += 2;
  return node(Expression::binary, "**", {std::move(e), signed_one()}, l);
}
PythonExpression PythonExpressions::with_what_follows(Expression e) {
  for (int links = 0;; one_more(links)) {
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
          Expression argument = expression();
          call.parts.push_back(is_word("for") ? walked(std::move(argument), "(") : std::move(argument));
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
PythonExpression PythonExpressions::index() {
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
PythonExpression PythonExpressions::atom() {
  if (ended()) throw NotKnown{};
  const PythonToken t = now();
  const int l = line();
  if (t.kind == PythonToken::name) {
    if (take_word("lambda")) return lambda();
    if (take_word("yield")) return yielded(l);
    if (of(at_) == "await") throw NotKnown{};
    return node(Expression::name, std::string(of(at_++)), {}, l);
  }
  if (t.kind == PythonToken::number) return node(Expression::number, std::string(of(at_++)), {}, l);
  if (t.kind == PythonToken::literal) return string();
  if (take_sign("{")) return names();
  for (const auto& [open, close] : {std::pair{"(", ")"}, std::pair{"[", "]"}}) {
    if (!take_sign(open)) continue;
    Expression e = node(*open == '(' ? Expression::tuple : Expression::list, "", {}, l);
    bool comma = false;
    while (!take_sign(close)) {
      if (take_sign("*"))
        e.parts.push_back(node(Expression::star, "*", {either()}, l));
      else
        e.parts.push_back(expression());
      if (is_word("for") && e.parts.size() == 1) {
        e = walked(std::move(e.parts.front()), open);
        need(close);
        return e;
      }
      if (!is_sign(close)) need(","), comma = true;
    }
    if (e.kind == Expression::tuple && e.parts.size() == 1 && !comma) return std::move(e.parts.front());
    return e;
  }
  throw NotKnown{};
}
PythonExpression PythonExpressions::yielded(int l) {
  yields_ = true;
  if (take_word("from")) return node(Expression::yields, "from", {expression()}, l);
  if (line_ended() || is_sign(")")) return node(Expression::yields, "", {Expression()}, l);
  return node(Expression::yields, "", {expressions()}, l);
}
// a, b
PythonExpression PythonExpressions::expressions() {
  const int l = line();
  Expression e = starred();
  if (!is_sign(",")) return e.kind == Expression::star ? throw NotKnown{} : e;
  std::vector<Expression> all{std::move(e)};
  while (take_sign(","))
    if (!line_ended() && !is_sign("=") && !is_sign(":")) all.push_back(starred());
  return node(Expression::tuple, "", std::move(all), l);
}
PythonExpression PythonExpressions::starred() {
  const int l = line();
  if (!is_sign("*") || is_sign("**")) return expression();
  at_++;
  return node(Expression::star, "*", {either()}, l);
}

PythonExpression PythonExpressions::target() {
  const int l = line();
  Expression e = with_what_follows(atom());
  if (!is_sign(",")) return e;
  std::vector<Expression> all{std::move(e)};
  while (take_sign(","))
    if (take_sign("*"))
      all.push_back(node(Expression::star, "*", {with_what_follows(atom())}, l));
    else if (!is_sign("=") && !is_word("in"))
      all.push_back(with_what_follows(atom()));
  return node(Expression::tuple, "", std::move(all), l);
}

namespace {

// What \x41, \u00e9 or \101 stand for, in UTF-8; i: at the backslash, then at the last character of it. "": another.
std::string written_as_number(std::string_view body, size_t& i) {
  const char kind = body[i + 1];
  const bool octal = kind >= '0' && kind <= '7';
  const size_t from = i + (octal ? 1 : 2), most = octal ? 3 : kind == 'x' ? 2 : kind == 'u' ? 4 : 0;
  uint32_t code = 0;
  const auto [end, error] = std::from_chars(body.data() + std::min(from, body.size()),
                                            body.data() + std::min(from + most, body.size()), code, octal ? 8 : 16);
  const size_t taken = error == std::errc{} ? static_cast<size_t>(end - body.data()) - from : 0;
  if (taken == 0 || (!octal && taken != most)) return "";
  i = from + taken - 1;
  if (code < 0x80) return {static_cast<char>(code)};
  std::string made;
  if (code >= 0x800) made += static_cast<char>(0xe0 | code >> 12);
  made += static_cast<char>(code >= 0x800 ? 0x80 | (code >> 6 & 0x3f) : 0xc0 | code >> 6);
  return made + static_cast<char>(0x80 | (code & 0x3f));
}

}  // namespace

// Strings that stand one behind the other, with what their backslashes mean.
PythonExpression PythonExpressions::string() {
  Expression e = node(Expression::text, "", {}, line());
  for (; !ended() && now().kind == PythonToken::literal; at_++) {
    const std::string_view body = of(at_);
    e.formatted |= now().formatted;
    const size_t before = e.word.size();
    for (size_t i = 0; i < body.size(); i++) {
      const char next = body[i] == '\\' && !now().raw && i + 1 < body.size() ? body[i + 1] : ' ';
      constexpr std::string_view written = "nt\\'\"rabfv", means = "\n\t\\'\"\r\a\b\f\v";
      if (next != ' ')
        if (const std::string own = written_as_number(body, i); !own.empty()) {
          e.word += own;
          continue;
        }
      const size_t known = written.find(next);
      e.word += known == written.npos ? body[i] : means[known];
      i += known != written.npos;
    }
    const std::string written_here = e.word.substr(before);
    if (now().formatted)
      add_pieces(e, written_here);
    else
      e.parts.push_back(node(Expression::text, written_here, {}, e.line));
  }
  if (!e.formatted) e.parts.clear();
  return e;
}
// f"a{b}{{c": text, what stands in braces, text.
void PythonExpressions::add_pieces(Expression& to, const std::string& body) const {
  std::string text;
  auto text_ends = [&] {
    if (!text.empty()) to.parts.push_back(node(Expression::text, std::move(text), {}, to.line));
    text.clear();
  };
  for (size_t i = 0; i < body.size(); i++) {
    const bool brace = body[i] == '{' || body[i] == '}';
    if (!brace || (i + 1 < body.size() && body[i + 1] == body[i])) {
      text += body[i];
      i += brace;
      continue;
    }
    text_ends();
    // Up to what ends it outside of its own brackets; how it is written stands behind ! or :.
    size_t end = i + 1;
    for (int depth = 0; end < body.size() && (depth || (body[end] != '}' && body[end] != ':' && body[end] != '!'));
         end++)
      depth += (body[end] == '(' || body[end] == '[') - (body[end] == ')' || body[end] == ']');
    const size_t close = body.find('}', end);
    const std::string inside = body.substr(i + 1, end - i - 1);
    Expression value = python_expression(inside, to.line);
    const bool known = value.kind != Expression::nothing && close != body.npos && body[end + 1] != '=';
    to.parts.push_back(node(Expression::star, known ? body.substr(end, close - end) : "?",
                            {std::move(value), node(Expression::text, inside, {}, to.line)}, to.line));
    if (close == body.npos) return;
    i = close;
  }
  text_ends();
}

// {a: b, **c}, and {a, b}: a list whose word says that it is a set.
PythonExpression PythonExpressions::names() {
  Expression e = node(Expression::names, "", {}, line());
  while (!take_sign("}")) {
    if (take_sign("**")) {
      e.parts.emplace_back();
      e.parts.push_back(expression());
    } else {
      e.parts.push_back(expression());
      if (is_sign(":") && e.kind == Expression::names) {
        at_++;
        e.parts.push_back(expression());
      } else if (e.parts.size() == 1 || e.kind == Expression::list) {
        e.kind = Expression::list, e.word = "set";
      } else {
        throw NotKnown{};
      }
      if (is_word("for") && e.parts.size() == (e.kind == Expression::list ? 1 : 2)) {
        Expression element = e.kind == Expression::list ? std::move(e.parts.front())
                                                        : node(Expression::tuple, "", std::move(e.parts), e.line);
        e = walked(std::move(element), e.kind == Expression::list ? "set" : "{");
        need("}");
        return e;
      }
    }
    if (!is_sign("}")) need(",");
  }
  return e;
}

// … for a in b if c for d in e
PythonExpression PythonExpressions::walked(Expression element, const char* opens) {
  const Deeper one(*this);
  const int l = line();
  at_++;
  std::vector<Expression> parts{{}, target()};
  if (!take_word("in")) throw NotKnown{};
  parts.push_back(either());
  while (take_word("if")) parts.push_back(either());
  parts.front() = is_word("for") ? walked(std::move(element), "+") : std::move(element);
  return node(Expression::walked, opens, std::move(parts), l);
}

PythonExpression PythonExpressions::lambda() {
  Expression e = node(Expression::lambda, "", {}, line());
  auto f = std::make_shared<PythonStatement>();
  f->kind = PythonStatement::function, f->word = "lambda", f->line = e.line;
  f->parameters = parameters(":");
  PythonStatement result;
  result.kind = PythonStatement::returns, result.line = e.line;
  result.value = expression();
  f->body.push_back(std::move(result));
  e.function = std::move(f);
  return e;
}

// With the sign that ends them.
std::vector<PythonParameter> PythonExpressions::parameters(std::string_view closes) {
  std::vector<PythonParameter> all;
  while (!take_sign(closes)) {
    int stars = 0;
    while (take_sign("*")) stars++;
    if (take_sign("/") || is_sign(closes) || is_sign(",")) {  // * alone, or /
      take_sign(",");
      continue;
    }
    PythonParameter p{need_name()};
    p.stars = stars;
    if (closes != ":" && take_sign(":")) skip_type();
    if (take_sign("=")) p.value = expression();
    all.push_back(std::move(p));
    if (!is_sign(closes)) need(",");
  }
  return all;
}

// An annotation, up to what ends it.
void PythonExpressions::skip_type() {
  for (int depth = 0; !line_ended(); at_++) {
    if (!depth && (is_sign(",") || is_sign(")") || is_sign("=") || is_sign(":"))) return;
    depth += (is_sign("[") || is_sign("(")) - (is_sign("]") || is_sign(")"));
  }
}

}  // namespace convscope
