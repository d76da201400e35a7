#include "kernels/verify/block_races.h"

#include <algorithm>
#include <cstring>

namespace convscope {

using simt::AccessKind;

BlockRaceFinder::BlockRaceFinder(Range y, uint64_t element_bytes) : y_(y), element_bytes_(element_bytes) {
  const uint64_t elements = y.bytes / element_bytes;
  before_.resize(elements), seen_.resize(elements), values_.resize(elements), first_.resize(elements);
  for (uint64_t e = 0; e < elements; e++) before_[e] = now(e);
}

uint64_t BlockRaceFinder::now(uint64_t element) const {
  uint64_t bits = 0;
  std::memcpy(&bits, reinterpret_cast<const void*>(y_.begin + element * element_bytes_), element_bytes_);
  return bits;
}

void BlockRaceFinder::write(const simt::Access& a, uint64_t element) {
  const Side side{a.block, a.pc, a.thread, a.kind == AccessKind::atomic};
  // What stood there before it; an atomic's is known when it has been carried out.
  if (a.kind == AccessKind::write || a.kind == AccessKind::arrival) {
    const uint64_t at = y_.begin + element * element_bytes_;
    if (a.size > 8 || at < a.address || at + element_bytes_ > a.address + a.size) {
      values_[element] = unknown;
    } else {
      const uint64_t mask = element_bytes_ == 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * element_bytes_) - 1;
      const uint64_t stood = a.round >> 8 * (at - a.address) & mask;
      if (stood != before_[element] && values_[element] != unknown) {
        if (values_[element] == none) values_[element] = one, seen_[element] = stood;
        if (seen_[element] != stood) values_[element] = several;
      }
    }
  } else if (a.kind == AccessKind::bulk_write) {
    values_[element] = unknown;
  }
  Side& first = first_[element];
  if (!first.pc)
    first = side;
  else if (first.block != side.block && !(first.atomic && side.atomic))
    second_.try_emplace(element, side);
}

void BlockRaceFinder::take(std::span<const simt::Access> part) {
  std::lock_guard lock(mutex_);
  for (const auto& a : part) {
    if (a.kind != AccessKind::write && a.kind != AccessKind::atomic && a.kind != AccessKind::bulk_write &&
        a.kind != AccessKind::arrival)
      continue;
    const uint64_t end = a.address + a.size;
    if (end <= y_.begin || a.address >= y_.begin + y_.bytes) {
      if (a.shared) continue;
      ordered_ |= a.kind == AccessKind::atomic, beside_ |= a.kind != AccessKind::atomic;
      continue;
    }
    const uint64_t from = std::max(a.address, y_.begin) - y_.begin, to = std::min(end - y_.begin, y_.bytes);
    for (uint64_t e = from / element_bytes_; e < (to + element_bytes_ - 1) / element_bytes_ && e < first_.size(); e++)
      write(a, e);
  }
}

std::optional<BlockRaceFinder::Found> BlockRaceFinder::found() const {
  std::optional<Found> best;
  if (ordered_) return best;
  for (const auto& [element, second] : second_) {
    if (best && static_cast<int64_t>(element) > best->element) continue;
    const Side& first = first_[element];
    const bool mixed = first.atomic != second.atomic;
    const bool differ = values_[element] == several || (values_[element] == one && seen_[element] != now(element));
    if (mixed || differ) best = Found{static_cast<int64_t>(element), first, second};
  }
  return best;
}

}  // namespace convscope
