// PyTorch's functions and methods as far as a followed module may call them (python_values.h). What a name means is
// PyTorch's documentation of it (torch.Tensor, torch, torch.nn.functional).
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "kernels/runtime/compile/python_values.h"

namespace convscope::host {
namespace {

ScalarType type_in(const PythonArguments& a, ScalarType otherwise) {
  auto found = a.by_name.find("dtype");
  if (found == a.by_name.end() || is_none(found->second)) return otherwise;
  auto t = std::get_if<ScalarType>(&found->second.is);
  if (!t) throw NotFollowed{};
  return *t;
}

const Tensor& tensor_at(const PythonArguments& a, size_t place, const char* name = "input") {
  const PythonValue* v = a.find(name, place);
  const Tensor* t = v ? tensor_in(*v) : nullptr;
  if (!t) throw NotFollowed{};
  return *t;
}
int64_t number_at(const PythonArguments& a, size_t place, const char* name, std::optional<int64_t> otherwise = {}) {
  if (const PythonValue* v = a.find(name, place)) return whole_number(*v);
  if (!otherwise) throw NotFollowed{};
  return *otherwise;
}
PythonValue numbers(const Sizes& sizes) {
  PythonValue::List all;
  for (const int64_t n : sizes) all.push_back({n});
  return python_tuple(std::move(all));
}

// What a value says as a device; none: nothing.
std::optional<DeviceType> device_in(const PythonValue& v) {
  if (auto s = std::get_if<std::string>(&v.is)) {
    if (s->starts_with("cpu")) return kCPU;
    if (s->starts_with("cuda")) return kCUDA;
  }
  if (same_values(v, python_path("torch.device"))) return kCUDA;
  return {};
}

// torch.device("cpu"), torch.device("cuda", 0)
PythonValue device_named(const PythonArguments& a) {
  const PythonValue* type = a.find("type", 0);
  if (type && device_in(*type) == kCPU) return {std::string("cpu")};
  return python_path("torch.device");
}

TensorOptions options_like(const Tensor& t, const PythonArguments& a) {
  const auto named = a.by_name.find("device");
  const auto device = named == a.by_name.end() ? std::nullopt : device_in(named->second);
  return {type_in(a, t.scalar_type()), device.value_or(t.device().type())};
}

// to(type), to(tensor's), to(device).
PythonValue moved(const PythonOperations& ops, const Tensor& t, const PythonArguments& a) {
  ScalarType wanted = type_in(a, t.scalar_type());
  DeviceType where = t.device().type();
  for (const PythonValue& v : a.by_place) {
    if (auto type = std::get_if<ScalarType>(&v.is)) wanted = *type;
    if (auto like = tensor_in(v)) wanted = like->scalar_type(), where = like->device().type();
    if (auto device = device_in(v)) where = *device;
  }
  if (auto named = a.by_name.find("device"); named != a.by_name.end())
    if (auto device = device_in(named->second)) where = *device;
  return {ops.convert(t.to(where), wanted)};
}

// The input to be joined along a dimension, each copied into its place.
Tensor concatenated(const PythonOperations& ops, const PythonValue::List& parts, int64_t dim) {
  const Tensor* first = parts.empty() ? nullptr : tensor_in(parts.front());
  if (!first) throw NotFollowed{};
  if (dim < 0) dim += first->dim();
  Sizes sizes = first->sizes();
  const auto d = static_cast<size_t>(dim);
  if (d >= sizes.size()) throw NotFollowed{};
  sizes[d] = 0;
  for (const PythonValue& v : parts) {
    const Tensor* t = tensor_in(v);
    if (!t || t->dim() != first->dim()) throw NotFollowed{};
    sizes[d] += t->size(dim);
  }
  Tensor all = empty(sizes, first->options());
  int64_t at = 0;
  for (const PythonValue& v : parts) {
    const Tensor& t = *tensor_in(v);
    Tensor room = all.narrow(dim, at, t.size(dim));
    ops.copy_to(room, t), at += t.size(dim);
  }
  return all;
}

Tensor product(const PythonOperations& ops, const Tensor& a, const Tensor& b) {
  if (!ops.matmul) throw NotFollowed{};
  return ops.matmul(a, b);
}

// float("inf")
PythonValue number_said(const std::string& s) {
  char* end = nullptr;
  const double v = std::strtod(s.c_str(), &end);
  if (s.empty() || *end) throw NotFollowed{};
  return {v};
}

// torch.tensor([1., 2.]): a number in each place.
PythonValue written_out(const PythonOperations& ops, const PythonValue& v, const TensorOptions& options) {
  if (!list_in(v)) throw NotFollowed{};
  const PythonValue::List& all = *list_in(v);
  constexpr size_t most = 256;
  if (all.size() > most) throw NotFollowed{};
  Tensor t = empty({static_cast<int64_t>(all.size())}, options);
  for (size_t i = 0; i < all.size(); i++) {
    Tensor one = t.select(0, static_cast<int64_t>(i));
    ops.fill(one, real_number(all[i]));
  }
  return {t};
}

// Added to nothing, as many times as it is to be.
Tensor scaled(const PythonOperations& ops, const Tensor& t, double by) {
  Tensor nothing = t.new_empty(t.sizes());
  ops.fill(nothing, 0);
  return ops.add(nothing, t, by);
}

int64_t dimension_of(const Tensor& t, int64_t d) {
  if (d < 0) d += t.dim();
  return d >= 0 && d < t.dim() ? d : throw NotFollowed{};
}

// chunk, split, unbind: views of the parts of a tensor.
std::optional<PythonValue> parts_of(const Tensor& t, const std::string& name, const PythonArguments& a) {
  if (name != "chunk" && name != "split" && name != "unbind") return {};
  const bool single = name == "unbind";
  const int64_t d = dimension_of(t, number_at(a, single ? 0 : 1, "dim", 0)), all = t.size(d);
  PythonValue::List parts;
  if (single) {
    for (int64_t i = 0; i < all; i++) parts.push_back({t.select(d, i)});
    return python_tuple(std::move(parts));
  }
  const PythonValue* how = a.find(name == "chunk" ? "chunks" : "split_size_or_sections", 0);
  if (!how) how = a.find("split_size", 0);
  if (!how) throw NotFollowed{};
  Sizes sizes;
  if (name == "split" && list_in(*how)) {
    sizes = sizes_in(*list_in(*how));
  } else {
    const int64_t n = whole_number(*how), each = name == "chunk" && n > 0 ? (all + n - 1) / n : n;
    if (each < 1) throw NotFollowed{};
    for (int64_t at = 0; at < all; at += each) sizes.push_back(std::min(each, all - at));
  }
  int64_t at = 0;
  for (const int64_t n : sizes) parts.push_back({t.narrow(d, at, n)}), at += n;
  if (at != all) throw NotFollowed{};
  return python_tuple(std::move(parts));
}

Tensor reshaped(const PythonOperations& ops, const Tensor& t, const Sizes& sizes) {
  const auto view = t.as_view(sizes);
  return view ? *view : ops.clone(t).view(sizes);
}

// flatten, unflatten, movedim, and repeat where nothing but single places is repeated: the same values, seen otherwise.
std::optional<Tensor> seen_otherwise(const PythonOperations& ops, const Tensor& t, const std::string& name,
                                     const PythonArguments& a) {
  auto viewed = [&](const Sizes& sizes) { return reshaped(ops, t, sizes); };
  Sizes sizes = t.sizes();
  if (name == "flatten") {
    const int64_t first = dimension_of(t, number_at(a, 0, "start_dim", 0)),
                  last = dimension_of(t, number_at(a, 1, "end_dim", -1));
    if (first > last) throw NotFollowed{};
    int64_t all = 1;
    for (int64_t d = first; d <= last; d++) all *= sizes[static_cast<size_t>(d)];
    sizes.erase(sizes.begin() + first, sizes.begin() + last + 1);
    sizes.insert(sizes.begin() + first, all);
    return viewed(sizes);
  }
  if (name == "unflatten") {
    const int64_t d = dimension_of(t, number_at(a, 0, "dim"));
    const PythonValue* into = a.find("sizes", 1);
    if (!into || !list_in(*into)) throw NotFollowed{};
    const Sizes parts = sizes_in(*list_in(*into));
    sizes.erase(sizes.begin() + d);
    sizes.insert(sizes.begin() + d, parts.begin(), parts.end());
    return viewed(sizes);
  }
  if (name == "movedim" || name == "moveaxis") {
    const int64_t from = dimension_of(t, number_at(a, 0, "source")),
                  to = dimension_of(t, number_at(a, 1, "destination"));
    Sizes order;
    for (int64_t d = 0; d < t.dim(); d++)
      if (d != from) order.push_back(d);
    order.insert(order.begin() + to, from);
    return t.permute(order);
  }
  if (name == "repeat") {
    const Sizes times = sizes_in(a.by_place);
    if (times.size() < sizes.size()) throw NotFollowed{};
    sizes.insert(sizes.begin(), times.size() - sizes.size(), 1);
    const Tensor wide = viewed(sizes);
    for (size_t d = 0; d < sizes.size(); d++) {
      if (sizes[d] != 1 && times[d] != 1) throw NotFollowed{};
      sizes[d] *= times[d];
    }
    return ops.clone(wide.expand(sizes));
  }
  return {};
}

// add(1), mul(x), mul_(x), neg(), relu(): what is an operator too; of sums of tensors only what the rest does not have.
std::optional<PythonValue> arithmetic_method(const PythonOperations& ops, Tensor& self, const std::string& name,
                                             const PythonArguments& a) {
  const bool in_place = name.ends_with('_');
  const std::string plain = name.substr(0, name.size() - in_place);
  const PythonValue* other = a.find("other", 0);
  auto given = [&](PythonValue made) -> PythonValue {
    if (!in_place) return made;
    return ops.copy_to(self, *tensor_in(made)), PythonValue{self};
  };
  if (plain == "relu") return given({ops.clamp(self, 0, std::numeric_limits<double>::infinity())});
  if (plain == "neg" || plain == "negative") return given({scaled(ops, self, -1)});
  if (!other || a.by_place.size() + a.by_name.size() != 1) return {};
  const bool tensor = tensor_in(*other);
  if (plain == "mul" || plain == "multiply") return given(tensor_arithmetic(ops, "*", {self}, *other));
  if (plain == "div" || plain == "true_divide") return given(tensor_arithmetic(ops, "/", {self}, *other));
  if ((plain == "add" || plain == "sub") && !tensor)
    return given(tensor_arithmetic(ops, plain == "add" ? "+" : "-", {self}, *other));
  if (name == "sub_") return given(tensor_arithmetic(ops, "-", {self}, *other));
  if (tensor && (name == "maximum" || name == "minimum"))
    return PythonValue{
        ops.combined(self, *tensor_in(*other), name == "maximum" ? Tensor::Combine::larger : Tensor::Combine::smaller)};
  return {};
}

}  // namespace

PythonValue tensor_attribute(const Tensor& t, const std::string& name) {
  if (name == "shape") return numbers(t.sizes());
  if (name == "dtype") return {t.scalar_type()};
  if (name == "device") return t.is_cpu() ? PythonValue{std::string("cpu")} : python_path("torch.device");
  if (name == "is_cuda") return {t.is_cuda()};
  if (name == "ndim") return {t.dim()};
  if (name == "data") return {t};
  if (name == "requires_grad") return {false};
  if (name == "grad") return {};
  if (name == "_version") return {int64_t{0}};
  if (name == "T") return {t.t()};
  if (name == "mT") return {t.transpose(-1, -2)};
  throw NotFollowed{};
}

PythonValue tensor_method(const PythonOperations& ops, const Tensor& t, const std::string& name,
                          const PythonArguments& a) {
  static const std::set<std::string> same = {"detach", "requires_grad_"};
  if (same.contains(name)) return {t};
  if (name == "cuda" || name == "cpu") return {t.to(name == "cpu" ? kCPU : kCUDA)};
  if (name == "size")
    return a.by_place.empty() && a.by_name.empty() ? numbers(t.sizes()) : PythonValue{t.size(number_at(a, 0, "dim"))};
  if (name == "stride")
    return a.by_place.empty() ? numbers(t.strides()) : PythonValue{t.stride(number_at(a, 0, "dim"))};
  if (name == "dim" || name == "ndimension") return {t.dim()};
  if (name == "numel" || name == "nelement") return {t.numel()};
  if (name == "element_size") return {t.element_size()};
  if (name == "data_ptr") return {static_cast<int64_t>(t.address())};
  if (name == "is_contiguous") return {t.is_contiguous()};
  if (name == "is_floating_point") return {true};
  if (name == "get_device") return {int64_t{t.get_device()}};
  if (name == "contiguous") return {t.is_contiguous() ? t : ops.clone(t)};
  if (name == "clone") return {ops.clone(t)};
  if (name == "float") return {ops.convert(t, ScalarType::Float)};
  if (name == "double") return {ops.convert(t, ScalarType::Double)};
  if (name == "half") return {ops.convert(t, ScalarType::Half)};
  if (name == "bfloat16") return {ops.convert(t, ScalarType::BFloat16)};
  if (name == "to" || name == "type") return moved(ops, t, a);
  if (name == "type_as") return {ops.convert(t, tensor_at(a, 0, "other").scalar_type())};
  if (name == "permute") return {t.permute(sizes_in(a.by_place))};
  if (name == "transpose" || name == "swapaxes" || name == "swapdims")
    return {t.transpose(number_at(a, 0, "dim0"), number_at(a, 1, "dim1"))};
  if (name == "t") return {t.t()};
  if (name == "flip") {
    if (auto dims = a.by_name.find("dims"); dims != a.by_name.end())
      return {
          ops.flip(t, list_in(dims->second) ? sizes_in(*list_in(dims->second)) : Sizes{whole_number(dims->second)})};
    return {ops.flip(t, sizes_in(a.by_place))};
  }
  if (name == "view" || name == "reshape") {
    if (a.by_place.size() == 1 && std::holds_alternative<ScalarType>(a.by_place[0].is)) throw NotFollowed{};
    const Sizes sizes = sizes_in(a.by_place);
    return {name == "view" ? t.view(sizes) : reshaped(ops, t, sizes)};
  }
  if (name == "view_as") return {t.view(tensor_at(a, 0, "other").sizes())};
  if (name == "reshape_as") return {reshaped(ops, t, tensor_at(a, 0, "other").sizes())};
  if (auto parts = parts_of(t, name, a)) return *parts;
  if (auto other = seen_otherwise(ops, t, name, a)) return {*other};
  if (name == "squeeze" && (!a.by_place.empty() || !a.by_name.empty())) return {t.squeeze(number_at(a, 0, "dim"))};
  if (name == "unsqueeze") return {t.unsqueeze(number_at(a, 0, "dim"))};
  if (name == "narrow") return {t.narrow(number_at(a, 0, "dim"), number_at(a, 1, "start"), number_at(a, 2, "length"))};
  if (name == "select") return {t.select(number_at(a, 0, "dim"), number_at(a, 1, "index"))};
  if (name == "expand") return {t.expand(sizes_in(a.by_place))};
  if (name == "expand_as") return {t.expand_as(tensor_at(a, 0, "other"))};
  if (name == "new_empty") return {t.new_empty(sizes_in(a.by_place), options_like(t, a))};
  if (name == "new_zeros") {
    Tensor made = t.new_empty(sizes_in(a.by_place), options_like(t, a));
    return ops.fill(made, 0), PythonValue{made};
  }
  Tensor self = t;
  if (name == "zero_") return ops.fill(self, 0), PythonValue{self};
  if (name == "fill_") return ops.fill(self, real_number(a.by_place.at(0))), PythonValue{self};
  if (name == "copy_") return ops.copy_to(self, tensor_at(a, 0, "src")), PythonValue{self};
  if (name == "record_stream") return {};
  if (auto made = arithmetic_method(ops, self, name, a)) return *made;
  const double alpha = a.by_name.contains("alpha") ? real_number(a.by_name.at("alpha")) : 1;
  if (name == "add_") return ops.add_to(self, tensor_at(a, 0, "other"), alpha), PythonValue{self};
  if (name == "add") return {ops.add(t, tensor_at(a, 0, "other"), alpha)};
  if (name == "clamp" || name == "clamp_" || name == "clip" || name == "clamp_min" || name == "clamp_max") {
    constexpr double none = std::numeric_limits<double>::infinity();
    const PythonValue *low = name == "clamp_max" ? nullptr : a.find("min", 0),
                      *high = name == "clamp_max"   ? a.find("max", 0)
                              : name == "clamp_min" ? nullptr
                                                    : a.find("max", 1);
    const Tensor made = ops.clamp(t, low && !is_none(*low) ? real_number(*low) : -none,
                                  high && !is_none(*high) ? real_number(*high) : none);
    if (name == "clamp_") return ops.copy_to(self, made), PythonValue{self};
    return {made};
  }
  if (name == "sub") return {ops.add(t, tensor_at(a, 0, "other"), -alpha)};
  if (name == "matmul" || name == "mm" || name == "bmm") return {product(ops, t, tensor_at(a, 0, "other"))};
  throw NotFollowed{};
}

PythonValue tensor_arithmetic(const PythonOperations& ops, const std::string& sign, const PythonValue& a,
                              const PythonValue& b) {
  auto x = tensor_in(a), y = tensor_in(b);
  auto with = [&](const Tensor& t, double times, double plus) {
    Tensor number = t.new_empty(t.sizes());
    ops.fill(number, plus);
    return PythonValue{ops.add(number, t, times)};
  };
  if (x && !y) {
    const double by = real_number(b);
    if (sign == "*" || sign == "/") return {scaled(ops, *x, sign == "*" ? by : 1 / by)};
    if (sign == "+" || sign == "-") return with(*x, 1, sign == "+" ? by : -by);
  }
  if (y && !x) {
    const double by = real_number(a);
    if (sign == "*") return {scaled(ops, *y, by)};
    if (sign == "+" || sign == "-") return with(*y, sign == "+" ? 1 : -1, by);
  }
  if (!x || !y) throw NotFollowed{};
  if (sign == "+") return {ops.add(*x, *y, 1)};
  if (sign == "-") return {ops.add(*x, *y, -1)};
  if (sign == "*") return {ops.combined(*x, *y, Tensor::Combine::product)};
  if (sign == "/") return {ops.combined(*x, *y, Tensor::Combine::quotient)};
  if (sign == "@") return {product(ops, *x, *y)};
  throw NotFollowed{};
}

PythonValue value_of_path(const std::string& path) {
  static const std::pair<const char*, ScalarType> types[] = {
      {"torch.float32", ScalarType::Float},     {"torch.float", ScalarType::Float},
      {"torch.float64", ScalarType::Double},    {"torch.double", ScalarType::Double},
      {"torch.float16", ScalarType::Half},      {"torch.half", ScalarType::Half},
      {"torch.bfloat16", ScalarType::BFloat16}, {"torch.int32", ScalarType::Int},
      {"torch.int", ScalarType::Int},           {"torch.int64", ScalarType::Long},
      {"torch.long", ScalarType::Long},         {"torch.bool", ScalarType::Bool}};
  for (const auto& [name, type] : types)
    if (path == name) return {type};
  if (path == "torch.device.type") return {std::string("cuda")};
  if (path == "torch.device.index") return {int64_t{0}};
  if (path == "math.pi") return {3.141592653589793};
  return python_path(path);
}

PythonValue call_of_path(const PythonOperations& ops, const std::string& path, const PythonArguments& a) {
  auto one = [&]() -> const PythonValue& {
    if (a.by_place.empty()) throw NotFollowed{};
    return a.by_place.front();
  };
  // ---- Python's own
  if (auto walked = walking_function(path, a)) return *walked;
  if (path == "int" || (path == "round" && a.by_place.size() == 1)) {
    if (!std::holds_alternative<double>(one().is)) return {whole_number(one())};
    const double v = real_number(one());
    if (!(std::abs(v) < 9e18)) throw NotFollowed{};
    return {static_cast<int64_t>(path == "int" ? v : std::nearbyint(v))};
  }
  if (path == "float") {
    if (auto s = std::get_if<std::string>(&one().is)) return number_said(*s);
    return {real_number(one())};
  }
  if (path == "bool") return {truth_of(one())};
  if (path == "len") {
    if (auto t = tensor_in(one())) return {t->size(0)};
    return {static_cast<int64_t>(elements_unordered(one()).size())};
  }
  if (path == "abs" && truth_of({python_comparison(">=", one(), {int64_t{0}})})) return one();
  if (path == "abs") return python_arithmetic("-", {int64_t{0}}, one());
  if (path.ends_with("_single")) return list_in(one()) ? one() : python_tuple({one()});  // torch.nn.modules.utils'
  if (path == "max" || path == "min") {
    const PythonValue::List all = a.by_place.size() == 1 ? elements_walked(one()) : a.by_place;
    if (all.empty()) throw NotFollowed{};
    return *std::max_element(all.begin(), all.end(), [&](const PythonValue& x, const PythonValue& y) {
      return path == "max" ? real_number(x) < real_number(y) : real_number(x) > real_number(y);
    });
  }
  if (path == "tuple") return python_tuple({});
  if (path == "list" || path == "set") return python_list_of(path == "set" ? PythonSort::set : PythonSort::list, {});
  if (path == "range") {
    const bool ends = a.by_place.size() > 1;
    const int64_t from = ends ? whole_number(one()) : 0, to = whole_number(a.by_place.at(ends ? 1 : 0)),
                  step = a.by_place.size() > 2 ? whole_number(a.by_place[2]) : 1;
    constexpr int64_t most = 100'000;
    if (step == 0 || (to - from) / step > most) throw NotFollowed{};
    PythonValue::List all;
    for (int64_t i = from; step > 0 ? i < to : i > to; i += step) all.push_back({i});
    return python_list(std::move(all));
  }
  if (path == "str" && device_in(one())) return {std::string(device_in(one()) == kCPU ? "cpu" : "cuda:0")};
  if (path == "str" || path == "repr") {
    const PythonValue v = one();
    try {
      return {text_of(v, path == "repr" ? "!r" : "")};
    } catch (const NotFollowed&) {
      return unknown_text();
    }
  }
  if (path == "torch.nn.ModuleList")
    return python_list(a.by_place.empty() ? PythonValue::List{} : elements_walked(one()));
  if (path == "id") {
    const Tensor* t = tensor_in(one());
    return t ? PythonValue{static_cast<int64_t>(t->address())} : throw NotFollowed{};
  }
  if (path == "print" || path == "torch._assert") return {};
  if (path == "textwrap.dedent" || path == "string.Template")  // the latter is asked for its substitute() alone
    return path == "textwrap.dedent" ? PythonValue{dedented(string_of(one()))} : one();
  if (path.starts_with("math.")) {
    const double v = real_number(one());
    if (path == "math.ceil") return {static_cast<int64_t>(std::ceil(v))};
    if (path == "math.floor") return {static_cast<int64_t>(std::floor(v))};
    if (path == "math.sqrt") return {std::sqrt(v)};
    if (path == "math.log2") return {std::log2(v)};
    throw NotFollowed{};
  }
  if (path == "torch.nn.init._calculate_fan_in_and_fan_out") {
    const PythonObjectPointer made = object_in(one());
    const Sizes sizes = made && made->kind == PythonObject::made ? made->sizes : tensor_at(a, 0, "tensor").sizes();
    if (sizes.size() < 2) throw NotFollowed{};
    int64_t taps = 1;
    for (size_t i = 2; i < sizes.size(); i++) taps *= sizes[i];
    return python_tuple({{sizes[1] * taps}, {sizes[0] * taps}});
  }
  if (auto known = function_of_streams(path, a)) return *known;
  // ---- what changes no tensor
  for (const char* quiet : {"torch.cuda.", "torch.backends.", "torch.nn.init.", "warnings.", "torch.set_",
                            "torch.manual_seed", "torch._dynamo", "os.", "time.", "logging."})
    if (path.starts_with(quiet)) {
      if (path == "torch.cuda.is_available" || path == "torch.cuda.is_bf16_supported") return {true};
      if (path == "torch.cuda.device_count") return {int64_t{1}};
      if (path == "torch.cuda.current_device") return {int64_t{0}};
      if (path == "torch.cuda.get_device_capability") return python_tuple({{int64_t{9}}, {int64_t{0}}});
      if (path == "logging.getLogger") return python_path("logging.logger");
      if (path == "torch.cuda.is_current_stream_capturing") return {false};
      return {};
    }
  if (path == "torch.compile" || path == "torch.jit.script") return a.by_place.empty() ? PythonValue{} : one();
  if (path == "torch.is_tensor") return {tensor_in(one()) != nullptr};
  if (path == "torch.device" || path == "torch.Size") return path == "torch.Size" ? one() : device_named(a);
  if (path == "torch.is_grad_enabled") return {false};
  if (path == "torch.is_autocast_enabled") return {false};
  // ---- tensors
  const std::string name = path.substr(path.rfind('.') + 1);
  auto options = [&] {
    const auto named = a.by_name.find("device");
    const bool given = named != a.by_name.end() && !is_none(named->second);
    return TensorOptions(type_in(a, ScalarType::Float), given ? device_in(named->second).value_or(kCUDA) : ops.made_on);
  };
  auto filled = [&](Tensor t, double v) { return ops.fill(t, v), PythonValue{t}; };
  auto asked = [&] {
    if (auto size = a.by_name.find("size"); size != a.by_name.end()) return sizes_in({size->second});
    return sizes_in(a.by_place);
  };
  if (path == "torch.empty") return {empty(asked(), options())};
  if (path == "torch.zeros") return filled(empty(asked(), options()), 0);
  if (path == "torch.ones") return filled(empty(asked(), options()), 1);
  if (path == "torch.full" && a.by_place.size() > 1)
    return filled(empty(sizes_in({one()}), options()), real_number(a.by_place[1]));
  if (path == "torch.einsum") return {einsum(ops, a)};
  if (path == "torch.tensor") {
    // Without a type it is that of its numbers, and whole ones' is none that is computed with here.
    if (!a.by_name.contains("dtype") && list_in(one()))
      for (const PythonValue& v : *list_in(one()))
        if (!std::holds_alternative<double>(v.is)) throw NotFollowed{};
    return written_out(ops, one(), options());
  }
  if (path == "torch.empty_like") return {tensor_at(a, 0).new_empty(tensor_at(a, 0).sizes())};
  if (path == "torch.zeros_like") return filled(tensor_at(a, 0).new_empty(tensor_at(a, 0).sizes()), 0);
  if (path == "torch.ones_like") return filled(tensor_at(a, 0).new_empty(tensor_at(a, 0).sizes()), 1);
  if (path == "torch.cat" || path == "torch.concat") {
    const PythonValue* list = a.find("tensors", 0);
    if (!list || !list_in(*list)) throw NotFollowed{};
    return {concatenated(ops, *list_in(*list), number_at(a, 1, "dim", 0))};
  }
  if (path == "torch.nn.functional.pad") {
    const PythonValue *pad = a.find("pad", 1), *mode = a.find("mode", 2), *value = a.find("value", 3);
    if (!pad || !list_in(*pad)) throw NotFollowed{};
    if (mode && !same_values(*mode, {std::string("constant")})) throw NotFollowed{};
    return {ops.pad(tensor_at(a, 0), sizes_in(*list_in(*pad)), value && !is_none(*value) ? real_number(*value) : 0)};
  }
  static const std::set<std::string> of_tensors = {
      "clamp",  "clamp_min", "clamp_max", "flip",  "transpose", "permute", "reshape",   "squeeze", "unsqueeze",
      "narrow", "select",    "add",       "sub",   "matmul",    "mm",      "bmm",       "clone",   "numel",
      "t",      "swapaxes",  "flatten",   "chunk", "split",     "unbind",  "unflatten", "movedim", "moveaxis",
      "mul",    "multiply",  "div",       "neg",   "relu",      "maximum", "minimum"};
  if (path == "torch.nn.functional.relu" && a.by_place.size() == 1 && a.by_name.empty())
    return tensor_method(ops, tensor_at(a, 0), "relu", {});
  if (path.starts_with("torch.") && path.rfind('.') == 5 && of_tensors.contains(name) && !a.by_place.empty()) {
    PythonArguments rest = a;
    rest.by_place.erase(rest.by_place.begin());
    return tensor_method(ops, tensor_at(a, 0), name, rest);
  }
  throw NotFollowed{};
}

}  // namespace convscope::host
