// One function's text, walked for the places where an edit may be (edit_sites.h alone uses it).
#pragma once
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/runtime/compile/edit_sites.h"

namespace convscope::edits {

struct Token {
  size_t begin, end;
  enum Kind { word, number, other } kind;
};
// In a text without comments and literals (code_of).
std::vector<Token> tokens_of(const std::string& code, size_t begin, size_t end);

constexpr size_t most_edit_sites = 4096;  // as convscope/edits.h has it

// What is put into a text, or in the place of a part of it. An expression is finished before what it is part of: who
// comes later opens before those that are there, and closes behind them.
class Insertions {
 public:
  void open(size_t at, const std::string& text) { before_[at].insert(0, text); }
  void close(size_t at, const std::string& text) { behind_[at] += text; }
  void put(size_t at, const std::string& text) { between_[at] += text; }  // between two statements
  void replace(size_t begin, size_t end, const std::string& text) { replaced_[begin] = {end, text}; }
  std::string applied(const std::string& text) const;

 private:
  std::map<size_t, std::string> before_, behind_, between_;
  std::map<size_t, std::pair<size_t, std::string>> replaced_;
};

struct ParsedFunction {
  size_t parameters, body, end;  // where its ( is, its { and its }
  std::string head;              // template <…>, or ""
  bool on_host = false, is_kernel = false;
};

class FunctionParser {
 public:
  // constants: whole numbers that the file names outside of its functions.
  FunctionParser(const std::string& code, const ParsedFunction& f, const std::vector<std::string>& constants,
                 EditsOf what, const std::set<int>& without, EditSites& sites, Insertions& insertions);
  void parse();

 private:
  struct NotUnderstood {};
  struct Expression {
    size_t begin, end;  // of its text
    Binds binds;
    size_t site = 0;      // of its own, which what it is part of makes known around it; 0: none
    bool simple = false;  // a name or a number that has a site
  };
  struct Declared {
    bool number = false, raw = false;
    std::vector<std::string> unset;                          // without a value
    std::vector<std::pair<std::string, Expression>> values;  // whole numbers, and what they begin with
  };
  struct Scope {
    std::vector<std::string> numbers, sums;  // sums: variables that may be no whole numbers
  };

  // ---- tokens
  bool is(std::string_view t) const { return at_ < tokens_.size() && text(at_) == t; }
  bool is_at(size_t i, std::string_view t) const { return i < tokens_.size() && text(i) == t; }
  std::string_view text(size_t i) const {
    return std::string_view(code_).substr(tokens_[i].begin, tokens_[i].end - tokens_[i].begin);
  }
  void expect(std::string_view t);
  size_t closing_token(size_t open) const;  // Errors: NotUnderstood
  size_t begin_of(size_t token) const { return tokens_[token].begin; }
  int line_of(size_t place) const;

  // ---- statements
  void block();  // at {
  void statement(bool in_block);
  void simple_statement(bool in_block);
  void skip_statement();
  bool declaration(Declared& d);  // false: it is none; then nothing is consumed
  void declarator(Declared& d);
  void assignment();
  void in_braces(bool left);  // values between { and }: left as they are, or on the host with sites
  void barrier_at(size_t place);
  void clear_at(size_t place, const std::string& variable);
  void header(bool of_if);  // at the ( of an if, a while, a switch
  void body_of_loop(bool in_block);
  void stop_behind(size_t place, const Expression& value, const std::string& name);

  // ---- what may be lacking around an index, or be the wrong way round in it (edit_guards.cpp)
  bool visible(std::string_view text) const;    // whether all that it names are whole numbers in scope
  size_t end_of_statement(size_t token) const;  // the place behind it
  size_t add_guard(EditSite site, std::string_view guarded, bool writes);
  std::string guard_of(size_t n) const;                   // what is called behind the condition
  void guard(const Expression& condition, size_t until);  // of what stands behind the condition
  void guard_statement(size_t token);
  void pairings(const Expression& sum);

  // ---- expressions
  Expression expression(Binds least);
  Expression unary();
  Expression postfix(bool assigned);  // assigned: what is named is not read, or not alone
  Expression primary(bool assigned);
  Expression pair(Expression l, Binds binds, std::string_view op, Expression r, size_t token);
  void arguments(std::string_view closes, std::string_view callee = "");
  void shapes(const Expression& grid, const Expression& block);  // of a launch: the one in the place of the other
  void skip_template_arguments();
  bool begins_template_arguments(size_t token) const;
  void whole(Expression& e, bool counts_bytes = false);  // gives it a site, where it has none
  void belongs_to(const Expression& e, Binds around, bool is_right);

  size_t add(EditSite site);  // its number; 0: its line is left as it is
  // Does what may meet what it does not understand; then nothing of it is left, and false is returned.
  template <class F>
  bool attempt(F f);
  std::vector<std::string> candidates(std::string_view own) const;
  void add_numbers_of_line(EditSite& number) const;
  std::string list_of(const std::vector<std::string>& candidates) const;
  void know_problem(const std::string& name);
  void know_parameters();
  void look_for_sizes();

  const std::string& code_;
  const ParsedFunction& f_;
  const EditsOf what_;
  const std::set<int>& without_;
  EditSites& all_;
  Insertions& in_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  std::vector<Scope> scopes_;
  std::set<std::string> sizes_;  // names that arrays' sizes and templates' arguments are made of
  std::vector<std::string> members_;
  std::vector<size_t> lines_;
  size_t block_ = 0;    // the place behind the { around
  int loops_ = 0;       // around
  bool leaves_ = true;  // whether `continue` would leave the loop: in no switch
};

}  // namespace convscope::edits
