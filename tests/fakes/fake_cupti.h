// What the parts of the fake CUPTI know of each other.
#pragma once
#include <cupti.h>
#include <string>

#define FAKE extern "C" __attribute__((visibility("default"))) CUptiResult CUPTIAPI

namespace convscope::fake_cupti {

std::string variable(const char* name);
CUptiResult outcome(const char* function);  // as FAKE_CUPTI_FAIL says
bool range_session();                       // is one open?
bool sampling();                            // does a sampler have the hardware?
bool ranges_first();                        // were there ranges in this process?
void forget_samples();                      // as in a new process
// Of the sample of that index in the last decoding, where the metric is `usual` while the chip works.
double lane_value(const std::string& metric, size_t index, double usual);

}  // namespace convscope::fake_cupti
