// What tensors of host code do, without values.
#include "convscope/host_tensor.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "kernels/runtime/compile/not_followed.h"

namespace convscope::host {

namespace {

// Where PyTorch raises.
template <class... A>
[[noreturn]] void fails(const A&... words) {
  throw FailsInPyTorch(joined(words...));
}

}  // namespace

std::string said(const std::vector<int64_t>& sizes) {
  std::string all = "[";
  for (int64_t n : sizes) all += (all.size() > 1 ? ", " : "") + std::to_string(n);
  return all + "]";
}
std::string said(const Tensor& t) { return "a tensor of sizes " + said(t.sizes()); }

// Each keeps its memory: what is left of it when the last of them is gone is an address (recording.cpp).
Tensor::Tensor(uint64_t address, Sizes sizes, ScalarType type)
    : address_(address), sizes_(std::move(sizes)), type_(type) {
  keep(address_);
}
Tensor::Tensor(const Tensor& other)
    : address_(other.address_), sizes_(other.sizes_), strides_(other.strides_), type_(other.type_) {
  keep(address_);
}
Tensor::Tensor(Tensor&& other) noexcept
    : address_(std::exchange(other.address_, 0)),
      sizes_(std::move(other.sizes_)),
      strides_(std::move(other.strides_)),
      type_(other.type_) {}
Tensor& Tensor::operator=(const Tensor& other) {
  if (this != &other) *this = Tensor(other);
  return *this;
}
Tensor& Tensor::operator=(Tensor&& other) noexcept {
  if (this == &other) return *this;
  let_go(address_);
  address_ = std::exchange(other.address_, 0);
  sizes_ = std::move(other.sizes_), strides_ = std::move(other.strides_), type_ = other.type_;
  return *this;
}
Tensor::~Tensor() { let_go(address_); }

int64_t Tensor::place(int64_t d) const {
  if (d < -dim() || d >= dim()) fails("its host code asks for dimension ", d, " of a tensor that has ", dim());
  return d < 0 ? d + dim() : d;
}

int64_t Tensor::size(int64_t d) const { return sizes_[static_cast<size_t>(place(d))]; }

int64_t Tensor::stride(int64_t d) const {
  if (!strides_.empty()) return strides_[static_cast<size_t>(place(d))];
  int64_t all = 1;
  for (int64_t i = dim() - 1; i > place(d); i--) all *= sizes_[static_cast<size_t>(i)];
  return all;
}

Sizes Tensor::strides() const {
  Sizes all;
  for (int64_t d = 0; d < dim(); d++) all.push_back(stride(d));
  return all;
}

bool Tensor::is_contiguous() const {
  if (strides_.empty()) return true;
  int64_t all = 1;
  for (int64_t d = dim() - 1; d >= 0; d--) {
    if (size(d) != 1 && stride(d) != all) return false;
    all *= size(d);
  }
  return true;
}

Tensor Tensor::permute(const Sizes& dims) const {
  Sizes seen;
  Tensor other = *this;
  other.strides_ = strides();
  if (static_cast<int64_t>(dims.size()) != dim())
    fails("its host code permutes ", dims.size(), " dimensions of a tensor that has ", dim());
  for (size_t i = 0; i < dims.size(); i++) {
    const int64_t d = place(dims[i]);
    if (std::find(seen.begin(), seen.end(), d) != seen.end())
      fails("its host code permutes dimension ", d, " of a tensor twice");
    seen.push_back(d);
    other.sizes_[i] = size(d), other.strides_[i] = stride(d);
  }
  return other;
}

Tensor Tensor::transpose(int64_t a, int64_t b) const {
  Sizes dims;
  for (int64_t d = 0; d < dim(); d++) dims.push_back(d == place(a) ? place(b) : d == place(b) ? place(a) : d);
  return permute(dims);
}

Tensor Tensor::t() const {
  if (dim() > 2) fails("its host code takes t() of a tensor that has ", dim(), " dimensions: up to 2");
  return dim() < 2 ? *this : transpose(0, 1);
}

Order Tensor::order() const {
  constexpr int64_t most = 5;
  if (dim() > most) refuse("its host code copies a tensor that has ", dim(), " dimensions: up to ", most);
  if (element_size() % 2) refuse("its host code copies a tensor of type ", name_of(type_));
  Order o;
  o.dims = static_cast<int>(dim());
  for (int d = 0; d < o.dims; d++) o.sizes[d] = size(d), o.strides[d] = stride(d);
  return o;
}

Order Tensor::flipped(const Sizes& dims, uint64_t& from) const {
  Order o = order();
  for (const int64_t d : dims) {
    const auto at = static_cast<size_t>(place(d));
    if (o.strides[at] < 0) fails("its host code flips dimension ", place(d), " of a tensor twice");
    from += static_cast<uint64_t>((o.sizes[at] - 1) * o.strides[at] * element_size());
    o.strides[at] = -o.strides[at];
  }
  return o;
}

Tensor Tensor::slice(int64_t d, std::optional<int64_t> begin, std::optional<int64_t> end, int64_t step) const {
  if (step < 1) fails("its host code takes a slice with a step of ", step);
  const int64_t all = size(d);
  // As in Python: from the end where negative, and never beyond it.
  auto within = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + all : at, 0, all); };
  const int64_t from = within(begin.value_or(0)), to = std::max(from, within(end.value_or(all)));
  Tensor other = *this;
  const auto at = static_cast<size_t>(place(d));
  other.strides_ = strides();
  other.address_ += static_cast<uint64_t>(from * other.strides_[at] * element_size());
  other.sizes_[at] = (to - from + step - 1) / step, other.strides_[at] *= step;
  return other;
}

