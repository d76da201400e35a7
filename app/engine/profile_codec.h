// Profiles and benchmarks as JSON, with the names of interface.md (PROTOCOL.md, `profile` and `bench`).
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "profiling/profile/bench.h"
#include "profiling/profile/live.h"
#include "profiling/profile/profile.h"

namespace convscope {

nlohmann::json profile_json(const ProfileReport& r);
nlohmann::json ceilings_json(const Ceilings& c);
nlohmann::json live_json(const LiveReading& r);
nlohmann::json bench_json(const BenchReport& r);

}  // namespace convscope
