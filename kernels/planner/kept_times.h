// What the planner has measured, kept on disk for the next time: one text file in the user's cache, of all GPUs.
// Whoever deletes it has everything measured anew.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "kernels/runtime/device.h"

namespace convscope {

struct KeptTime {
  std::string key;
  double ms = 0;     // median of a few calls, hot, with weights packed
  std::string date;  // 2026-11-20, when it was measured
  bool operator==(const KeptTime&) const = default;
};
constexpr size_t most_kept_times = 2000;  // the last ones

// What a time depends on: the GPU's name and driver, the kernel, all parameters of the problem with type and bias, and
// a hash of the code and the launches that an export would hold, so that a kernel that was changed is measured anew.
std::string time_key(const DeviceInfo& device, const KernelDefinition& kernel, const ConvProblem& p);

std::string kept_times_file();  // "" when there is no cache
// As text: a line each, the oldest first, with a sum over all. None when it is of another version, or damaged in any
// way.
std::vector<KeptTime> read_times(const std::string& text);
std::string times_text(const std::vector<KeptTime>& times);

std::optional<KeptTime> kept_time(const std::string& key);
// Takes the place of an older one. What other processes keep meanwhile stays. Without a place to keep it, it is
// measured again next time.
void keep_time(const KeptTime& time);

}  // namespace convscope
