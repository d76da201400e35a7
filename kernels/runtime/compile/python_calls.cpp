// Functions that call what they are given, and make what can be called (python_walk.h).
#include <algorithm>
#include <cstdlib>

#include "kernels/runtime/compile/python_walk.h"

namespace convscope::host {

bool PythonWalk::only_says(const std::string& path) {
  return path == "print" || path.starts_with("logging.logger.") || path.starts_with("warnings.warn");
}
bool PythonWalk::calls_something(const Expression& e) {
  static const std::set<std::string> looks = {"tuple", "list", "len",    "str", "repr",  "int",  "float", "type",
                                              "round", "size", "stride", "dim", "numel", "item", "mean",  "std",
                                              "max",   "min",  "sum",    "abs", "norm",  "join", "format"};
  auto in = [](auto& self, const Expression& part) -> bool {
    if (part.kind == Expression::call && !looks.contains(part.parts.front().word)) return true;
    if (part.kind == Expression::naming) return true;
    return std::any_of(part.parts.begin(), part.parts.end(), [&](const auto& inner) { return self(self, inner); });
  };
  return std::any_of(e.parts.begin() + 1, e.parts.end(), [&](const auto& part) { return in(in, part); }) ||
         std::any_of(e.named.begin(), e.named.end(), [&](const auto& named) { return in(in, named.second); });
}

std::optional<PythonValue> PythonWalk::calling_function(const std::string& name, const PythonArguments& a) {
  auto with = [&](const Value& f, Value::List given) { return called(f, {std::move(given), {}}); };
  const Value* key = a.find("key", 99);
  if (name == "map" && a.by_place.size() > 1 && a.by_name.empty()) {
    const auto zipped = walking_function("zip", {{a.by_place.begin() + 1, a.by_place.end()}, {}});
    Value::List all;
    for (const Value& given : *list_in(*zipped)) all.push_back(with(a.by_place[0], *list_in(given)));
    return python_list_of(PythonSort::once, std::move(all));
  }
  if (name == "filter" && a.by_place.size() == 2) {
    Value::List all;
    for (const Value& one : elements_walked(a.by_place[1]))
      if (truth_of(is_none(a.by_place[0]) ? one : with(a.by_place[0], {one}))) all.push_back(one);
    return python_list_of(PythonSort::once, std::move(all));
  }
  // The environment is the one that the file is followed in, as it is of a Python that runs it.
  if ((name == "os.environ.get" || name == "os.getenv") && !a.by_place.empty()) {
    if (const char* set = std::getenv(string_of(a.by_place[0]).c_str())) return Value{std::string(set)};
    const Value* otherwise = a.find(name == "os.getenv" ? "default" : "", 1);
    return otherwise ? *otherwise : Value{};
  }
  if (name == "functools.reduce" && a.by_place.size() > 1) {
    Value::List all = elements_walked(a.by_place[1]);
    if (a.by_place.size() > 2) all.insert(all.begin(), a.by_place[2]);
    if (all.empty()) throw NotFollowed{};
    Value sum = all.front();
    for (size_t i = 1; i < all.size(); i++) sum = with(a.by_place[0], {sum, all[i]});
    return sum;
  }
  if (key && !is_none(*key) && (name == "sorted" || name == "min" || name == "max")) {
    Value::List all = a.by_place.size() == 1 ? elements_walked(a.by_place[0]) : a.by_place;
    const auto reverse = a.by_name.find("reverse");
    const bool falls = name == "max" || (reverse != a.by_name.end() && truth_of(reverse->second));
    std::vector<std::pair<Value, Value>> keyed;
    for (const Value& one : all) keyed.emplace_back(with(*key, {one}), one);
    std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& x, const auto& y) {
      return falls ? python_comparison("<", y.first, x.first) : python_comparison("<", x.first, y.first);
    });
    if (name != "sorted" && keyed.empty()) throw NotFollowed{};
    if (name != "sorted") return keyed.front().second;
    for (size_t i = 0; i < all.size(); i++) all[i] = keyed[i].second;
    return python_list_of(PythonSort::list, std::move(all));
  }
  if (name == "functools.partial" && !a.by_place.empty()) {
    auto made = std::make_shared<Object>();
    made->kind = Object::partial, made->attributes["func"] = a.by_place.front();
    made->elements = std::make_shared<Value::List>(a.by_place.begin() + 1, a.by_place.end());
    for (const auto& [known_as, v] : a.by_name) made->entries.emplace_back(Value{known_as}, v);
    return Value{made};
  }
  if (name == "torch.nn.Sequential" || name == "torch.nn.Identity") {
    auto made = std::make_shared<Object>();
    made->kind = Object::sequence, made->elements = std::make_shared<Value::List>();
    if (name == "torch.nn.Identity") return Value{made};
    const auto names = a.by_place.size() == 1 ? names_in(a.by_place.front()) : nullptr;
    if (!a.by_name.empty()) throw NotFollowed{};
    for (size_t i = 0; names && i < names->entries.size(); i++) {
      const auto& [known_as, v] = names->entries[i];
      made->attributes[string_of(known_as)] = v, made->elements->push_back(v);
    }
    if (!names) *made->elements = a.by_place;
    return Value{made};
  }
  if (name == "types.SimpleNamespace" && a.by_place.empty()) {
    auto made = std::make_shared<Object>();
    made->kind = Object::instance, made->attributes = a.by_name;
    return Value{made};
  }
  if (name == "collections.namedtuple" || name == "typing.NamedTuple") return named_tuple_type(a);
  constexpr std::string_view of_records = "dataclasses.";
  if (name.starts_with(of_records) && !a.by_place.empty() && object_in(a.by_place.front())) {
    PythonArguments rest = a;
    rest.by_place.erase(rest.by_place.begin());
    return record_method(object_in(a.by_place.front()), name.substr(of_records.size()), rest);
  }
  return {};
}

