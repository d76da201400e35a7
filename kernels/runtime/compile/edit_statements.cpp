// Statements: what is declared where, and where one may be lacking.
#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "kernels/runtime/compile/edit_parser.h"
#include "kernels/runtime/compile/host_functions.h"
#include "kernels/runtime/compile/launch_lines.h"

namespace convscope::edits {
namespace {

constexpr std::string_view number_types[] = {"int",     "unsigned", "long",     "short",    "size_t",
                                             "int64_t", "int32_t",  "uint32_t", "uint64_t", "ptrdiff_t",
                                             "index_t", "ssize_t",  "auto",     "uint",     "int16_t"};
constexpr std::string_view floating_types[] = {"float", "double",   "half",        "__half", "scalar_t", "T",
                                               "acc_t", "opmath_t", "accscalar_t", "Acc",    "AccT"};
constexpr std::string_view qualifiers[] = {"const",      "static",       "constexpr", "volatile",   "register",
                                           "inline",     "extern",       "typename",  "__shared__", "__constant__",
                                           "__device__", "__restrict__", "struct",    "signed"};
constexpr std::string_view assignments[] = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="};

template <class List>
bool among(std::string_view word, const List& list) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

}  // namespace

FunctionParser::FunctionParser(const std::string& code, const ParsedFunction& f,
                               const std::vector<std::string>& constants, EditsOf what, const std::set<int>& without,
                               EditSites& sites, Insertions& insertions)
    : code_(code),
      f_(f),
      what_(what),
      without_(without),
      all_(sites),
      in_(insertions),
      tokens_(tokens_of(code, f.parameters, f.end + 1)) {
  for (size_t i = 0; i < code.size(); i++)
    if (code[i] == '\n') lines_.push_back(i);
  // Of another namespace they have no such name.
  scopes_.emplace_back();
  for (const auto& name : constants)
    for (size_t i = 0; i < tokens_.size(); i++)
      if (text(i) == name && (i == 0 || text(i - 1) != "::")) {
        scopes_.back().numbers.push_back(name);
        break;
      }
}

int FunctionParser::line_of(size_t place) const {
  return 1 + static_cast<int>(std::lower_bound(lines_.begin(), lines_.end(), place) - lines_.begin());
}

template <class F>
bool FunctionParser::attempt(F f) {
  const size_t at = at_, sites = all_.sites.size();
  const Insertions before = in_;
  try {
    f();
    return true;
  } catch (const NotUnderstood&) {
    at_ = at, in_ = before, all_.sites.resize(sites);
    return false;
  }
}

// The fields of a ConvArgs or a ConvProblem.
void FunctionParser::know_problem(const std::string& name) {
  for (const char* field : {"batch", "in_channels", "out_channels", "kernel_size", "length", "stride", "padding",
                            "output_padding", "dilation", "groups"})
    scopes_.back().numbers.push_back(name + "." + field);
}

void FunctionParser::know_parameters() {
  scopes_.emplace_back();
  auto know = [&](const std::string& declared) {
    const std::string text = declared.substr(0, declared.find('='));
    const auto words = tokens_of(text, 0, text.size());
    std::vector<std::string> names;
    bool pointer = text.find('*') != text.npos, number = false;
    for (const auto& t : words)
      if (t.kind == Token::word) names.push_back(text.substr(t.begin, t.end - t.begin));
    if (names.size() < 2 || pointer) return;
    for (size_t i = 0; i + 1 < names.size(); i++) number |= among(names[i], number_types);
    if (number && text.find('<') == text.npos) scopes_.back().numbers.push_back(names.back());
    if (std::find(names.begin(), names.end(), "ConvArgs") != names.end())
      know_problem(names.back());
    else if (!number && text.find("Tensor") == text.npos)
      for (size_t i = 0; i + 2 < tokens_.size(); i++)
        if (is_at(i, names.back()) && is_at(i + 1, ".") && tokens_[i + 2].kind == Token::word && !is_at(i + 3, "(") &&
            !is_at(i + 3, "[") && !is_at(i + 3, "."))
          members_.push_back(names.back() + "." + std::string(this->text(i + 2)));
  };
  if (const size_t open = f_.head.find('<'); open != f_.head.npos)
    for (const auto& p : list_parts(f_.head.substr(open + 1, f_.head.rfind('>') - open - 1))) know(p);
  const size_t close = closing_token(0);
  for (const auto& p : list_parts(code_.substr(tokens_[0].end, begin_of(close) - tokens_[0].end))) know(p);
  std::sort(members_.begin(), members_.end());
  members_.erase(std::unique(members_.begin(), members_.end()), members_.end());
  at_ = close + 1;
}

// Names in the sizes of arrays that are declared: what they are is known when it is compiled.
void FunctionParser::look_for_sizes() {
  for (size_t i = 0; i + 2 < tokens_.size(); i++) {
    if (tokens_[i].kind != Token::word || tokens_[i + 1].kind != Token::word || text(i) == "return" ||
        text(i) == "else" || text(i) == "case")
      continue;
    for (size_t open = i + 2; is_at(open, "[");) {
      const size_t close = closing_token(open);
      for (size_t k = open + 1; k < close; k++)
        if (tokens_[k].kind == Token::word) sizes_.emplace(text(k));
      open = close + 1;
    }
  }
  for (size_t i = 0; i + 1 < tokens_.size(); i++) {
    if (tokens_[i].kind != Token::word || !begins_template_arguments(i + 1)) continue;
    for (size_t k = i + 2; k < tokens_.size() && !is_at(k, ">"); k++)
      if (tokens_[k].kind == Token::word) sizes_.emplace(text(k));
  }
}

void FunctionParser::parse() {
  if (tokens_.empty() || all_.sites.size() >= most_edit_sites) return;
  attempt([&] {
    know_parameters();
    look_for_sizes();
    while (!is("{")) {
      if (++at_ >= tokens_.size()) throw NotUnderstood();
    }
    block();
  });
}

void FunctionParser::barrier_at(size_t place) {
  if (f_.on_host) return;
  if (const size_t n = add(EditSite::at(EditSite::Kind::barrier, place, place)))
    in_.put(place, fmt::format("convscope::edits::barrier({}); ", n));
}

void FunctionParser::clear_at(size_t place, const std::string& variable) {
  if (f_.on_host) return;
  EditSite site = EditSite::at(EditSite::Kind::clear, place, place);
  site.of = variable;
  if (const size_t n = add(std::move(site)))
    in_.put(place, fmt::format(" convscope::edits::clear({}, {}); ", n, variable));
}

void FunctionParser::block() {
  const size_t outer = std::exchange(block_, begin_of(at_) + 1);
  expect("{");
  scopes_.emplace_back();
  bool ended = false;  // what comes behind is not reached
  while (!is("}")) {
    if (at_ >= tokens_.size()) throw NotUnderstood();
    const bool label = is("case") || is("default");
    if (!label && !ended) barrier_at(begin_of(at_));
    ended = is("return") || is("break") || is("continue") || is("goto");
    statement(true);
  }
  if (!ended) barrier_at(begin_of(at_));
  at_++;
  scopes_.pop_back();
  block_ = outer;
}

// At its (; behind the ) afterwards.
void FunctionParser::header(bool of_if) {
  if (!is("(")) throw NotUnderstood();
  const size_t close = closing_token(at_);
  if (!attempt([&] {
        at_++;
        const Expression e = expression(Binds::choice);
        belongs_to(e, Binds::list, false);
        if (at_ != close) throw NotUnderstood();
        if (of_if) guard(e, end_of_statement(close + 1));
      }))
    at_ = close;
  at_ = close + 1;
}

void FunctionParser::body_of_loop(bool in_block) {
  const bool left = leaves_;
  loops_++, leaves_ = true;
  if (is("{")) {
    std::vector<std::string> sums;
    for (const auto& scope : scopes_) sums.insert(sums.end(), scope.sums.begin(), scope.sums.end());
    for (const auto& sum : sums) clear_at(tokens_[at_].end, sum);
  }
  statement(in_block);
  loops_--, leaves_ = left;
}

void FunctionParser::statement(bool in_block) {
  if (is("{")) return block();
  if (is(";")) {
    at_++;
    return;
  }
  if (is("if")) {
    at_++;
    if (is("constexpr"))
      at_ = closing_token(at_ + 1) + 1;
    else
      header(true);
    statement(false);
    if (is("else")) at_++, statement(false);
    return;
  }
  if (is("while") || is("switch")) {
    const bool loop = is("while"), left = leaves_;
    at_++, header(false);
    if (loop) return body_of_loop(in_block);
    leaves_ = false;
    statement(false);
    leaves_ = left;
    return;
  }
  if (is("do")) {
    at_++, body_of_loop(false);
    expect("while"), header(false), expect(";");
    return;
  }
  if (is("for")) {
    at_++;
    const size_t close = closing_token(at_);
    scopes_.emplace_back();
    if (!attempt([&] {
          at_++;
          if (Declared d; !is(";") && !declaration(d)) assignment();
          expect(";");
          if (!is(";")) {
            const Expression e = expression(Binds::choice);
            belongs_to(e, Binds::list, false);
            guard(e, end_of_statement(close + 1));
          }
          expect(";");
          while (!is(")")) {
            assignment();
            if (is(",")) at_++;
          }
          if (at_ != close) throw NotUnderstood();
        })) {
      scopes_.back() = {};
    }
    at_ = close + 1;
    body_of_loop(in_block);
    scopes_.pop_back();
    return;
  }
  if (is("case") || is("default")) {
    while (at_ < tokens_.size() && !is(":")) at_++;
    at_++;
    return;
  }
  if ((is("break") || is("continue") || is("return")) && is_at(at_ + 1, ";")) {
    EditSite site = EditSite::at(EditSite::Kind::jump, begin_of(at_), tokens_[at_].end);
    site.op = text(at_);
    const char* other = site.op == "continue" ? "break" : "continue";
    if (loops_ && leaves_ && !f_.on_host)
      if (const size_t n = add(std::move(site)))
        in_.put(begin_of(at_), fmt::format("if (convscope::edits::made({})) {}; else ", n, other));
    at_ += 2;
    return;
  }
  if (is("return")) {
    if (!attempt([&] {
          at_++;
          if (!is(";")) {
            Expression e = expression(Binds::choice);
            whole(e), belongs_to(e, Binds::list, false);
          }
          expect(";");
        }))
      skip_statement();
    return;
  }
  for (std::string_view raw :
       {"using", "typedef", "struct", "class", "static_assert", "asm", "goto", "template", "try", "else", "extern"})
    if (is(raw)) return skip_statement();
  if (!attempt([&] { simple_statement(in_block); })) skip_statement();
}

void FunctionParser::skip_statement() {
  int depth = 0;
  for (; at_ < tokens_.size(); at_++) {
    const std::string_view t = text(at_);
    if (t == "(" || t == "[" || t == "{") depth++;
    if (t == ")" || t == "]" || t == "}") depth--;
    if (depth < 0) return;
    if (t == ";" && depth == 0) break;
  }
  at_++;
}

void FunctionParser::stop_behind(size_t place, const Expression& value, const std::string& name) {
  const std::string leave = loops_ && leaves_ ? "continue" : f_.is_kernel ? "return" : "";
  if (leave.empty() || f_.on_host) return;
  if (value.site) {
    const EditSite from = all_.sites[value.site];
    const EditSite* division = &from;
    // A whole expression's own operator was finished just before it.
    if (from.kind == EditSite::Kind::whole && value.site > 1) division = &all_.sites[value.site - 1];
    if (division->kind == EditSite::Kind::arithmetic && division->op == "/" && division->begin == value.begin &&
        division->end == value.end) {
      EditSite site = EditSite::at(EditSite::Kind::divisible, place, place);
      site.of = code_.substr(division->begin, division->left_end - division->begin);
      site.by = code_.substr(division->right_begin, division->end - division->right_begin);
      site.left = division->left, site.right = division->right, site.leave = leave;
      const std::string a = site.of, b = site.by;
      if (const size_t n = add(std::move(site)))
        in_.put(place, fmt::format(" if (convscope::edits::leaves_rest({}, {}, {})) {};", n, a, b, leave));
    }
  }
  if (leave != "return" && loops_ == 0) return;
  EditSite site = EditSite::at(EditSite::Kind::beyond, place, place);
  site.of = name, site.leave = leave, site.candidates = candidates(name);
  const std::string names = list_of(site.candidates);
  if (const size_t n = add(std::move(site)))
    in_.put(place, fmt::format(" if (convscope::edits::beyond({}, {}{})) {};", n, name, names, leave));
}

void FunctionParser::simple_statement(bool in_block) {
  Declared d;
  if (!declaration(d)) {
    const size_t first = at_;
    assignment();
    expect(";");
    if (in_block) guard_statement(first);
    return;
  }
  expect(";");
  if (!in_block || d.raw) return;
  const size_t behind = tokens_[at_ - 1].end;
  for (const auto& name : d.unset)
    if (!d.number) clear_at(behind, name);
  if (d.number)
    for (const auto& [name, value] : d.values) stop_behind(behind, value, name);
}

bool FunctionParser::declaration(Declared& d) {
  const size_t start = at_;
  bool typed = false, floating = false;
  std::string_view type;
  while (at_ < tokens_.size() && tokens_[at_].kind == Token::word) {
    const std::string_view word = text(at_);
    if (among(word, qualifiers)) {
      d.raw |= word == "constexpr" || word == "static" || word == "extern" || word == "__shared__";
    } else if (among(word, number_types) || word == "char" || word == "bool") {
      typed = true, d.number |= word != "bool";
    } else if (!typed) {
      typed = true, floating = among(word, floating_types), type = word;
      at_++;
      while (is("::")) at_ += 2;
      if (is("<")) skip_template_arguments();
      while (is("::")) at_ += 2;
      continue;
    } else {
      break;
    }
    at_++;
  }
  bool pointer = false;
  while (is("*") || is("&") || is("&&") || is("const") || is("__restrict__")) pointer |= is("*"), at_++;
  const bool named = typed && at_ < tokens_.size() && tokens_[at_].kind == Token::word;
  bool follows = false;
  for (std::string_view t : {"=", ";", ",", "(", "[", "{"}) follows |= named && is_at(at_ + 1, t);
  if (!follows) {
    at_ = start, d = {};
    return false;
  }
  d.number &= !pointer;
  const bool sums = floating && !pointer && !d.raw;
  while (true) {
    const std::string name(text(at_));
    const bool array = is_at(at_ + 1, "[");
    declarator(d);
    if (d.number && !array) scopes_.back().numbers.push_back(name);
    if (sums && !array) scopes_.back().sums.push_back(name);
    if (type == "ConvArgs" && !array && !pointer) know_problem(name);
    if (!is(",")) return true;
    at_++;
    while (is("*") || is("&") || is("__restrict__")) at_++;
    if (at_ >= tokens_.size() || tokens_[at_].kind != Token::word) throw NotUnderstood();
  }
}

void FunctionParser::declarator(Declared& d) {
  const std::string name(text(at_++));
  while (is("[")) at_ = closing_token(at_) + 1;
  const bool left = d.raw || sizes_.contains(name);
  if (is("{")) {
    in_braces(left);
  } else if (is("(")) {
    if (left)
      at_ = closing_token(at_) + 1;
    else
      at_++, arguments(")");
  } else if (is("=")) {
    at_++;
    if (left) {
      int depth = 0;
      for (; at_ < tokens_.size() && !(depth == 0 && (is(",") || is(";"))); at_++) {
        depth += is("(") || is("[") || is("{");
        depth -= is(")") || is("]") || is("}");
      }
    } else if (is("{")) {
      in_braces(false);
    } else {
      Expression e = expression(Binds::choice);
      whole(e), belongs_to(e, Binds::list, false);
      if (d.number) d.values.emplace_back(name, e);
    }
  } else {
    d.unset.push_back(name);
  }
}

void FunctionParser::in_braces(bool left) {
  const size_t behind = closing_token(at_) + 1;
  if (left || !f_.on_host || !attempt([&] { at_++, arguments("}"); })) at_ = behind;
}

void FunctionParser::assignment() {
  // What is assigned to keeps its name.
  size_t op = at_;
  int depth = 0;
  for (; op < tokens_.size(); op++) {
    const std::string_view t = text(op);
    if (depth == 0 && (among(t, assignments) || t == ";" || t == "," || t == ")")) break;
    if (t == "(" || t == "[" || t == "{") depth++;
    if (t == ")" || t == "]" || t == "}") depth--;
  }
  if (op >= tokens_.size() || !among(text(op), assignments)) {
    if (is("++") || is("--")) at_++;
    postfix(true);
    return;
  }
  while (is("*")) at_++;
  const Expression to = postfix(true);
  if (at_ != op) throw NotUnderstood();
  const std::string how(text(at_++));
  Expression value = expression(Binds::choice);
  whole(value), belongs_to(value, Binds::list, false);
  // p.stride = padding; p.padding = stride;
  if (f_.on_host && how == "=" && value.simple && value.site) all_.sites[value.site].call = block_;
  const bool element = is_at(op - 1, "]") && code_[to.begin] != '*';
  if (f_.on_host || !element || (how != "=" && how != "+=") || is(",")) return;
  EditSite site = EditSite::at(EditSite::Kind::store, to.begin, value.end);
  site.op = how, site.left_end = to.end, site.right_begin = value.begin;
  const size_t n = add(std::move(site));
  if (!n) return;
  in_.open(to.begin, fmt::format("convscope::edits::store<{}>({}, ", how == "+=", n));
  in_.replace(tokens_[op].begin, tokens_[op].end, ",");
  in_.close(value.end, ")");
}

}  // namespace convscope::edits
