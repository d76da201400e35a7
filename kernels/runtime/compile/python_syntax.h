// The statements of a Python text as far as modules of layers use the language: what else there is becomes a node that
// says so when it is reached.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace convscope {

struct PythonStatement;

// An expression. parts, by kind:
//   attribute, unary, star: what it is of    call: the callee, then arguments by place; `named`: by name
//   subscript: what it is of, then indices   slice: begin, end, step (nothing where one is left out)
//   tuple, list: elements                    binary, compare, both, either: left, right
//   conditional: if true, the condition, else
//   names: keys and values in turn; of **d nothing and d
//   walked: an element for each of others, what it is called, what is walked through, conditions; word: its bracket,
//     "+" of one that stands behind another's `for`, whose elements are its own
//   naming (a := b): the name, the value     lambda: nothing; `function` is what it calls
//   text: of f"…" its pieces, a `star` for what stands in braces, with its format as word (? where it is not known) and
//   its text
struct PythonExpression {
  enum Kind {
    nothing,
    name,
    number,
    text,
    attribute,
    call,
    subscript,
    slice,
    tuple,
    list,
    unary,
    binary,
    compare,
    both,
    either,
    conditional,
    star,
    names,
    walked,
    naming,
    lambda,
    yields  // what is given; word: "from", of what is walked through
  } kind = nothing;
  std::string word;  // a name, an attribute, an operator, a number's digits, a string's body
  std::vector<PythonExpression> parts = {};
  std::vector<std::pair<std::string, PythonExpression>> named = {};
  int line = 0;
  bool formatted = false;  // of a string, f"…" in any part of it
  std::shared_ptr<const PythonStatement> function = {};
};

struct PythonParameter {
  std::string name;
  PythonExpression value = {};  // its default; nothing: none
  int stars = 0;                // of *args and **kwargs
};

struct PythonStatement {
  enum Kind {
    none,
    expression,
    assignment,
    augmented,
    returns,
    branch,
    matches,  // of `match` a body of cases
    cases,    // a pattern as target, a condition as value
    each,
    loop,
    breaks,
    continues,
    asserts,
    raises,
    with,
    tries,
    function,
    type,
    globals,
    deletes,
    unknown
  } kind = none;
  int line = 0;
  // A function's or class's name, an augmented operator, of unknown the source; ":" of an assignment with a type,
  // "class" where that is a ClassVar.
  std::string word;
  // Of an assignment, of a name with a type alone, of `global`, `del`; of `with` what is entered, and as `naming` what
  // that is called. word: of `try` "except" where it has one.
  std::vector<PythonExpression> targets = {};
  PythonExpression value = {};  // assigned, returned, asked, walked
  // otherwise: also of a loop that no break has left, and what stands behind `finally`.
  std::vector<PythonStatement> body = {}, otherwise = {};
  std::vector<PythonParameter> parameters = {};   // of a function; of an import names and what they stand for
  std::vector<PythonExpression> bases = {};       // of a class
  std::vector<PythonExpression> decorators = {};  // of a function or a class
  bool yields = false;                            // of a function: a generator
};

std::vector<PythonStatement> python_statements(const std::string& text);
// What stands in the braces of f"…", said to stand in that line. Nothing: it is not known.
PythonExpression python_expression(const std::string& text, int line);

}  // namespace convscope
