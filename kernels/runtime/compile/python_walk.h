// Expressions and statements of a followed module, one after the other. What names, attributes and calls are is for who
// follows it (python_run.cpp).
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernels/runtime/compile/for_layers.h"
#include "kernels/runtime/compile/python_file.h"
#include "kernels/runtime/compile/python_values.h"

namespace convscope::host {

class PythonWalk {
 public:
  using Value = PythonValue;
  using Expression = PythonExpression;
  using Statement = PythonStatement;
  using Locals = PythonNames;
  using Object = PythonObject;
  static constexpr const char* instead =
      "Do it in the host code, or say `# convscope: call` with the function's name where the call alone is meant";

 protected:
  PythonWalk(const PythonFile& f, const PythonOperations& ops) : file_(f), ops_(ops) {}
  virtual ~PythonWalk();
  virtual Value global(const std::string& name) = 0;
  virtual Value attribute(const Value& of, const std::string& name) = 0;
  virtual Value call(const Expression& e, Locals& l) = 0;
  virtual Value called(const Value& f, const PythonArguments& a) = 0;
  virtual Value settled(const Value& v) const = 0;  // of what is assigned
  // around: the names of the function that it stands in.
  Value function_value(const Statement& s, Locals* around = nullptr);

  // Errors: refused, with the line of what is not followed.
  Value value_of(const Expression& e, Locals& l);
  void run(const std::vector<Statement>& all, Locals& l);
  PythonArguments arguments(const Expression& call, Locals& l);
  // around: as function_value() has them.
  Value call_function(const Statement& f, const PythonObjectPointer& self, const PythonArguments& given,
                      Locals* around = nullptr);

  // ---- what stands at the outer level (python_globals.cpp)

  // What it is behind the file's last line; nothing: the file does not bind it.
  std::optional<Value> global_value(const std::string& name);
  // Whether what decorates it leaves what it does as it is.
  bool is_plain(const Statement& s) const;
  // What a class says itself of its objects. Errors: NotFollowed where they are made in another way than others.
  void look_at_class(const Statement& type, Object& made) const;
  static bool is_known_method(const std::string& name);  // of every module: eval()
  static bool is_pythons(const std::string& name);       // len
  static bool is_of_a_file(const std::string& name);     // stem: a part of a file's name
  static bool only_says(const std::string& path);        // print
  static bool calls_something(const Expression& e);      // what may change something: not what only looks

  // ---- what has fields (python_records.cpp)

  bool is_record(const Statement& type) const;  // a dataclass, a NamedTuple, or made from one
  void fields(const PythonObjectPointer& made, const PythonArguments& a);
  Value named_tuple(const Object& type, const PythonArguments& a);
  static Value named_tuple_type(const PythonArguments& a);
  std::optional<Value> record_method(const PythonObjectPointer& o, const std::string& name, const PythonArguments& a);
  std::optional<Value> class_attribute(const Statement& type, const std::string& name, int deep = 0);
  Value update_attributes(const Value& of, const PythonArguments& a);
  // An enum.Enum, and of one its member of that name, or of that value.
  static bool is_enumeration(const Statement& type);
  std::optional<Value> member(const Statement& type, const std::string& name, const Value* value = nullptr);

  // load_inline(…): its sources are noted where they are looked for (for_layers.h).
  void note_sources(const Expression& call, Locals& l);
  Value type_of(const Value& v);
  // next(iter(all)), next((a for a in all), otherwise): of what is walked through elsewhere, nobody knows how far.
  Value first_of(const Expression& call, Locals& l);
  // Functions that call what they are given: map(f, all), partial(f, a); nothing: it is none of them.
  std::optional<Value> calling_function(const std::string& name, const PythonArguments& a);
  struct Returned {
    Value value;
  };
  struct Broken {};  // out of a loop
  struct Continued {};

  struct Sought {};  // all sources that there are before the first call of what is made of them

  const PythonFile& file_;
  InlineSources* sought_ = nullptr;
  PythonOperations ops_;
  std::map<std::string, Value> made_;      // global names
  std::set<std::string> walking_;          // of which those whose statements run now
  std::vector<const Statement*> running_;  // functions, the innermost last

 private:
  struct Bounds {
    std::optional<int64_t> from, to, step;
  };
  [[noreturn]] void not_followed(int line) const;
  static Value made_times(const PythonObject& was);
  Value known_value(const Expression& e, Locals& l);
  Value walked(const Expression& e, Locals& around);
  void walk_through(const Expression& e, Locals& l, Value::List& all);
  Value formatted(const Expression& e, Locals& l);
  bool matches(const Value& v, const Expression& pattern, Locals& l);
  bool matches_all(const Value::List& all, const std::vector<Expression>& patterns, Locals& l);
  bool matches_names(const Value& v, const Expression& pattern, Locals& l);
  bool matches_class(const Value& v, const Expression& pattern, Locals& l);
  void run_case(const Statement& match, Locals& l);
  std::vector<const Statement*> fields_of(const Statement& type, int deep = 0) const;
  Value default_of(const Statement& field);
  Value subscript(const Expression& e, Locals& l);
  Value key_of(const Expression& subscript, Locals& l);
  Bounds bounds(const Expression& slice, Locals& l);
  Tensor part_of(Tensor t, const Expression& e, Locals& l);
  void assign(const Expression& to, const Value& v, Locals& l);
  void run_one(const Statement& s, Locals& l);
  bool goes_on(const Statement& loop, Locals& l);
  void enter(const Expression& item, Locals& l);
  void run_with(const Statement& s, Locals& l);
  void try_it(const Statement& s, Locals& l);
  void change(const Statement& s, Locals& l);  // a += b
  void remove(const Expression& what, Locals& l);
  Value default_of(const PythonParameter& p, const Locals* around);
  int steps_ = 0, deep_ = 0, trying_ = 0;
  std::map<const PythonParameter*, Value> defaults_;  // made once
  std::set<std::string> changed_;                     // global names, by functions
  std::vector<std::weak_ptr<PythonNames>> arounds_;   // a function may stand in its own
};

}  // namespace convscope::host