Tensor Tensor::narrow(int64_t d, int64_t begin, int64_t length) const {
  const int64_t all = size(d), from = begin < 0 ? begin + all : begin;
  if (from < 0 || length < 0 || from + length > all)
    fails("its host code narrows dimension ", place(d), " of ", said(*this), " to ", length, " from ", begin, " on");
  return slice(d, from, from + length);
}

Tensor Tensor::select(int64_t d, int64_t index) const {
  const int64_t all = size(d), from = index < 0 ? index + all : index;
  if (from < 0 || from >= all)
    fails("its host code selects index ", index, " of dimension ", place(d), " of ", said(*this));
  Tensor other = slice(d, from, from + 1);
  other.sizes_.erase(other.sizes_.begin() + place(d)), other.strides_.erase(other.strides_.begin() + place(d));
  return other;
}

// PyTorch's rules (documentation, "Broadcasting semantics"): from the last dimension on; one element is there for all.
Tensor Tensor::expand(const Sizes& sizes) const {
  const auto more = static_cast<int64_t>(sizes.size()) - dim();
  auto cannot = [&] { fails("its host code expands ", said(*this), " to ", said(sizes)); };
  if (more < 0) cannot();
  Tensor other(address_, sizes, type_);
  for (int64_t d = 0; d < static_cast<int64_t>(sizes.size()); d++) {
    const int64_t own = d < more ? 1 : size(d - more);
    int64_t& n = other.sizes_[static_cast<size_t>(d)];
    if (n == -1 && d >= more) n = own;
    if (n < 0 || (own != 1 && own != n)) cannot();
    other.strides_.push_back(d < more || own != n ? 0 : stride(d - more));
  }
  return other;
}

const Tensor& Tensor::there() const {
  if (!defined()) fails("its host code adds or copies a tensor that is not there");
  return *this;
}

Tensor part_left(const Tensor& t, const Sizes& pad, Sizes& sizes, Sizes& begins) {
  const auto padded = static_cast<int64_t>(pad.size() / 2);
  if (pad.size() % 2 || padded > t.dim())
    fails("its host code pads ", said(t), " by ", pad.size(), " numbers: two for each of its dimensions at most");
  Tensor part = t;
  sizes = t.sizes(), begins = Sizes(static_cast<size_t>(t.dim()), 0);
  for (int64_t i = 0; i < padded; i++) {
    const int64_t d = t.dim() - 1 - i, before = pad[static_cast<size_t>(2 * i)],
                  behind = pad[static_cast<size_t>(2 * i + 1)];
    const int64_t cut = std::max<int64_t>(-before, 0) + std::max<int64_t>(-behind, 0);
    if (cut > t.size(d)) fails("its host code cuts ", cut, " off dimension ", d, " of ", said(t));
    part = part.narrow(d, std::max<int64_t>(-before, 0), t.size(d) - cut);
    sizes[static_cast<size_t>(d)] += before + behind, begins[static_cast<size_t>(d)] = std::max<int64_t>(before, 0);
  }
  return part;
}

Sizes Tensor::both_sizes(const Tensor& other) const {
  const Tensor &more = dim() < other.dim() ? other : *this, &less = dim() < other.dim() ? *this : other;
  Sizes all = more.sizes_;
  for (int64_t d = 1; d <= less.dim(); d++)
    if (int64_t& n = all[all.size() - static_cast<size_t>(d)]; n == 1) n = less.size(-d);
  return all;
}

Sum Tensor::sum_of(const Tensor& a, const Tensor& b, double alpha, double constant) const {
  for (const Tensor* t : {&a, &b})
    if (t->defined() && t->type_ != type_)
      refuse("its host code adds or copies a tensor of type ", name_of(t->type_), " to one of type ", name_of(type_));
  if (type_ != ScalarType::Float && type_ != ScalarType::Double && type_ != ScalarType::Half &&
      type_ != ScalarType::BFloat16)
    refuse("its host code adds, copies or fills tensors of type ", name_of(type_));
  const Order to = order();
  for (int d = 0; d < to.dims; d++)
    if (to.strides[d] == 0 && to.sizes[d] > 1) fails("its host code writes to ", said(*this), " that expand() made");
  Sum s{type_, to.dims, {}, {}, {}, {}, alpha, constant};
  auto with_strides = [&](const Tensor& t, long long* strides) {
    if (!t.defined()) return;
    const Order o = t.expand(sizes_).order();
    std::copy(o.strides, o.strides + o.dims, strides);
  };
  std::copy(to.sizes, to.sizes + to.dims, s.sizes), std::copy(to.strides, to.strides + to.dims, s.to);
  with_strides(a, s.a), with_strides(b, s.b);
  return s;
}

