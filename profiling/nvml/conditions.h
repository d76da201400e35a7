// Under what conditions something was measured: the GPU's state, looked at again and again while it ran.
#pragma once
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "profiling/nvml/nvml.h"

namespace convscope {

struct Range {
  double least = 0, median = 0, most = 0;
};

struct Conditions {
  int readings = 0;  // while it worked
  // All of them in their order, resting ones too: at most most_kept_readings, each for `readings_for_one` that were
  // taken.
  std::vector<GpuReading> over_time;
  int readings_for_one = 1;
  std::optional<Range> sm_mhz, memory_mhz, temperature_c, power_w;
  GpuLimits limits;
  std::string driver_version;
  uint64_t slower_because = 0;      // of all readings together
  std::optional<double> throttled;  // share of the readings in which the GPU protected itself
  Gap missing;                      // when nothing is known

  // What a person must know before believing a time: "" when nothing is odd.
  std::string warning() const;
  // Who else is on this GPU by its own settings (MIG), and what that means for times: "" when nobody is.
  std::string shared_with() const;
  // Why it protected itself, in words.
  std::vector<std::string> reasons() const;
};

inline constexpr size_t most_kept_readings = 240;

// Turns readings into conditions; those of a resting GPU count only where there are no others.
Conditions conditions_of(const std::vector<GpuReading>& readings);
// Of several neighbours one stands for all: of those that work, if any does, that of the lowest SM clock, with the
// reasons of these. At most `most`, > 0.
std::vector<GpuReading> thinned(const std::vector<GpuReading>& readings, size_t most);

// Reads on a thread of its own from its making until finish().
class ConditionsWatch {
 public:
  // An empty bus: nothing to watch (the emulator).
  explicit ConditionsWatch(const std::string& pci_bus, const Nvml& nvml = Nvml::shared());
  ~ConditionsWatch();
  ConditionsWatch(const ConditionsWatch&) = delete;
  Conditions finish();

 private:
  void watch();
  const Nvml& nvml_;
  uint64_t gpu_ = 0;
  Gap missing_;
  std::vector<GpuReading> readings_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace convscope
