// The emulator, taken for a GPU: kernels really run there, and tests say how long each of their launches takes.
#pragma once
#include <functional>
#include <memory>
#include <utility>

#include "kernels/runtime/device.h"

namespace convscope::test {

class EmulatedGpu : public Device {
 public:
  explicit EmulatedGpu(std::function<double(const Launch&)> ms) : emulator_(open_emulator()), ms_(std::move(ms)) {
    info_ = emulator_->info();
    info_.kind = DeviceInfo::Kind::cuda;
    info_.name = "GPU of the emulator", info_.architecture = "sm_90", info_.l2_bytes = 1 << 20;
  }
  using Device::unavailable;
  const DeviceInfo& info() const override { return info_; }
  std::string unavailable(const KernelDefinition& kernel) const override { return emulator_->unavailable(kernel); }
  uint64_t free_memory() const override { return emulator_->free_memory(); }
  std::unique_ptr<DeviceMemory> allocate(size_t bytes) override { return emulator_->allocate(bytes); }
  void write(DeviceMemory& to, size_t offset, const void* from, size_t bytes) override {
    emulator_->write(to, offset, from, bytes);
  }
  void read(const DeviceMemory& from, size_t offset, void* to, size_t bytes) override {
    emulator_->read(from, offset, to, bytes);
  }
  void fill(DeviceMemory& to, size_t offset, uint32_t word, size_t bytes) override {
    emulator_->fill(to, offset, word, bytes);
  }
  void run(const KernelDefinition& kernel, const Plan& plan, const Bindings& at, const RunOptions& options) override {
    emulator_->run(kernel, plan, at, options);
  }
  Timing time(const KernelDefinition& kernel, const Plan& plan, const Bindings& at, bool cold, const TimingOptions&,
              Activity* activity) override {
    double ms = cold ? cold_more : 0;
    for (int sample = 0; sample < 2; sample++) run(kernel, plan, at, {.activity = activity});
    for (const auto& l : plan.launches()) ms += ms_(l);
    return {{ms, ms, ms, ms, ms}, false};
  }
  static constexpr double cold_more = 0.125;  // ms

 private:
  std::unique_ptr<Device> emulator_;
  std::function<double(const Launch&)> ms_;
  DeviceInfo info_;
};

}  // namespace convscope::test
