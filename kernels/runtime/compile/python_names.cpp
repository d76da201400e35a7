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
  if (const auto* list = list_in(v)) return walk_once(v), *list;
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
      all.push_back(method == "keys" ? key : method == "values" ? v : python_tuple({key, v}));
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

PythonValue::List part_of_list(const PythonValue::List& all, std::optional<int64_t> from, std::optional<int64_t> to,
                               int64_t step) {
  if (step == 0) throw NotFollowed{};
  const auto n = static_cast<int64_t>(all.size());
  const int64_t first = step > 0 ? 0 : -1, last = step > 0 ? n : n - 1;
  auto place = [&](int64_t i) { return std::clamp(i < 0 ? i + n : i, first, last); };
  const int64_t begin = from ? place(*from) : step > 0 ? first : last, end = to ? place(*to) : step > 0 ? last : first;
  PythonValue::List part;
  for (int64_t i = begin; step > 0 ? i < end : i > end; i += step) part.push_back(all[static_cast<size_t>(i)]);
  return part;
}

PythonValue list_method(PythonValue::List& all, const std::string& method, const PythonArguments& a) {
  auto one = [&]() -> const PythonValue& {
    if (a.by_place.size() != 1) throw NotFollowed{};
    return a.by_place.front();
  };
  auto found = [&] {
    return std::find_if(all.begin(), all.end(), [&](const PythonValue& v) { return same_values(v, one()); });
  };
  if (method == "sort") {
    const bool others =
        std::any_of(a.by_name.begin(), a.by_name.end(), [](const auto& given) { return given.first != "reverse"; });
    if (!a.by_place.empty() || others) throw NotFollowed{};
    const bool reversed = !a.by_name.empty() && truth_of(a.by_name.begin()->second);
    std::stable_sort(all.begin(), all.end(), [&](const PythonValue& x, const PythonValue& y) {
      return reversed ? python_comparison("<", y, x) : python_comparison("<", x, y);
    });
    return {};
  }
  if (method == "append") return all.push_back(one()), PythonValue{};
  if (method == "extend") {
    const PythonValue::List more = elements_walked(one());
    return all.insert(all.end(), more.begin(), more.end()), PythonValue{};
  }
  if (method == "reverse") return std::reverse(all.begin(), all.end()), PythonValue{};
  if (method == "clear") return all.clear(), PythonValue{};
  if (method == "copy") return python_list_of(PythonSort::list, all);
  if (method == "count")
    return {int64_t{std::count_if(all.begin(), all.end(), [&](const auto& v) { return same_values(v, one()); })}};
  if (method == "index" && found() != all.end()) return {int64_t{found() - all.begin()}};
  if (method == "pop" && !all.empty()) {
    const auto n = static_cast<int64_t>(all.size());
    int64_t i = a.by_place.empty() ? n - 1 : whole_number(one());
    if (i < 0) i += n;
    if (i < 0 || i >= n) throw NotFollowed{};
    const PythonValue v = all[static_cast<size_t>(i)];
    return all.erase(all.begin() + i), v;
  }
  throw NotFollowed{};
}

// ---- functions of Python's own that walk through something

namespace {

// itertools.product(a, b): the last of them changes first.
PythonValue all_pairs(const PythonArguments& a) {
  if (!a.by_name.empty()) throw NotFollowed{};
  std::vector<PythonValue::List> tuples{{}};
  for (const PythonValue& part : a.by_place) {
    std::vector<PythonValue::List> longer;
    const PythonValue::List all = elements_walked(part);
    if (tuples.size() * all.size() > 100'000) throw NotFollowed{};
    for (const auto& tuple : tuples)
      for (const PythonValue& one : all) longer.push_back(tuple), longer.back().push_back(one);
    tuples = std::move(longer);
  }
  PythonValue::List made;
  for (auto& tuple : tuples) made.push_back(python_tuple(std::move(tuple)));
  return python_list_of(PythonSort::once, std::move(made));
}

}  // namespace

std::optional<PythonValue> walking_function(const std::string& name, const PythonArguments& a) {
  if (name == "dict" || name == "collections.OrderedDict" || name == "torch.nn.ModuleDict") {
    const PythonObjectPointer made = made_names();
    if (!a.by_place.empty()) put_all(*made, a.by_place.front());
    for (const auto& [known_as, v] : a.by_name) put_at(*made, {known_as}, v);
    return PythonValue{made};
  }
  const bool of_elements = name == "sum" || name == "all" || name == "any" || name == "enumerate" ||
                           name == "reversed" || name == "sorted" || name == "tuple" || name == "list" ||
                           name == "set" || name == "math.prod" || name.starts_with("itertools.");
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
      all.push_back(python_tuple(std::move(one)));
    }
    if (!a.by_name.empty()) throw NotFollowed{};
    return python_list_of(PythonSort::once, std::move(all));
  }
  const bool ordered = name != "sorted" && name != "set" && name != "all" && name != "any" && name != "sum";
  all = ordered ? elements_walked(a.by_place.front()) : elements_unordered(a.by_place.front());
  if (name == "sum" || name == "math.prod") {
    const PythonValue* start = a.find("start", name == "sum" ? 1 : 99);
    PythonValue v = start ? *start : PythonValue{int64_t{name == "math.prod"}};
    for (const PythonValue& one : all) v = python_arithmetic(name == "sum" ? "+" : "*", v, one);
    return v;
  }
  if (name == "all") return PythonValue{std::all_of(all.begin(), all.end(), truth_of)};
  if (name == "any") return PythonValue{std::any_of(all.begin(), all.end(), truth_of)};
  if (name == "itertools.chain.from_iterable" || name == "itertools.chain") {
    PythonValue::List joined;
    for (const PythonValue& part : name == "itertools.chain" ? a.by_place : all)
      for (const PythonValue& one : elements_walked(part)) joined.push_back(one);
    return python_list_of(PythonSort::once, std::move(joined));
  }
  if (name == "itertools.product") return all_pairs(a);
  if (name == "enumerate") {
    const PythonValue* first = a.find("start", 1);
    int64_t i = first ? whole_number(*first) : 0;
    for (PythonValue& one : all) one = python_tuple({{i++}, one});
  }
  if (name == "reversed") std::reverse(all.begin(), all.end());
  if (name == "sorted") list_method(all, "sort", {{}, a.by_name});
  if (name.starts_with("itertools.")) throw NotFollowed{};
  if (name == "set") return python_set(all);
  const PythonSort sort = name == "tuple"                      ? PythonSort::tuple
                          : name == "list" || name == "sorted" ? PythonSort::list
                                                               : PythonSort::once;
  return python_list_of(sort, std::move(all));
}

}  // namespace convscope::host
