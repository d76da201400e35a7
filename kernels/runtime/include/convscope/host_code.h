// What the host code of a kernel file from outside sees in the place of PyTorch and of the CUDA runtime: tensors that
// have a shape, a type and no values, and launches that are noted down. The function that would launch kernels is
// called for a problem, and what it wants to launch becomes the kernel's plan: its own arithmetic of grids, its own
// branches, its own temporaries. Nothing of PyTorch is here but names (its C++ API, namespaces torch, at and c10); what
// is not here does not compile, so that no host code runs with a silently different meaning.
// Included before files that have such code (kernels/runtime/compile/host_code.h); by nvcc too, which needs to know
// what is launched.
#pragma once
#define CONVSCOPE_HOST_CODE  // for nvcc, too (half.h)
#include <cfloat>
#include <climits>
#include <optional>
#include <string>

#include "convscope/host_tensor.h"

#if defined(__CUDACC__)
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#endif

namespace convscope::host {

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
    convscope::host::zeros_like, convscope::host::ones, convscope::host::ones_like, convscope::host::add,
    convscope::host::constant_pad_nd, convscope::host::mul, convscope::host::relu, convscope::host::flip,
    convscope::host::permute, convscope::host::transpose;
using convscope::host::ScalarType, convscope::host::Tensor, convscope::host::TensorOptions,
    convscope::host::MemoryFormat, convscope::host::MaybeOwned, convscope::host::borrow_from_optional_tensor;
using IntArrayRef = convscope::host::Sizes;
constexpr auto kFloat = ScalarType::Float, kFloat32 = ScalarType::Float, kDouble = ScalarType::Double,
               kFloat64 = ScalarType::Double, kHalf = ScalarType::Half, kFloat16 = ScalarType::Half,
               kBFloat16 = ScalarType::BFloat16, kInt = ScalarType::Int, kInt32 = ScalarType::Int,
               kLong = ScalarType::Long, kInt64 = ScalarType::Long, kBool = ScalarType::Bool;
using std::nullopt, std::optional;
inline TensorOptions dtype(ScalarType t) { return {t}; }
template <class... A>
TensorOptions device(const A&... a) {
  return {convscope::host::Device(a...)};
}
namespace cuda {
struct CUDAStream {
  uintptr_t handle = 0;
  cudaStream_t stream() const { return reinterpret_cast<cudaStream_t>(handle); }
  operator cudaStream_t() const { return stream(); }
  void synchronize() const { convscope::host::synchronize(handle); }
  bool operator==(const CUDAStream&) const = default;
};
inline CUDAStream getCurrentCUDAStream(int = 0) { return {convscope::host::current_stream()}; }
inline CUDAStream getDefaultCUDAStream(int = 0) { return {}; }
inline CUDAStream getStreamFromPool(bool = false, int = 0) { return {convscope::host::new_stream(false)}; }
inline void setCurrentCUDAStream(const CUDAStream& s) { convscope::host::set_current_stream(s.handle); }
class CUDAStreamGuard {
 public:
  explicit CUDAStreamGuard(const CUDAStream& s) : before_{convscope::host::set_current_stream(s.handle)} {}
  CUDAStreamGuard(const CUDAStreamGuard&) = delete;
  ~CUDAStreamGuard() { convscope::host::set_current_stream(before_.handle); }
  CUDAStream original_stream() const { return before_; }
  CUDAStream current_stream() const { return getCurrentCUDAStream(); }

 private:
  CUDAStream before_;
};
class CUDAEvent {
 public:
  explicit CUDAEvent(unsigned = 0) : handle_(convscope::host::new_event()) {}
  void record() { record(getCurrentCUDAStream()); }
  void record(const CUDAStream& s) { convscope::host::record_event(handle_, s.handle); }
  void block(const CUDAStream& s) { convscope::host::wait_for_event(s.handle, handle_); }
  void synchronize() const { convscope::host::synchronize_event(handle_); }

