// A GPU that keeps nothing and runs nothing: tests say how long each plan takes on it.
#pragma once
#include <string>

#include "kernels/runtime/device.h"

namespace convscope::test {

class FakeGpu : public Device {
 public:
  FakeGpu(const std::string& name, const std::string& driver) {
    info_.kind = DeviceInfo::Kind::cuda;
    info_.name = name, info_.driver = driver, info_.pci_bus = "0000:01:00.0", info_.architecture = "sm_90";
    info_.memory_bandwidth_gbs = 1000, info_.fma_gflops = 10000;
    info_.l2_bytes = 32 << 20, info_.multiprocessors = 10;
  }
  const DeviceInfo& info() const override { return info_; }
  std::string unavailable(const KernelDefinition&) const override { return ""; }
  uint64_t free_memory() const override { return uint64_t{8} << 30; }
  std::unique_ptr<DeviceMemory> allocate(size_t bytes) override { return std::make_unique<Memory>(bytes); }
  void write(DeviceMemory&, size_t, const void*, size_t) override {}
  void read(const DeviceMemory&, size_t, void*, size_t) override {}
  void fill(DeviceMemory&, size_t, uint32_t, size_t) override {}
  void run(const KernelDefinition&, const Plan&, const Bindings&, const RunOptions&) override {}
  Timing time(const KernelDefinition& kernel, const Plan& plan, const Bindings&, bool cold, const TimingOptions&,
              Activity*) override {
    timed++;
    double ms = ms_of(kernel, plan) + (cold ? cold_more(kernel) : 0);
    return {{ms, ms, ms, ms, ms}, false};
  }
  virtual double ms_of(const KernelDefinition& kernel, const Plan& plan) const = 0;
  virtual double cold_more(const KernelDefinition&) const { return 0; }  // ms
  int timed = 0;                                                         // plans so far

 protected:
  DeviceInfo info_;

 private:
  struct Memory : DeviceMemory {
    explicit Memory(size_t bytes) { address_ = 4096, size_ = bytes; }
  };
};

}  // namespace convscope::test
