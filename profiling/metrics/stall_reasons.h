// Why a warp was where the sampler found it: CUPTI's names of PC sampling in plain words.
#pragma once
#include <string>
#include <string_view>

namespace convscope {

// One reason, as CUPTI names it: "smsp__pcsamp_warps_issue_stalled_long_scoreboard", or the same with "_not_issued".
struct StallReason {
  std::string name;         // "long_scoreboard"
  std::string words;        // "waiting for data from global or local memory"; the name itself for one that is not known
  bool waiting = true;      // false: the warp could issue (selected, not_selected)
  bool not_issued = false;  // only samples in which no warp of the scheduler issued: a part of the reason, never added
  bool known = false;
};
// Takes any text; one that is no stall reason (another counter of the sampler) has an empty name.
StallReason stall_reason(std::string_view cupti_name);

}  // namespace convscope
