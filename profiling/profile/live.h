// One kernel on one problem, measured again and again: one call, its time and the live set, some thirty times a second
// on a GPU.
#pragma once
#include <memory>

#include "profiling/profile/profile.h"

namespace convscope {

struct LiveReading {
  double ms = 0;       // of this call: CUPTI's records where there are some, else events
  std::string source;  // "recorded", "measured", "emulated"
  // Of this very call, which packed, without the launches that did: CUPTI's durations added up. Not what a call without
  // them takes (PackedTimes::hot): waits between launches are in neither, and what packing left in the cache is there.
  std::optional<double> packed_ms;
  std::string packed_missing;  // why there is none
  std::optional<CounterReading> counters;
  Gap counters_missing;
  std::vector<HeadlineValue> headlines;  // shares of the kernel's own time
  Bottleneck bottleneck;
};

class LiveProfile {
 public:
  // Takes memory and draws inputs, once. Errors: those of make_subject.
  LiveProfile(const ProfileTools& tools, const ProfileSpec& spec, Activity& activity);
  // Errors: those of running it; Cancelled.
  LiveReading read(const ProfileTools& tools, Activity& activity);

 private:
  ProfileReport report_;  // what does not change between readings
  std::unique_ptr<Subject> subject_;
  Inputs inputs_;
  std::unique_ptr<ProblemMemory> memory_;
};

}  // namespace convscope
