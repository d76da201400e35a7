// Under what conditions times were taken (`conditions` of an answer to run, profile or bench): the GPU's clocks,
// temperature and power. What is absent is empty; what is not as it should be is left out.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace convscope {

// One look at the GPU.
struct ClockReading {
  double t_ms = 0;  // since the measurement began
  std::optional<double> sm_mhz, memory_mhz, temperature_c, power_w;
  std::vector<std::string> reasons;  // why the clocks were not at their highest
  bool throttled = false;            // one of them protects the GPU
  bool idle = false;                 // it rested: before and after the work, at other clocks
};
struct ReadingRange {
  double least = 0, median = 0, most = 0;
};

struct GpuConditions {
  std::optional<ReadingRange> sm_mhz, memory_mhz, temperature_c, power_w;  // while it worked
  std::optional<double> max_sm_mhz, max_memory_mhz, power_limit_w, throttled_fraction;
  std::vector<ClockReading> over_time;  // in order of time; none in answers of before
  int readings_for_one = 1;             // that were taken, for each that was kept
  std::vector<std::string> slower_because, warnings;
  std::string reason, source;  // why nothing is known; "measured by NVML"
  std::string line;            // its ranges, as conditions_line() of app/engine/profile_codec.h writes them
  bool known() const { return sm_mhz || memory_mhz || temperature_c || power_w; }
};

GpuConditions conditions_from(const nlohmann::json& j);

}  // namespace convscope
