// What the host code of a kernel file from outside sees in the place of PyTorch and of the CUDA runtime: tensors that
// have a shape, a type and no values, and launches that are noted down. The function that would launch kernels is
// called for a problem, and what it wants to launch becomes the kernel's plan: its own arithmetic of grids, its own
// branches, its own temporaries. Nothing of PyTorch is here but names (its C++ API, namespaces torch, at and c10); what
// is not here does not compile, so that no host code runs with a silently different meaning.
// Included before files that have such code (kernels/runtime/compile/host_code.h); by nvcc too, which needs to know
// what is launched.
#pragma once
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "convscope/accessors.h"
#include "convscope/half_functions.h"
#include "convscope/host_words.h"
#include "convscope/kernel.h"
#include "convscope/pytorch_device.h"

#if defined(__CUDACC__)
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#endif

namespace convscope::host {

// What kernels were allowed by cudaFuncSetAttribute: more than 48 KiB of dynamic shared memory a GPU gives nobody
// unasked.
inline std::map<const void*, int>& dynamic_allowed() {
  static std::map<const void*, int> all;
  return all;
}

enum class ScalarType { Float, Double, Half, BFloat16, Int, Long, Bool, Char };
inline const char* name_of(ScalarType t) {
  constexpr const char* names[] = {"Float", "Double", "Half", "BFloat16", "Int", "Long", "Bool", "Char"};
  return names[static_cast<int>(t)];
}
inline int64_t size_of(ScalarType t) {
  constexpr int sizes[] = {4, 8, 2, 2, 4, 8, 1, 1};
  return sizes[static_cast<int>(t)];
}
template <class T>
constexpr bool is_type(ScalarType t) {
  if constexpr (std::is_same_v<T, float>) return t == ScalarType::Float;
  if constexpr (std::is_same_v<T, double>) return t == ScalarType::Double;
  if constexpr (std::is_same_v<T, int>) return t == ScalarType::Int;
  if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, long long>) return t == ScalarType::Long;
  if constexpr (std::is_same_v<T, bool>) return t == ScalarType::Bool;
  return sizeof(T) == 2 && (t == ScalarType::Half || t == ScalarType::BFloat16);
}

struct Sizes : std::vector<int64_t> {
  using std::vector<int64_t>::vector;
  Sizes() = default;
  Sizes(const std::vector<int64_t>& v) : std::vector<int64_t>(v) {}
  std::vector<int64_t> vec() const { return *this; }
};

// As PyTorch writes them (host_words.h).
inline std::string said(ScalarType t) { return name_of(t); }
inline std::string said(const std::vector<int64_t>& sizes) {
  std::string all = "[";
  for (int64_t n : sizes) all += (all.size() > 1 ? ", " : "") + std::to_string(n);
  return all + "]";
}

// Addresses say what is meant: a tensor of the problem, or memory that the host code took, and a place in it.
// Their upper bits are none that a number in a kernel's parameters is likely to have.
constexpr int place_bits = 44, first_made = 16, address_mark = 0x50000;
constexpr uint64_t address_of(int what) { return static_cast<uint64_t>(address_mark + what) << place_bits; }
constexpr int what_of(uint64_t address) { return static_cast<int>(address >> place_bits) - address_mark; }
enum Role { x = 1, w = 2, b = 3, y = 4 };

// Of the call that is being noted down. Errors: refused outside of one.
uint64_t take(int64_t bytes);
void clear(uint64_t address, int64_t bytes);
// From an address of these, or from the host's memory, whose bytes are known now; between_device: it may not be that.
void copy(uint64_t to, uint64_t from, int64_t bytes, bool between_device);
// Of __constant__ and __device__ memory that the file declares (variables.h). Errors: refused when it is none of it.
uint64_t address_of_variable(const void* symbol);
int64_t bytes_of_variable(const void* symbol);

