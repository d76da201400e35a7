// Accesses that leave a tensor by little: before its first element, or behind its last. What is read there and used
// makes results wrong only where it matters, and a GPU may end the launch.
#pragma once
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/runtime/device.h"
#include "kernels/runtime/simt/trace.h"

namespace convscope {

class TensorBounds {
 public:
  // Of a problem's tensors where they are bound. out_length: the kernel's own.
  TensorBounds(const ConvProblem& p, const Bindings& at, int64_t out_length, size_t workspace_bytes);

  void take(std::span<const simt::Access> accesses);  // from any thread
  struct Left {
    simt::Access access;
    std::string words;  // "element 40 of x, which has 40"
  };
  // Of the first block that was met with one, that which is the nearest to its tensor.
  std::optional<Left> left() const;

 private:
  static constexpr uint64_t by_little = 32 << 10;  // bytes: within the red zones that tensors lie between (guarded.h)
  struct Range {
    std::string name;
    uint64_t begin, bytes, element;
    uint64_t distance(const simt::Access& a) const;  // bytes between them
  };
  const Range& nearest(const simt::Access& a) const;
  std::vector<Range> ranges_;
  mutable std::mutex mutex_;
  std::optional<simt::Access> first_;
  uint64_t distance_ = 0;  // its own
};

}  // namespace convscope
