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
  Value function_value(const Statement& s) const;

  // Errors: refused, with the line of what is not followed.
  Value value_of(const Expression& e, Locals& l);
  void run(const std::vector<Statement>& all, Locals& l);
  struct Returned {
    Value value;
  };

  const PythonFile& file_;
  PythonOperations ops_;
  std::map<std::string, Value> made_;  // global names

 private:
  struct Bounds {
    std::optional<int64_t> from, to, step;
  };
  [[noreturn]] void not_followed(int line) const;
  static Value made_times(const PythonObject& was);
  Value known_value(const Expression& e, Locals& l);
  Value subscript(const Expression& e, Locals& l);
  Bounds bounds(const Expression& slice, Locals& l);
  Tensor part_of(Tensor t, const Expression& e, Locals& l);
  void assign(const Expression& to, const Value& v, Locals& l);
  void run_one(const Statement& s, Locals& l);
  int steps_ = 0;
};

}  // namespace convscope::host
