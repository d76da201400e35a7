#include "profiling/metrics/stall_reasons.h"

#include "profiling/metrics/metrics.h"

namespace convscope {

StallReason stall_reason(std::string_view full) {
  constexpr std::string_view prefix = "smsp__pcsamp_warps_issue_stalled_", suffix = "_not_issued";
  StallReason r;
  if (!full.starts_with(prefix)) return r;
  full.remove_prefix(prefix.size());
  if (full.ends_with(suffix)) r.not_issued = true, full.remove_suffix(suffix.size());
  r.name = full;
  r.words = r.name;
  // The sampler's names are those of the counters, but for these.
  std::string counter = "stall_" + r.name;
  if (r.name == "no_instructions") counter = "stall_no_instruction";
  if (r.name == "warpgroup_arrive") {
    r.words = "waiting for its warp group to arrive before work of the tensor cores";
    r.known = true;
  }
  for (const auto& s : stalls())
    if (counter == s.name) r.words = s.words, r.waiting = s.waiting, r.known = true;
  return r;
}

}  // namespace convscope
