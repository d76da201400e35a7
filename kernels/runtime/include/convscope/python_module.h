// What a module of a Python file calls: the host code's functions by their names, and what PyTorch does to tensors. The
// module itself, its __init__() and forward(), is followed in the program (kernels/runtime/compile/python_run.h).
// Included by what registers such a file (host_code.h).
#pragma once
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "convscope/host_calls.h"

namespace convscope::host {

struct PythonObject;

// A value of the module: None, a number, a string, a tensor, a type, a tuple or list, or what has attributes.
struct PythonValue {
  using List = std::vector<PythonValue>;
  std::variant<std::monostate, bool, int64_t, double, std::string, Tensor, ScalarType, std::shared_ptr<List>,
               std::shared_ptr<PythonObject>>
      is;
};

// What a function cannot be given. Errors: always refused.
[[noreturn]] CONVSCOPE_PROGRAM void refuse_argument(const PythonValue& v, const char* wanted);
CONVSCOPE_PROGRAM int64_t whole_number(const PythonValue& v);
CONVSCOPE_PROGRAM double real_number(const PythonValue& v);
CONVSCOPE_PROGRAM Tensor tensor_of(const PythonValue& v);
CONVSCOPE_PROGRAM std::string string_of(const PythonValue& v);
CONVSCOPE_PROGRAM bool is_none(const PythonValue& v);
CONVSCOPE_PROGRAM const PythonValue::List& elements_of(const PythonValue& v);

template <class P>
struct AsParameter {
  static P of(const PythonValue& v) {
    if constexpr (std::is_same_v<P, bool>) {
      return whole_number(v) != 0;
    } else if constexpr (std::is_floating_point_v<P>) {
      return static_cast<P>(real_number(v));
    } else if constexpr (std::is_integral_v<P>) {
      return static_cast<P>(whole_number(v));
    } else if constexpr (std::is_same_v<P, Tensor>) {
      return tensor_of(v);
    } else if constexpr (std::is_same_v<P, std::string>) {
      return string_of(v);
    } else {
      refuse_argument(v, "what its parameter's type is");
    }
  }
};
template <class T>
struct AsParameter<std::optional<T>> {
  static std::optional<T> of(const PythonValue& v) {
    if (is_none(v)) return {};
    return AsParameter<T>::of(v);
  }
};
template <class T>
std::vector<T> list_of(const PythonValue& v) {
  std::vector<T> all;
  for (const PythonValue& each : elements_of(v)) all.push_back(AsParameter<T>::of(each));
  return all;
}
template <class T>
struct AsParameter<std::vector<T>> {
  static std::vector<T> of(const PythonValue& v) { return list_of<T>(v); }
};
template <class T, size_t N>
struct AsParameter<std::array<T, N>> {
  static std::array<T, N> of(const PythonValue& v) {
    const std::vector<T> all = list_of<T>(v);
    if (all.size() != N) refuse_argument(v, "as many as its std::array has");
    std::array<T, N> made;
    std::copy(all.begin(), all.end(), made.begin());
    return made;
  }
};
template <class... T>
struct AsParameter<std::tuple<T...>> {
  static std::tuple<T...> of(const PythonValue& v) {
    const PythonValue::List& all = elements_of(v);
    if (all.size() != sizeof...(T)) refuse_argument(v, "as many as its std::tuple has");
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return std::tuple<T...>{AsParameter<std::remove_cvref_t<T>>::of(all[I])...};
    }
    (std::index_sequence_for<T...>{});
  }
};
template <>
struct AsParameter<Sizes> {
  static Sizes of(const PythonValue& v) { return list_of<int64_t>(v); }
};

