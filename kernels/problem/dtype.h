// Element types. f16 and bf16 have their place in every table; check() refuses them until kernels and references exist.
#pragma once
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

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
  bool built;            // kernels, references and emulator take it
};

inline constexpr std::array<DTypeTraits, 4> dtype_table = {{
    {DType::f32, "f32", 4, 24, 0x1p-24, 0x1p-149, 0x1.fffffep127, true},
    {DType::f64, "f64", 8, 53, 0x1p-53, 0x1p-1074, 0x1.fffffffffffffp1023, true},
    {DType::f16, "f16", 2, 11, 0x1p-11, 0x1p-24, 65504.0, false},
    {DType::bf16, "bf16", 2, 8, 0x1p-8, 0x1p-133, 0x1.fep127, false},
}};

constexpr const DTypeTraits& traits(DType t) { return dtype_table[static_cast<size_t>(t)]; }
constexpr size_t size_of(DType t) { return traits(t).size; }
constexpr std::string_view name_of(DType t) { return traits(t).name; }

constexpr std::optional<DType> dtype_from(std::string_view name) {
  for (const auto& t : dtype_table)
    if (t.name == name) return t.dtype;
  return std::nullopt;
}

// Calls f with a value of the C++ type: dispatch(t, [&](auto zero) { using T = decltype(zero); … }).
template <class F>
decltype(auto) dispatch(DType t, F&& f) {
  return t == DType::f64 ? f(double{}) : f(float{});
}

}  // namespace convscope
