// What stands at the outer level of a followed file (python_walk.h), and statements that are more than one line of
// python_walk.cpp.
#include <algorithm>
#include <set>

#include "kernels/runtime/compile/not_followed.h"
#include "kernels/runtime/compile/python_walk.h"

namespace convscope::host {

// A name that one plain statement binds is what that says, whenever it is asked for. Of others the statements that bind
// it are run in their order, which is its value behind the last one: not one that another statement has seen between.
std::optional<PythonValue> PythonWalk::global_value(const std::string& name) {
  const auto bound = file_.bound.find(name);
  const auto known = made_.find(name);
  if (bound == file_.bound.end()) return known == made_.end() ? std::nullopt : std::optional(known->second);
  const auto& all = bound->second;
  const Statement& first = *all.front();
  const bool plain = all.size() == 1 && (first.kind == Statement::assignment || first.kind == Statement::none ||
                                         first.kind == Statement::function || first.kind == Statement::type);
  const auto d = file_.definitions.find(name);
  const bool defined = d != file_.definitions.end() && d->second == all.back();
  if (!walking_.empty() && (changed_.contains(name) || (!plain && !walking_.contains(name) && !defined)))
    throw NotFollowed{};
  if (known != made_.end()) return known->second;
  if (all.back()->kind == Statement::none) return {};
  if (defined) return made_[name] = function_value(*all.back());  // one alone: a class may be given attributes
  if (!walking_.insert(name).second) throw NotFollowed{};
  Locals l;
  for (const Statement* s : all)
    if (s->kind == Statement::type)
      l.bind(s->word, function_value(*s));
    else
      run({*s}, l);
  walking_.erase(name);
  const auto made = l.find(name);
  if (made == l.end()) throw NotFollowed{};
  return made_[name] = made->second;
}

bool PythonWalk::is_plain(const Statement& s) const {
  static const std::set<std::string> known = {"staticmethod",    "classmethod", "property",
                                              "cached_property", "dataclass",   "no_grad",
                                              "inference_mode",  "enable_grad", "ignore",
                                              "unused",          "export",      "script",
                                              "script_method",   "compile",     "disable",
                                              "wraps",           "lru_cache",   "cache",
                                              "overload",        "final",       "override",
                                              "abstractmethod",  "custom_fwd",  "custom_bwd",
                                              "autocast",        "unique",      "once_differentiable",
                                              "custom_op",       "triton_op",   "allow_in_graph"};
  for (const Expression& d : s.decorators) {
    const std::string root = root_of(d);
    const auto own = file_.bound.find(root);
    if (own != file_.bound.end() && own->second.front()->kind != Statement::none) return false;
    if (!known.contains((d.kind == Expression::call ? d.parts.front() : d).word)) return false;
  }
  return true;
}

void PythonWalk::look_at_class(const Statement& type, Object& made) const {
  const auto known = [&](const Expression& base) { return file_.definitions.contains(base.word); };
  if (!is_plain(type) || std::count_if(type.bases.begin(), type.bases.end(), known) > 1) not_followed(type.line);
  for (const char* name : {"__new__", "__setattr__", "__getattribute__", "__getattr__", "__init_subclass__"})
    if (method_of(file_, &type, name)) not_followed(type.line);
  for (const char* name : {"__eq__", "__ne__", "__bool__", "__len__"})
    made.own_rules |= method_of(file_, &type, name) != nullptr;
  for (const Expression& d : type.decorators)
    for (const auto& [word, v] : d.named) made.own_rules |= word == "eq";
}
bool PythonWalk::is_known_method(const std::string& name) {
  static const std::set<std::string> known = {"reset_parameters",
                                              "register_buffer",
                                              "register_parameter",
                                              "eval",
                                              "train",
                                              "to",
                                              "cuda",
                                              "float",
                                              "half",
                                              "bfloat16",
                                              "double",
                                              "save_for_backward",
                                              "mark_non_differentiable",
                                              "set_materialize_grads",
                                              "_output_padding"};
  return known.contains(name);
}
bool PythonWalk::is_of_a_file(const std::string& name) {
  return name == "stem" || name == "name" || name == "parent" || name == "suffix" || name == "__file__";
}
bool PythonWalk::is_pythons(const std::string& name) {
  static const std::set<std::string> known = {
      "abs",       "all",     "any",     "bool",       "bytes",   "dict",  "enumerate", "filter", "float",
      "frozenset", "id",      "int",     "len",        "list",    "map",   "max",       "min",    "object",
      "print",     "range",   "repr",    "reversed",   "round",   "set",   "sorted",    "str",    "sum",
      "super",     "tuple",   "type",    "zip",        "hash",    "pow",   "iter",      "next",   "callable",
      "getattr",   "hasattr", "setattr", "isinstance", "complex", "slice", "divmod"};
  return known.contains(name);
}

PythonValue PythonWalk::default_of(const PythonParameter& p, const Locals* around) {
  if (around)
    if (const auto own = around->find("=" + p.name); own != around->end()) return own->second;
  if (const auto known = defaults_.find(&p); known != defaults_.end()) return known->second;
  Locals none;
  return defaults_[&p] = value_of(p.value, none);
}

// What PyTorch's own does is of no matter here; one of the file's may do anything.
void PythonWalk::enter(const Expression& item, Locals& l) {
  const bool named = item.kind == Expression::naming;
  const Expression& e = named ? item.parts[1] : item;
  const std::string root = root_of(e);
  const auto outer = file_.bound.find(root);
  const bool own = outer != file_.bound.end() && outer->second.front()->kind != Statement::none;
  if (root.empty() || (e.kind == Expression::call && e.parts.front().word == "suppress")) throw NotFollowed{};
  if (l.contains(root) || own)
    if (const auto o = object_in(value_of(e, l)); o && o->kind != Object::path) throw NotFollowed{};
  if (named) assign(item.parts[0], unknown_text(), l);
  if (e.kind != Expression::call) return;
  const Expression& callee = e.parts.front();
  if (callee.word != "stream" && callee.word != "StreamContext") return;
  const auto o = object_in(value_of(callee, l));
  if (!o || o->kind != Object::path || !o->name.starts_with("torch.cuda.")) return;
  const PythonArguments a = arguments(e, l);
  const Value* stream = a.find("stream", 0);
  if (!stream) throw NotFollowed{};
  enter_stream(*stream);
}

// The stream that was current before is so again behind it.
void PythonWalk::run_with(const Statement& s, Locals& l) {
  struct Before {
    uintptr_t stream = current_stream();
    ~Before() { set_current_stream(stream); }
  } before;
  for (const Expression& item : s.targets) enter(item, l);
  run(s.body, l);
}

void PythonWalk::try_it(const Statement& s, Locals& l) {
  const int before = trying_;
  const auto at_last = [&] { trying_ = before, run(s.otherwise, l); };
  trying_ += s.word == "except";
  try {
    run(s.body, l);
  } catch (const Returned&) {
    at_last();
    throw;
  } catch (const Broken&) {
    at_last();
    throw;
  } catch (const Continued&) {
    at_last();
    throw;
  } catch (const NotFollowedHere&) {
    throw;
  } catch (const std::runtime_error&) {
    if (s.word == "except") throw NotFollowed{};  // it may be caught, and something else be done
    throw;
  }
  at_last();
}

// Tensors and lists stay where they are, and whoever else has them sees it.
void PythonWalk::change(const Statement& s, Locals& l) {
  const Value a = value_of(s.targets[0], l), b = value_of(s.value, l);
  if (tensor_in(a) && tensor_in(b) && (s.word == "+" || s.word == "-")) {
    Tensor to = *tensor_in(a);
    return ops_.add_to(to, *tensor_in(b), s.word == "+" ? 1 : -1);
  }
  const auto list = std::get_if<std::shared_ptr<Value::List>>(&a.is);
  const bool grows = list && sort_of(a) == PythonSort::list;
  if (tensor_in(a) && (s.word == "*" || s.word == "/" || s.word == "+" || s.word == "-")) {
    Tensor to = *tensor_in(a);  // by a number, or by a tensor
    return ops_.copy_to(to, *tensor_in(tensor_arithmetic(ops_, s.word, a, b)));
  }
  if (tensor_in(a) || (grows && s.word != "+")) throw NotFollowed{};
  if (!grows) return assign(s.targets[0], python_arithmetic(s.word, a, b), l);
  const Value::List more = elements_walked(b);
  (*list)->insert((*list)->end(), more.begin(), more.end());
  if (s.targets[0].kind == Expression::name) assign(s.targets[0], a, l);
}

void PythonWalk::remove(const Expression& what, Locals& l) {
  if (what.kind == Expression::name && l.erase(what.word)) return;
  const Value of = what.parts.empty() ? Value{} : value_of(what.parts[0], l);
  const auto o = object_in(of);
  if (what.kind == Expression::attribute && o && o->attributes.erase(what.word)) return;
  if (what.kind != Expression::subscript || what.parts.size() != 2 || what.parts[1].kind == Expression::slice)
    throw NotFollowed{};
  const PythonArguments key{{value_of(what.parts[1], l)}, {}};
  const auto list = std::get_if<std::shared_ptr<Value::List>>(&of.is);
  if (const auto names = names_in(of))
    names_method(*names, "pop", key);
  else if (list && sort_of(of) == PythonSort::list)
    list_method(**list, "pop", key);
  else
    throw NotFollowed{};
}

}  // namespace convscope::host