CONVSCOPE_PROGRAM PythonValue python_value(const Tensor& t);
CONVSCOPE_PROGRAM PythonValue python_value(const std::string& s);
CONVSCOPE_PROGRAM PythonValue python_boolean(bool v);
CONVSCOPE_PROGRAM PythonValue python_real(double v);
CONVSCOPE_PROGRAM PythonValue python_whole(int64_t v);
template <class T>
requires std::is_arithmetic_v<T> PythonValue python_value(T v) {
  if constexpr (std::is_same_v<T, bool>) return python_boolean(v);
  if constexpr (std::is_floating_point_v<T>) return python_real(static_cast<double>(v));
  if constexpr (std::is_integral_v<T>) return python_whole(static_cast<int64_t>(v));
}
CONVSCOPE_PROGRAM PythonValue python_list(PythonValue::List all);
template <class T>
PythonValue python_value(const std::vector<T>& all) {
  PythonValue::List list;
  for (const T& each : all) list.push_back(python_value(each));
  return python_list(std::move(list));
}
template <class... T>
PythonValue python_value(const std::tuple<T...>& all) {
  PythonValue::List list;
  std::apply([&](const auto&... each) { (list.push_back(python_value(each)), ...); }, all);
  return python_list(std::move(list));
}
template <class A, class B>
PythonValue python_value(const std::pair<A, B>& both) {
  return python_value(std::tuple<A, B>(both));
}

// A function of the host code that the module may call. names: of its parameters with what they are by default, where
// its binding says them (py::arg("x"), py::arg("bias") = none): "x,bias=None".
struct PythonFunction {
  const char *name, *names;
  size_t parameters;
  PythonValue (*call)(const PythonValue::List& given);
};
template <auto F>
struct PythonCall;
template <class R, class... P, R (*F)(P...)>
struct PythonCall<F> {
  static constexpr size_t parameters = sizeof...(P);
  static PythonValue call(const PythonValue::List& given) { return go(given, std::index_sequence_for<P...>{}); }

 private:
  template <size_t... I>
  static PythonValue go([[maybe_unused]] const PythonValue::List& given, std::index_sequence<I...>) {
    if constexpr (std::is_void_v<R>) {
      F(AsParameter<std::remove_cvref_t<P>>::of(given[I])...);
      return {};
    } else if constexpr (requires(R r) { python_value(r); }) {
      return python_value(F(AsParameter<std::remove_cvref_t<P>>::of(given[I])...));
    } else {
      (void)F(AsParameter<std::remove_cvref_t<P>>::of(given[I])...);
      return {};
    }
  }
};
// py::overload_cast: the one of several functions whose parameters are these.
template <class... P>
struct Overload {
  template <class R>
  constexpr auto operator()(R (*f)(P...)) const {
    return f;
  }
};
template <auto F>
PythonFunction python_function(const char* name, const char* names) {
  return {name, names, PythonCall<F>::parameters, &PythonCall<F>::call};
}

// Of tensors what launches something (host_operations.cpp).
struct PythonOperations {
  Tensor (*clone)(const Tensor&);
  Tensor (*flip)(const Tensor&, const Sizes&);
  Tensor (*add)(const Tensor&, const Tensor&, double alpha);
  void (*add_to)(Tensor&, const Tensor&, double alpha);
  void (*copy_to)(Tensor&, const Tensor&);
  void (*fill)(Tensor&, double);
  Tensor (*pad)(const Tensor&, const Sizes&, double);
  Tensor (*convert)(const Tensor&, ScalarType);
  Tensor (*clamp)(const Tensor&, double low, double high);
  Tensor (*combined)(const Tensor&, const Tensor&, Tensor::Combine how);
  Tensor (*matmul)(const Tensor&, const Tensor&);  // null: the file names none, and its device code has no kernel of it
  // Where tensors are that are made without a device: a module and what it holds is moved to the GPU behind __init__().
  DeviceType made_on = kCUDA;
};
PythonOperations python_operations(bool products);

// Makes the module for the problem's layer and calls it. text: the Python file. Errors: refused, with the line that is
// not followed, or that says no.
CONVSCOPE_PROGRAM Tensor python_module(const ConvProblem& p, const Given& given, const char* text,
                                       std::span<const PythonFunction> functions, const PythonOperations& operations);

// A file that is compiled for each layer anew (kernels/runtime/compile/for_layers.h).
struct PythonLayers {
  const char *text, *name;
  bool traced;
  PythonOperations operations;
};
CONVSCOPE_PROGRAM std::string refused_for_layer(const ConvProblem& p, const PythonLayers& of);
CONVSCOPE_PROGRAM void plan_for_layer(const ConvProblem& p, Plan& plan, const PythonLayers& of);

}  // namespace convscope::host
