// What files with host code have in common (host_code.h): what PyTorch, cuBLAS and the CUDA runtime do to memory, as
// launches that are noted down, and the kernels that are launched. Compiled once, with the flags of such files, and
// linked to each of them: in each it would take longer than what the file is about.
#include "convscope/host_code.h"
#include "convscope/host_kernels.h"
#include "convscope/product_kernels.h"
#include "convscope/products.h"
#include "convscope/python_module.h"

namespace convscope::host {
namespace {

// What is noted down for memory that the file declares, and for bytes of the host: they are other kernels than those
// that copy tensors, since a launch that is looked at alone needs them before it.
template <auto F, class From>
void note(uint64_t to, From from, int64_t bytes, int64_t threads, uintptr_t stream) {
  Launching<F>(ceil_div(threads, 256), 256, 0, reinterpret_cast<cudaStream_t>(stream))
      .fill(is_variable(to) ? bytes : 0, reinterpret_cast<unsigned char*>(to), from, bytes);
}

// Bytes of the host, whose values are known: in the arguments of launches.
void set(uint64_t to, const unsigned char* from, int64_t bytes, uintptr_t stream) {
  constexpr int64_t most = 65536;
  if (bytes > most)
    refuse("its host code copies ", bytes, " bytes of its own to the GPU; up to ", most, " are noted down");
  for (int64_t at = 0; at < bytes; at += static_cast<int64_t>(sizeof(convscope_bytes))) {
    convscope_bytes part{};
    const int64_t rest = bytes - at, n = rest < int64_t{sizeof part} ? rest : int64_t{sizeof part};
    __builtin_memcpy(part.all, from + at, static_cast<size_t>(n));
    note<&convscope_set>(to + static_cast<uint64_t>(at), part, n, 1, stream);
  }
}

}  // namespace

void clear(uint64_t address, int64_t bytes, uintptr_t stream) {
  if (!address || bytes <= 0) return;
  if (is_variable(address)) {
    check_variable(address), check_room(address, bytes, "into");
    return note<&convscope_fill>(address, static_cast<const unsigned char*>(nullptr), bytes, ceil_div(bytes, 4),
                                 stream);
  }
  check_clear(address, bytes);
  if (bytes % 2) refuse("its host code clears an odd number of bytes");
  Launching<&convscope_clear>(ceil_div(bytes / 2, 256), 256, 0, reinterpret_cast<cudaStream_t>(stream))(
      reinterpret_cast<unsigned short*>(address), bytes / 2);
}

void copy(uint64_t to, uint64_t from, int64_t bytes, bool between_device, uintptr_t stream) {
  if (bytes <= 0) return;
  check_copy(to, from, bytes, between_device);
  if (!on_device(from)) return set(to, reinterpret_cast<const unsigned char*>(from), bytes, stream);
  if (is_variable(to))
    return note<&convscope_fill>(to, reinterpret_cast<const unsigned char*>(from), bytes, ceil_div(bytes, 4), stream);
  if (bytes % 2) refuse("its host code copies an odd number of bytes");
  Launching<&convscope_copy>(ceil_div(bytes / 2, 256), 256, 0, reinterpret_cast<cudaStream_t>(stream))(
      reinterpret_cast<unsigned short*>(to), reinterpret_cast<const unsigned short*>(from), bytes / 2);
}

void turn(uint64_t to, uint64_t from, const Order& order, int64_t element_bytes, uintptr_t stream) {
  long long elements = 1;
  for (int d = 0; d < order.dims; d++) elements *= order.sizes[d];
  if (elements <= 0) return;
  Launching<&convscope_turn>(ceil_div(elements, 256), 256, 0, reinterpret_cast<cudaStream_t>(stream))(
      reinterpret_cast<unsigned short*>(to), reinterpret_cast<const unsigned short*>(from), elements,
      static_cast<int>(element_bytes / 2), order);
}

void convert(uint64_t to, uint64_t from, int64_t elements, ScalarType to_type, ScalarType from_type, uintptr_t stream) {
  if (elements <= 0) return;
  Launching<&convscope_convert>(ceil_div(elements, 256), 256, 0, reinterpret_cast<cudaStream_t>(stream))(
      reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), elements, to_type, from_type);
}

void add_up(uint64_t to, uint64_t a, uint64_t b, const Sum& sum, uintptr_t stream) {
  long long elements = 1;
  for (int d = 0; d < sum.dims; d++) elements *= sum.sizes[d];
  Launching<&convscope_sum>(ceil_div(elements, 256), 256, 0, reinterpret_cast<cudaStream_t>(stream))(
      reinterpret_cast<void*>(to), reinterpret_cast<const void*>(a), reinterpret_cast<const void*>(b), elements, sum);
}

void multiply(ScalarType type, uint64_t c, uint64_t a, uint64_t b, const Product& p, uintptr_t stream) {
  const long long blocks = ceil_div(p.m * p.n * p.batch, 256LL);
  if (blocks <= 0) return;
  const auto s = reinterpret_cast<cudaStream_t>(stream);
  auto launch = [&]<auto F, class T>(Launching<F> l, T * to) {
    l(to, reinterpret_cast<const T*>(a), reinterpret_cast<const T*>(b), p);
  };
  if (type == ScalarType::Float)
    launch(Launching<&convscope_product_f32>(blocks, 256, 0, s), reinterpret_cast<float*>(c));
  else if (type == ScalarType::Double)
    launch(Launching<&convscope_product_f64>(blocks, 256, 0, s), reinterpret_cast<double*>(c));
  else if (type == ScalarType::Half)
    launch(Launching<&convscope_product_f16>(blocks, 256, 0, s), reinterpret_cast<__half*>(c));
  else if (type == ScalarType::BFloat16)
    launch(Launching<&convscope_product_bf16>(blocks, 256, 0, s), reinterpret_cast<__nv_bfloat16*>(c));
  else
    refuse("its host code multiplies tensors of type ", name_of(type));
}

