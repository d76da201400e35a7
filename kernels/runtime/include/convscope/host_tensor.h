// The tensors that host code of kernel files from outside works with: a shape, a type and no values (host_code.h).
// What they do is done in the program (kernels/runtime/compile/host_tensor.cpp) or, where something is launched by it,
// in what is compiled once for all files (host_operations.cpp), not with each.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "convscope/accessors.h"
#include "convscope/half_functions.h"
#include "convscope/host_words.h"
#include "convscope/kernel.h"
#include "convscope/pytorch_device.h"

namespace convscope::host {

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
CONVSCOPE_PROGRAM std::string said(const std::vector<int64_t>& sizes);

// Addresses say what is meant: a tensor of the problem, or memory that the host code took, and a place in it.
// Their upper bits are none that a number in a kernel's parameters is likely to have.
constexpr int place_bits = 44, first_made = 16, address_mark = 0x50000;
constexpr uint64_t of_the_cpu = uint64_t{1} << (place_bits - 1);  // that a GPU cannot reach; a part of the place
constexpr uint64_t address_of(int what) { return static_cast<uint64_t>(address_mark + what) << place_bits; }
constexpr int what_of(uint64_t address) { return static_cast<int>(address >> place_bits) - address_mark; }
enum Role { x = 1, w = 2, b = 3, y = 4 };

// Of the call that is being noted down. Errors: refused outside of one.
CONVSCOPE_PROGRAM uint64_t take(int64_t bytes);
// A tensor of that memory is there, or is so no longer: with the last one it goes back to PyTorch's allocator.
void keep(uint64_t address);
void let_go(uint64_t address);
// cudaFree
CONVSCOPE_PROGRAM void give_back(uint64_t address);
void clear(uint64_t address, int64_t bytes, uintptr_t stream);
// From an address of these, or from the host's memory, whose bytes are known now; between_device: it may not be that.
void copy(uint64_t to, uint64_t from, int64_t bytes, bool between_device, uintptr_t stream);
// Elements in another order: to, one after the other, what lies at these strides from `from` on.
struct Order {
  int dims = 0;
  long long sizes[5] = {}, strides[5] = {};  // in elements; a stride may be negative
};
void turn(uint64_t to, uint64_t from, const Order& order, int64_t element_bytes, uintptr_t stream);
// to = a + alpha · b + constant for each element, a and b with strides of their own (0: one for all of a dimension);
// a null address is none.
struct Sum {
  ScalarType type;
  int dims;
  long long sizes[5], to[5], a[5], b[5];
  double alpha, constant;
};
// To another type of numbers, rounded to the nearest.
void convert(uint64_t to, uint64_t from, int64_t elements, ScalarType to_type, ScalarType from_type, uintptr_t stream);
void add_up(uint64_t to, uint64_t a, uint64_t b, const Sum& sum, uintptr_t stream);
// Streams and events by the values of their handles (kernels/runtime/compile/streams.h). The current stream is the one
// that what PyTorch does is on; launches that name none are on the default stream all the same.
CONVSCOPE_PROGRAM uintptr_t new_stream(bool blocking);
CONVSCOPE_PROGRAM uintptr_t new_event();
CONVSCOPE_PROGRAM uintptr_t current_stream();
CONVSCOPE_PROGRAM uintptr_t set_current_stream(uintptr_t stream);  // what it was before
CONVSCOPE_PROGRAM void record_event(uintptr_t event, uintptr_t stream);
CONVSCOPE_PROGRAM void wait_for_event(uintptr_t stream, uintptr_t event);
CONVSCOPE_PROGRAM void synchronize(uintptr_t stream);
CONVSCOPE_PROGRAM void synchronize_event(uintptr_t event);
CONVSCOPE_PROGRAM void synchronize_all();
// Of __constant__ and __device__ memory that the file declares (variables.h). Errors: refused when it is none of it.
CONVSCOPE_PROGRAM uint64_t address_of_variable(const void* symbol);
CONVSCOPE_PROGRAM int64_t bytes_of_variable(const void* symbol);
// As cudaFuncSetAttribute does for a kernel: more than 48 KiB of dynamic shared memory a GPU gives nobody unasked.
CONVSCOPE_PROGRAM void allow_dynamic(const void* function, int bytes);

enum class DeviceType { CPU, CUDA };
constexpr DeviceType kCUDA = DeviceType::CUDA, kCPU = DeviceType::CPU;
class Device {
 public:
  Device() = default;
  template <class I = int>
  Device(DeviceType t, I = {}) : type_(t) {}
  // By name they are explicit: words are printed, and said() takes a device.
  explicit Device(const char* name) : type_(name[0] == 'c' && name[1] == 'p' ? kCPU : kCUDA) {}  // "cpu", "cuda:0"
  explicit Device(const std::string& name) : Device(name.c_str()) {}
  template <class... A>
  requires(sizeof...(A) > 0) explicit Device(const A&...) {}
  DeviceType type() const { return type_; }
  bool is_cpu() const { return type_ == kCPU; }
  bool is_cuda() const { return type_ == kCUDA; }
  int index() const { return is_cuda() ? 0 : -1; }
  bool operator==(const Device&) const = default;