enum class DeviceType { CPU, CUDA };
constexpr DeviceType kCUDA = DeviceType::CUDA, kCPU = DeviceType::CPU;
struct Device {
  DeviceType type() const { return kCUDA; }
  bool is_cpu() const { return false; }
  bool operator==(const Device&) const { return true; }
  bool is_cuda() const { return true; }
  int index() const { return 0; }
  Device() = default;
  template <class... A>
  explicit Device(const A&...) {}
};
inline std::string said(const Device&) { return "cuda:0"; }

struct TensorOptions {
  ScalarType type = ScalarType::Float;
  TensorOptions() = default;
  TensorOptions(ScalarType t) : type(t) {}
  TensorOptions dtype(ScalarType t) const { return {t}; }
  template <class... A>
  TensorOptions device(const A&...) const {
    return *this;
  }
  TensorOptions requires_grad(bool) const { return *this; }
};

class Tensor {
 public:
  Tensor() = default;
  Tensor(uint64_t address, Sizes sizes, ScalarType type) : address_(address), sizes_(std::move(sizes)), type_(type) {}
  bool defined() const { return address_ != 0; }
  int64_t dim() const { return static_cast<int64_t>(sizes_.size()); }
  int64_t ndimension() const { return dim(); }
  int64_t size(int64_t d) const { return sizes_.at(static_cast<size_t>(place(d))); }
  const Sizes& sizes() const { return sizes_; }
  int64_t stride(int64_t d) const {
    int64_t all = 1;
    for (int64_t i = dim() - 1; i > place(d); i--) all *= sizes_[static_cast<size_t>(i)];
    return all;
  }
  Sizes strides() const {
    Sizes all;
    for (int64_t d = 0; d < dim(); d++) all.push_back(stride(d));
    return all;
  }
  int64_t numel() const {
    return defined() ? std::accumulate(sizes_.begin(), sizes_.end(), int64_t{1}, std::multiplies<>()) : 0;
  }
  int64_t element_size() const { return size_of(type_); }
  int64_t nbytes() const { return numel() * element_size(); }
  ScalarType scalar_type() const { return type_; }
  ScalarType dtype() const { return type_; }
  struct Kind {  // what Tensor::type() gave before it was deprecated
    ScalarType type;
    operator ScalarType() const { return type; }
    ScalarType scalarType() const { return type; }
    bool is_cuda() const { return true; }
  };
  Kind type() const { return {type_}; }
  TensorOptions options() const { return {type_}; }
  Device device() const { return {}; }
  int get_device() const { return 0; }
  bool is_cuda() const { return true; }
  bool is_contiguous() const { return true; }
  Tensor contiguous() const { return *this; }
  Tensor detach() const { return *this; }
  Tensor cuda() const { return *this; }
  Tensor cpu() const { return *this; }  // to be copied from; it has no more values than the other
  Tensor to(ScalarType t) const {
    if (t != type_) refuse("its host code converts a tensor of type ", name_of(type_), " to ", name_of(t));
    return *this;
  }
  Tensor view(Sizes sizes) const {
    Tensor other(address_, std::move(sizes), type_);
    int64_t known = 1, *open = nullptr;
    for (auto& n : other.sizes_)
      if (n < 0)
        open = &n;
      else
        known *= n;
    if (open && known) *open = numel() / known;
    if (other.numel() != numel()) refuse("its host code reshapes ", numel(), " elements to ", other.numel());
    return other;
  }
  Tensor reshape(Sizes sizes) const { return view(std::move(sizes)); }
  Tensor new_empty(const Sizes& sizes, TensorOptions o) const {
    return {take(Tensor(1, sizes, o.type).nbytes()), sizes, o.type};
  }
  Tensor new_empty(const Sizes& sizes) const { return new_empty(sizes, options()); }
  Tensor new_zeros(const Sizes& sizes) const {
    Tensor made = new_empty(sizes);
    return made.zero_();
  }
  Tensor& zero_() {
    clear(address_, nbytes());
    return *this;
  }
  Tensor& fill_(double value) {
    if (value != 0) refuse("its host code fills a tensor with ", value, "; only zero is noted down");
    return zero_();
  }
  template <class T>
  T* data_ptr() const {
    if (defined() && !is_type<std::remove_const_t<T>>(type_))
      refuse("its host code expects a tensor of another type than ", name_of(type_));
    return reinterpret_cast<T*>(address_);
  }
  template <class T>
  T* data() const {
    return data_ptr<T>();
  }
  template <class T>
  T* mutable_data_ptr() const {
    return data_ptr<T>();
  }
  template <class T>
  const T* const_data_ptr() const {
    return data_ptr<T>();
  }
  void* data_ptr() const { return reinterpret_cast<void*>(address_); }
  template <class T, size_t N, template <class U> class PtrTraits = at::DefaultPtrTraits>
  at::PackedTensorAccessor32<T, N, PtrTraits> packed_accessor32() const {
    if (numel() > INT32_MAX) refuse("its host code takes 32-bit indices for a tensor of ", numel(), " elements");
    return packed<T, N, PtrTraits, int32_t>();
  }
  template <class T, size_t N, template <class U> class PtrTraits = at::DefaultPtrTraits>
  at::PackedTensorAccessor64<T, N, PtrTraits> packed_accessor64() const {
    return packed<T, N, PtrTraits, int64_t>();
  }
  template <class T, size_t N, template <class U> class PtrTraits = at::DefaultPtrTraits, class index_t = int64_t>
  at::GenericPackedTensorAccessor<T, N, PtrTraits, index_t> generic_packed_accessor() const {
    return packed<T, N, PtrTraits, index_t>();
  }
  template <class T, size_t N, template <class U> class PtrTraits = at::DefaultPtrTraits, class index_t = int64_t>
  at::GenericPackedTensorAccessor<T, N, PtrTraits, index_t> packed_accessor() const {
    return packed<T, N, PtrTraits, index_t>();
  }
  // Its sizes lie in the host's memory.
  template <class T, size_t N>
  at::TensorAccessor<T, N> accessor() const {
    refuse(
        "its host code takes an accessor() of a tensor on the GPU; packed_accessor32() is what a kernel can be given");
  }
  uint64_t address() const { return address_; }

