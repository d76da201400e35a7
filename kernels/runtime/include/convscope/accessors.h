// Tensors as PyTorch's extensions give them to kernels by value: a pointer with sizes and strides, indexed x[n][c][i]
// (PyTorch's "Custom C++ and CUDA Extensions", "Using accessors"; names of namespaces torch and at). For the host code,
// where the pointer is one of host_code.h's addresses, and for kernels: the emulator's and, by nvcc, a GPU's.
#pragma once
#include <cstddef>
#include <cstdint>

#include "convscope/kernel.h"

namespace at {

template <class T>
struct DefaultPtrTraits {
  using PtrType = T*;
};
template <class T>
struct RestrictPtrTraits {
  using PtrType = T* __restrict__;
};

// A part of a tensor: what stands behind the first indices. Sizes and strides are those of the whole.
template <class T, size_t N, template <class U> class PtrTraits = DefaultPtrTraits, class index_t = int64_t>
class TensorAccessor {
 public:
  using PtrType = typename PtrTraits<T>::PtrType;
  __host__ __device__ TensorAccessor(PtrType data, const index_t* sizes, const index_t* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  __host__ __device__ __forceinline__ decltype(auto) operator[](index_t i) const {
    if constexpr (N == 1)
      return (data_[strides_[0] * i]);  // a reference
    else
      return TensorAccessor<T, N - 1, PtrTraits, index_t>(data_ + strides_[0] * i, sizes_ + 1, strides_ + 1);
  }
  __host__ __device__ index_t size(index_t d) const { return sizes_[d]; }
  __host__ __device__ index_t stride(index_t d) const { return strides_[d]; }
  __host__ __device__ PtrType data() const { return data_; }

 private:
  PtrType data_;
  const index_t *sizes_, *strides_;
};

// The whole tensor, as a kernel's parameter.
template <class T, size_t N, template <class U> class PtrTraits = DefaultPtrTraits, class index_t = int64_t>
class GenericPackedTensorAccessor {
 public:
  using PtrType = typename PtrTraits<T>::PtrType;
  GenericPackedTensorAccessor(PtrType data, const int64_t* sizes, const int64_t* strides) : data_(data) {
    for (size_t d = 0; d < N; d++)
      sizes_[d] = static_cast<index_t>(sizes[d]), strides_[d] = static_cast<index_t>(strides[d]);
  }
  __host__ __device__ __forceinline__ decltype(auto) operator[](index_t i) const {
    return TensorAccessor<T, N, PtrTraits, index_t>(data_, sizes_, strides_)[i];
  }
  __host__ __device__ index_t size(index_t d) const { return sizes_[d]; }
  __host__ __device__ index_t stride(index_t d) const { return strides_[d]; }
  __host__ __device__ PtrType data() const { return data_; }

 private:
  PtrType data_;
  index_t sizes_[N], strides_[N];
};
template <class T, size_t N, template <class U> class PtrTraits = DefaultPtrTraits>
using PackedTensorAccessor32 = GenericPackedTensorAccessor<T, N, PtrTraits, int32_t>;
template <class T, size_t N, template <class U> class PtrTraits = DefaultPtrTraits>
using PackedTensorAccessor64 = GenericPackedTensorAccessor<T, N, PtrTraits, int64_t>;
template <class T, size_t N, template <class U> class PtrTraits = DefaultPtrTraits, class index_t = int64_t>
using PackedTensorAccessor = GenericPackedTensorAccessor<T, N, PtrTraits, index_t>;

}  // namespace at
