// Profiles and benchmarks as JSON, with the names of interface.md (PROTOCOL.md, `profile` and `bench`).
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "profiling/profile/bench.h"
#include "profiling/profile/live.h"
#include "profiling/profile/profile.h"

namespace convscope {

nlohmann::json profile_json(const ProfileReport& r);
// What follows from the figures of a recorded answer to `profile`, anew by this version's rules: `bottleneck`, the
// limits of occupancy, the means of the timeline. Recorded figures stay. What is not a profile's answer stays as it is.
void judge_recorded_profile(nlohmann::json& answer);
// Puts `packs_weights`, `packed`, `packing_ms` and `packing_source` beside the times of whole plans; where there are no
// such times they are null and `packed_reason` says why: `no_time`, if nothing was timed.
void put_packed(nlohmann::json& times, const PackedTimes& packed, const std::string& no_time = "");
nlohmann::json ceilings_json(const Ceilings& c);
// Under what conditions something was timed; with the reason when nothing is known of them.
nlohmann::json conditions_json(const Conditions& c);
// Its ranges in one line: "SM 1755 to 1980 MHz (limit 1980) · memory 3201 MHz · 41 °C · 322 W (limit 700)"; "" when
// nothing is known. What is not as it should be is left out.
std::string conditions_line(const nlohmann::json& conditions);
nlohmann::json live_json(const LiveReading& r);
nlohmann::json bench_json(const BenchReport& r);

}  // namespace convscope