 private:
  template <class T, size_t N, template <class U> class PtrTraits, class index_t>
  at::GenericPackedTensorAccessor<T, N, PtrTraits, index_t> packed() const {
    if (dim() != static_cast<int64_t>(N))
      refuse("its host code expects ", N, " dimensions of a tensor that has ", dim());
    return {data_ptr<T>(), sizes_.data(), strides().data()};
  }
  int64_t place(int64_t d) const {
    if (d < -dim() || d >= dim()) refuse("its host code asks for dimension ", d, " of a tensor that has ", dim());
    return d < 0 ? d + dim() : d;
  }
  uint64_t address_ = 0;
  Sizes sizes_;
  ScalarType type_ = ScalarType::Float;
};

inline std::string said(const Tensor& t) { return "a tensor of sizes " + said(t.sizes()); }
template <class Stream, class T>
requires requires(Stream& out, const T& value) { out.flush(), said(value); }
Stream& operator<<(Stream& out, const T& value) { return out << said(value), out; }

inline Tensor empty(const Sizes& sizes, TensorOptions o = {}) {
  Tensor made(1, sizes, o.type);
  return {take(made.nbytes()), sizes, o.type};
}
inline Tensor zeros(const Sizes& sizes, TensorOptions o = {}) {
  Tensor made = empty(sizes, o);
  return made.zero_();
}
inline Tensor full(const Sizes& sizes, double value, TensorOptions o = {}) {
  Tensor made = empty(sizes, o);
  return made.fill_(value);
}
inline Tensor empty_like(const Tensor& t) { return empty(t.sizes(), t.options()); }
inline std::optional<Device> device_of(const Tensor&) { return Device(); }
inline Tensor zeros_like(const Tensor& t) { return zeros(t.sizes(), t.options()); }

// ---- what bindings and streams are made of

