#include "kernels/verify/guarded.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fmt/format.h>
#include <numeric>
#include <vector>

#include "kernels/base/worker_pool.h"
#include "kernels/problem/tensor.h"
#include "kernels/reference/checksum.h"
#include "kernels/runtime/registry.h"

namespace convscope {
namespace {

// Whoever cancels shall not wait for gigabytes: f(offset, bytes) for a part after the other.
template <class F>
void in_parts(size_t bytes, Activity* activity, F f) {
  constexpr size_t part = 32 << 20;
  for (size_t at = 0; at < bytes; at += part) {
    if (activity) activity->check(), activity->advance(0);
    f(at, std::min(part, bytes - at));
  }
}

}  // namespace

GuardedTensor::GuardedTensor(Device& device, size_t bytes, size_t zone_after, Activity* activity, uint32_t word)
    : device_(device),
      bytes_(bytes),
      after_(round(std::max(zone_after, least_zone))),
      word_(word),
      word_before_(word),
      word_after_(word) {
  memory_ = device.allocate(before_ + round(bytes) + after_);
  in_parts(memory_->size(), activity, [&](size_t at, size_t n) { device.fill(*memory_, at, word, n); });
}

void GuardedTensor::write(const void* from, size_t bytes, Activity* activity) {
  in_parts(bytes, activity, [&](size_t at, size_t n) {
    device_.write(*memory_, before_ + at, static_cast<const std::byte*>(from) + at, n);
  });
}

void GuardedTensor::fill(uint32_t word, Activity* activity) {
  size_t whole = bytes_ / 4 * 4;
  in_parts(whole, activity, [&](size_t at, size_t n) { device_.fill(*memory_, before_ + at, word, n); });
  device_.write(*memory_, before_ + whole, &word, bytes_ - whole);
}

void GuardedTensor::lay_zones(uint32_t word, Zone which) {
  if (which != Zone::after) {
    device_.fill(*memory_, 0, word, before_);
    word_before_ = word;
  }
  if (which == Zone::before) return;
  // The tensor's own bytes may end inside a word: it is laid aside and put back.
  size_t tail = bytes_ / 4 * 4;
  std::byte last[4];
  read(tail, last, bytes_ - tail);
  device_.fill(*memory_, before_ + tail, word, memory_->size() - before_ - tail);
  device_.write(*memory_, before_ + tail, last, bytes_ - tail);
  word_after_ = word;
}

bool GuardedTensor::put_beside(int64_t offset, const void* from, size_t bytes) {
  const auto begin = static_cast<int64_t>(before_) + offset, end = begin + static_cast<int64_t>(bytes);
  const bool before = begin >= 0 && offset + static_cast<int64_t>(bytes) <= 0;
  const bool after = offset >= static_cast<int64_t>(bytes_) && end <= static_cast<int64_t>(memory_->size());
  if (!before && !after) return false;
  device_.write(*memory_, static_cast<size_t>(begin), from, bytes);
  return true;
}

std::string GuardedTensor::damage(size_t unit) const {
  size_t padded = round(bytes_);
  // The zone after the tensor starts at its last byte, in the rounding.
  auto look = [&](size_t from, size_t bytes, uint32_t word, bool before) -> std::string {
    std::vector<std::byte> zone(bytes);
    device_.read(*memory_, from, zone.data(), bytes);
    size_t first = bytes, end = 0, count = 0;
    // Elements count from the tensor, so that what is left over lies at the zone's far side.
    for (size_t i = before ? bytes % unit : 0; i < bytes; i += unit) {
      const size_t n = std::min(unit, bytes - i);
      bool differs = false;
      for (size_t k = i; k < i + n; k++)
        differs |= zone[k] != static_cast<std::byte>(word >> 8 * ((from + k) % 4) & 0xff);
      if (differs) first = std::min(first, i), end = i + n, count += n;
    }
    if (!count) return "";
    size_t away = before ? bytes - end : first;
    auto amount = [](size_t n) { return fmt::format("{} byte{}", n, n == 1 ? "" : "s"); };
    std::string side = before ? "before its start" : "after its end";
    if (away == 0) return fmt::format("{} directly {}", amount(count), side);
    return fmt::format("{} {}, the {} {} away", amount(count), side, before ? "nearest" : "first", amount(away));
  };
  std::string text = look(0, before_, word_before_, true);
  std::string after = look(before_ + bytes_, padded - bytes_ + after_, word_after_, false);
  if (!text.empty() && !after.empty()) text += " and ";
  return text + after;
}

uint64_t GuardedTensor::checksum(Activity* activity) const {
  const size_t words = bytes_ / 8;
  uint64_t last = 0, sum = 0;
  if (bytes_ % 8) {
    read(words * 8, &last, bytes_ % 8);
    sum = checksum_of(&last, static_cast<int64_t>(words), 1);
  }
  if (!device_.is_emulator()) {  // gigabytes stay where they are
    if (activity) activity->check(), activity->advance(0);
    std::vector<uint64_t> sums(checksum_threads);
    auto memory = device_.allocate(sums.size() * 8);
    device_.run(find_internal_kernel("checksum"), checksum_plan(static_cast<int64_t>(words)),
                {address(), 0, 0, memory->address(), 0}, {});
    device_.read(*memory, 0, sums.data(), sums.size() * 8);
    return std::accumulate(sums.begin(), sums.end(), sum);
  }
  in_parts(words * 8, activity, [&](size_t at, size_t n) {
    HostBytes buffer(n);
    read(at, buffer.data(), n);
    std::atomic<uint64_t> part = 0;
    WorkerPool::shared().for_chunks(static_cast<int64_t>(n / 8), 1 << 17, [&](int64_t a, int64_t b) {
      part += checksum_of(buffer.as<uint64_t>() + a, static_cast<int64_t>(at / 8) + a, b - a);
    });
    sum += part;
  });
  return sum;
}

}  // namespace convscope
