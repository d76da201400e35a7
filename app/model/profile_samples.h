// What was sampled, of a profile's answer (`pc_sampling`, `timeline`: app/engine/PROTOCOL.md), as plain values.
#pragma once
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace convscope {

struct SampledReason {
  std::string name, words;  // "long_scoreboard", "waiting for data from …"
  bool waiting = true;
  int64_t samples = 0;
};
using SamplesByReason = std::map<std::string, int64_t>;
struct SampledPlace {  // a line, or an instruction
  std::string file;    // "": not known
  int64_t line = 0;    // from 1; 0: not known
  std::string function;
  int64_t offset = 0;  // bytes from the function's begin; of an instruction
  int64_t samples = 0;
  SamplesByReason reasons;
};
struct SampledFunction {
  std::string name;
  int64_t samples = 0, code_bytes = 0;
  std::string code_hash;  // of its machine code; "" in older recordings, and where the code is not this program's
};
struct ProfileSamples {
  std::string source, reason;  // where they come from; "" with the reason why there are none
  int64_t samples = 0, dropped = 0, period_cycles = 0, calls = 0;
  std::vector<SampledReason> reasons;  // most first
  std::vector<SampledPlace> lines, instructions;
  std::vector<SampledFunction> functions;
  const SampledReason* find(const std::string& name) const {
    for (const auto& r : reasons)
      if (r.name == name) return &r;
    return nullptr;
  }
};

struct TimelineLane {
  std::string name, title, unit, about;
  std::vector<double> values;
  double least = 0, mean = 0, most = 0;  // within the work
};
struct LaunchSpan {
  std::string name;
  double start_us = 0, end_us = 0;
};
struct ProfileTimeline {
  std::string source, reason;
  std::vector<double> start_us, end_us;  // of each point, from the first kernel's begin
  std::vector<TimelineLane> lanes;       // as many values as there are points
  std::vector<LaunchSpan> launches;
  double work_us = 0, interval_us = 0;
  double kernels_us = 0;  // of work_us, in which kernels ran
  int64_t calls = 0;
};

// Both take any document: what is not as it should be is left out.
ProfileSamples samples_from(const nlohmann::json& j);
ProfileTimeline timeline_from(const nlohmann::json& j);

}  // namespace convscope