struct Module {
  template <class... A>
  Module& def(const A&...) {
    return *this;
  }
  template <class... A>
  Module& impl(const A&...) {
    return *this;
  }
  std::string& doc() {
    static std::string text;
    return text;
  }
};
struct None {};
struct Named {
  explicit Named(const char*) {}
  template <class T>
  Named& operator=(const T&) {
    return *this;
  }
};

}  // namespace convscope::host

#include "convscope/host_runtime.h"

namespace at {
using convscope::host::Device, convscope::host::DeviceType, convscope::host::kCPU, convscope::host::kCUDA,
    convscope::host::device_of;
using convscope::host::empty, convscope::host::empty_like, convscope::host::full, convscope::host::zeros,
    convscope::host::zeros_like;
using convscope::host::ScalarType, convscope::host::Tensor, convscope::host::TensorOptions;
using IntArrayRef = convscope::host::Sizes;
constexpr auto kFloat = ScalarType::Float, kFloat32 = ScalarType::Float, kDouble = ScalarType::Double,
               kFloat64 = ScalarType::Double, kHalf = ScalarType::Half, kFloat16 = ScalarType::Half,
               kBFloat16 = ScalarType::BFloat16, kInt = ScalarType::Int, kInt32 = ScalarType::Int,
               kLong = ScalarType::Long, kInt64 = ScalarType::Long, kBool = ScalarType::Bool;
using std::nullopt, std::optional;
inline TensorOptions dtype(ScalarType t) { return {t}; }
template <class... A>
TensorOptions device(const A&...) {
  return {};
}
namespace cuda {
struct Stream {
  cudaStream_t stream() const { return nullptr; }
  operator cudaStream_t() const { return nullptr; }
};
using CUDAStream = Stream;
inline Stream getCurrentCUDAStream(int = 0) { return {}; }
inline Stream getDefaultCUDAStream(int = 0) { return {}; }
struct CUDAGuard {
  template <class... A>
  explicit CUDAGuard(const A&...) {}
};
using OptionalCUDAGuard = CUDAGuard;
inline const cudaDeviceProp* getCurrentDeviceProperties() {
  static const cudaDeviceProp all = [] {
    cudaDeviceProp p{};
    p.multiProcessorCount = 132;
    return p;
  }();
  return &all;
}
inline const cudaDeviceProp* getDeviceProperties(int) { return getCurrentDeviceProperties(); }
inline int current_device() { return 0; }
inline int device_count() { return 1; }
inline void device_synchronize() {}
inline int warp_size() { return 32; }
template <class T>
constexpr T ATenCeilDiv(T a, T b) {
  return ceil_div(a, b);
}
}  // namespace cuda
}  // namespace at
namespace c10 {
using namespace at;
namespace cuda = at::cuda;
}  // namespace c10
namespace torch {
using namespace at;
namespace cuda = at::cuda;
}  // namespace torch
namespace pybind11 {
using arg = convscope::host::Named;
using module_ = convscope::host::Module;
using none = convscope::host::None;
}  // namespace pybind11
namespace py = pybind11;

#define TORCH_EXTENSION_NAME convscope_extension
#define PYBIND11_MODULE(name, m) \
  [[maybe_unused]] static void convscope_bindings_##name([[maybe_unused]] pybind11::module_& m)
#define CONVSCOPE_JOIN_(a, b) a##b
#define CONVSCOPE_JOIN(a, b) CONVSCOPE_JOIN_(a, b)
#define TORCH_LIBRARY(name, m) \
  [[maybe_unused]] static void CONVSCOPE_JOIN(convscope_library_, __LINE__)([[maybe_unused]] ::pybind11::module_ & m)
#define TORCH_LIBRARY_IMPL(name, key, m) TORCH_LIBRARY(name, m)
#define TORCH_LIBRARY_FRAGMENT(name, m) TORCH_LIBRARY(name, m)
#define TORCH_CHECK(condition, ...)                           \
  do {                                                        \
    if (!(condition)) ::convscope::host::refuse(__VA_ARGS__); \
  } while (0)
