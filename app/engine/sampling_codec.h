// What was sampled as JSON: the fields `pc_sampling` and `timeline` of a profile's answer (PROTOCOL.md).
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "profiling/base/gap.h"
#include "profiling/cupti/pc_samples.h"
#include "profiling/cupti/timeline.h"

namespace convscope {

nlohmann::json gap_json(const Gap& gap);  // null for none
nlohmann::json pc_samples_json(const PcSamples& samples);
nlohmann::json timeline_json(const Timeline& timeline);

}  // namespace convscope
