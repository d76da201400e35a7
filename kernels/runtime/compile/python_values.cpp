#include "kernels/runtime/compile/python_values.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

#include "kernels/runtime/compile/not_followed.h"

namespace convscope::host {
namespace {

bool is_number(const PythonValue& v) { return v.is.index() >= 1 && v.is.index() <= 3; }  // bool, int64_t, double
bool is_whole(const PythonValue& v) { return v.is.index() == 1 || v.is.index() == 2; }

int64_t floor_divided(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

}  // namespace

void refuse_argument(const PythonValue& v, const char* wanted) {
  throw NotFollowedHere(
      fmt::format("its module gives a function of the host code {}, where {} belongs", kind_of(v), wanted));
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
  if (auto list = list_in(v)) return !list->empty();
  if (auto names = names_in(v)) return !names->entries.empty();
  if (tensor_in(v)) throw NotFollowed{};  // its values are not known
  if (const auto o = object_in(v); o && o->kind == PythonObject::unknown) throw NotFollowed{};
  return true;
}

PythonValue unknown_text() {
  auto o = std::make_shared<PythonObject>();
  o->kind = PythonObject::unknown;
  return {o};
}

bool same_values(const PythonValue& a, const PythonValue& b) {
  if (is_none(a) || is_none(b)) return is_none(a) && is_none(b);
  for (const PythonValue& v : {a, b})
    if (const auto o = object_in(v); o && o->kind == PythonObject::unknown) throw NotFollowed{};
  if (is_number(a) && is_number(b)) return real_number(a) == real_number(b);
  if (auto list = list_in(a), other = list_in(b); list && other)
    return std::equal(list->begin(), list->end(), other->begin(), other->end(), same_values);
  if (a.is.index() != b.is.index()) return false;
  if (auto t = tensor_in(a)) return t->address() == tensor_in(b)->address();
  if (auto s = std::get_if<std::string>(&a.is)) return *s == std::get<std::string>(b.is);
  if (auto t = std::get_if<ScalarType>(&a.is)) return *t == std::get<ScalarType>(b.is);
  if (auto o = object_in(a))
    return o == object_in(b) || (o->kind == PythonObject::path && o->name == object_in(b)->name);
  return true;
}

Sizes sizes_in(const PythonValue::List& given, size_t from) {
  if (given.size() == from + 1)
    if (auto list = list_in(given[from])) return sizes_in(*list);
  Sizes sizes;
  for (size_t i = from; i < given.size(); i++) sizes.push_back(whole_number(given[i]));
  return sizes;
}

PythonValue python_arithmetic(const std::string& sign, const PythonValue& a, const PythonValue& b) {
  if (sign == "+") {
    auto s = std::get_if<std::string>(&a.is), other = std::get_if<std::string>(&b.is);
    if (s && other) return {*s + *other};
    auto list = list_in(a), more = list_in(b);
    if (list && more) {
      PythonValue::List both = *list;
      both.insert(both.end(), more->begin(), more->end());
      return python_list(std::move(both));
    }
  }
  if (auto list = list_in(a); list && sign == "*" && is_whole(b)) {
    PythonValue::List times;
    for (int64_t n = whole_number(b); n > 0 && times.size() < 1000; n--)
      times.insert(times.end(), list->begin(), list->end());
    return python_list(std::move(times));
  }
  if (!is_number(a) || !is_number(b)) throw NotFollowed{};
  if (is_whole(a) && is_whole(b) && sign != "/") {
    const int64_t x = whole_number(a), y = whole_number(b);
    if (sign == "+") return {x + y};
    if (sign == "-") return {x - y};
    if (sign == "*") return {x * y};
    if ((sign == "//" || sign == "%") && y == 0) throw NotFollowed{};
    if (sign == "//") return {floor_divided(x, y)};
    if (sign == "%") return {x - floor_divided(x, y) * y};
  }
  const double x = real_number(a), y = real_number(b);
  if (sign == "+") return {x + y};
  if (sign == "-") return {x - y};
  if (sign == "*") return {x * y};
  if (sign == "/" && y != 0) return {x / y};
  if (sign == "//" && y != 0) return {std::floor(x / y)};
  if (sign == "**") {
    const double power = std::pow(x, y);
    if (is_whole(a) && is_whole(b) && y >= 0) return {static_cast<int64_t>(power)};
    return {power};
  }
  throw NotFollowed{};
}

bool python_comparison(const std::string& sign, const PythonValue& a, const PythonValue& b) {
  if (sign == "is" || sign == "==") return same_values(a, b);
  if (sign == "is not" || sign == "!=") return !same_values(a, b);
  if (sign == "in" || sign == "not in") {
    auto part = std::get_if<std::string>(&a.is), whole = std::get_if<std::string>(&b.is);
    if (part && whole) return (whole->find(*part) != whole->npos) == (sign == "in");
    const PythonValue::List list = elements_walked(b);
    const bool in =
        std::any_of(list.begin(), list.end(), [&](const PythonValue& each) { return same_values(a, each); });
    return in == (sign == "in");
  }
  if (!is_number(a) || !is_number(b)) throw NotFollowed{};
  const double x = real_number(a), y = real_number(b);
  return sign == "<" ? x < y : sign == ">" ? x > y : sign == "<=" ? x <= y : x >= y;
}

bool is_instance(const PythonValue& v, const PythonExpression& types) {
  std::vector<const PythonExpression*> all;
  if (types.kind == PythonExpression::tuple)
    for (const PythonExpression& each : types.parts) all.push_back(&each);
  else
    all.push_back(&types);
  return std::any_of(all.begin(), all.end(), [&](const PythonExpression* t) {
    return t->word == "int"     ? is_whole(v)
           : t->word == "float" ? std::holds_alternative<double>(v.is)
           : t->word == "bool"  ? std::holds_alternative<bool>(v.is)
           : t->word == "str"   ? std::holds_alternative<std::string>(v.is)
           : t->word == "tuple" || t->word == "list" || t->word == "Iterable" ? list_in(v) != nullptr
           : t->word == "Tensor"                                              ? tensor_in(v) != nullptr
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
