// An answer to `bench` on two kernels (app/engine/PROTOCOL.md) as plain values for a panel.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/model/document.h"

namespace convscope {

struct ComparedTime {
  std::optional<double> median_ms, low_ms, high_ms, noise_pct;  // low to high: the median's interval at 95 %
  std::string verdict, evidence;  // of the first against the second: SAME, FASTER, SLOWER, AMBIGUOUS; "" with a reason
  std::optional<double> speedup;
  std::string reason;
};

struct ComparedKernel {
  std::string name;
  ComparedTime hot, cold;
  std::optional<double> floor_ms, times_floor;  // of its own arithmetic
  std::string reason, doubt;                    // why it was not measured; why its times are not to be believed
};

struct KernelComparison {
  uint64_t serial = 0;  // no two of one program are the same
  Document document;    // what was asked for: its kernel is the first
  std::string recorded;  // "NVIDIA H200, 2026-11-22": where and when; "" for what was measured now
  ComparedKernel first, second;
  std::string source, reason;  // measured, emulated; what that means
  int64_t rounds = 0;
  std::vector<std::string> warnings;
};

// Errors: nlohmann::json::exception when a field has the wrong type.
KernelComparison comparison_from(const nlohmann::json& j, const Document& asked, const std::string& second);

}  // namespace convscope