 private:
  DeviceType type_ = kCUDA;
};
inline std::string said(const Device& d) { return d.is_cuda() ? "cuda:0" : "cpu"; }

enum class MemoryFormat : int8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };
// Tensors of three dimensions have no other order than rows one behind the other, unless a view gives them one.
inline void in_rows(MemoryFormat f) {
  if (f == MemoryFormat::ChannelsLast || f == MemoryFormat::ChannelsLast3d)
    refuse("its host code asks for channels_last, which is for tensors of four and five dimensions");
}

// As in PyTorch, what no device is named for is on the CPU.
struct TensorOptions {
  ScalarType type = ScalarType::Float;
  DeviceType where = kCPU;
  TensorOptions() = default;
  TensorOptions(ScalarType t) : type(t) {}
  TensorOptions(ScalarType t, DeviceType d) : type(t), where(d) {}
  TensorOptions(const Device& d) : where(d.type()) {}
  TensorOptions(DeviceType d) : where(d) {}
  TensorOptions dtype(ScalarType t) const { return {t, where}; }
  template <class... A>
  TensorOptions device(const A&... a) const {
    return {type, Device(a...).type()};
  }
  TensorOptions requires_grad(bool) const { return *this; }
};

template <class T>
class MaybeOwned;

class Tensor {
 public:
  Tensor() = default;
  CONVSCOPE_PROGRAM Tensor(uint64_t address, Sizes sizes, ScalarType type);
  CONVSCOPE_PROGRAM Tensor(const Tensor& other);
  CONVSCOPE_PROGRAM Tensor(Tensor&& other) noexcept;
  CONVSCOPE_PROGRAM Tensor& operator=(const Tensor& other);
  CONVSCOPE_PROGRAM Tensor& operator=(Tensor&& other) noexcept;
  CONVSCOPE_PROGRAM ~Tensor();
  bool defined() const { return address_ != 0; }
  int64_t dim() const { return static_cast<int64_t>(sizes_.size()); }
  int64_t ndimension() const { return dim(); }
  CONVSCOPE_PROGRAM int64_t size(int64_t d) const;
  const Sizes& sizes() const { return sizes_; }
  CONVSCOPE_PROGRAM int64_t stride(int64_t d) const;
  CONVSCOPE_PROGRAM Sizes strides() const;
  CONVSCOPE_PROGRAM int64_t numel() const;
  int64_t element_size() const { return size_of(type_); }
  int64_t nbytes() const { return numel() * element_size(); }
  ScalarType scalar_type() const { return type_; }
  ScalarType dtype() const { return type_; }
  struct Kind {  // what Tensor::type() gave before it was deprecated
    ScalarType type;
    DeviceType where;
    operator ScalarType() const { return type; }
    ScalarType scalarType() const { return type; }
    bool is_cuda() const { return where == kCUDA; }
  };
  Kind type() const { return {type_, device().type()}; }
  TensorOptions options() const { return {type_, device().type()}; }
  Device device() const { return address_ & of_the_cpu ? kCPU : kCUDA; }
  int get_device() const { return device().index(); }
  bool is_cuda() const { return device().is_cuda(); }
  bool is_cpu() const { return device().is_cpu(); }
  CONVSCOPE_PROGRAM bool is_contiguous() const;
  Tensor contiguous() const;
  bool is_contiguous(MemoryFormat f) const { return in_rows(f), is_contiguous(); }
  Tensor contiguous(MemoryFormat f) const { return in_rows(f), contiguous(); }
  MaybeOwned<Tensor> expect_contiguous() const;
  Tensor clone() const;
  // Views: an element is where it was.
  CONVSCOPE_PROGRAM Tensor permute(const Sizes& dims) const;
  CONVSCOPE_PROGRAM Tensor transpose(int64_t a, int64_t b) const;
  Tensor swapaxes(int64_t a, int64_t b) const { return transpose(a, b); }
  CONVSCOPE_PROGRAM Tensor t() const;
  // A copy, as in PyTorch.
  Tensor flip(const Sizes& dims) const;
  Tensor flip(int64_t d) const { return flip(Sizes{d}); }
  // Defined in products.h, which files that name one of them include.
  Tensor matmul(const Tensor& b) const;
  Tensor mm(const Tensor& b) const;
  Tensor bmm(const Tensor& b) const;
  // Views of a part, or of more than there is.
  CONVSCOPE_PROGRAM Tensor slice(int64_t d, std::optional<int64_t> begin = {}, std::optional<int64_t> end = {},
                                 int64_t step = 1) const;
  CONVSCOPE_PROGRAM Tensor narrow(int64_t d, int64_t begin, int64_t length) const;
  CONVSCOPE_PROGRAM Tensor select(int64_t d, int64_t index) const;
  Tensor operator[](int64_t index) const { return select(0, index); }
  CONVSCOPE_PROGRAM Tensor expand(const Sizes& sizes) const;
  Tensor expand_as(const Tensor& other) const { return expand(other.sizes_); }
  Tensor& copy_(const Tensor& from);
  Tensor& add_(const Tensor& other, double alpha = 1);
  Tensor& operator+=(const Tensor& other) { return add_(other); }
  Tensor& operator+=(double v) { return add_(v); }
  Tensor add(const Tensor& other, double alpha = 1) const;
  friend Tensor operator+(const Tensor& a, const Tensor& b) { return a.add(b); }
  // Element by element; one of several types is none of these.
  enum class Combine { product, quotient, larger, smaller };
  Tensor combined(const Tensor& other, Combine how) const;
  Tensor mul(const Tensor& other) const { return combined(other, Combine::product); }
  Tensor div(const Tensor& other) const { return combined(other, Combine::quotient); }
  Tensor sub(const Tensor& other, double alpha = 1) const { return add(other, -alpha); }
  Tensor mul(double v) const;
  Tensor div(double v) const { return mul(1 / v); }
  Tensor add(double v) const;
  Tensor neg() const { return mul(-1.0); }
  Tensor clamp(std::optional<double> low = {}, std::optional<double> high = {}) const;
  Tensor clamp_min(double low) const { return clamp(low); }
  Tensor relu() const { return clamp(0.0); }
  Tensor& mul_(double v) { return copy_(mul(v)); }
  Tensor& mul_(const Tensor& other) { return copy_(mul(other)); }
  Tensor& div_(double v) { return copy_(div(v)); }
  Tensor& add_(double v) { return copy_(add(v)); }
  Tensor& sub_(const Tensor& other) { return add_(other, -1); }
  Tensor& relu_() { return copy_(relu()); }
  Tensor& operator*=(double v) { return mul_(v); }
  Tensor& operator*=(const Tensor& other) { return mul_(other); }
  Tensor& operator-=(const Tensor& other) { return sub_(other); }
  friend Tensor operator-(const Tensor& a, const Tensor& b) { return a.sub(b); }
  friend Tensor operator*(const Tensor& a, const Tensor& b) { return a.mul(b); }
  friend Tensor operator/(const Tensor& a, const Tensor& b) { return a.div(b); }
  friend Tensor operator+(const Tensor& a, double v) { return a.add(v); }
  friend Tensor operator+(double v, const Tensor& a) { return a.add(v); }
  friend Tensor operator-(const Tensor& a, double v) { return a.add(-v); }
  friend Tensor operator*(const Tensor& a, double v) { return a.mul(v); }
  friend Tensor operator*(double v, const Tensor& a) { return a.mul(v); }
  friend Tensor operator/(const Tensor& a, double v) { return a.div(v); }
  friend Tensor operator-(const Tensor& a) { return a.neg(); }
  // A result, alone in its memory.
  Tensor alone() const;
  Tensor detach() const { return *this; }
  // Another address of the same memory: it has no values, and on a GPU the copy has those of this.
  Tensor cuda() const { return to(kCUDA); }
  Tensor cpu() const { return to(kCPU); }
  CONVSCOPE_PROGRAM Tensor to(DeviceType where) const;
  Tensor to(const Device& d) const { return to(d.type()); }
  Tensor to(const char* where) const { return to(Device(where)); }
  Tensor to(ScalarType t) const;
  Tensor to(const TensorOptions& o) const { return to(o.where).to(o.type); }
  template <class D>
  Tensor to(const D& d, ScalarType t, bool = false) const {
    return to(Device(d).type()).to(t);
  }
  CONVSCOPE_PROGRAM Tensor view(Sizes sizes) const;
  CONVSCOPE_PROGRAM std::optional<Tensor> as_view(Sizes sizes) const;  // nothing: a copy would have to be made
  Tensor reshape(Sizes sizes) const;
  Tensor flatten() const { return reshape({-1}); }
  CONVSCOPE_PROGRAM Tensor squeeze(int64_t d) const;
  CONVSCOPE_PROGRAM Tensor unsqueeze(int64_t d) const;
  bool is_same(const Tensor& other) const { return address_ == other.address_; }
  CONVSCOPE_PROGRAM Tensor new_empty(const Sizes& sizes, TensorOptions o) const;
  Tensor new_empty(const Sizes& sizes) const { return new_empty(sizes, options()); }
  Tensor new_zeros(const Sizes& sizes) const;
  Tensor& zero_() { return fill_(0); }
  Tensor& fill_(double value);
  template <class T>
  T* data_ptr() const {
    if (defined() && !is_type<std::remove_const_t<T>>(type_)) refuse_type();
    return reinterpret_cast<T*>(address_of_data());
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
  void* data_ptr() const { return reinterpret_cast<void*>(address_of_data()); }
  // PyTorch takes no memory for no elements (torch.Tensor(), which stands for a bias that is not there).
  uint64_t address_of_data() const { return defined() && numel() == 0 ? 0 : address_; }
  template <class T, size_t N, template <class U> class PtrTraits = at::DefaultPtrTraits>
  at::PackedTensorAccessor32<T, N, PtrTraits> packed_accessor32() const {
    allow_32_bits();
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
  CONVSCOPE_PROGRAM Order order() const;
  CONVSCOPE_PROGRAM Order flipped(const Sizes& dims, uint64_t& from) const;
  Tensor in_order(const Order& o, uint64_t from) const;
  template <class T, size_t N, template <class U> class PtrTraits, class index_t>
  at::GenericPackedTensorAccessor<T, N, PtrTraits, index_t> packed() const {
    allow_dimensions(N);
    return {data_ptr<T>(), sizes_.data(), strides().data()};
  }
  int64_t place(int64_t d) const;
  CONVSCOPE_PROGRAM bool is_all_of_its_memory() const;
  CONVSCOPE_PROGRAM const Tensor& there() const;  // Errors: refused, where it is undefined
  CONVSCOPE_PROGRAM Sizes both_sizes(const Tensor& other) const;
  CONVSCOPE_PROGRAM void allow_combining(const Tensor& other) const;
  CONVSCOPE_PROGRAM Sum sum_of(const Tensor& a, const Tensor& b, double alpha, double constant) const;
  Tensor& become(const Tensor& a, const Tensor& b, double alpha, double constant);
  // Errors: refused.
  CONVSCOPE_PROGRAM void allow_conversion(ScalarType t) const;
  CONVSCOPE_PROGRAM void allow_dimensions(size_t n) const;
  CONVSCOPE_PROGRAM void allow_32_bits() const;
  [[noreturn]] CONVSCOPE_PROGRAM void refuse_type() const;
  uint64_t address_ = 0;
  Sizes sizes_, strides_;  // no strides: each row behind the one before
  ScalarType type_ = ScalarType::Float;
};

// c10::MaybeOwned: what is borrowed, or made for it; here always had.
template <class T>
class MaybeOwned {
 public:
  static MaybeOwned borrowed(const T& t) { return MaybeOwned(t); }
  static MaybeOwned owned(T t) { return MaybeOwned(std::move(t)); }
  explicit MaybeOwned(T t) : value_(std::move(t)) {}
  const T& operator*() const { return value_; }
  const T* operator->() const { return &value_; }

 private:
  T value_;
};
inline MaybeOwned<Tensor> Tensor::expect_contiguous() const { return MaybeOwned<Tensor>(contiguous()); }
inline MaybeOwned<Tensor> borrow_from_optional_tensor(const std::optional<Tensor>& t) {
  return MaybeOwned<Tensor>(t ? *t : Tensor());
}

CONVSCOPE_PROGRAM std::string said(const Tensor& t);
template <class Stream, class T>
requires requires(Stream& out, const T& value) { out.flush(), said(value); }
Stream& operator<<(Stream& out, const T& value) { return out << said(value), out; }

CONVSCOPE_PROGRAM Tensor empty(const Sizes& sizes, TensorOptions o = {});
Tensor zeros(const Sizes& sizes, TensorOptions o = {});
Tensor full(const Sizes& sizes, double value, TensorOptions o = {});
CONVSCOPE_PROGRAM Tensor empty_like(const Tensor& t);
inline Tensor empty(const Sizes& sizes, TensorOptions o, std::optional<MemoryFormat> f) {
  return in_rows(f.value_or(MemoryFormat::Contiguous)), empty(sizes, o);
}
inline Tensor empty_like(const Tensor& t, TensorOptions o, std::optional<MemoryFormat> f = {}) {
  return empty(t.sizes(), o, f);
}
inline Tensor empty_like(const Tensor& t, MemoryFormat f) { return empty(t.sizes(), t.options(), f); }
inline Tensor ones(const Sizes& sizes, TensorOptions o = {}) { return full(sizes, 1, o); }
inline Tensor ones_like(const Tensor& t) { return ones(t.sizes(), t.options()); }
// Of the last dimensions, from the last on: before and behind; less than 0 cuts off. The part of `t` that is left, and
// in `sizes` and `begins` all sizes of the result and where in it that part lies. Errors: refused.
CONVSCOPE_PROGRAM Tensor part_left(const Tensor& t, const Sizes& pad, Sizes& sizes, Sizes& begins);
Tensor constant_pad_nd(const Tensor& t, const Sizes& pad, double value = 0);
inline Tensor add(const Tensor& a, const Tensor& b, double alpha = 1) { return a.add(b, alpha); }
inline Tensor mul(const Tensor& a, const Tensor& b) { return a.mul(b); }
inline Tensor relu(const Tensor& t) { return t.relu(); }
inline Tensor flip(const Tensor& t, const Sizes& dims) { return t.flip(dims); }
inline Tensor transpose(const Tensor& t, int64_t a, int64_t b) { return t.transpose(a, b); }
inline Tensor permute(const Tensor& t, const Sizes& dims) { return t.permute(dims); }
inline std::optional<Device> device_of(const Tensor&) { return Device(); }
inline Tensor zeros_like(const Tensor& t) { return zeros(t.sizes(), t.options()); }

}  // namespace convscope::host
