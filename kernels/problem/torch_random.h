// PyTorch's CPU generator, bit for bit (ATen/core/MT19937RNGEngine.h, ATen/core/TransformationHelper.h; checked against
// PyTorch 2.11 by golden files in tests/data).
#pragma once
#include <cmath>
#include <cstdint>
#include <random>

namespace convscope {

// torch.manual_seed(seed), then draws in the order PyTorch makes them.
class TorchRandom {
 public:
  explicit TorchRandom(uint64_t seed) : engine_(static_cast<uint32_t>(seed)) {}

  uint32_t bits32() { return static_cast<uint32_t>(engine_()); }
  uint64_t bits64() {
    uint64_t high = bits32();
    return high << 32 | bits32();
  }
  // torch.rand: 24 low bits of one draw for float, 53 low bits of two draws for double.
  float unit(float) { return static_cast<float>(bits32() & 0xffffff) * 0x1p-24f; }
  double unit(double) { return static_cast<double>(bits64() & ((uint64_t{1} << 53) - 1)) * 0x1p-53; }
  // tensor.uniform_(from, to); the product and the sum round once.
  template <class T>
  T uniform(T from, T to) {
    return std::fma(unit(T{}), to - from, from);
  }
  // torch.randint(low, high): one 32-bit draw (ranges below 2^32).
  int64_t integer(int64_t low, int64_t high) {
    return static_cast<int64_t>(bits32() % static_cast<uint64_t>(high - low)) + low;
  }

 private:
  std::mt19937 engine_;
};

}  // namespace convscope
