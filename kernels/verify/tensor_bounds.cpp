#include "kernels/verify/tensor_bounds.h"

#include <algorithm>
#include <fmt/format.h>

namespace convscope {

TensorBounds::TensorBounds(const ConvProblem& p, const Bindings& at, int64_t out_length, size_t workspace_bytes) {
  const uint64_t element = size_of(p.dtype);
  auto add = [&](const char* name, uint64_t begin, int64_t elements) {
    if (begin && elements > 0) ranges_.push_back({name, begin, static_cast<uint64_t>(elements) * element, element});
  };
  add("x", at.x, p.x_elements());
  add("w", at.w, p.w_elements());
  add("b", at.b, p.out_channels);
  add("y", at.y, p.batch * p.out_channels * std::max<int64_t>(out_length, 0));
  if (at.workspace && workspace_bytes) ranges_.push_back({"the workspace", at.workspace, workspace_bytes, 1});
}

uint64_t TensorBounds::Range::distance(const simt::Access& a) const {
  return a.address < begin ? begin - a.address : a.address - std::min(a.address, begin + bytes - 1);
}

const TensorBounds::Range& TensorBounds::nearest(const simt::Access& a) const {
  return *std::min_element(ranges_.begin(), ranges_.end(),
                           [&](const auto& one, const auto& other) { return one.distance(a) < other.distance(a); });
}

void TensorBounds::take(std::span<const simt::Access> accesses) {
  using simt::AccessKind;
  const Range* last = nullptr;
  auto inside = [](const Range& r, const simt::Access& a) {
    return a.address - r.begin < r.bytes && a.address - r.begin + a.size <= r.bytes;
  };
  for (const auto& a : accesses) {
    if (a.shared || (a.kind != AccessKind::read && a.kind != AccessKind::write && a.kind != AccessKind::atomic))
      continue;
    if (last && inside(*last, a)) continue;
    last = nullptr;
    bool beside = false;
    for (const auto& r : ranges_) {
      if (inside(r, a)) last = &r;
      beside |= a.address + by_little >= r.begin && a.address < r.begin + r.bytes + by_little;
    }
    if (last || !beside) continue;
    const uint64_t distance = nearest(a).distance(a);
    std::lock_guard lock(mutex_);
    if (!first_ || a.block < first_->block || (a.block == first_->block && distance < distance_))
      first_ = a, distance_ = distance;
  }
}

std::optional<TensorBounds::Left> TensorBounds::left() const {
  std::lock_guard lock(mutex_);
  if (!first_) return {};
  const simt::Access& a = *first_;
  const Range& r = nearest(a);
  const auto from = static_cast<int64_t>(a.address - r.begin);
  if (r.element > 1 && from % static_cast<int64_t>(r.element) == 0) {
    const int64_t first = from / static_cast<int64_t>(r.element);
    const int64_t n = std::max<int64_t>(a.size / r.element, 1);
    const std::string which =
        n == 1 ? fmt::format("element {}", first) : fmt::format("elements {} to {}", first, first + n - 1);
    return Left{a, fmt::format("{} of {}, which has {}", which, r.name, r.bytes / r.element)};
  }
  return Left{a, fmt::format("{} bytes at byte {} of {}, which has {}", a.size, from, r.name, r.bytes)};
}

}  // namespace convscope
