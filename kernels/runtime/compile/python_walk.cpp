#include "kernels/runtime/compile/python_walk.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fmt/format.h>

#include "kernels/runtime/compile/not_followed.h"

namespace convscope::host {

namespace {

constexpr const char* given_by = "=yield";  // in a generator's names, what it has given so far

}  // namespace

PythonWalk::~PythonWalk() {
  for (const auto& names : arounds_)
    if (const auto known = names.lock()) known->clear();
}

PythonValue PythonWalk::function_value(const Statement& s, Locals* around) {
  auto o = std::make_shared<PythonObject>();
  o->kind = s.kind == Statement::type ? PythonObject::type : PythonObject::function, o->name = s.word,
  o->statement = &s;
  if (!around) return {o};
  o->around = std::make_shared<Locals>();
  for (const auto& [name, v] : *around)
    if (name[0] != '=') o->around->emplace(name, v);
  for (const PythonParameter& p : s.parameters)
    if (p.value.kind != Expression::nothing) (*o->around)["=" + p.name] = value_of(p.value, *around);
  around->inner.push_back({o->around, {}});
  arounds_.push_back(o->around);
  return {o};
}

void PythonWalk::not_followed(int line) const {
  size_t from = 0;
  for (int l = 1; l < line && from < file_.text.size(); l++) from = file_.text.find('\n', from) + 1;
  const size_t end = std::min(file_.text.find('\n', from), file_.text.size());
  const size_t first = std::min(file_.text.find_first_not_of(" \t", from), end);
  throw NotFollowedHere(fmt::format("its forward() does more than call its host code: line {}, {}. {}", line,
                                    file_.text.substr(first, end - first), instead));
}

PythonWalk::Value PythonWalk::value_of(const Expression& e, Locals& l) {
  try {
    return known_value(e, l);
  } catch (const NotFollowed&) {
    not_followed(e.line);
  }
}
// torch.randn(…) * 0.02: values of its own, as they were.
PythonWalk::Value PythonWalk::made_times(const PythonObject& was) {
  auto o = std::make_shared<PythonObject>(was);
  if (o->name != "torch.zeros") o->name = "torch.randn";
  return {o};
}
PythonWalk::Value PythonWalk::known_value(const Expression& e, Locals& l) {
  switch (e.kind) {
    case Expression::nothing:
      return {};
    case Expression::name: {
      if (e.word == "None" || e.word == "...") return {};
      if (e.word == "True" || e.word == "False") return {e.word == "True"};
      const auto own = l.find(e.word);
      return own != l.end() ? own->second : global(e.word);
    }
    case Expression::number: {
      char* end = nullptr;
      errno = 0;
      const bool real = e.word.find_first_of(".eE") != std::string::npos && !e.word.starts_with("0x");
      const Value v =
          real ? Value{std::strtod(e.word.c_str(), &end)}
               : Value{static_cast<int64_t>(std::strtoll(e.word.c_str(), &end, e.word.starts_with("0x") ? 16 : 10))};
      if (*end || (!real && errno == ERANGE) || e.word.starts_with("0X")) throw NotFollowed{};
      return v;
    }
    case Expression::text:
      return e.formatted ? formatted(e, l) : Value{e.word};
    case Expression::attribute:
      return attribute(value_of(e.parts[0], l), e.word);
    case Expression::call:
      return call(e, l);
    case Expression::subscript:
      return subscript(e, l);
    case Expression::tuple:
    case Expression::list: {
      Value::List all;
      for (const Expression& part : e.parts) {
        if (part.kind != Expression::star) {
          all.push_back(value_of(part, l));
          continue;
        }
        const Value::List more = elements_walked(value_of(part.parts[0], l));
        all.insert(all.end(), more.begin(), more.end());
      }
      if (e.word == "set") return python_set(all);
      return python_list_of(e.kind == Expression::tuple ? PythonSort::tuple : PythonSort::list, std::move(all));
    }
    case Expression::unary: {
      const Value v = value_of(e.parts[0], l);
      if (e.word == "not") return {!truth_of(v)};
      if (const double* d = std::get_if<double>(&v.is)) return {-*d};
      if (tensor_in(v)) return tensor_arithmetic(ops_, "*", v, {-1.0});
      return python_arithmetic("-", {int64_t{0}}, v);
    }
    case Expression::binary: {
      const Value a = value_of(e.parts[0], l), b = value_of(e.parts[1], l);
      for (const Value& v : {a, b})
        if (const auto o = object_in(v); o && o->kind == PythonObject::made)
          return made_times(*o);
        else if (o && o->kind == PythonObject::unknown && (e.word == "+" || e.word == "/"))
          return unknown_text();
      return tensor_in(a) || tensor_in(b) ? tensor_arithmetic(ops_, e.word, a, b) : python_arithmetic(e.word, a, b);
    }
    case Expression::compare:
      return {python_comparison(e.word, value_of(e.parts[0], l), value_of(e.parts[1], l))};
    case Expression::both:
    case Expression::either: {
      Value v = value_of(e.parts[0], l);
      return truth_of(v) == (e.kind == Expression::both) ? value_of(e.parts[1], l) : v;
    }
    case Expression::names: {
      const auto made = made_names();
      for (size_t i = 0; i + 1 < e.parts.size(); i += 2)
        if (e.parts[i].kind == Expression::nothing)
          put_all(*made, value_of(e.parts[i + 1], l));
        else
          put_at(*made, value_of(e.parts[i], l), value_of(e.parts[i + 1], l));
      return {made};
    }
    case Expression::walked:
      return walked(e, l);
    case Expression::naming: {
      const Value v = value_of(e.parts[1], l);
      for (Locals* names = &l; names; names = names->around) assign(e.parts[0], v, *names);
      return v;
    }
    case Expression::lambda:
      return function_value(*e.function, &l);
    case Expression::yields: {
      const auto all = std::get<std::shared_ptr<Value::List>>(l.at(given_by).is);
      const Value v = value_of(e.parts[0], l);
      if (e.word.empty())
        all->push_back(v);
      else
        for (const Value& one : elements_walked(v)) all->push_back(one);
      return {};
    }
    case Expression::conditional:
      return value_of(e.parts[truth_of(value_of(e.parts[1], l)) ? 0 : 2], l);
    default:
      throw NotFollowed{};
  }
}
// [… for a in b if c]; {… : … for …} of pairs. What its names are ends with it.
PythonWalk::Value PythonWalk::walked(const Expression& e, Locals& around) {
  Locals l;
  l.insert(around.begin(), around.end()), l.around = &around;
  Value::List all;
  walk_through(e, l, all);
  std::set<std::string> own;
  for (const Expression* part = &e; part->kind == Expression::walked; part = &part->parts[0])
    names_bound(part->parts[1], own);
  around.take_inner(l, own);
  if (e.word == "set") return python_set(all);
  if (e.word != "{") return python_list_of(e.word == "[" ? PythonSort::list : PythonSort::once, std::move(all));
  const auto made = made_names();
  put_all(*made, python_list(std::move(all)));
  return {made};
}
void PythonWalk::walk_through(const Expression& e, Locals& l, Value::List& all) {
  const Expression& element = e.parts[0];
  for (const Value& one : elements_walked(value_of(e.parts[2], l))) {
    if (++steps_ > 100'000) throw NotFollowed{};
    assign(e.parts[1], one, l);
    if (!std::all_of(e.parts.begin() + 3, e.parts.end(), [&](const auto& c) { return truth_of(value_of(c, l)); }))
      continue;
    if (element.kind == Expression::walked && element.word == "+")
      walk_through(element, l, all);
    else
      all.push_back(value_of(element, l));
  }
}
// f"…"
PythonWalk::Value PythonWalk::formatted(const Expression& e, Locals& l) {
  std::string all;
  bool known = true;
  for (const Expression& piece : e.parts) {
    if (piece.kind == Expression::text) {
      all += piece.word;
      continue;
    }
    if (piece.parts[0].kind == Expression::nothing) throw NotFollowed{};
    try {
      all += text_of(value_of(piece.parts[0], l), piece.word);
    } catch (const NotFollowed&) {
      known = false;
    } catch (const NotFollowedHere&) {
      if (!sought_) throw;
      throw NotFollowedHere(fmt::format(
          "puts {{{}}} into its CUDA source in line {}, whose value is not known here: let it be one that the "
          "layer's numbers tell, or give it to the kernel as an argument",
          piece.parts[1].word, e.line));
    }
  }
  return known ? Value{all} : unknown_text();
}
PythonWalk::Value PythonWalk::subscript(const Expression& e, Locals& l) {
  const Value of = value_of(e.parts[0], l);
  if (auto t = tensor_in(of)) return {part_of(*t, e, l)};
  if (const auto names = names_in(of)) {
    const Value* v = value_at(*names, key_of(e, l));
    if (!v) throw NotFollowed{};
    return *v;
  }
  auto list = list_in(of);
  if (!list || e.parts.size() != 2 || sort_of(of) == PythonSort::set || sort_of(of) == PythonSort::once)
    throw NotFollowed{};
  const auto n = static_cast<int64_t>(list->size());
  if (e.parts[1].kind == Expression::slice) {
    const auto [from, to, step] = bounds(e.parts[1], l);
    return python_list_of(sort_of(of), part_of_list(*list, from, to, step.value_or(1)));
  }
  int64_t i = whole_number(value_of(e.parts[1], l));
  if (i < 0) i += n;
  if (i < 0 || i >= n) throw NotFollowed{};
  return (*list)[static_cast<size_t>(i)];
}
// names[a], names[a, b]
PythonWalk::Value PythonWalk::key_of(const Expression& subscript, Locals& l) {
  Value::List all;
  for (size_t i = 1; i < subscript.parts.size(); i++) all.push_back(value_of(subscript.parts[i], l));
  return all.size() == 1 ? all.front() : python_tuple(std::move(all));
}
PythonWalk::Bounds PythonWalk::bounds(const Expression& slice, Locals& l) {
  auto one = [&](size_t i) -> std::optional<int64_t> {
    if (slice.parts[i].kind == Expression::nothing) return {};
    const Value v = value_of(slice.parts[i], l);
    return is_none(v) ? std::nullopt : std::optional(whole_number(v));
  };
  return {one(0), one(1), one(2)};
}
// t[n], t[:, :, 1:], t[..., None]
Tensor PythonWalk::part_of(Tensor t, const Expression& e, Locals& l) {
  int64_t d = 0;
  const auto given = static_cast<int64_t>(e.parts.size()) - 1;
  for (size_t i = 1; i < e.parts.size(); i++) {
    const Expression& index = e.parts[i];
    if (index.kind == Expression::name && index.word == "...") {
      d = t.dim() - (given - static_cast<int64_t>(i));
    } else if (index.kind == Expression::slice) {
      const auto [from, to, step] = bounds(index, l);
      t = t.slice(d++, from, to, step.value_or(1));
    } else if (const Value v = value_of(index, l); is_none(v)) {
      t = t.unsqueeze(d++);
    } else {
      t = t.select(d, whole_number(v));
    }
  }
  return t;
}

void PythonWalk::assign(const Expression& to, const Value& v, Locals& l) {
  if (to.kind == Expression::name) {
    if (!l.contains("global " + to.word)) return l.bind(to.word, v);
    made_[to.word] = v;
    if (walking_.empty()) changed_.insert(to.word);
  } else if (to.kind == Expression::tuple || to.kind == Expression::list) {
    if (!list_in(v)) throw NotFollowed{};
    const Value::List all = elements_walked(v);
    size_t star = 0;
    while (star < to.parts.size() && to.parts[star].kind != Expression::star) star++;
    const bool rest = star < to.parts.size();
    if (rest ? all.size() + 1 < to.parts.size() : all.size() != to.parts.size()) throw NotFollowed{};
    const size_t taken = rest ? all.size() + 1 - to.parts.size() : 0;  // by a, *b, c as b
    for (size_t i = 0; i < to.parts.size(); i++)
      if (rest && i == star)
        assign(to.parts[i].parts[0],
               python_list_of(PythonSort::list,
                              part_of_list(all, static_cast<int64_t>(i), static_cast<int64_t>(i + taken), 1)),
               l);
      else
        assign(to.parts[i], all[rest && i > star ? i + taken - 1 : i], l);
  } else if (to.kind == Expression::attribute) {
    const auto o = object_in(value_of(to.parts[0], l));
    if (!o || (o->elements && o->kind == Object::instance)) throw NotFollowed{};  // a named tuple's stay what they are
    if (o->statement && o->kind == Object::instance)
      if (const Statement* m = method_of(file_, o->statement, to.word); m && !m->decorators.empty())
        throw NotFollowed{};  // a property's own
    o->attributes[to.word] = v;
  } else if (to.kind == Expression::subscript) {
    const Value of = value_of(to.parts[0], l);
    if (const auto names = names_in(of)) return put_at(*names, key_of(to, l), v);
    if (!tensor_in(of)) throw NotFollowed{};
    Tensor room = part_of(*tensor_in(of), to, l);
    if (auto t = tensor_in(v))
      ops_.copy_to(room, *t);
    else
      ops_.fill(room, real_number(v));
  } else {
    throw NotFollowed{};
  }
}
void PythonWalk::run(const std::vector<Statement>& all, Locals& l) {
  for (const Statement& s : all) {
    try {
      run_one(s, l);
    } catch (const NotFollowed&) {
      not_followed(s.line);
    }
  }
}
// Once through its body; whether it did not break.
bool PythonWalk::goes_on(const Statement& loop, Locals& l) {
  try {
    run(loop.body, l);
  } catch (const Continued&) {
  } catch (const Broken&) {
    return false;
  }
  return true;
}
void PythonWalk::run_one(const Statement& s, Locals& l) {
  if (++steps_ > 100'000) throw NotFollowed{};
  switch (s.kind) {
    case Statement::none:
      for (const PythonParameter& name : s.parameters) l.bind(name.name, python_path(name.value.word));  // of an import
      return;
    case Statement::expression:
      if (s.value.kind != Expression::text) value_of(s.value, l);
      return;
    case Statement::assignment: {
      const Value v = settled(value_of(s.value, l));
      for (const Expression& to : s.targets) assign(to, v, l);
      return;
    }
    case Statement::augmented:
      return change(s, l);
    case Statement::returns:
      throw Returned{value_of(s.value, l)};
    case Statement::branch:
      return run(truth_of(value_of(s.value, l)) ? s.body : s.otherwise, l);
    case Statement::matches:
      return run_case(s, l);
    case Statement::each: {
      const Value v = value_of(s.value, l);
      for (const Value& one : elements_walked(v)) {
        assign(s.targets[0], one, l);
        if (!goes_on(s, l)) return;
      }
      return run(s.otherwise, l);
    }
    case Statement::loop:
      while (truth_of(value_of(s.value, l))) {
        if (++steps_ > 100'000) throw NotFollowed{};
        if (!goes_on(s, l)) return;
      }
      return run(s.otherwise, l);
    case Statement::breaks:
      throw Broken{};
    case Statement::continues:
      throw Continued{};
    case Statement::asserts:
      if (truth_of(value_of(s.value, l))) return;
      if (trying_) throw NotFollowed{};
      refuse(fmt::format("its assertion in line {} fails", s.line));
    case Statement::raises:
      if (trying_) throw NotFollowed{};  // it may be caught
      refuse(fmt::format("it raises in line {}: {}", s.line, s.word));
    case Statement::with:
      return run_with(s, l);
    case Statement::tries:
      return try_it(s, l);
    case Statement::function:
      return l.bind(s.word, function_value(s, &l));
    case Statement::deletes:
      for (const Expression& what : s.targets) remove(what, l);
      return;
    case Statement::globals:
      for (const Expression& name : s.targets) l["global " + name.word] = {};
      return;
    default:
      throw NotFollowed{};
  }
}

PythonArguments PythonWalk::arguments(const Expression& call, Locals& l) {
  PythonArguments a;
  for (size_t i = 1; i < call.parts.size(); i++) {
    const Expression& part = call.parts[i];
    if (part.kind != Expression::star) {
      a.by_place.push_back(value_of(part, l));
      continue;
    }
    const Value v = value_of(part.parts[0], l);
    const auto names = object_in(v);
    if (list_in(v) && part.word == "*")
      for (const Value& one : elements_walked(v)) a.by_place.push_back(one);
    else if (names && names->kind == PythonObject::names && part.word == "**")
      for (const auto& [name, given] : names->entries) a.by_name[string_of(name)] = given;
    else
      throw NotFollowed{};
  }
  for (const auto& [name, e] : call.named) a.by_name[name] = value_of(e, l);
  return a;
}
PythonWalk::Value PythonWalk::call_function(const Statement& f, const PythonObjectPointer& self,
                                            const PythonArguments& given, Locals* around) {
  if (!is_plain(f)) not_followed(f.line);
  if (++deep_ > 24) throw NotFollowed{};
  Locals l;
  if (around) l.insert(around->begin(), around->end());
  size_t place = 0;
  for (size_t i = 0; i < f.parameters.size(); i++) {
    const PythonParameter& p = f.parameters[i];
    if (p.stars) {
      Value::List rest;
      const auto others = made_names();
      for (const auto& [name, v] : given.by_name)
        if (std::none_of(f.parameters.begin(), f.parameters.end(), [&](const auto& own) { return own.name == name; }))
          others->entries.emplace_back(Value{name}, v);
      while (p.stars == 1 && place < given.by_place.size()) rest.push_back(given.by_place[place++]);
      l[p.name] = p.stars == 1 ? python_tuple(std::move(rest)) : Value{others};
    } else if (self && i == 0)
      l[p.name] = {self};
    else if (place < given.by_place.size())
      l[p.name] = given.by_place[place++];
    else if (auto named = given.by_name.find(p.name); named != given.by_name.end())
      l[p.name] = named->second;
    else if (p.value.kind != Expression::nothing)
      l[p.name] = default_of(p, around);
    else
      throw NotFollowed{};
  }
  // What no parameter takes is Python's TypeError.
  const bool takes_names =
      std::any_of(f.parameters.begin(), f.parameters.end(), [](const auto& p) { return p.stars == 2; });
  for (const auto& [name, v] : given.by_name)
    if (!takes_names && !l.contains(name)) throw NotFollowed{};
  if (place < given.by_place.size()) throw NotFollowed{};
  Value result;
  // A generator is walked at once, and whole.
  if (f.yields) l[given_by] = python_list_of(PythonSort::once, {});
  running_.push_back(&f);
  try {
    run(f.body, l);
  } catch (Returned& r) {
    result = std::move(r.value);
  }
  if (f.yields) result = l[given_by];
  if (around && !l.inner.empty()) {
    std::set<std::string> own;
    for (const PythonParameter& p : f.parameters) own.insert(p.name);
    names_bound(f.body, own);
    around->take_inner(l, own);
  }
  running_.pop_back();
  deep_--;
  return result;
}
}  // namespace convscope::host