Tensor Tensor::contiguous() const { return is_contiguous() ? *this : clone(); }
Tensor Tensor::clone() const { return in_order(order(), address_); }
Tensor Tensor::alone() const { return is_contiguous() && is_all_of_its_memory() ? *this : clone(); }
Tensor Tensor::flip(const Sizes& dims) const {
  uint64_t from = address_;
  const Order o = flipped(dims, from);
  return in_order(o, from);
}
Tensor Tensor::in_order(const Order& o, uint64_t from) const {
  Tensor made = new_empty(sizes_);
  turn(made.address(), from, o, element_size(), current_stream());
  return made;
}
Tensor Tensor::reshape(Sizes sizes) const {
  if (const auto view = as_view(sizes)) return *view;
  return clone().view(std::move(sizes));
}

Tensor& Tensor::become(const Tensor& a, const Tensor& b, double alpha, double constant) {
  if (numel()) add_up(address_, a.address_, b.address_, sum_of(a, b, alpha, constant), current_stream());
  return *this;
}
Tensor& Tensor::copy_(const Tensor& from) { return become(from.there(), {}, 0, 0); }
Tensor& Tensor::add_(const Tensor& other, double alpha) { return become(*this, other.there(), alpha, 0); }
Tensor Tensor::add(const Tensor& other, double alpha) const {
  Tensor made = new_empty(both_sizes(other));
  made.become(there(), other.there(), alpha, 0);
  return made;
}
Tensor Tensor::to(ScalarType t) const {
  if (t == type_) return *this;
  allow_conversion(t);
  const Tensor from = contiguous(), made = new_empty(sizes_, options().dtype(t));
  convert(made.address(), from.address(), numel(), t, type_, current_stream());
  return made;
}
Tensor& Tensor::fill_(double value) {
  if (value != 0 || !is_contiguous()) return become({}, {}, 0, value);
  clear(address_, nbytes(), current_stream());
  return *this;
}

Tensor Tensor::new_zeros(const Sizes& sizes) const { return zeros(sizes, options()); }
Tensor zeros(const Sizes& sizes, TensorOptions o) { return full(sizes, 0, o); }
Tensor full(const Sizes& sizes, double value, TensorOptions o) {
  Tensor made = empty(sizes, o);
  made.fill_(value);
  return made;
}
Tensor constant_pad_nd(const Tensor& t, const Sizes& pad, double value) {
  Sizes sizes, begins;
  const Tensor part = part_left(t, pad, sizes, begins);
  Tensor made = full(sizes, value, t.options()), room = made;
  for (int64_t d = 0; d < t.dim(); d++) room = room.narrow(d, begins[static_cast<size_t>(d)], part.size(d));
  room.copy_(part);
  return made;
}

Tensor Tensor::mul(double v) const {
  Tensor made = new_empty(there().sizes_);
  return made.become({}, *this, v, 0);
}
Tensor Tensor::add(double v) const {
  Tensor made = new_empty(there().sizes_);
  return made.become(*this, {}, 0, v);
}

Tensor Tensor::combined(const Tensor& other, Combine how) const {
  allow_combining(other);
  const Sizes all = both_sizes(other);
  const Tensor a = expand(all).contiguous(), b = other.expand(all).contiguous(), made = new_empty(all);
  if (made.numel())
    Launching<&convscope_combine>(ceil_div(made.numel(), 256), 256, 0,
                                  reinterpret_cast<cudaStream_t>(current_stream()))(
        reinterpret_cast<void*>(made.address()), reinterpret_cast<const void*>(a.address()),
        reinterpret_cast<const void*>(b.address()), made.numel(), type_, static_cast<int>(how));
  return made;
}

Tensor Tensor::clamp(std::optional<double> low, std::optional<double> high) const {
  constexpr double none = __builtin_inf();
  const Tensor from = there().contiguous(), made = from.new_empty(from.sizes());
  if (from.numel())
    Launching<&convscope_clamp>(ceil_div(from.numel(), 256), 256, 0, reinterpret_cast<cudaStream_t>(current_stream()))(
        reinterpret_cast<void*>(made.address()), reinterpret_cast<const void*>(from.address()), from.numel(),
        from.scalar_type(), low.value_or(-none), high.value_or(none));
  return made;
}

PythonOperations python_operations(bool products) {
  PythonOperations all{
      [](const Tensor& t) { return t.clone(); },
      [](const Tensor& t, const Sizes& d) { return t.flip(d); },
      [](const Tensor& a, const Tensor& b, double alpha) { return a.add(b, alpha); },
      [](Tensor& to, const Tensor& t, double alpha) { to.add_(t, alpha); },
      [](Tensor& to, const Tensor& t) { to.copy_(t); },
      [](Tensor& to, double value) { to.fill_(value); },
      [](const Tensor& t, const Sizes& pad, double value) { return constant_pad_nd(t, pad, value); },
      [](const Tensor& t, ScalarType type) { return t.to(type); },
      [](const Tensor& t, double low, double high) { return t.clamp(low, high); },
      [](const Tensor& a, const Tensor& b, Tensor::Combine how) { return a.combined(b, how); },
      nullptr,
  };
  if (products) all.matmul = [](const Tensor& a, const Tensor& b) { return a.matmul(b); };
  return all;
}

}  // namespace convscope::host
