// Expressions: each name, number and operator with what may stand in its place.
#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "kernels/runtime/compile/edit_parser.h"
#include "kernels/runtime/compile/host_functions.h"

namespace convscope::edits {
namespace {

constexpr std::string_view here = "convscope::edits::";
constexpr std::string_view operators[] = {"<<<", ">>>", "<<=", ">>=", "...", "->", "++", "--", "&&",
                                          "||",  "==",  "!=",  "<=",  ">=",  "+=", "-=", "*=", "/=",
                                          "%=",  "&=",  "|=",  "^=",  "::",  "<<", ">>"};

struct Binary {
  std::string_view op;
  Binds binds;
  int number;  // as convscope/edits.h has it; 0: is left as it is
};
constexpr Binary binaries[] = {
    {"||", Binds::either, 0}, {"&&", Binds::both, 0},     {"|", Binds::bits, 0},      {"^", Binds::bits, 0},
    {"&", Binds::bits, 0},    {"==", Binds::equality, 5}, {"!=", Binds::equality, 6}, {"<", Binds::order, 1},
    {"<=", Binds::order, 2},  {">", Binds::order, 3},     {">=", Binds::order, 4},    {"<<", Binds::shift, 0},
    {">>", Binds::shift, 0},  {"+", Binds::sum, 1},       {"-", Binds::sum, 2},       {"*", Binds::product, 3},
    {"/", Binds::product, 4}, {"%", Binds::product, 5},
};
constexpr Binds stronger(Binds b) { return static_cast<Binds>(static_cast<int>(b) + 1); }

bool whole_number(std::string_view literal) {
  const bool hex = literal.starts_with("0x") || literal.starts_with("0X");
  return literal.find('.') == literal.npos && (hex || literal.find_first_of("eEfF") == literal.npos) &&
         literal.find('\'') == literal.npos;
}

constexpr std::array type_words = {"int",     "unsigned", "long",      "short",   "char",     "float",
                                   "double",  "size_t",   "int64_t",   "int32_t", "uint32_t", "uint64_t",
                                   "int16_t", "uint16_t", "uint8_t",   "int8_t",  "signed",   "scalar_t",
                                   "T",       "acc_t",    "ptrdiff_t", "bool",    "const",    "opmath_t"};
bool names_a_type(std::string_view word) {
  return std::find(type_words.begin(), type_words.end(), word) != type_words.end();
}

}  // namespace

std::vector<Token> tokens_of(const std::string& code, size_t begin, size_t end) {
  std::vector<Token> all;
  for (size_t i = begin; i < end;) {
    const char c = code[i];
    if (std::isspace(static_cast<unsigned char>(c)) || c == '\\') {
      i++;
      continue;
    }
    size_t to = i + 1;
    if (std::isdigit(static_cast<unsigned char>(c)) ||
        (c == '.' && to < end && std::isdigit(static_cast<unsigned char>(code[to])))) {
      while (to < end && (is_word(code[to]) || code[to] == '.' || code[to] == '\'' ||
                          ((code[to] == '+' || code[to] == '-') && (code[to - 1] == 'e' || code[to - 1] == 'E') &&
                           code.compare(i, 2, "0x") != 0)))
        to++;
      all.push_back({i, to, Token::number});
    } else if (is_word(c)) {
      while (to < end && is_word(code[to])) to++;
      all.push_back({i, to, Token::word});
    } else {
      for (std::string_view op : operators)
        if (code.compare(i, op.size(), op) == 0) {
          to = i + op.size();
          break;
        }
      all.push_back({i, to, Token::other});
    }
    i = to;
  }
  return all;
}

std::string Insertions::applied(const std::string& text) const {
  std::set<size_t> places;
  for (const auto* all : {&before_, &behind_, &between_})
    for (const auto& [at, what] : *all) places.insert(at);
  for (const auto& [at, what] : replaced_) places.insert(at);
  std::string out;
  size_t from = 0;
  for (size_t at : places) {
    if (at > from) out.append(text, from, at - from), from = at;
    for (const auto* all : {&behind_, &between_, &before_})
      if (auto it = all->find(at); it != all->end()) out += it->second;
    if (auto it = replaced_.find(at); it != replaced_.end()) out += it->second.second, from = it->second.first;
  }
  return out.append(text, from);
}

void FunctionParser::expect(std::string_view t) {
  if (!is(t)) throw NotUnderstood();
  at_++;
}

size_t FunctionParser::closing_token(size_t open) const {
  const std::string_view opens = text(open), closes = opens == "(" ? ")" : opens == "[" ? "]" : "}";
  int depth = 0;
  for (size_t i = open; i < tokens_.size(); i++) {
    depth += text(i) == opens;
    if (text(i) == closes && --depth == 0) return i;
  }
  throw NotUnderstood();
}

size_t FunctionParser::add(EditSite site) {
  if (all_.sites.empty()) all_.sites.emplace_back();
  site.line = line_of(site.begin);
  if (what_ == EditsOf::barriers && site.kind != EditSite::Kind::barrier) return 0;
  if (without_.contains(site.line) || all_.sites.size() >= most_edit_sites) return 0;
  site.on_host = f_.on_host, site.depth = loops_;
  all_.sites.push_back(std::move(site));
  return all_.sites.size() - 1;
}

std::vector<std::string> FunctionParser::candidates(std::string_view own) const {
  constexpr size_t most = 28;
  std::vector<std::string> list;
  auto add_one = [&](const std::string& name) {
    if (name != own && list.size() < most && std::find(list.begin(), list.end(), name) == list.end())
      list.push_back(name);
  };
  if (own.starts_with("threadIdx.") || own.starts_with("blockIdx.") || own.starts_with("blockDim."))
    for (const char* index : {"threadIdx", "blockIdx", "blockDim"})
      for (const char* side : {".x", ".y", ".z"}) add_one(std::string(index) + side);
  for (size_t i = scopes_.size(); i-- > 0;)
    for (const auto& name : scopes_[i].numbers) add_one(name);
  for (const auto& name : members_) add_one(name);
  return list;
}

// dim3(32, 8) beside (n + 31) / 32.
void FunctionParser::add_numbers_of_line(EditSite& number) const {
  constexpr size_t most_digits = 4;
  const size_t before = number.begin ? code_.rfind('\n', number.begin - 1) : code_.npos;
  const size_t begin = before == code_.npos ? 0 : before + 1, end = std::min(code_.find('\n', begin), code_.size());
  for (const Token& t : tokens_) {
    if (t.kind != Token::number || t.begin < begin || t.end > end || t.end - t.begin > most_digits) continue;
    const std::string other = code_.substr(t.begin, t.end - t.begin);
    const bool is_new = std::find(number.candidates.begin(), number.candidates.end(), other) == number.candidates.end();
    if (other != number.of && is_new && whole_number(other) && other.size() > 1) number.candidates.push_back(other);
  }
}

std::string FunctionParser::list_of(const std::vector<std::string>& names) const {
  std::string out;
  for (const auto& name : names) out += ", " + name;
  return out;
}

void FunctionParser::belongs_to(const Expression& e, Binds around, bool is_right) {
  if (e.site) all_.sites[e.site].around = around, all_.sites[e.site].is_right = is_right;
}

void FunctionParser::whole(Expression& e, bool counts_bytes) {
  const bool computed = e.binds == Binds::sum || e.binds == Binds::product;
  if (!computed && !counts_bytes) return;
  EditSite site = EditSite::at(EditSite::Kind::whole, e.begin, e.end);
  site.left = e.binds;
  if (computed) site.candidates = candidates(code_.substr(e.begin, e.end - e.begin));
  if (counts_bytes) site.candidates.emplace_back(bytes_of_an_element);
  const std::string names = list_of(site.candidates);
  const size_t n = add(std::move(site));
  if (!n) return;
  in_.open(e.begin, fmt::format("{}value({}, ", here, n));
  in_.close(e.end, names + ")");
  e.site = n;
}

FunctionParser::Expression FunctionParser::pair(Expression l, Binds binds, std::string_view op, Expression r,
                                                size_t token) {
  const auto* b = std::find_if(std::begin(binaries), std::end(binaries), [&](const auto& x) { return x.op == op; });
  Expression e{l.begin, r.end, binds};
  const bool logic = binds == Binds::either || binds == Binds::both,
             compares = binds == Binds::equality || binds == Binds::order;
  if (compares) whole(l), whole(r);
  belongs_to(l, compares || logic ? Binds::list : binds, false),
      belongs_to(r, compares || logic ? Binds::list : binds, true);
  if (!b->number && !logic) return e;
  EditSite site = EditSite::at(logic      ? EditSite::Kind::logic
                               : compares ? EditSite::Kind::comparison
                                          : EditSite::Kind::arithmetic,
                               e.begin, e.end);
  site.op = op, site.left_end = l.end, site.right_begin = r.begin, site.left = l.binds, site.right = r.binds;
  if (binds == Binds::order) site.candidates = candidates(code_.substr(l.begin, l.end - l.begin));
  const std::string names = list_of(site.candidates);
  const size_t n = add(std::move(site));
  if (!n) return e;
  e.site = n;
  if (logic) {
    in_.open(e.begin, fmt::format("{}logic<{}>({}, [&] {{ return ", here, binds == Binds::both, n));
    in_.replace(tokens_[token].begin, tokens_[token].end, "; }, [&] { return ");
    in_.close(e.end, "; })");
  } else {
    in_.open(e.begin, fmt::format("{}{}<{}>({}, ", here, compares ? "comparison" : "arithmetic", b->number, n));
    in_.replace(tokens_[token].begin, tokens_[token].end, ",");
    in_.close(e.end, names + ")");
  }
  return e;
}

FunctionParser::Expression FunctionParser::expression(Binds least) {
  Expression l = unary();
  while (at_ < tokens_.size()) {
    const std::string_view op = text(at_);
    const auto* b = std::find_if(std::begin(binaries), std::end(binaries), [&](const auto& x) { return x.op == op; });
    if (b != std::end(binaries)) {
      if (b->binds < least) break;
      const size_t token = at_++;
      Expression r = expression(stronger(b->binds));
      l = pair(l, b->binds, op, r, token);
      continue;
    }
    if (op != "?" || least > Binds::choice) break;
    at_++;
    belongs_to(l, Binds::list, false);
    size_t end = at_;  // of both values
    for (int depth = 0; end < tokens_.size() && depth >= 0 && !is_at(end, ";") && (depth || !is_at(end, ",")); end++)
      depth += is_at(end, "(") || is_at(end, "["), depth -= is_at(end, ")") || is_at(end, "]");
    guard(l, end < tokens_.size() ? begin_of(end) : l.end);
    Expression a = expression(Binds::choice);
    whole(a), expect(":");
    Expression c = expression(Binds::choice);
    whole(c);
    belongs_to(a, Binds::choice, false), belongs_to(c, Binds::choice, true);
    l = {l.begin, c.end, Binds::choice};
  }
  if (l.binds == Binds::sum) pairings(l);
  return l;
}

FunctionParser::Expression FunctionParser::unary() {
  if (at_ >= tokens_.size()) throw NotUnderstood();
  const size_t begin = begin_of(at_);
  for (std::string_view op : {"-", "+", "!", "~", "*"})
    if (is(op)) {
      at_++;
      const Expression e = unary();
      belongs_to(e, Binds::sign, true);
      return {begin, e.end, Binds::sign};
    }
  for (std::string_view op : {"&", "++", "--"})
    if (is(op)) {
      at_++;
      const Expression e = postfix(true);
      return {begin, e.end, Binds::sign};
    }
  if (is("(")) {  // (float)x
    const size_t close = closing_token(at_);
    bool type = close > at_ + 1;
    for (size_t i = at_ + 1; i < close && type; i++) type = names_a_type(text(i)) || text(i) == "*" || text(i) == "&";
    if (type && close + 1 < tokens_.size() && (tokens_[close + 1].kind != Token::other || is_at(close + 1, "("))) {
      at_ = close + 1;
      const Expression e = unary();
      belongs_to(e, Binds::sign, true);
      return {begin, e.end, Binds::sign};
    }
  }
  return postfix(false);
}

bool FunctionParser::begins_template_arguments(size_t token) const {
  if (!is_at(token, "<")) return false;
  int depth = 0;
  for (size_t i = token; i < tokens_.size() && i < token + 40; i++) {
    const std::string_view t = text(i);
    if (t == "<") depth++;
    if (t == ">") depth--;
    if (t == ">>") depth -= 2;
    if (depth <= 0) return is_at(i + 1, "(") || is_at(i + 1, "::") || is_at(i + 1, "<<<") || is_at(i + 1, "{");
    if (tokens_[i].kind == Token::other && t != "<" && t != ">" && t != ">>" && t != "::" && t != "," && t != "*" &&
        t != "&" && t != "+" && t != "-" && t != "(" && t != ")")
      return false;
  }
  return false;
}

void FunctionParser::skip_template_arguments() {
  int depth = 0;
  for (; at_ < tokens_.size(); at_++) {
    depth += is("<"), depth -= is(">");
    if (is(">>")) depth -= 2;
    if (depth <= 0) {
      at_++;
      return;
    }
  }
  throw NotUnderstood();
}

void FunctionParser::shapes(const Expression& grid, const Expression& block) {
  const auto text_of = [&](const Expression& e) { return code_.substr(e.begin, e.end - e.begin); };
  if (!grid.simple || !block.simple || text_of(grid) == text_of(block)) return;
  for (const auto& [own, other] : {std::pair(grid, block), std::pair(block, grid)}) {
    EditSite site = EditSite::at(EditSite::Kind::shape, own.begin, own.end);
    site.by = text_of(other);
    const size_t n = add(std::move(site));
    if (!n) return;
    in_.open(own.begin, fmt::format("{}shape({}, ", here, n));
    in_.close(own.end, ", " + text_of(other) + ")");
  }
}

// Behind the bracket that opens them.
void FunctionParser::arguments(std::string_view closes, std::string_view callee) {
  const size_t call = begin_of(at_ - 1) + 1;
  const bool is_launch = closes == ">>>";
  const bool has_bytes =
      f_.on_host && (is_launch || callee.starts_with("cudaMemcpy") || callee.starts_with("cudaMemset"));
  std::vector<Expression> first_two;
  for (size_t number = 0; !is(closes); number++) {
    while (is(",")) at_++, number++;  // behind a literal, which is not seen
    if (is(closes)) break;
    Expression e = expression(Binds::choice);
    whole(e, has_bytes && number == 2);
    belongs_to(e, Binds::list, false);
    if (is_launch && number < 2) first_two.push_back(e);
    if (first_two.size() == 2) shapes(first_two[0], first_two[1]), first_two.clear();
    if (e.simple && e.site) all_.sites[e.site].call = call, all_.sites[e.site].argument = number;
    if (is(closes)) break;
    expect(",");
  }
  at_++;
}

FunctionParser::Expression FunctionParser::primary(bool assigned) {
  const size_t begin = begin_of(at_);
  auto until_here = [&](Binds binds) { return Expression{begin, tokens_[at_ - 1].end, binds}; };
  if (is("(")) {
    at_++;
    const Expression inner = expression(Binds::choice);
    belongs_to(inner, Binds::list, false);
    expect(")");
    return until_here(Binds::name);
  }
  if (is("[")) {  // a lambda
    at_ = closing_token(at_) + 1;
    if (is("(")) at_ = closing_token(at_) + 1;
    while (!is("{")) {
      if (at_ >= tokens_.size() || is(";") || is(")")) throw NotUnderstood();
      at_++;
    }
    const int loops = loops_;
    loops_ = 0;
    block();
    loops_ = loops;
    return until_here(Binds::name);
  }
  const bool number = tokens_[at_].kind == Token::number;
  if (!number && tokens_[at_].kind != Token::word) throw NotUnderstood();
  const std::string_view word = text(at_++);
  if (number && !whole_number(word)) return until_here(Binds::name);
  if (!number) {
    if (word == "sizeof" || word == "alignof" || word == "decltype") {
      if (!is("(")) throw NotUnderstood();
      at_ = closing_token(at_) + 1;
      return until_here(Binds::name);
    }
    for (std::string_view no : {"new", "delete", "throw", "else", "case", "operator", "asm", "typename"})
      if (word == no) throw NotUnderstood();
    for (std::string_view constant : {"true", "false", "nullptr", "this", "NULL", "warpSize"})
      if (word == constant) return until_here(Binds::name);
    bool qualified = false;
    while (true) {
      if (begins_template_arguments(at_)) {
        qualified = true;
        skip_template_arguments();
      } else if (is("::") && at_ + 1 < tokens_.size()) {
        qualified = true, at_ += 2;
      } else if (is(".") && at_ + 1 < tokens_.size() && tokens_[at_ + 1].kind == Token::word && !is_at(at_ + 2, "(") &&
                 !is_at(at_ + 2, "<") && !is_at(at_ + 2, "[")) {
        at_ += 2;
      } else {
        break;
      }
    }
    for (std::string_view behind : {"(", "[", "++", "--", "{", ".", "->", "<<<"}) qualified |= is(behind);
    if (qualified || assigned) return until_here(Binds::name);
  }
  Expression e = until_here(Binds::name);
  EditSite site = EditSite::at(EditSite::Kind::name, e.begin, e.end);
  site.of = code_.substr(e.begin, e.end - e.begin), site.number = number, site.candidates = candidates(site.of);
  if (number) add_numbers_of_line(site);
  const std::string names = list_of(site.candidates);
  e.site = add(std::move(site)), e.simple = true;
  if (e.site) {
    in_.open(e.begin, fmt::format("{}value({}, ", here, e.site));
    in_.close(e.end, names + ")");
  }
  return e;
}

FunctionParser::Expression FunctionParser::postfix(bool assigned) {
  Expression e = primary(assigned);
  while (at_ < tokens_.size()) {
    if (is("[")) {
      const size_t open = at_++;
      Expression index = expression(Binds::choice);
      whole(index);
      belongs_to(index, Binds::list, false);
      if (!is("]")) throw NotUnderstood();
      const size_t close = at_++;
      e = {e.begin, tokens_[close].end, Binds::name};
      if (what_ == EditsOf::everything && !without_.contains(line_of(e.begin))) {
        in_.open(e.begin, fmt::format("{}at(", here));
        in_.replace(tokens_[open].begin, tokens_[open].end, ", ");
        in_.replace(tokens_[close].begin, tokens_[close].end, ")");
      }
    } else if (is("(")) {
      at_++, arguments(")", std::string_view(code_).substr(e.begin, e.end - e.begin));
      e = {e.begin, tokens_[at_ - 1].end, Binds::name};
    } else if (is("{") && f_.on_host && is_word(code_[e.end - 1])) {  // Shape{stride, padding}
      at_++, arguments("}");
      e = {e.begin, tokens_[at_ - 1].end, Binds::name};
    } else if (is("<<<")) {
      at_++, arguments(">>>");
      e = {e.begin, tokens_[at_ - 1].end, Binds::name};
    } else if ((is(".") || is("->")) && at_ + 1 < tokens_.size()) {
      at_ += 2;
      if (begins_template_arguments(at_)) skip_template_arguments();
      e = {e.begin, tokens_[at_ - 1].end, Binds::name};
    } else if (is("++") || is("--")) {
      at_++;
      e = {e.begin, tokens_[at_ - 1].end, Binds::name};
    } else {
      break;
    }
  }
  return e;
}

}  // namespace convscope::edits
