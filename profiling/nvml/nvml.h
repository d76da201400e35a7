// The GPU's clocks, temperature, power and reasons to run slower, through NVML (libnvidia-ml.so.1), which comes with
// the driver and is opened at run time.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profiling/base/gap.h"

namespace convscope {

// One look at a GPU. What the GPU does not tell is left out.
struct GpuReading {
  double t_ms = 0;  // since whoever looks began
  std::optional<int> sm_mhz, memory_mhz, temperature_c;
  std::optional<double> power_w;
  std::optional<uint64_t> slower_because;  // bits: why the clocks are not at their highest
};

// What does not change while a program runs.
struct GpuLimits {
  std::optional<int> max_sm_mhz, max_memory_mhz;
  std::optional<double> power_limit_w;
  bool mig = false;  // split into instances, which share its clocks and its power
};

// The bits of slower_because in words. Idle and a person's own settings of the clocks are in it; is_throttled() counts
// only what the GPU does to protect itself.
std::vector<std::string> slower_because_words(uint64_t bits);
bool is_throttled(uint64_t bits);
bool is_idle(uint64_t bits);  // nothing runs on it, and its clocks go down for that

class Nvml {
 public:
  // The library of this process, opened when it is first asked for. CONVSCOPE_LIBNVML names another file.
  static const Nvml& shared();
  explicit Nvml(const std::string& library);
  ~Nvml();
  Nvml(const Nvml&) = delete;

  const Gap& missing() const { return missing_; }
  const std::string& driver_version() const { return driver_version_; }  // "580.159.04"

  // A GPU by its PCI bus ("0000:17:00.0"); 0 with the reason in `why` when NVML does not know it.
  uint64_t find(const std::string& pci_bus, Gap& why) const;
  GpuReading read(uint64_t gpu) const;
  GpuLimits limits(uint64_t gpu) const;

 private:
  struct Functions;
  std::unique_ptr<Functions> f_;
  bool started_ = false;
  Gap missing_;
  std::string driver_version_;
};

}  // namespace convscope
