// What a followed module's values are (convscope/python_module.h), and what can be done with them.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "convscope/python_module.h"
#include "kernels/runtime/compile/python_syntax.h"

namespace convscope::host {

// What has attributes, or can be called. path: something of a module that is imported, by its whole name.
struct PythonObject {
  enum Kind {
    path,
    instance,
    layer,
    made,
    function,
    method,
    host_function,
    type,
    extension,
    parent,
    names,     // **kwargs, {…}
    partial,   // functools.partial: `func` as attribute, its arguments as elements and entries
    sequence,  // nn.Sequential, nn.Identity
    stream,    // torch.cuda.Stream, torch.cuda.Event: `sizes` its handle
    event,
    unknown,  // a text whose words are not known: it may be kept, and not asked about
    tuples    // collections.namedtuple: its fields as entries, `sizes` how many of them have no default
  } kind = path;
  bool bare = false;       // of a path: a name that the file gives nothing, nor Python: nobody knows what it is
  bool own_rules = false;  // of an instance: its class says itself what it equals, or when it is true
  std::string name;        // of a path, a host function
  std::map<std::string, PythonValue> attributes;             // of an instance, a layer
  const PythonStatement* statement = nullptr;                // of a function, a method, a class
  std::shared_ptr<PythonObject> self;                        // of a method, a parent
  Sizes sizes;                                               // of what was made with values of its own
  std::vector<std::pair<PythonValue, PythonValue>> entries;  // of names
  std::shared_ptr<PythonValue::List> elements;               // of a named tuple, a sequence; null: it has none
  std::shared_ptr<struct PythonNames> around;  // of a function in another: that one's names, and "=a", its own defaults
};
// Names of a running function. What is made in it and has them around is told where one of them is bound again.
struct PythonNames : std::map<std::string, PythonValue> {
  struct Inner {
    std::weak_ptr<PythonNames> names;
    std::set<std::string> own;  // which it binds itself
  };
  std::vector<Inner> inner;
  PythonNames* around = nullptr;  // of what is walked through: where a := b goes too
  void bind(const std::string& name, const PythonValue& v) {
    (*this)[name] = v;
    for (Inner& i : inner)
      if (const auto names = i.names.lock(); names && !i.own.contains(name)) names->bind(name, v);
  }
  // What was made in there lives on here.
  void take_inner(PythonNames& from, const std::set<std::string>& own) {
    for (Inner& i : from.inner) i.own.insert(own.begin(), own.end()), inner.push_back(std::move(i));
  }
};
using PythonObjectPointer = std::shared_ptr<PythonObject>;

struct PythonArguments {
  PythonValue::List by_place;
  std::map<std::string, PythonValue> by_name;
  // The one of that name or place; null: it was not given.
  const PythonValue* find(const char* name, size_t place) const;
};

inline PythonValue python_path(std::string name) {
  auto o = std::make_shared<PythonObject>();
  o->name = std::move(name);
  return {o};
}
PythonValue unknown_text();
inline PythonObjectPointer object_in(const PythonValue& v) {
  auto o = std::get_if<PythonObjectPointer>(&v.is);
  return o ? *o : nullptr;
}
inline const Tensor* tensor_in(const PythonValue& v) { return std::get_if<Tensor>(&v.is); }
const PythonValue::List* list_in(const PythonValue& v);
// What Python has several of where here is one list. once: a generator, zip(), map(), which are walked once; other: a
// range, names' keys, what host code returns.
enum class PythonSort { other, list, tuple, set, once };
PythonValue python_list_of(PythonSort sort, PythonValue::List all);
inline PythonValue python_tuple(PythonValue::List all) { return python_list_of(PythonSort::tuple, std::move(all)); }
PythonValue python_set(const PythonValue::List& all);  // each once
PythonSort sort_of(const PythonValue& v);              // of what list_in() has
// As elements_walked(), where their order means nothing: of a set as well.
PythonValue::List elements_unordered(const PythonValue& v);

std::string kind_of(const PythonValue& v);  // "a tensor", "None"
// str(v), and as f"{v}" writes it. how: what stands behind the value there, "" or !r or :03d. Errors: NotFollowed.
std::string text_of(const PythonValue& v, const std::string& how = "");
// What stands at begin, begin + step, … of a list. Errors: NotFollowed.
PythonValue::List part_of_list(const PythonValue::List& all, std::optional<int64_t> from, std::optional<int64_t> to,
                               int64_t step);
// all.sort() and the like. Errors: NotFollowed.
PythonValue list_method(PythonValue::List& all, const std::string& method, const PythonArguments& a);
// s.replace(a, b) and the like; s % v; text as textwrap.dedent() leaves it (python_strings.cpp). Errors: NotFollowed.
PythonValue string_method(const std::string& s, const std::string& method, const PythonArguments& a);
PythonValue string_filled(const std::string& s, const PythonValue& v);
std::string dedented(const std::string& text);
bool truth_of(const PythonValue& v);
bool same_values(const PythonValue& a, const PythonValue& b);
bool is_same(const PythonValue& a, const PythonValue& b);  // a is b
void walk_once(const PythonValue& v);  // Errors: NotFollowed where it has been walked, or its order is not known
// Sizes, as arguments of their own or in one list. from: the first of them.
Sizes sizes_in(const PythonValue::List& given, size_t from = 0);

// Thrown where something is not followed: who runs the statement says its line.
struct NotFollowed {};

// Of numbers, strings and lists. Errors: NotFollowed.
PythonValue python_arithmetic(const std::string& sign, const PythonValue& a, const PythonValue& b);
bool python_comparison(const std::string& sign, const PythonValue& a, const PythonValue& b);

// Names (python_names.cpp): null where it is none; the value of one, null where there is none. Errors: NotFollowed.
PythonObjectPointer names_in(const PythonValue& v);
PythonObjectPointer made_names();
PythonValue* value_at(PythonObject& names, const PythonValue& key);
void put_at(PythonObject& names, const PythonValue& key, const PythonValue& v);
void put_all(PythonObject& names, const PythonValue& others);
PythonValue names_method(PythonObject& names, const std::string& method, const PythonArguments& a);
PythonValue::List elements_walked(const PythonValue& v);  // of a list; of names these
// dict(), zip(), sum() and the like; nothing: it is none of them.
std::optional<PythonValue> walking_function(const std::string& name, const PythonArguments& a);

// isinstance(v, types)
bool is_instance(const PythonValue& v, const PythonExpression& types);
// torch.empty(…).uniform_(-a, a): still values of its own.
PythonValue made_anew(const PythonObject& was, const std::string& method, const PythonArguments& a);

// Of tensors. Errors: NotFollowed; refused.
PythonValue tensor_attribute(const Tensor& t, const std::string& name);
PythonValue tensor_method(const PythonOperations& ops, const Tensor& t, const std::string& name,
                          const PythonArguments& a);
PythonValue tensor_arithmetic(const PythonOperations& ops, const std::string& sign, const PythonValue& a,
                              const PythonValue& b);
// torch.cuda.Stream(), torch.cuda.current_stream() and the like (python_streams.cpp); nothing: it is none of them.
std::optional<PythonValue> function_of_streams(const std::string& path, const PythonArguments& a);
PythonValue stream_attribute(const PythonObject& of, const std::string& name);
PythonValue stream_method(const PythonObject& of, const std::string& name, const PythonArguments& a);
// with torch.cuda.stream(s)
void enter_stream(const PythonValue& stream);
// torch.einsum() of one tensor or two (python_products.cpp).
Tensor einsum(const PythonOperations& ops, const PythonArguments& a);
// A function of PyTorch, math, or Python itself.
PythonValue call_of_path(const PythonOperations& ops, const std::string& path, const PythonArguments& a);
// torch.float32; a path where it is none.
PythonValue value_of_path(const std::string& path);

}  // namespace convscope::host
