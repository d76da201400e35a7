// Device memory between red zones: what a kernel writes beside its tensor is seen, what it reads there becomes NaN.
#pragma once
#include <memory>
#include <string>

#include "kernels/base/activity.h"
#include "kernels/runtime/device.h"

namespace convscope {

// A quiet NaN in every type: either half of it as f16 and bf16, whole as float, doubled as double.
inline constexpr uint32_t red_zone_word = 0x7fed7fed;
// Another one, beside what kernels write: a NaN that came from the first and is carried over the second would else be
// the same bits (the processor keeps them, a GPU does not). And one that is a number, 0.7 in f32: what is added to a
// NaN leaves that NaN's bits.
inline constexpr uint32_t result_zone_word = 0xffe5ffe5, number_zone_word = 0x3f353f35;

class GuardedTensor {
 public:
  static constexpr size_t least_zone = 64 << 10;  // bytes on each side

  // Filled with `word`. Gigabytes take a while: here and below an activity is looked at in between. Errors:
  // Cancelled.
  GuardedTensor(Device& device, size_t bytes, size_t zone_after = least_zone, Activity* activity = nullptr,
                uint32_t word = red_zone_word);

  uint64_t address() const { return memory_->address() + before_; }
  size_t size() const { return bytes_; }

  void write(const void* from, size_t bytes, Activity* activity = nullptr);
  void read(size_t offset, void* to, size_t bytes) const { device_.read(*memory_, before_ + offset, to, bytes); }
  void fill(uint32_t word, Activity* activity = nullptr);  // the zone after the tensor stays as it is

  // Lays both zones anew, or one of them.
  enum class Zone { before, after, both };
  void lay_zones(uint32_t word, Zone which = Zone::both);
  void restore_zones(Zone which = Zone::both) { lay_zones(word_, which); }  // as they were at first

  // Bytes within a zone, `offset` counted from the tensor's begin; false, and nothing done, where no zone has room.
  bool put_beside(int64_t offset, const void* from, size_t bytes);

  // "" while both zones are as they were laid; else how much of them was written and how far from the tensor ("8 bytes
  // after its end, the first 24 bytes away"). unit: bytes of an element; of one that differs all were written, as some
  // may have been what they are now.
  std::string damage(size_t unit = 1) const;
  // 64-bit checksum of the tensor's bytes.
  uint64_t checksum(Activity* activity = nullptr) const;

  static size_t total_bytes(size_t bytes, size_t zone_after = least_zone) {
    return least_zone + round(bytes) + zone_after;
  }

 private:
  static size_t round(size_t n) { return (n + 255) / 256 * 256; }
  Device& device_;
  size_t bytes_, before_ = least_zone, after_;
  uint32_t word_, word_before_, word_after_;
  std::unique_ptr<DeviceMemory> memory_;
};

}  // namespace convscope
