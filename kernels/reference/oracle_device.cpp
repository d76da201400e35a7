#include "kernels/reference/oracle_device.h"

#include <algorithm>

#include "kernels/runtime/registry.h"

namespace convscope {
namespace {

constexpr int64_t block_elements = int64_t{1} << 22;  // results on the device at a time: two buffers of 32 MiB

class DeviceOracle final : public Oracle {
 public:
  DeviceOracle(const ConvProblem& p, const Inputs& in, Device& device, const Bindings& at)
      : p_(p), device_(device), at_(at), kernel_(find_internal_kernel("oracle_device")) {
    HostTensor w = convert(in.w, DType::f64);
    w_ = device.allocate(w.size_bytes());
    device.write(*w_, 0, w.data(), w.size_bytes());
    int64_t most = std::min(block_elements, p.y_elements());
    value_ = device.allocate(static_cast<size_t>(most) * 8);
    magnitude_ = device.allocate(static_cast<size_t>(most) * 8);
  }

  std::string where() const override { return device_.info().name; }

  void compute(const OutputBlock& block, double* value, double* magnitude) override {
    int64_t columns = std::min(block.columns, block_elements);
    int64_t rows = std::min<int64_t>({block.rows, block_elements / columns, 65535});
    for (int64_t r = 0; r < block.rows; r += rows)
      for (int64_t c = 0; c < block.columns; c += columns)
        part({block.row + r, std::min(rows, block.rows - r), block.column + c, std::min(columns, block.columns - c)},
             block, value, magnitude);
  }

 private:
  void part(const OutputBlock& part, const OutputBlock& whole, double* value, double* magnitude) {
    Bindings at = at_;
    at.w = w_->address();
    at.y = value_->address();
    at.workspace = magnitude ? magnitude_->address() : 0;
    device_.run(kernel_, oracle_plan(p_, part), at, {});
    auto fetch = [&](const DeviceMemory& from, double* to) {
      size_t row_bytes = static_cast<size_t>(part.columns) * 8;
      double* target = to + (part.row - whole.row) * whole.columns + part.column - whole.column;
      if (part.columns == whole.columns)
        return device_.read(from, 0, target, row_bytes * static_cast<size_t>(part.rows));
      for (int64_t r = 0; r < part.rows; r++)
        device_.read(from, static_cast<size_t>(r) * row_bytes, target + r * whole.columns, row_bytes);
    };
    fetch(*value_, value);
    if (magnitude) fetch(*magnitude_, magnitude);
  }

  ConvProblem p_;
  Device& device_;
  Bindings at_;
  const KernelDefinition& kernel_;
  std::unique_ptr<DeviceMemory> w_, value_, magnitude_;
};

}  // namespace

std::unique_ptr<Oracle> make_device_oracle(const ConvProblem& p, const Inputs& in, Device& device, const Bindings& at) {
  return std::make_unique<DeviceOracle>(p, in, device, at);
}

}  // namespace convscope
