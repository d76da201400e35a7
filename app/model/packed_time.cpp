#include "app/model/packed_time.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/engine/json_fields.h"

namespace convscope {
using nlohmann::json;
using namespace json_fields;

namespace {

// Recordings of before packing was timed apart are of the program's own kernels, whose launches that pack are called
// so.
std::optional<bool> packs_by_name(const json& launches) {
  if (launches.empty()) return {};
  return std::any_of(launches.begin(), launches.end(),
                     [](const json& l) { return text(l, "entry").find("_pack") != std::string::npos; });
}

}  // namespace

PackedTime packed_from(const json& times, const json& launches) {
  PackedTime t;
  t.reason = text(times, "packed_reason");
  if (auto packs = times.find("packs_weights"); packs != times.end() && packs->is_boolean())
    t.packs = packs->get<bool>();
  t.told = times.contains("packed");
  if (!t.packs) t.packs = launches.size() == 1 ? std::optional(false) : t.told ? std::nullopt : packs_by_name(launches);
  if (!t.told && t.reason.empty())
    t.reason = "not recorded: this recording is older than times with weights packed before";
  const json &hot = part(times, "packed"), &cold = part(hot, "cold");
  t.median_ms = number(hot, "median_ms"), t.min_ms = number(hot, "min_ms"), t.noise_pct = number(hot, "noise_pct");
  t.cold_median_ms = number(cold, "median_ms"), t.cold_noise_pct = number(cold, "noise_pct");
  if (auto ends = numbers(hot, "interval_ms"); ends.size() == 2) t.low_ms = ends[0], t.high_ms = ends[1];
  if (auto ends = numbers(cold, "interval_ms"); ends.size() == 2) t.cold_low_ms = ends[0], t.cold_high_ms = ends[1];
  t.samples_ms = numbers(hot, "samples_ms"), t.cold_samples_ms = numbers(cold, "samples_ms");
  t.packing_ms = number(times, "packing_ms"), t.packing_noise_pct = number(times, "packing_noise_pct");
  t.packing_source = text(times, "packing_source");
  return t;
}

}  // namespace convscope