PythonValue PythonWalk::type_of(const Value& v) {
  constexpr const char* names[] = {"", "bool", "int", "float", "str", "torch.Tensor", "torch.dtype"};
  if (v.is.index() > 0 && v.is.index() < std::size(names)) return python_path(names[v.is.index()]);
  const auto o = object_in(v);
  if (!o || o->kind != Object::instance || !o->statement) throw NotFollowed{};  // a list, or a tuple
  return global(o->statement->word);
}

PythonValue PythonWalk::first_of(const Expression& e, Locals& l) {
  const Expression& from = e.parts[1];
  const bool iter = from.kind == Expression::call && from.parts.front().word == "iter" && from.parts.size() == 2;
  if (!iter && from.kind != Expression::walked) throw NotFollowed{};
  const Value::List all = elements_walked(value_of(iter ? from.parts[1] : from, l));
  if (all.empty() && e.parts.size() < 3) throw NotFollowed{};
  return all.empty() ? value_of(e.parts[2], l) : all.front();
}

void PythonWalk::note_sources(const Expression& call, Locals& l) {
  if (!sought_) return;
  auto argument = [&](const char* name, size_t place) -> const Expression* {
    for (const auto& [known_as, e] : call.named)
      if (known_as == name) return &e;
    return place < call.parts.size() ? &call.parts[place] : nullptr;
  };
  // A string, or several.
  auto strings = [&](const Expression* e) {
    std::vector<std::string> all;
    if (!e) return all;
    const Value v = value_of(*e, l);
    if (is_none(v)) return all;
    for (const Value& one : list_in(v) ? elements_walked(v) : Value::List{v})
      if (auto s = std::get_if<std::string>(&one.is))
        all.push_back(*s);
      else
        throw NotFollowed{};
    return all;
  };
  InlineSources own;
  std::vector<std::string> flags;
  try {
    // What cpp_sources only declares is defined in the others.
    for (const char* name : {"cpp_sources", "cuda_sources"}) {
      std::string whole;
      for (const std::string& one : strings(argument(name, name[1] == 'p' ? 2 : 3))) whole += one + "\n";
      if (whole.find('{') != whole.npos) own.cuda.push_back(whole);
    }
    flags = strings(argument("extra_cuda_cflags", 99));
  } catch (...) {
    sought_->cuda.clear();  // those of the others are not enough
    throw;
  }
  for (size_t i = 0; i < flags.size(); i++) {
    if (!flags[i].starts_with("-D")) continue;
    std::string definition = flags[i] == "-D" && i + 1 < flags.size() ? flags[++i] : flags[i].substr(2);
    const size_t equals = definition.find('=');
    if (equals == definition.npos)
      definition += " 1";
    else
      definition[equals] = ' ';
    own.definitions.push_back(definition);
  }
  sought_->cuda.insert(sought_->cuda.end(), own.cuda.begin(), own.cuda.end());
  sought_->definitions.insert(sought_->definitions.end(), own.definitions.begin(), own.definitions.end());
}

}  // namespace convscope::host
