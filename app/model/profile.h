// A profile's answer (app/engine/PROTOCOL.md) as plain values for panels. What is absent is empty, with its reason.
#pragma once
#include <array>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/model/conditions.h"
#include "app/model/document.h"
#include "app/model/profile_samples.h"
#include "app/model/report.h"
#include "profiling/metrics/metrics.h"

namespace convscope {

struct ProfileHeadline {
  std::string name, title, unit, formula, good, meaning, shade, reason;  // shade: good, fair, bad, unknown
  std::optional<double> value;
};
struct ProfileLaunch {
  std::string entry, limit, source;  // what limits its theoretical occupancy; where registers and the rest are from
  std::array<int64_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  std::optional<int64_t> registers, static_shared_bytes, dynamic_shared_bytes, local_bytes;
  std::optional<double> occupancy_pct;  // theoretical
  bool main = false;                    // the engine says that it is the one that counts
};
// A set of counters that was asked for, and what is missing of it.
struct ProfileSet {
  std::string name, reason;           // reason: why nothing of it was counted
  std::vector<std::string> not_here;  // that this chip does not have
};
struct ProfileWait {
  std::string name, words;
  double share = 0;  // of all waiting
};
struct ProfileValue {
  std::string set, name, unit;
  double value = 0;
};
struct ProfileLine {  // what a source line asks of memory, by the names of profiling/emulated/count.h
  std::string file;
  int64_t line = 0;  // from 1; 0: unknown
  std::map<std::string, double> values;
  double value(const std::string& name) const {
    auto it = values.find(name);
    return it == values.end() ? 0 : it->second;
  }
};
struct ProfileKernel {
  std::string name;
  double ms = 0;
  double start_us = 0;  // from the begin of the first
  std::array<int64_t, 3> grid{1, 1, 1}, block{1, 1, 1};
};
struct ProfilePhase {
  std::string name;
  double seconds = 0;
};
struct ProfilePoint {
  std::string name;
  double intensity = 0, gflops = 0, fraction = 0;
  bool cold = false;  // of the time with the L2 cache flushed
};
struct ProfileCeilings {
  std::string gpu, source;
  double memory_gbs = 0, f32_gflops = 0, tf32_gflops = 0, f16_gflops = 0, f64_gflops = 0;  // 0: unknown
  double l2_gbs = 0, shared_gbs = 0;                                                       // measured only
  std::vector<std::string> facts = {};  // how each was measured, in words
};

struct Profile {
  uint64_t serial = 0;  // of this window: no two are the same
  Document document;    // what was asked for
  bool full = false;
  std::string recorded;  // "NVIDIA H200, 2026-11-22": where and when; "" for what was measured now
  std::string kernel, device_kind, device_name;
  std::string kind;          // kernel, reference
  std::string architecture;  // of the device: "sm_90"
  int64_t multiprocessors = 0;
  std::string sentence, next, rung;  // what limits it; what to try; the kernel of the ladder that does so
  std::string counted_by, gap, how;  // where counters come from, or what is missing and how to get it
  std::vector<ProfileHeadline> headlines;
  std::vector<ProfileSet> sets;
  std::vector<ProfileValue> values;  // all that was counted
  std::vector<ProfileLine> lines;
  std::string lines_source, lines_reason;
  std::vector<ProfileLaunch> launches;
  std::string launches_reason;
  std::vector<ProfileWait> waiting;
  std::vector<ProfileKernel> kernels;  // all that ran in one call
  ProfileSamples samples;
  ProfileTimeline timeline;
  std::vector<ProfilePhase> phases;  // of the engine
  std::vector<std::string> warnings, slower_because;
  std::optional<double> hot_ms, cold_ms, kernel_ms, sm_mhz, memory_mhz, temperature_c, power_w;
  std::optional<double> host_ms;           // of a call, seen from the host
  std::string kernel_reason, host_reason;  // why there is no kernel_ms, no host_ms
  GpuConditions conditions;
  std::optional<bool> packs_weights;  // hot_ms and cold_ms are of whole plans, which pack as well; empty: nobody said
  std::string time_source, conditions_reason;
  std::string floor_from;  // bytes, flops
  ProfileCeilings ceilings;
  std::vector<ProfilePoint> points;
  std::string roofline_reason;
};

// The launch that a profile is about: the one that the engine names, else (older recordings) the one that took longest
// by the records of kernels, else the last, which is behind all preparing. Null: there is none.
const ProfileLaunch* main_launch(const Profile& p);
// Which of a run's launches that is: as the engine says, else (older recordings) the one of its profile, if there is
// one, else the last. The report has one at least.
size_t main_launch(const Report& r, const Profile* p);
// What was counted, by our names, of the kernels alone (of_kernels_alone of profiling/metrics/figures.h); where several
// sets have a counter, the first of them.
Counters counters_of(const Profile& p);

ProfileCeilings ceilings_from(const nlohmann::json& j);
// Errors: nlohmann::json::exception when a field has the wrong type.
Profile profile_from(const nlohmann::json& j, const Document& asked, bool full);

}  // namespace convscope
