// What is watched over time: the few quantities that every chip from Turing on can count in one pass.
#pragma once
#include <span>
#include <vector>

namespace convscope {

struct LaneMetric {
  const char* name;   // ours: "dram_busy"
  const char* title;  // "Memory busy"
  const char* unit;
  const char* about;                   // one sentence
  std::vector<const char*> spellings;  // CUPTI's; the first that the chip has counts
  bool sectors_to_gbs = false;         // CUPTI gives sectors of an interval: bytes a nanosecond are GB/s
};
// The most wanted first: what does not fit the pass is left out from the end.
std::span<const LaneMetric> lane_metrics();

}  // namespace convscope
