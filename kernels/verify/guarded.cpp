#include "kernels/verify/guarded.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/base/worker_pool.h"
#include "kernels/problem/tensor.h"

namespace convscope {

GuardedTensor::GuardedTensor(Device& device, size_t bytes, size_t zone_after)
    : device_(device), bytes_(bytes), after_(round(std::max(zone_after, least_zone))) {
  memory_ = device.allocate(before_ + round(bytes) + after_);
  device.fill(*memory_, 0, red_zone_word, memory_->size());
}

void GuardedTensor::lay_zones(uint32_t word) {
  // The tensor's own bytes may end inside a word: it is laid aside and put back.
  size_t tail = bytes_ / 4 * 4;
  std::byte last[4];
  read(tail, last, bytes_ - tail);
  device_.fill(*memory_, 0, word, before_);
  device_.fill(*memory_, before_ + tail, word, memory_->size() - before_ - tail);
  device_.write(*memory_, before_ + tail, last, bytes_ - tail);
}

std::string GuardedTensor::damage() const {
  size_t padded = round(bytes_);
  // The zone after the tensor starts at its last byte, in the rounding.
  auto look = [&](size_t from, size_t bytes, bool before) -> std::string {
    std::vector<std::byte> zone(bytes);
    device_.read(*memory_, from, zone.data(), bytes);
    size_t first = bytes, last = 0;
    for (size_t i = 0; i < bytes; i++) {
      auto expected = static_cast<std::byte>(red_zone_word >> 8 * ((from + i) % 4) & 0xff);
      if (zone[i] != expected) first = std::min(first, i), last = i;
    }
    if (first == bytes) return "";
    return before ? fmt::format("{} bytes before its start", bytes - last) : fmt::format("{} bytes after its end", first);
  };
  std::string text = look(0, before_, true), after = look(before_ + bytes_, padded - bytes_ + after_, false);
  if (!text.empty() && !after.empty()) text += " and ";
  return text + after;
}

uint64_t GuardedTensor::checksum() const {
  // Chunks are mixed with their place, so that the sum does not depend on the order the workers take them in.
  constexpr size_t chunk = 8 << 20;
  HostBytes buffer(std::min(std::max<size_t>(bytes_, 1), chunk));
  uint64_t sum = 0;
  for (size_t at = 0; at < bytes_; at += chunk) {
    size_t n = std::min(chunk, bytes_ - at);
    read(at, buffer.data(), n);
    uint64_t h = at * 0x9e3779b97f4a7c15u + 1;
    size_t words = n / 8;
    const auto* p = buffer.as<uint64_t>();
    for (size_t i = 0; i < words; i++) h = (h ^ p[i]) * 0x2545f4914f6cdd1du, h ^= h >> 29;
    for (size_t i = words * 8; i < n; i++) h = (h ^ static_cast<uint64_t>(buffer.data()[i])) * 0x2545f4914f6cdd1du;
    sum += h;
  }
  return sum;
}

}  // namespace convscope