 private:
  uintptr_t handle_;
};
struct CUDAGuard {
  template <class... A>
  explicit CUDAGuard(const A&...) {}
};
using OptionalCUDAGuard = CUDAGuard;
inline cudaDeviceProp* getCurrentDeviceProperties() {
  static cudaDeviceProp all = [] {
    cudaDeviceProp p{};
    p.multiProcessorCount = 132;
    return p;
  }();
  return &all;
}
inline cudaDeviceProp* getDeviceProperties(int) { return getCurrentDeviceProperties(); }
inline int current_device() { return 0; }
inline int device_count() { return 1; }
inline void device_synchronize() { convscope::host::synchronize_all(); }
inline int warp_size() { return 32; }
template <class T>
constexpr T ATenCeilDiv(T a, T b) {
  return (a + b - 1) / b;
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
namespace literals {
inline arg operator""_a(const char* name, size_t) { return arg(name); }
}  // namespace literals
using module_ = convscope::host::Module;
using none = convscope::host::None;
struct kw_only {};
struct pos_only {};
template <class... P>
struct Overloaded {
  template <class R>
  constexpr auto operator()(R (*f)(P...)) const {
    return f;
  }
};
template <class... P>
inline constexpr Overloaded<P...> overload_cast{};
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
#define TORCH_CHECK_VALUE(...) TORCH_CHECK(__VA_ARGS__)
#define TORCH_CHECK_TYPE(...) TORCH_CHECK(__VA_ARGS__)
#define TORCH_CHECK_INDEX(...) TORCH_CHECK(__VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(...) TORCH_CHECK(__VA_ARGS__)
#define CONVSCOPE_CHECK_OF(a, sign, b) TORCH_CHECK((a)sign(b), "Check failed: " #a " " #sign " " #b)
#define TORCH_CHECK_EQ(a, b) CONVSCOPE_CHECK_OF(a, ==, b)
#define TORCH_CHECK_NE(a, b) CONVSCOPE_CHECK_OF(a, !=, b)
#define TORCH_CHECK_LT(a, b) CONVSCOPE_CHECK_OF(a, <, b)
#define TORCH_CHECK_LE(a, b) CONVSCOPE_CHECK_OF(a, <=, b)
#define TORCH_CHECK_GT(a, b) CONVSCOPE_CHECK_OF(a, >, b)
#define TORCH_CHECK_GE(a, b) CONVSCOPE_CHECK_OF(a, >=, b)
#define AT_ASSERT(...) TORCH_CHECK(__VA_ARGS__)
#define AT_ASSERTM(...) TORCH_CHECK(__VA_ARGS__)
#define TORCH_WARN(...) (void)0
#define TORCH_WARN_ONCE(...) (void)0
#define AT_ERROR(...) ::convscope::host::refuse(__VA_ARGS__)
#define C10_CUDA_CHECK(call) (void)(call)
#define AT_CUDA_CHECK(call) (void)(call)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() (void)0
// One more type of dispatch: at::ScalarType::Half, say.
namespace convscope::host {
template <ScalarType type>
struct TypeOf;
template <>
struct TypeOf<ScalarType::Float> {
  using type = float;
};
template <>
struct TypeOf<ScalarType::Double> {
  using type = double;
};
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
#define AT_DISPATCH_REDUCED_FLOATING_TYPES(type, what, ...)                           \
  AT_DISPATCH_SWITCH(type, what,                                                      \
                     CONVSCOPE_ALSO(::convscope::host::ScalarType::Half, __VA_ARGS__) \
                         CONVSCOPE_ALSO(::convscope::host::ScalarType::BFloat16, __VA_ARGS__))
// Cases one by one.
#define AT_DISPATCH_SWITCH(type, what, ...)                                           \
  [&] {                                                                               \
    switch (type) {                                                                   \
      __VA_ARGS__                                                                     \
      default:                                                                        \
        ::convscope::host::refuse(what, " is not compiled here for tensors of type ", \
                                  ::convscope::host::name_of(type));                  \
    }                                                                                 \
  }()
#define AT_DISPATCH_CASE(one, ...) CONVSCOPE_ALSO(one, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES(...)                         \
  CONVSCOPE_ALSO(::convscope::host::ScalarType::Double, __VA_ARGS__) \
  CONVSCOPE_ALSO(::convscope::host::ScalarType::Float, __VA_ARGS__)
#define AT_WRAP(...) __VA_ARGS__
#define AT_EXPAND(...) __VA_ARGS__
#define AT_DISPATCH_V2(type, what, body, ...) CONVSCOPE_DISPATCH(type, what, , body)
#define AT_DISPATCH_ALL_TYPES(type, what, ...) CONVSCOPE_DISPATCH(type, what, , __VA_ARGS__)

#if defined(__CUDACC__)
#include "convscope/host_kernels.h"
#else
#include "convscope/recording.h"
#endif
