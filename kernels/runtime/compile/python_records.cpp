// What has fields by name (python_walk.h): dataclasses, named tuples, the members of an enumeration.
#include <algorithm>
#include <cctype>

#include "kernels/runtime/compile/python_walk.h"

namespace convscope::host {
namespace {

bool has_base(const PythonStatement& type, const char* word) {
  return std::any_of(type.bases.begin(), type.bases.end(), [&](const auto& base) { return base.word == word; });
}

// field(default_factory=list): what it says of that; null: it says nothing, or the field is given as it is.
const PythonExpression* said_of(const PythonExpression& value, const char* name) {
  if (value.kind != PythonExpression::call || value.parts.front().word != "field") return nullptr;
  const auto found =
      std::find_if(value.named.begin(), value.named.end(), [&](const auto& n) { return n.first == name; });
  return found == value.named.end() ? nullptr : &found->second;
}
bool is_given(const PythonStatement& field) {
  const PythonExpression* init = said_of(field.value, "init");
  return !init || init->word != "False";
}

// "a b", "a, b", ["a", "b"], [("a", int)]
std::vector<std::string> names_of_fields(const PythonValue& v) {
  std::vector<std::string> all;
  if (auto s = std::get_if<std::string>(&v.is)) {
    for (size_t i = 0; i < s->size(); i++) {
      const bool blank = std::isspace(static_cast<unsigned char>((*s)[i])) || (*s)[i] == ',';
      const bool begins = i == 0 || std::isspace(static_cast<unsigned char>((*s)[i - 1])) || (*s)[i - 1] == ',';
      if (!blank && begins) all.emplace_back();
      if (!blank) all.back() += (*s)[i];
    }
    return all;
  }
  for (const PythonValue& one : elements_walked(v)) {
    const PythonValue::List* pair = list_in(one);
    all.push_back(string_of(pair && !pair->empty() ? pair->front() : one));
  }
  return all;
}

// Each with its value, also by place where it is a tuple.
void put_fields(PythonObject& made, std::vector<std::pair<PythonValue, PythonValue>> all, bool tuple) {
  for (const auto& [name, v] : all) made.attributes[string_of(name)] = v;
  if (tuple) made.elements = std::make_shared<PythonValue::List>();
  for (const auto& entry : all)
    if (tuple) made.elements->push_back(entry.second);
  made.entries = std::move(all);
}

}  // namespace

bool PythonWalk::is_record(const Statement& type) const { return has_fields(type) || !fields_of(type).empty(); }
// Those of what it is made from first, in their order (Python: dataclasses, "Inheritance").
std::vector<const PythonStatement*> PythonWalk::fields_of(const Statement& type, int deep) const {
  std::vector<const Statement*> all;
  auto put = [&](const Statement* field) {
    const auto same = std::find_if(all.begin(), all.end(), [&](const Statement* other) {
      return other->targets[0].word == field->targets[0].word;
    });
    if (same == all.end())
      all.push_back(field);
    else
      *same = field;
  };
  for (auto base = type.bases.rbegin(); base != type.bases.rend() && deep < 8; ++base)
    if (const auto known = file_.definitions.find(base->word);
        known != file_.definitions.end() && known->second->kind == Statement::type)
      for (const Statement* field : fields_of(*known->second, deep + 1)) put(field);
  for (const Statement& s : type.body)
    if (has_fields(type) && s.word == ":" && s.targets.size() == 1 &&
        (s.kind == Statement::none || s.kind == Statement::assignment))
      put(&s);
  return all;
}
PythonValue PythonWalk::default_of(const Statement& field) {
  Locals none;
  if (field.kind == Statement::none || said_of(field.value, "kw_only")) throw NotFollowed{};
  if (const Expression* made = said_of(field.value, "default_factory")) return called(value_of(*made, none), {});
  if (const Expression* v = said_of(field.value, "default")) return value_of(*v, none);
  if (field.value.kind == Expression::call && field.value.parts.front().word == "field") throw NotFollowed{};
  return value_of(field.value, none);
}
void PythonWalk::fields(const PythonObjectPointer& made, const PythonArguments& a) {
  size_t place = 0, used = 0;
  std::vector<std::pair<Value, Value>> all;
  for (const Statement* field : fields_of(*made->statement)) {
    const std::string& name = field->targets[0].word;
    const Value* given = is_given(*field) ? a.find(name.c_str(), place++) : nullptr;
    if (!is_given(*field) && !said_of(field->value, "default") && !said_of(field->value, "default_factory")) {
      made->own_rules = true;  // __post_init__() gives it: what it is compared by is not among the fields
      continue;
    }
    used += given != nullptr;
    try {
      all.emplace_back(Value{name}, given ? *given : default_of(*field));
    } catch (const NotFollowed&) {
      not_followed(field->line);
    }
  }
  if (used != a.by_place.size() + a.by_name.size()) throw NotFollowed{};
  const Statement* type = made->statement;
  for (int deep = 0; deep < 8 && !has_base(*type, "NamedTuple") && !type->bases.empty(); deep++) {
    const auto known = file_.definitions.find(type->bases.front().word);
    if (known == file_.definitions.end()) break;
    type = known->second;
  }
  put_fields(*made, std::move(all), has_base(*type, "NamedTuple"));
  if (const Statement* behind = method_of(file_, made->statement, "__post_init__")) call_function(*behind, made, {});
}

// ---- namedtuple("Shape", "n c l", defaults=(1,))

PythonValue PythonWalk::named_tuple_type(const PythonArguments& a) {
  const Value *name = a.find("typename", 0), *given = a.find("field_names", 1), *defaults = a.find("defaults", 99);
  for (const auto& [word, v] : a.by_name)
    if (word != "typename" && word != "field_names" && word != "defaults" && word != "module") throw NotFollowed{};
  if (!name || !given || a.by_place.size() > 2) throw NotFollowed{};
  auto type = std::make_shared<Object>();
  type->kind = Object::tuples, type->name = string_of(*name);
  for (const std::string& field : names_of_fields(*given)) type->entries.emplace_back(Value{field}, Value{});
  const Value::List last = defaults && !is_none(*defaults) ? elements_walked(*defaults) : Value::List{};
  if (last.size() > type->entries.size()) throw NotFollowed{};
  const size_t needed = type->entries.size() - last.size();
  for (size_t i = 0; i < last.size(); i++) type->entries[needed + i].second = last[i];
  type->sizes.push_back(static_cast<int64_t>(needed));
  return {type};
}
PythonValue PythonWalk::named_tuple(const Object& type, const PythonArguments& a) {
  auto made = std::make_shared<Object>();
  made->kind = Object::instance, made->name = type.name;
  auto all = type.entries;
  size_t used = 0;
  for (size_t i = 0; i < all.size(); i++) {
    const Value* given = a.find(string_of(all[i].first).c_str(), i);
    if (!given && static_cast<int64_t>(i) < type.sizes[0]) throw NotFollowed{};
    if (given) all[i].second = *given, used++;
  }
  if (used != a.by_place.size() + a.by_name.size()) throw NotFollowed{};
  put_fields(*made, std::move(all), true);
  return {made};
}
// t._replace(a=1), t._asdict(); of a dataclass replace(d, a=1), asdict(d), astuple(d).
std::optional<PythonValue> PythonWalk::record_method(const PythonObjectPointer& o, const std::string& name,
                                                     const PythonArguments& a) {
  if (name != "_replace" && name != "_asdict" && name != "replace" && name != "asdict" && name != "astuple") return {};
  if (o->entries.empty() || !a.by_place.empty() || o->own_rules) throw NotFollowed{};
  auto now = o->entries;
  for (auto& [field, v] : now) v = o->attributes.at(string_of(field));
  if (name.ends_with("replace")) {
    auto made = std::make_shared<Object>(*o);
    for (const auto& [field, v] : a.by_name) {
      const auto own =
          std::find_if(now.begin(), now.end(), [&, f = Value{field}](auto& e) { return same_values(e.first, f); });
      if (own == now.end()) throw NotFollowed{};
      own->second = v;
    }
    if (o->statement && method_of(file_, o->statement, "__post_init__")) throw NotFollowed{};
    put_fields(*made, std::move(now), o->elements != nullptr);
    return Value{made};
  }
  for (const auto& entry : now)  // what it would turn into names as well
    if (const auto inner = object_in(entry.second); name != "_asdict" && inner && !inner->entries.empty())
      throw NotFollowed{};
  const auto names = made_names();
  names->entries = now;
  if (name != "astuple") return Value{names};
  Value::List all;
  for (const auto& entry : now) all.push_back(entry.second);
  return python_tuple(std::move(all));
}

// ---- enumerations

// One whose members are numbers or strings as well is as good as these.
bool PythonWalk::is_enumeration(const Statement& type) { return has_base(type, "Enum") && type.bases.size() == 1; }
std::optional<PythonValue> PythonWalk::member(const Statement& type, const std::string& name, const Value* value) {
  const auto known_as = object_in(global(type.word));
  int64_t last = 0;
  std::vector<std::pair<Value, Value>> all;  // values and members: what has a value that was there is the same member
  for (const Statement& s : type.body) {
    if (s.kind != Statement::assignment || s.targets.size() != 1 || s.targets[0].kind != Expression::name) continue;
    const std::string& own = s.targets[0].word;
    if (own.starts_with('_')) continue;
    Locals none;
    const bool counts = s.value.kind == Expression::call && s.value.parts.front().word == "auto";
    const Value v = counts ? Value{last + 1} : value_of(s.value, none);
    if (auto n = std::get_if<int64_t>(&v.is)) last = *n;
    auto& made = known_as->attributes[own];
    if (const auto same = std::find_if(all.begin(), all.end(), [&](auto& e) { return same_values(e.first, v); });
        same != all.end())
      made = same->second;
    if (!object_in(made)) {
      auto o = std::make_shared<Object>();
      o->kind = Object::instance, o->statement = &type, o->attributes = {{"name", Value{own}}, {"value", v}};
      made = Value{o};
    }
    all.emplace_back(v, made);
    if (value ? same_values(*value, v) || same_values(*value, made) : own == name) return made;
  }
  return {};
}

// What a class, or one that it is made from, has for all of its objects.
std::optional<PythonValue> PythonWalk::class_attribute(const Statement& type, const std::string& name, int deep) {
  const auto o = file_.definitions.contains(type.word) ? object_in(global(type.word)) : nullptr;
  if (!o) return {};
  if (auto own = o->attributes.find(name); own != o->attributes.end()) return own->second;
  if (is_enumeration(type)) return member(type, name);
  Locals none;
  const Statement* last = nullptr;
  for (const Statement& s : type.body) {
    std::set<std::string> names;
    names_bound({s}, names);
    if (s.kind == Statement::function || s.kind == Statement::type || !names.contains(name)) continue;
    const bool plain = s.kind == Statement::assignment && s.targets.size() == 1 && s.targets[0].word == name;
    if (!plain) throw NotFollowed{};
    last = &s;
  }
  if (last) return o->attributes[name] = value_of(last->value, none);
  for (const Expression& base : type.bases)
    if (const auto known = file_.definitions.find(base.word); known != file_.definitions.end() && deep < 8)
      if (auto v = class_attribute(*known->second, name, deep + 1)) return v;
  return {};
}

// self.__dict__.update(…)
PythonValue PythonWalk::update_attributes(const Value& of, const PythonArguments& a) {
  const PythonObjectPointer o = object_in(of);
  if (!o || o->kind != Object::instance || a.by_place.size() > 1) throw NotFollowed{};
  if (!a.by_place.empty()) {
    const PythonObjectPointer names = names_in(a.by_place.front());
    if (!names) throw NotFollowed{};
    for (const auto& [name, v] : names->entries) o->attributes[string_of(name)] = v;
  }
  for (const auto& [name, v] : a.by_name) o->attributes[name] = v;
  return {};
}

}  // namespace convscope::host
