// One GPU through the driver API and its primary context (which cuDNN shares).
#pragma once
#include <cuda.h>
#include <functional>
#include <memory>
#include <mutex>

#include "kernels/runtime/cuda/modules.h"
#include "kernels/runtime/device.h"

namespace convscope::cuda {

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int index);
  ~CudaDevice() override;

  const DeviceInfo& info() const override { return info_; }
  std::string unavailable(const KernelDefinition& kernel) const override;
  uint64_t free_memory() const override;
  std::unique_ptr<DeviceMemory> allocate(size_t bytes) override;
  void write(DeviceMemory& to, size_t offset, const void* from, size_t bytes) override;
  void read(const DeviceMemory& from, size_t offset, void* to, size_t bytes) override;
  void fill(DeviceMemory& to, size_t offset, uint32_t word, size_t bytes) override;
  void run(const KernelDefinition& kernel, const Plan& plan, const Bindings& bindings,
           const RunOptions& options) override;
  void run_together(const KernelDefinition& kernel, const Plan& plan, const Bindings& bindings, int times) override;
  std::vector<LaunchFacts> launch_facts(const KernelDefinition& kernel, const Plan& plan) override;
  void* native_context() override;
  Timing time(const KernelDefinition& kernel, const Plan& plan, const Bindings& bindings, bool cold,
              const TimingOptions& options, Activity* activity) override;

  // Makes the context current on this thread: needed once a thread before anything else.
  void make_current() const;
  CUstream stream() const { return stream_; }

  // Issues the launches of a plan on the stream without waiting.
  void issue(const KernelDefinition& kernel, const Plan& plan, const Bindings& bindings);
  // Times `work`, which issues on stream(): events around each sample, warm-up first (cuda_timing.cpp).
  Timing time_work(const std::function<void()>& work, bool cold, const TimingOptions& options, Activity* activity);

 private:
  CudaDevice() = default;
  void launch(const KernelDefinition& kernel, const Launch& l, const Bindings& at);
  Bindings with_variables(const KernelDefinition& kernel, const Plan& plan, const Bindings& at);
  void staged_copy(CUdeviceptr device, void* host, size_t bytes, bool to_device);

  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  DeviceInfo info_;
  int major_ = 0, minor_ = 0;
  std::unique_ptr<Modules> modules_;
  void* staging_[2] = {};  // pinned: the driver copies at full speed only from such memory
  CUevent staging_done_[2] = {};
};

}  // namespace convscope::cuda
