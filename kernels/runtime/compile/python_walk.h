// Expressions and statements of a followed module, one after the other. What names, attributes and calls are is for who
// follows it (python_run.cpp).
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernels/runtime/compile/python_file.h"
#include "kernels/runtime/compile/python_values.h"

namespace convscope::host {

class PythonWalk {
 public:
  using Value = PythonValue;
  using Expression = PythonExpression;
  using Statement = PythonStatement;
  using Locals = std::map<std::string, Value>;
  static constexpr const char* instead =
      "Do it in the host code, or say `# convscope: call` with the function's name where the call alone is meant";

 protected:
  PythonWalk(const PythonFile& f, const PythonOperations& ops) : file_(f), ops_(ops) {}
  virtual ~PythonWalk() = default;
  virtual Value global(const std::string& name) = 0;
  virtual Value attribute(const Value& of, const std::string& name) = 0;
  virtual Value call(const Expression& e, Locals& l) = 0;
  virtual Value settled(const Value& v) const = 0;  // of what is assigned
  // around: the names of the function that it stands in.
  Value function_value(const Statement& s, const Locals* around = nullptr) const;

  // Errors: refused, with the line of what is not followed.
  Value value_of(const Expression& e, Locals& l);
  void run(const std::vector<Statement>& all, Locals& l);
  PythonArguments arguments(const Expression& call, Locals& l);
  // around: as function_value() has them.
  Value call_function(const Statement& f, const PythonObjectPointer& self, const PythonArguments& given,
                      const Locals* around = nullptr);
  void fields(const PythonObjectPointer& made, const PythonArguments& a);
  Value mapped(const Value& f, const Value& all);
  struct Returned {
    Value value;
  };
  struct Broken {};  // out of a loop
  struct Continued {};

  const PythonFile& file_;
  PythonOperations ops_;
  std::map<std::string, Value> made_;      // global names
  std::vector<const Statement*> running_;  // functions, the innermost last

 private:
  struct Bounds {
    std::optional<int64_t> from, to, step;
  };
  [[noreturn]] void not_followed(int line) const;
  static Value made_times(const PythonObject& was);
  Value known_value(const Expression& e, Locals& l);
  Value walked(const Expression& e, const Locals& around);
  Value subscript(const Expression& e, Locals& l);
  Value key_of(const Expression& subscript, Locals& l);
  Bounds bounds(const Expression& slice, Locals& l);
  Tensor part_of(Tensor t, const Expression& e, Locals& l);
  void assign(const Expression& to, const Value& v, Locals& l);
  void run_one(const Statement& s, Locals& l);
  bool goes_on(const Statement& loop, Locals& l);
  int steps_ = 0, deep_ = 0;
};

}  // namespace convscope::host
