// at::Half and at::BFloat16: PyTorch's own 16-bit elements, what AT_DISPATCH_FLOATING_TYPES_AND_HALF makes of scalar_t
// (c10/util/Half.h, Half-inl.h). Unlike CUDA's they mix with other numbers: with a float or a double the result is
// one, with an integer it is a Half again. Of two each operation is done in float and rounded to nearest even. For the
// emulator and, by nvcc, for a GPU.
#pragma once
#include <cstdint>
#include <type_traits>

#include "convscope/half.h"
#include "convscope/kernel.h"

namespace at {

#define CONVSCOPE_EACH __host__ __device__ __forceinline__
#define CONVSCOPE_MIXED(Name, op)                                                                           \
  CONVSCOPE_EACH friend Name operator op(Name a, Name b) {                                                  \
    return Name(static_cast<float>(a) op static_cast<float>(b));                                            \
  }                                                                                                         \
  template <class T>                                                                                        \
  requires std::is_arithmetic_v<T> CONVSCOPE_EACH friend std::conditional_t<std::is_integral_v<T>, Name, T> \
  operator op(Name a, T b) {                                                                                \
    if constexpr (std::is_integral_v<T>)                                                                    \
      return a op Name(static_cast<float>(b));                                                              \
    else                                                                                                    \
      return static_cast<T>(static_cast<float>(a)) op b;                                                    \
  }                                                                                                         \
  template <class T>                                                                                        \
  requires std::is_arithmetic_v<T> CONVSCOPE_EACH friend std::conditional_t<std::is_integral_v<T>, Name, T> \
  operator op(T a, Name b) {                                                                                \
    if constexpr (std::is_integral_v<T>)                                                                    \
      return Name(static_cast<float>(a)) op b;                                                              \
    else                                                                                                    \
      return a op static_cast<T>(static_cast<float>(b));                                                    \
  }                                                                                                         \
  CONVSCOPE_EACH friend Name& operator op##=(Name& a, Name b) { return a = a op b; }                        \
  CONVSCOPE_EACH friend float& operator op##=(float& a, Name b) { return a = a op static_cast<float>(b); }  \
  CONVSCOPE_EACH friend double& operator op##=(double& a, Name b) { return a = a op static_cast<float>(b); }
#define CONVSCOPE_COMPARED(Name, op)                                                                                \
  CONVSCOPE_EACH friend bool operator op(Name a, Name b) { return static_cast<float>(a) op static_cast<float>(b); } \
  template <class T>                                                                                                \
  requires std::is_arithmetic_v<T> CONVSCOPE_EACH friend bool operator op(Name a, T b) {                            \
    return static_cast<float>(a) op b;                                                                              \
  }                                                                                                                 \
  template <class T>                                                                                                \
  requires std::is_arithmetic_v<T> CONVSCOPE_EACH friend bool operator op(T a, Name b) {                            \
    return a op static_cast<float>(b);                                                                              \
  }
#define CONVSCOPE_PYTORCH_TYPE(Name, Own, widened, rounded, bits_of, from_bits)        \
  struct alignas(2) Name {                                                             \
    unsigned short x;                                                                  \
    Name() = default;                                                                  \
    CONVSCOPE_EACH Name(float v) : x(bits_of(rounded(v))) {}                           \
    CONVSCOPE_EACH Name(const Own& v) : x(bits_of(v)) {}                               \
    CONVSCOPE_EACH operator float() const { return widened(from_bits(x)); }            \
    CONVSCOPE_EACH operator Own() const { return from_bits(x); }                       \
    CONVSCOPE_EACH Name operator-() const { return Name(-static_cast<float>(*this)); } \
    CONVSCOPE_MIXED(Name, +)                                                           \
    CONVSCOPE_MIXED(Name, -)                                                           \
    CONVSCOPE_MIXED(Name, *)                                                           \
    CONVSCOPE_MIXED(Name, /)                                                           \
    CONVSCOPE_COMPARED(Name, ==)                                                       \
    CONVSCOPE_COMPARED(Name, !=)                                                       \
    CONVSCOPE_COMPARED(Name, <)                                                        \
    CONVSCOPE_COMPARED(Name, >)                                                        \
    CONVSCOPE_COMPARED(Name, <=)                                                       \
    CONVSCOPE_COMPARED(Name, >=)                                                       \
  };
CONVSCOPE_PYTORCH_TYPE(Half, __half, __half2float, __float2half_rn, __half_as_ushort, __ushort_as_half)
CONVSCOPE_PYTORCH_TYPE(BFloat16, __nv_bfloat16, __bfloat162float, __float2bfloat16_rn, __bfloat16_as_ushort,
                       __ushort_as_bfloat16)
#undef CONVSCOPE_PYTORCH_TYPE
#undef CONVSCOPE_COMPARED
#undef CONVSCOPE_MIXED
#undef CONVSCOPE_EACH

}  // namespace at
