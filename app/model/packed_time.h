// Times with weights packed before, as answers have them beside those of whole plans (PROTOCOL.md, `packed`).
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace convscope {

struct PackedTime {
  bool told = true;           // false: the answer is of before packing was timed apart
  std::optional<bool> packs;  // whether the kernel packs weights in launches of their own; empty: nobody said
  std::optional<double> median_ms, min_ms, noise_pct, low_ms, high_ms;  // hot; low to high: the median's 95 % interval
  std::optional<double> cold_median_ms, cold_noise_pct, cold_low_ms, cold_high_ms;
  std::optional<double> packing_ms, packing_noise_pct;  // of the launches that pack, alone
  std::vector<double> samples_ms, cold_samples_ms;
  std::string packing_source;
  std::string reason;  // why there are none: also of recordings that are older than such times
};

// `times`: what holds `packed`, which is timing of a run or profile and an entry of a bench. `launches`: those of the
// same answer, if they are known (else null): one alone packs nothing.
PackedTime packed_from(const nlohmann::json& times, const nlohmann::json& launches);

}  // namespace convscope
