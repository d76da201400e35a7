// What tensors of host code do, without values.
#include "convscope/host_tensor.h"

#include <functional>
#include <numeric>

namespace convscope::host {

std::string said(const std::vector<int64_t>& sizes) {
  std::string all = "[";
  for (int64_t n : sizes) all += (all.size() > 1 ? ", " : "") + std::to_string(n);
  return all + "]";
}
std::string said(const Tensor& t) { return "a tensor of sizes " + said(t.sizes()); }

int64_t Tensor::place(int64_t d) const {
  if (d < -dim() || d >= dim()) refuse("its host code asks for dimension ", d, " of a tensor that has ", dim());
  return d < 0 ? d + dim() : d;
}

int64_t Tensor::size(int64_t d) const { return sizes_[static_cast<size_t>(place(d))]; }

int64_t Tensor::stride(int64_t d) const {
  int64_t all = 1;
  for (int64_t i = dim() - 1; i > place(d); i--) all *= sizes_[static_cast<size_t>(i)];
  return all;
}

Sizes Tensor::strides() const {
  Sizes all;
  for (int64_t d = 0; d < dim(); d++) all.push_back(stride(d));
  return all;
}

int64_t Tensor::numel() const {
  return defined() ? std::accumulate(sizes_.begin(), sizes_.end(), int64_t{1}, std::multiplies<>()) : 0;
}

Tensor Tensor::to(ScalarType t) const {
  if (t != type_) refuse("its host code converts a tensor of type ", name_of(type_), " to ", name_of(t));
  return *this;
}

Tensor Tensor::view(Sizes sizes) const {
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

Tensor Tensor::squeeze(int64_t d) const {
  Tensor other = *this;
  if (size(d) == 1) other.sizes_.erase(other.sizes_.begin() + place(d));
  return other;
}

Tensor Tensor::unsqueeze(int64_t d) const {
  if (d < -dim() - 1 || d > dim()) refuse("its host code puts a dimension at ", d, " of a tensor that has ", dim());
  Tensor other = *this;
  other.sizes_.insert(other.sizes_.begin() + (d < 0 ? d + dim() + 1 : d), 1);
  return other;
}

Tensor Tensor::new_empty(const Sizes& sizes, TensorOptions o) const { return empty(sizes, o); }

Tensor empty(const Sizes& sizes, TensorOptions o) {
  const Tensor made(1, sizes, o.type);
  return {take(made.nbytes()), sizes, o.type};
}

void Tensor::allow_fill(double value) {
  if (value != 0) refuse("its host code fills a tensor with ", value, "; only zero is noted down");
}

void Tensor::allow_dimensions(size_t n) const {
  if (dim() != static_cast<int64_t>(n)) refuse("its host code expects ", n, " dimensions of a tensor that has ", dim());
}

void Tensor::allow_32_bits() const {
  if (numel() > INT32_MAX) refuse("its host code takes 32-bit indices for a tensor of ", numel(), " elements");
}

void Tensor::refuse_type() const { refuse("its host code expects a tensor of another type than ", name_of(type_)); }

}  // namespace convscope::host
