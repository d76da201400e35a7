// What a followed module keeps by name: {…}, dict(…), **kwargs (python_values.h), in the order in which it came.
#include <algorithm>

#include "kernels/runtime/compile/python_values.h"

namespace convscope::host {

PythonObjectPointer names_in(const PythonValue& v) {
  const PythonObjectPointer o = object_in(v);
  return o && o->kind == PythonObject::names ? o : nullptr;
}

PythonObjectPointer made_names() {
  auto o = std::make_shared<PythonObject>();
  o->kind = PythonObject::names;
  return o;
}

PythonValue* value_at(PythonObject& names, const PythonValue& key) {
  for (auto& [own, v] : names.entries)
    if (same_values(own, key)) return &v;
  return nullptr;
}

void put_at(PythonObject& names, const PythonValue& key, const PythonValue& v) {
  if (PythonValue* own = value_at(names, key))
    *own = v;
  else
    names.entries.emplace_back(key, v);
}

void put_all(PythonObject& names, const PythonValue& others) {
  if (const PythonObjectPointer more = names_in(others)) {
    for (const auto& [key, v] : PythonObject(*more).entries) put_at(names, key, v);  // they may be the same
    return;
  }
  if (!list_in(others)) throw NotFollowed{};
  for (const PythonValue& pair : *list_in(others)) {
    const PythonValue::List* both = list_in(pair);
    if (!both || both->size() != 2) throw NotFollowed{};
    put_at(names, both->front(), both->back());
  }
}

PythonValue::List elements_walked(const PythonValue& v) {
  if (const auto* list = list_in(v)) return *list;
  const PythonObjectPointer names = names_in(v);
  if (!names) throw NotFollowed{};
  PythonValue::List keys;
  for (const auto& entry : names->entries) keys.push_back(entry.first);
  return keys;
}

PythonValue names_method(PythonObject& names, const std::string& method, const PythonArguments& a) {
  PythonValue::List all;
  if (method == "keys" || method == "values" || method == "items") {
    for (const auto& [key, v] : names.entries)
      all.push_back(method == "keys" ? key : method == "values" ? v : python_list({key, v}));
    return python_list(std::move(all));
  }
  if (method == "copy" || method == "clear") {
    auto same = std::make_shared<PythonObject>(names);
    if (method == "copy") return {same};
    return names.entries.clear(), PythonValue{};
  }
  if (method == "update") {
    if (!a.by_place.empty()) put_all(names, a.by_place.front());
    for (const auto& [name, v] : a.by_name) put_at(names, {name}, v);
    return {};
  }
  if (a.by_place.empty()) throw NotFollowed{};
  const PythonValue& key = a.by_place.front();
  const PythonValue otherwise = a.by_place.size() > 1 ? a.by_place[1] : PythonValue{};
  if (PythonValue* own = value_at(names, key)) {
    const PythonValue v = *own;
    if (method == "pop") std::erase_if(names.entries, [&](const auto& entry) { return same_values(entry.first, key); });
    if (method == "pop" || method == "get" || method == "setdefault") return v;
  } else if (method == "setdefault") {
    return put_at(names, key, otherwise), otherwise;
  } else if (method == "get" || (method == "pop" && a.by_place.size() > 1)) {
    return otherwise;
  }
  throw NotFollowed{};
}

// ---- functions of Python's own that walk through something

std::optional<PythonValue> walking_function(const std::string& name, const PythonArguments& a) {
  if (name == "dict") {
    const PythonObjectPointer made = made_names();
    if (!a.by_place.empty()) put_all(*made, a.by_place.front());
    for (const auto& [known_as, v] : a.by_name) put_at(*made, {known_as}, v);
    return PythonValue{made};
  }
  const bool of_elements = name == "sum" || name == "all" || name == "any" || name == "enumerate" ||
                           name == "reversed" || name == "sorted" || name == "tuple" || name == "list" ||
                           name == "set" || name == "math.prod";
  if ((!of_elements && name != "zip") || (a.by_place.empty() && name != "zip")) return {};
  PythonValue::List all;
  if (name == "zip") {
    std::vector<PythonValue::List> lists;
    for (const PythonValue& v : a.by_place) lists.push_back(elements_walked(v));
    size_t shortest = lists.empty() ? 0 : lists.front().size();
    for (const auto& list : lists) shortest = std::min(shortest, list.size());
    for (size_t i = 0; i < shortest; i++) {
      PythonValue::List one;
      for (const auto& list : lists) one.push_back(list[i]);
      all.push_back(python_list(std::move(one)));
    }
    return python_list(std::move(all));
  }
  all = elements_walked(a.by_place.front());
  if (name == "sum" || name == "math.prod") {
    PythonValue v{int64_t{name == "math.prod"}};
    for (const PythonValue& one : all) v = python_arithmetic(name == "sum" ? "+" : "*", v, one);
    return v;
  }
  if (name == "all") return PythonValue{std::all_of(all.begin(), all.end(), truth_of)};
  if (name == "any") return PythonValue{std::any_of(all.begin(), all.end(), truth_of)};
  if (name == "enumerate") {
    const PythonValue* first = a.find("start", 1);
    int64_t i = first ? whole_number(*first) : 0;
    for (PythonValue& one : all) one = python_list({{i++}, one});
  }
  if (name == "reversed") std::reverse(all.begin(), all.end());
  if (name == "sorted") {
    if (!a.by_name.empty()) throw NotFollowed{};
    std::stable_sort(all.begin(), all.end(),
                     [](const PythonValue& x, const PythonValue& y) { return python_comparison("<", x, y); });
  }
  return python_list(std::move(all));
}

}  // namespace convscope::host
