// SumType<T>, in kernel files that have 16-bit elements (half.h).
#pragma once
#include "convscope/half.h"

// What sums of a type are made in: 16-bit elements in float, everything else in itself.
template <class T>
struct SumOf {
  using type = T;
};
template <>
struct SumOf<__half> {
  using type = float;
};
template <>
struct SumOf<__nv_bfloat16> {
  using type = float;
};
template <class T>
using SumType = typename SumOf<T>::type;
