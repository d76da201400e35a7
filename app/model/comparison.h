// An answer to `bench` on two kernels (app/engine/PROTOCOL.md) as plain values for a panel.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/model/document.h"
#include "app/model/packed_time.h"

namespace convscope {

struct ComparedTime {
  std::optional<double> median_ms, low_ms, high_ms, noise_pct;  // low to high: the median's interval at 95 %
  std::string verdict, evidence;  // of the first against the second: SAME, FASTER, SLOWER, AMBIGUOUS; "" with a reason
  std::optional<double> speedup;
  std::string reason;
};

struct ComparedKernel {
  std::string name;
  ComparedTime hot, cold;  // of whole plans
  PackedTime packed;
  // With weights packed before: who has no such times has the medians of its only ones. Medians and verdicts are empty
  // where neither packs, and where it is not known.
  ComparedTime packed_hot, packed_cold;
  std::optional<double> floor_ms, times_floor;  // of its own arithmetic
  std::string reason, doubt;                    // why it was not measured; why its times are not to be believed
};

struct KernelComparison {
  uint64_t serial = 0;   // no two of one program are the same
  Document document;     // what was asked for: its kernel is the first
  std::string recorded;  // "NVIDIA H200, 2026-11-22": where and when; "" for what was measured now
  ComparedKernel first, second;
  bool packed = false;  // the verdict that counts is first.packed_hot's, not first.hot's
  const ComparedTime& counted() const { return packed ? first.packed_hot : first.hot; }
  std::string floor_source;    // whose rates the floors are by
  std::string source, reason;  // measured, emulated; what that means
  int64_t rounds = 0;
  std::vector<std::string> warnings;
};

// Errors: nlohmann::json::exception when a field has the wrong type.
KernelComparison comparison_from(const nlohmann::json& j, const Document& asked, const std::string& second);

}  // namespace convscope
