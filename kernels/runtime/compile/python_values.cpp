#include "kernels/runtime/compile/python_values.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <regex>
#include <set>
#include <utility>

#include "kernels/runtime/compile/not_followed.h"

namespace convscope::host {
namespace {

bool is_number(const PythonValue& v) { return v.is.index() >= 1 && v.is.index() <= 3; }  // bool, int64_t, double
bool is_whole(const PythonValue& v) { return v.is.index() == 1 || v.is.index() == 2; }

int64_t floor_divided(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

// Python's whole numbers have no end; those that have more than 64 bits are not followed.
PythonValue whole_arithmetic(const std::string& sign, int64_t x, int64_t y) {
  int64_t made = 0;
  if (sign == "+" && !__builtin_add_overflow(x, y, &made)) return {made};
  if (sign == "-" && !__builtin_sub_overflow(x, y, &made)) return {made};
  if (sign == "*" && !__builtin_mul_overflow(x, y, &made)) return {made};
  const bool divides = (sign == "//" || sign == "%") && y != 0;
  if (divides && y == -1 && sign == "%") return {int64_t{0}};
  if (divides && y == -1) return whole_arithmetic("-", 0, x);
  if (divides && sign == "//") return {floor_divided(x, y)};
  if (divides) return {x - floor_divided(x, y) * y};
  if (sign != "**" || y < 0) throw NotFollowed{};
  if (x == 0 || x == 1 || x == -1) return {y == 0 || x == 1 || (x == -1 && y % 2 == 0) ? int64_t{1} : x};
  made = 1;
  for (int64_t i = 0; i < y; i++)
    if (__builtin_mul_overflow(made, x, &made)) throw NotFollowed{};
  return {made};
}

// With a list, so that a pointer to it is enough to tell.
struct ListSort {
  PythonSort sort;
  bool walked = false;
  void operator()(PythonValue::List* all) const { delete all; }
};
ListSort* sort_kept(const PythonValue& v) {
  auto list = std::get_if<std::shared_ptr<PythonValue::List>>(&v.is);
  return list ? std::get_deleter<ListSort>(*list) : nullptr;
}

}  // namespace

void refuse_argument(const PythonValue& v, const char* wanted) {
  throw WrongArgument(
      fmt::format("its module gives a function of the host code {}, where {} belongs", kind_of(v), wanted), kind_of(v),
      wanted);
}

int64_t whole_number(const PythonValue& v) {
  if (auto b = std::get_if<bool>(&v.is)) return *b;
  if (auto n = std::get_if<int64_t>(&v.is)) return *n;
  if (auto t = std::get_if<ScalarType>(&v.is)) return static_cast<int64_t>(*t);
  refuse_argument(v, "a whole number");
}

double real_number(const PythonValue& v) {
  if (auto d = std::get_if<double>(&v.is)) return *d;
  return static_cast<double>(whole_number(v));
}

PythonValue python_value(const Tensor& t) { return {t}; }
PythonValue python_value(const std::string& s) { return {s}; }
PythonValue python_boolean(bool v) { return {v}; }
PythonValue python_real(double v) { return {v}; }
PythonValue python_whole(int64_t v) { return {v}; }
PythonValue python_list(PythonValue::List all) { return {std::make_shared<PythonValue::List>(std::move(all))}; }

PythonValue python_list_of(PythonSort sort, PythonValue::List all) {
  return {std::shared_ptr<PythonValue::List>(new PythonValue::List(std::move(all)), ListSort{sort})};
}
PythonValue python_set(const PythonValue::List& all) {
  PythonValue::List once;
  for (const PythonValue& v : all)
    if (std::none_of(once.begin(), once.end(), [&](const auto& own) { return same_values(own, v); })) once.push_back(v);
  return python_list_of(PythonSort::set, std::move(once));
}
PythonSort sort_of(const PythonValue& v) {
  const ListSort* kept = sort_kept(v);
  if (kept) return kept->sort;
  const auto o = object_in(v);  // a named tuple
  return o && o->kind == PythonObject::instance && o->elements ? PythonSort::tuple : PythonSort::other;
}
PythonValue::List elements_unordered(const PythonValue& v) {
  const auto* list = list_in(v);
  return list && sort_of(v) == PythonSort::set ? *list : elements_walked(v);
}
void walk_once(const PythonValue& v) {
  ListSort* kept = sort_kept(v);
  if (kept && kept->sort == PythonSort::set && list_in(v)->size() > 1) throw NotFollowed{};  // in its own order
  if (kept && kept->sort == PythonSort::once && std::exchange(kept->walked, true)) throw NotFollowed{};
}

bool is_none(const PythonValue& v) { return std::holds_alternative<std::monostate>(v.is); }

// As pybind11 converts: None is no tensor, and no float a whole number.
Tensor tensor_of(const PythonValue& v) {
  if (auto t = std::get_if<Tensor>(&v.is)) return *t;
  refuse_argument(v, is_none(v) ? "a tensor (a torch::optional<torch::Tensor> takes None)" : "a tensor");
}

std::string string_of(const PythonValue& v) {
  if (auto s = std::get_if<std::string>(&v.is)) return *s;
  refuse_argument(v, "a string");
}

const PythonValue::List& elements_of(const PythonValue& v) {
  if (auto list = list_in(v)) return *list;
  refuse_argument(v, "a list");
}

const PythonValue* PythonArguments::find(const char* name, size_t place) const {
  if (place < by_place.size()) return &by_place[place];
  auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : &found->second;
}

const PythonValue::List* list_in(const PythonValue& v) {
  auto list = std::get_if<std::shared_ptr<PythonValue::List>>(&v.is);
  if (list) return list->get();
  const auto o = std::get_if<PythonObjectPointer>(&v.is);
  const bool as_one = o && ((*o)->kind == PythonObject::instance || (*o)->kind == PythonObject::sequence);
  return as_one ? (*o)->elements.get() : nullptr;
}

std::string kind_of(const PythonValue& v) {
  constexpr const char* words[] = {"None",     "True or False", "a whole number", "a number", "a string",
                                   "a tensor", "a type",        "a list",         "an object"};
  return words[v.is.index()];
}

namespace {

// 1.0, 1e-05, inf: the shortest that is read back as the same.
std::string text_of_number(double v) {
  const std::string s = fmt::format("{}", v);
  return s.find_first_of(".en") == s.npos ? s + ".0" : s;
}

}  // namespace

std::string text_of(const PythonValue& v, const std::string& how) {
  const bool plain = how.empty() || how == "!r" || how == "!s";
  if (auto n = std::get_if<int64_t>(&v.is)) {
    if (plain || how == ":d" || how == ":") return std::to_string(*n);
    // :3d, :03d
    std::string width = how.substr(1);
    if (width.ends_with('d')) width.pop_back();
    const bool digits = std::all_of(width.begin(), width.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (how[0] != ':' || !digits || width.empty() || width.size() > 3) throw NotFollowed{};
    return width[0] == '0' ? fmt::format("{:0{}d}", *n, std::stoi(width)) : fmt::format("{:{}d}", *n, std::stoi(width));
  }
  // :.6f, :.3e, :g
  static const std::regex precise(R"(:(?:\.(\d))?([feg]))");
  if (std::smatch m; is_number(v) && std::regex_match(how, m, precise)) {
    const int digits = m[1].matched ? std::stoi(m[1]) : 6;
    return m[2] == "f"   ? fmt::format("{:.{}f}", real_number(v), digits)
           : m[2] == "e" ? fmt::format("{:.{}e}", real_number(v), digits)
                         : fmt::format("{:.{}g}", real_number(v), digits);
  }
  if (!plain) throw NotFollowed{};
  if (is_none(v)) return "None";
  if (auto b = std::get_if<bool>(&v.is)) return *b ? "True" : "False";
  if (auto d = std::get_if<double>(&v.is)) return text_of_number(*d);
  if (auto s = std::get_if<std::string>(&v.is); s && how != "!r") return *s;
  if (auto t = std::get_if<ScalarType>(&v.is)) {
    if (*t == ScalarType::Float) return "torch.float32";
    if (*t == ScalarType::Double) return "torch.float64";
    if (*t == ScalarType::Half) return "torch.float16";
    if (*t == ScalarType::BFloat16) return "torch.bfloat16";
  }
  if (same_values(v, python_path("torch.device"))) return "cuda:0";
  throw NotFollowed{};
}

bool truth_of(const PythonValue& v) {
  if (is_none(v)) return false;
  if (is_number(v)) return real_number(v) != 0;
  if (auto s = std::get_if<std::string>(&v.is)) return !s->empty();
  if (sort_of(v) == PythonSort::once) return true;
  if (auto list = list_in(v)) return !list->empty();
  if (auto names = names_in(v)) return !names->entries.empty();
  if (tensor_in(v)) throw NotFollowed{};  // its values are not known
  if (const auto o = object_in(v); o && (o->kind == PythonObject::unknown || o->bare || o->own_rules))
    throw NotFollowed{};
  return true;
}

PythonValue unknown_text() {
  auto o = std::make_shared<PythonObject>();
  o->kind = PythonObject::unknown;
  return {o};
}

namespace {

bool same_lists(const PythonValue& a, const PythonValue& b) {
  const PythonValue::List &list = *list_in(a), &other = *list_in(b);
  const PythonSort sort = sort_of(a);
  for (const PythonSort s : {sort, sort_of(b)})
    if (s != PythonSort::list && s != PythonSort::tuple) throw NotFollowed{};
  return sort == sort_of(b) && std::equal(list.begin(), list.end(), other.begin(), other.end(), same_values);
}
bool same_entries(PythonObject& a, PythonObject& b) {
  return a.entries.size() == b.entries.size() && std::all_of(a.entries.begin(), a.entries.end(), [&](const auto& own) {
           const PythonValue* other = value_at(b, own.first);
           return other && same_values(own.second, *other);
         });
}
bool same_objects(PythonObject& a, PythonObject& b) {
  if (a.own_rules || b.own_rules) throw NotFollowed{};
  if (a.kind != b.kind) return false;
  if (a.kind == PythonObject::path) return a.name == b.name;
  if (a.kind == PythonObject::names) return same_entries(a, b);
  if (a.kind == PythonObject::method || a.kind == PythonObject::partial || a.kind == PythonObject::host_function)
    throw NotFollowed{};  // they are made anew wherever they are named
  if (a.kind != PythonObject::instance || a.entries.empty() || a.statement != b.statement) return false;
  return std::all_of(a.entries.begin(), a.entries.end(), [&](const auto& field) {
    const auto own = a.attributes.find(string_of(field.first)), other = b.attributes.find(string_of(field.first));
    if (own == a.attributes.end() || other == b.attributes.end()) throw NotFollowed{};
    return same_values(own->second, other->second);
  });
}
// A list may hold itself.
struct Inside {
  Inside() {
    if (++deep > 50) deep--, throw NotFollowed{};
  }
  ~Inside() { deep--; }
  Inside(const Inside&) = delete;
  static thread_local int deep;
};
thread_local int Inside::deep = 0;

}  // namespace

bool is_same(const PythonValue& a, const PythonValue& b) {
  for (const PythonValue& v : {a, b})
    if (const auto o = object_in(v); o && o->bare) throw NotFollowed{};
  if (a.is.index() != b.is.index()) return false;
  if (auto list = std::get_if<std::shared_ptr<PythonValue::List>>(&a.is))
    return *list == std::get<std::shared_ptr<PythonValue::List>>(b.is);
  if (const auto o = object_in(a), other = object_in(b); o)  // a path is made anew wherever it is named
    return o == other || (o->kind == PythonObject::path && other->kind == o->kind && o->name == other->name);
  if (a.is.index() >= 2 && a.is.index() <= 4) throw NotFollowed{};  // numbers and strings: as Python keeps them
  return same_values(a, b);
}

bool same_values(const PythonValue& a, const PythonValue& b) {
  const Inside one;
  for (const PythonValue& v : {a, b})
    if (const auto o = object_in(v); o && o->bare) throw NotFollowed{};
  if (is_none(a) || is_none(b)) return is_none(a) && is_none(b);
  if (object_in(a) && object_in(a) == object_in(b) && object_in(a)->kind == PythonObject::unknown) return true;
  for (const PythonValue& v : {a, b})
    if (const auto o = object_in(v); o && o->kind == PythonObject::unknown) throw NotFollowed{};
  if (is_whole(a) && is_whole(b)) return whole_number(a) == whole_number(b);
  if (is_number(a) && is_number(b)) return real_number(a) == real_number(b);
  if (a.is.index() == b.is.index() && a.is.index() >= 7 && is_same(a, b)) return true;
  if (list_in(a) && list_in(b)) return same_lists(a, b);
  if (a.is.index() != b.is.index()) return false;
  if (auto t = tensor_in(a)) return t->address() == tensor_in(b)->address();
  if (auto s = std::get_if<std::string>(&a.is)) return *s == std::get<std::string>(b.is);
  if (auto t = std::get_if<ScalarType>(&a.is)) return *t == std::get<ScalarType>(b.is);
  if (auto o = object_in(a)) return same_objects(*o, *object_in(b));
  return true;
}

Sizes sizes_in(const PythonValue::List& given, size_t from) {
  if (given.size() == from + 1)
    if (auto list = list_in(given[from]); list && !(list->size() == 1 && list_in(list->front())))
      return sizes_in(*list);
  Sizes sizes;
  for (size_t i = from; i < given.size(); i++) sizes.push_back(whole_number(given[i]));
  return sizes;
}

PythonValue python_arithmetic(const std::string& sign, const PythonValue& a, const PythonValue& b) {
  if (auto s = std::get_if<std::string>(&a.is); s && sign == "%") return string_filled(*s, b);
  if (sign == "+") {
    auto s = std::get_if<std::string>(&a.is), other = std::get_if<std::string>(&b.is);
    if (s && other) return {*s + *other};
    auto list = list_in(a), more = list_in(b);
    if (list && more) {
      if (sort_of(a) == PythonSort::set || sort_of(a) == PythonSort::once || sort_of(b) != sort_of(a))
        throw NotFollowed{};
      PythonValue::List both = *list;
      both.insert(both.end(), more->begin(), more->end());
      return python_list_of(sort_of(a), std::move(both));
    }
  }
  if (auto list = list_in(a); list && sign == "*" && is_whole(b)) {
    PythonValue::List times;
    for (int64_t n = whole_number(b); n > 0 && !list->empty(); n--) {
      if (times.size() + list->size() > 100'000) throw NotFollowed{};
      times.insert(times.end(), list->begin(), list->end());
    }
    return python_list_of(sort_of(a), std::move(times));
  }
  if (!is_number(a) || !is_number(b)) throw NotFollowed{};
  if (is_whole(a) && is_whole(b) && sign != "/" && !(sign == "**" && whole_number(b) < 0))
    return whole_arithmetic(sign, whole_number(a), whole_number(b));
  const double x = real_number(a), y = real_number(b);
  if (sign == "+") return {x + y};
  if (sign == "-") return {x - y};
  if (sign == "*") return {x * y};
  if (sign == "/" && y != 0) return {x / y};
  if (sign == "//" && y != 0) return {std::floor(x / y)};
  // Of zero and of numbers below it Python raises, or gives a complex number.
  if (sign == "**" && (x > 0 || (y == std::floor(y) && (x < 0 || y >= 0)))) return {std::pow(x, y)};
  throw NotFollowed{};
}

bool python_comparison(const std::string& sign, const PythonValue& a, const PythonValue& b) {
  if (sign == "is" || sign == "is not") return is_same(a, b) == (sign == "is");
  if (sign == "==") return same_values(a, b);
  if (sign == "!=") return !same_values(a, b);
  if (sign == "in" || sign == "not in") {
    auto part = std::get_if<std::string>(&a.is), whole = std::get_if<std::string>(&b.is);
    if (part && whole) return (whole->find(*part) != whole->npos) == (sign == "in");
    const PythonValue::List list = elements_unordered(b);
    const bool in =
        std::any_of(list.begin(), list.end(), [&](const PythonValue& each) { return same_values(a, each); });
    return in == (sign == "in");
  }
  auto s = std::get_if<std::string>(&a.is), other = std::get_if<std::string>(&b.is);
  if (s && other)
    return sign == "<" ? *s < *other : sign == ">" ? *s > *other : sign == "<=" ? *s <= *other : *s >= *other;
  if (const auto* list = list_in(a), *more = list_in(b);
      list && more && sort_of(a) == sort_of(b) && (sort_of(a) == PythonSort::tuple || sort_of(a) == PythonSort::list)) {
    // By the first two that differ.
    size_t i = 0;
    while (i < list->size() && i < more->size() && same_values((*list)[i], (*more)[i])) i++;
    const bool both = i < list->size() && i < more->size();
    return both ? python_comparison(sign, (*list)[i], (*more)[i])
                : python_comparison(sign, {static_cast<int64_t>(list->size())}, {static_cast<int64_t>(more->size())});
  }
  if (!is_number(a) || !is_number(b)) throw NotFollowed{};
  if (is_whole(a) && is_whole(b)) {
    const int64_t x = whole_number(a), y = whole_number(b);
    return sign == "<" ? x < y : sign == ">" ? x > y : sign == "<=" ? x <= y : x >= y;
  }
  const double x = real_number(a), y = real_number(b);
  return sign == "<" ? x < y : sign == ">" ? x > y : sign == "<=" ? x <= y : x >= y;
}

namespace {

bool is_of_sort(const PythonValue& v, const std::string& word) {
  if (!list_in(v)) return false;
  const auto o = object_in(v);
  if (sort_of(v) == PythonSort::other && !o) throw NotFollowed{};
  return sort_of(v) == (word == "list" ? PythonSort::list : PythonSort::tuple);
}

}  // namespace

bool is_instance(const PythonValue& v, const PythonExpression& types) {
  std::vector<const PythonExpression*> all;
  if (types.kind == PythonExpression::tuple)
    for (const PythonExpression& each : types.parts) all.push_back(&each);
  else
    all.push_back(&types);
  return std::any_of(all.begin(), all.end(), [&](const PythonExpression* t) {
    return t->word == "int"                          ? is_whole(v)
           : t->word == "float"                      ? std::holds_alternative<double>(v.is)
           : t->word == "bool"                       ? std::holds_alternative<bool>(v.is)
           : t->word == "str"                        ? std::holds_alternative<std::string>(v.is)
           : t->word == "tuple" || t->word == "list" ? is_of_sort(v, t->word)
           : t->word == "Iterable" && !object_in(v) && !std::holds_alternative<std::string>(v.is)
               ? list_in(v) != nullptr
           : t->word == "Tensor" ? tensor_in(v) != nullptr
                                 : throw NotFollowed{};
  });
}

PythonValue made_anew(const PythonObject& was, const std::string& method, const PythonArguments& a) {
  static const std::set<std::string> random = {"uniform_", "normal_", "random_", "mul_", "div_"},
                                     same = {"to",         "cuda",  "cpu",    "float",
                                             "contiguous", "clone", "detach", "requires_grad_"};
  auto o = std::make_shared<PythonObject>(was);
  if (random.contains(method))
    o->name = "torch.randn";
  else if (method == "zero_" || (method == "fill_" && !a.by_place.empty() && real_number(a.by_place[0]) == 0))
    o->name = "torch.zeros";
  else if (!same.contains(method))
    throw NotFollowed{};
  return {o};
}

}  // namespace convscope::host
