// Runs a reference on a device with its tensors between red zones.
#pragma once
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "kernels/reference/reference.h"
#include "kernels/runtime/device.h"
#include "tests/convolution.h"

namespace convscope::test {

// The tensors of a problem on a device: y is NaN, and so are 4 KiB before and after each tensor.
class DeviceTensors {
 public:
  DeviceTensors(Device& device, const ConvProblem& p, const Tensors& t)
      : device_(device),
        y_shape_{p.batch, p.out_channels, p.out_length()},
        x_(place(t.x)),
        w_(place(t.w)),
        b_(p.bias ? place(t.b) : nullptr),
        y_(place(make_tensor(p.dtype, y_shape_, [](auto* out, int64_t n) { std::fill(out, out + n, NAN); }))),
        tensors_(t) {}

  Bindings at() const {
    return {x_->address() + zone, w_->address() + zone, b_ ? b_->address() + zone : 0, y_->address() + zone, 0};
  }

  HostTensor y() const {
    return make_tensor(tensors_.x.dtype, y_shape_, [&](auto* out, int64_t n) {
      device_.read(*y_, zone, out, static_cast<size_t>(n) * sizeof *out);
    });
  }

  // "" or which tensor or red zone was written that should not have been.
  std::string damage() const {
    if (!untouched(*x_, tensors_.x)) return "x or memory beside it was written";
    if (!untouched(*w_, tensors_.w)) return "w or memory beside it was written";
    if (b_ && !untouched(*b_, tensors_.b)) return "b or memory beside it was written";
    return untouched(*y_, y()) ? "" : "memory beside y was written";
  }

 private:
  static constexpr size_t zone = 4096;

  std::unique_ptr<DeviceMemory> place(const HostTensor& t) const {
    auto memory = device_.allocate(rounded(t) + 2 * zone);
    device_.fill(*memory, 0, 0xffffffff, rounded(t) + 2 * zone);
    if (t.size_bytes()) device_.write(*memory, zone, t.data(), t.size_bytes());
    return memory;
  }
  static size_t rounded(const HostTensor& t) { return (t.size_bytes() + 3) / 4 * 4; }
  bool untouched(const DeviceMemory& memory, const HostTensor& t) const {
    std::vector<unsigned char> now(rounded(t) + 2 * zone), before(now.size(), 0xff);
    device_.read(memory, 0, now.data(), now.size());
    std::memcpy(before.data() + zone, t.data(), t.size_bytes());
    return now == before;
  }

  Device& device_;
  std::vector<int64_t> y_shape_;
  std::unique_ptr<DeviceMemory> x_, w_, b_, y_;
  Tensors tensors_;
};

// The largest |y − exact| / (|b| + Σ|x·w|) over all outputs. Infinite for a NaN, and for an output that has no term and
// is not exactly the bias.
inline double worst_error(const ConvProblem& p, const Tensors& t, const Expected& e, const HostTensor& y) {
  double worst = 0;
  for (size_t at = 0; at < e.y.size(); at++) {
    auto flat = static_cast<int64_t>(at);
    double bias = p.bias ? std::fabs(t.b.at(flat / p.out_length() % p.out_channels)) : 0;
    double reach = bias + static_cast<double>(e.magnitude[at]);
    double off = std::fabs(y.at(flat) - static_cast<double>(e.y[at]));
    double error = off == 0 ? 0 : e.terms[at] == 0 || std::isnan(off) ? INFINITY : off / reach;
    worst = std::max(worst, error);
  }
  return worst;
}

}  // namespace convscope::test