#define TORCH_INTERNAL_ASSERT(...) TORCH_CHECK(__VA_ARGS__)
#define AT_ASSERT(...) TORCH_CHECK(__VA_ARGS__)
#define AT_ASSERTM(...) TORCH_CHECK(__VA_ARGS__)
#define AT_ERROR(...) ::convscope::host::refuse(__VA_ARGS__)
#define C10_CUDA_CHECK(call) (void)(call)
#define AT_CUDA_CHECK(call) (void)(call)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() (void)0
// One more type of dispatch: at::ScalarType::Half, say.
namespace convscope::host {
template <ScalarType type>
struct TypeOf;
template <>
struct TypeOf<ScalarType::Half> {
  using type = at::Half;
};
template <>
struct TypeOf<ScalarType::BFloat16> {
  using type = at::BFloat16;
};
}  // namespace convscope::host
#define CONVSCOPE_ALSO(other, ...)                                                       \
  case (other): {                                                                        \
    using scalar_t [[maybe_unused]] = typename ::convscope::host::TypeOf<(other)>::type; \
    return __VA_ARGS__();                                                                \
  }
#define CONVSCOPE_DISPATCH(type, what, also, ...)                                     \
  [&] {                                                                               \
    switch (type) {                                                                   \
      also case ::convscope::host::ScalarType::Float : {                              \
        using scalar_t [[maybe_unused]] = float;                                      \
        return __VA_ARGS__();                                                         \
      }                                                                               \
      case ::convscope::host::ScalarType::Double: {                                   \
        using scalar_t [[maybe_unused]] = double;                                     \
        return __VA_ARGS__();                                                         \
      }                                                                               \
      default:                                                                        \
        ::convscope::host::refuse(what, " is not compiled here for tensors of type ", \
                                  ::convscope::host::name_of(type));                  \
    }                                                                                 \
  }()
#define AT_DISPATCH_FLOATING_TYPES(type, what, ...) CONVSCOPE_DISPATCH(type, what, , __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND(other, type, what, ...) \
  CONVSCOPE_DISPATCH(type, what, CONVSCOPE_ALSO(other, __VA_ARGS__), __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(type, what, ...) \
  AT_DISPATCH_FLOATING_TYPES_AND(::at::ScalarType::Half, type, what, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND2(one, other, type, what, ...) \
  CONVSCOPE_DISPATCH(type, what, CONVSCOPE_ALSO(one, __VA_ARGS__) CONVSCOPE_ALSO(other, __VA_ARGS__), __VA_ARGS__)
#define AT_WRAP(...) __VA_ARGS__
#define AT_EXPAND(...) __VA_ARGS__
#define AT_DISPATCH_V2(type, what, body, ...) CONVSCOPE_DISPATCH(type, what, , body)
#define AT_DISPATCH_ALL_TYPES(type, what, ...) CONVSCOPE_DISPATCH(type, what, , __VA_ARGS__)

// torch::zeros and cudaMemset, in 2-byte elements.
extern "C" __global__ void convscope_clear(unsigned short* to, long long elements) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < elements) to[i] = 0;
}

// cudaMemcpy from device to device; likewise.
extern "C" __global__ void convscope_copy(unsigned short* to, const unsigned short* from, long long elements) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < elements) to[i] = from[i];
}

// To memory that a file declares, four bytes by each thread; zeros from a null pointer.
extern "C" __global__ void convscope_fill(unsigned char* to, const unsigned char* from, long long bytes) {
  const long long begin = 4 * (static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x);
  for (long long i = begin; i < begin + 4 && i < bytes; i++) to[i] = from ? from[i] : 0;
}

// Bytes that the host has: as many as an argument holds.
struct alignas(8) convscope_bytes {
  unsigned char all[248];
};
extern "C" __global__ void convscope_set(unsigned char* to, convscope_bytes from, long long bytes) {
  if (threadIdx.x < bytes) to[threadIdx.x] = from.all[threadIdx.x];
}
#if !defined(__CUDACC__)
#include "convscope/recording.h"
#endif
