// A dense tensor in host memory: contiguous, C order, 64-byte aligned, shared and immutable once filled.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "kernels/problem/dtype.h"

namespace convscope {

// Uninitialised bytes that are given back to the system at once (mmap for large ones). Throws InputError("memory", …)
// when the machine cannot give them.
class HostBytes {
 public:
  HostBytes() = default;
  explicit HostBytes(size_t size);
  HostBytes(HostBytes&& o) noexcept { swap(o); }
  HostBytes& operator=(HostBytes&& o) noexcept {
    swap(o);
    return *this;
  }
  ~HostBytes();
  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }

 private:
  void swap(HostBytes& o) noexcept {
    std::swap(data_, o.data_);
    std::swap(size_, o.size_);
  }
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

struct HostTensor {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  std::shared_ptr<const HostBytes> bytes;

  int64_t elements() const { return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>()); }
  size_t size_bytes() const { return static_cast<size_t>(elements()) * size_of(dtype); }
  const std::byte* data() const { return bytes ? bytes->data() : nullptr; }
  template <class T>
  std::span<const T> span() const {
    return {reinterpret_cast<const T*>(data()), static_cast<size_t>(elements())};
  }
  double at(int64_t i) const {
    return dispatch(dtype, [&](auto zero) { return static_cast<double>(span<decltype(zero)>()[i]); });
  }
};

// Allocates, lets `fill(T* data, int64_t count)` write it, and seals it.
template <class Fill>
HostTensor make_tensor(DType dtype, std::vector<int64_t> shape, Fill&& fill) {
  HostTensor t{dtype, std::move(shape), nullptr};
  auto bytes = std::make_shared<HostBytes>(t.size_bytes());
  dispatch(dtype, [&](auto zero) { fill(bytes->as<decltype(zero)>(), t.elements()); });
  t.bytes = std::move(bytes);
  return t;
}

// The same values in another type, rounded to nearest.
HostTensor convert(const HostTensor& t, DType to);

// Memory the system could still give this process, in bytes (MemAvailable and the control group's limit).
uint64_t available_host_memory();

}  // namespace convscope
