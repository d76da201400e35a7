// Element types: of x, w, b and y alike. Products of f16 and of bf16 are summed in f32 and rounded once.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "convscope/half.h"

namespace convscope {

enum class DType { f32, f64, f16, bf16 };

struct DTypeTraits {
  DType dtype;
  std::string_view name;
  size_t size;           // bytes
  int significand_bits;  // with the implicit one; integers up to 2^significand_bits are exact
  double unit_roundoff;  // 2^-significand_bits, rounding to nearest
  double smallest;       // smallest positive subnormal
  double largest;        // largest finite
};

inline constexpr std::array<DTypeTraits, 4> dtype_table = {{
    {DType::f32, "f32", 4, 24, 0x1p-24, 0x1p-149, 0x1.fffffep127},
    {DType::f64, "f64", 8, 53, 0x1p-53, 0x1p-1074, 0x1.fffffffffffffp1023},
    {DType::f16, "f16", 2, 11, 0x1p-11, 0x1p-24, 65504.0},
    {DType::bf16, "bf16", 2, 8, 0x1p-8, 0x1p-133, 0x1.fep127},
}};

constexpr const DTypeTraits& traits(DType t) { return dtype_table[static_cast<size_t>(t)]; }
constexpr size_t size_of(DType t) { return traits(t).size; }
constexpr std::string_view name_of(DType t) { return traits(t).name; }

constexpr std::optional<DType> dtype_from(std::string_view name) {
  for (const auto& t : dtype_table)
    if (t.name == name) return t.dtype;
  return std::nullopt;
}

// Elements of 2 bytes: f16 and bf16.
constexpr bool is_half(DType t) { return t == DType::f16 || t == DType::bf16; }

// "f32, f64, f16 or bf16", for messages.
inline constexpr std::string_view dtype_names = "f32, f64, f16 or bf16";

// Calls f with a value of the C++ type: dispatch(t, [&](auto zero) { using T = decltype(zero); … }).
template <class F>
decltype(auto) dispatch(DType t, F&& f) {
  switch (t) {
    case DType::f64:
      return f(double{});
    case DType::f16:
      return f(__half{});
    case DType::bf16:
      return f(__nv_bfloat16{});
    case DType::f32:
      break;
  }
  return f(float{});
}

// The unsigned integer of an element's size.
template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 8, uint64_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>>;

// v rounded to the type: to nearest, ties to even.
inline double rounded_to(DType t, double v) {
  return dispatch(t, [&](auto zero) { return static_cast<double>(static_cast<decltype(zero)>(v)); });
}

}  // namespace convscope