void Tensor::allow_combining(const Tensor& other) const {
  if (there().type_ != other.there().type_ || type_ > ScalarType::BFloat16)
    refuse("its host code combines a tensor of type ", name_of(type_), " with one of type ", name_of(other.type_));
}

int64_t Tensor::numel() const {
  return defined() ? std::accumulate(sizes_.begin(), sizes_.end(), int64_t{1}, std::multiplies<>()) : 0;
}

void Tensor::allow_conversion(ScalarType t) const {
  for (const ScalarType each : {t, type_})
    if (each > ScalarType::BFloat16)
      refuse("its host code converts a tensor of type ", name_of(type_), " to ", name_of(t));
}

// As PyTorch does it (at::detail::computeStride): dimensions that lie one behind the other may become others.
std::optional<Tensor> Tensor::as_view(Sizes sizes) const {
  Tensor other(address_, std::move(sizes), type_);
  int64_t known = 1, *open = nullptr;
  for (auto& n : other.sizes_)
    if (n < 0)
      open = &n;
    else
      known *= n;
  if (open && known) *open = numel() / known;
  if (other.numel() != numel()) fails("its host code reshapes ", numel(), " elements to ", other.numel());
  if (is_contiguous() || !numel()) return other;
  const Sizes own = strides();
  other.strides_ = Sizes(other.sizes_.size(), 1);
  int64_t d = other.dim() - 1, in_own = 1, in_other = 1, base = own.empty() ? 1 : own.back();
  for (auto i = own.size(); i-- > 0;) {
    in_own *= sizes_[i];
    if (i > 0 && (sizes_[i - 1] == 1 || own[i - 1] == in_own * base)) continue;
    for (; d >= 0 && (in_other < in_own || other.sizes_[static_cast<size_t>(d)] == 1); d--) {
      other.strides_[static_cast<size_t>(d)] = in_other * base;
      in_other *= other.sizes_[static_cast<size_t>(d)];
    }
    if (in_other != in_own) return {};
    if (i > 0) base = own[i - 1], in_own = in_other = 1;
  }
  return d < 0 ? std::optional(other) : std::nullopt;
}

Tensor Tensor::view(Sizes sizes) const {
  const auto other = as_view(sizes);
  if (!other)
    fails("its host code takes view() of a tensor whose elements are in another order; reshape() copies them");
  return *other;
}

Tensor Tensor::to(DeviceType where) const {
  Tensor other = *this;
  if (defined()) other.address_ = where == kCPU ? address_ | of_the_cpu : address_ & ~of_the_cpu;
  return other;
}

Tensor Tensor::squeeze(int64_t d) const {
  Tensor other = *this;
  if (size(d) == 1) {
    other.sizes_.erase(other.sizes_.begin() + place(d));
    if (!strides_.empty()) other.strides_.erase(other.strides_.begin() + place(d));
  }
  return other;
}

Tensor Tensor::unsqueeze(int64_t d) const {
  if (d < -dim() - 1 || d > dim()) fails("its host code puts a dimension at ", d, " of a tensor that has ", dim());
  Tensor other = *this;
  const int64_t at = d < 0 ? d + dim() + 1 : d;
  other.sizes_.insert(other.sizes_.begin() + at, 1);
  if (!strides_.empty()) other.strides_.insert(other.strides_.begin() + at, at < dim() ? size(at) * stride(at) : 1);
  return other;
}

Tensor Tensor::new_empty(const Sizes& sizes, TensorOptions o) const { return empty(sizes, o); }

Tensor empty_like(const Tensor& t) {
  if (!t.is_contiguous())
    refuse("its host code makes a tensor like one whose elements are in another order: it would have that order");
  return empty(t.sizes(), t.options());
}

Tensor empty(const Sizes& sizes, TensorOptions o) {
  if (std::any_of(sizes.begin(), sizes.end(), [](int64_t n) { return n < 0; }))
    refuse("its host code makes a tensor of sizes ", said(sizes), ", of which none may be negative");
  const Tensor made(1, sizes, o.type);
  return Tensor(take(made.nbytes()), sizes, o.type).to(o.where);
}

void Tensor::allow_dimensions(size_t n) const {
  if (dim() != static_cast<int64_t>(n)) fails("its host code expects ", n, " dimensions of a tensor that has ", dim());
}

void Tensor::allow_32_bits() const {
  if (numel() > INT32_MAX) fails("its host code takes 32-bit indices for a tensor of ", numel(), " elements");
}

// On a problem of another type it may be right.
void Tensor::refuse_type() const { refuse("its host code expects a tensor of another type than ", name_of(type_)); }

}  // namespace convscope::host
