// How the errors of a result are spread: counted once over all elements, so that any tolerance can be read off at once.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/base/activity.h"
#include "kernels/verify/pyramid.h"

namespace convscope {

// Bins are a tenth or a twentieth of a decade wide and begin at whole decades, so counts at 1e-2, 1e-4, … are exact.
// A value belongs to the bin whose lower edge it exceeds: "above 1e-2" is the sum of the bins from that edge on.
struct LogBins {
  int low_decade, high_decade, per_decade;
  constexpr int count() const { return (high_decade - low_decade) * per_decade; }
  double edge(int i) const;  // 10^(low_decade + i/per_decade)
};

struct ErrorStatistics {
  static constexpr LogBins ratio_bins{-8, 10, 20};  // |error| / bound
  static constexpr LogBins gate_bins{-12, 6, 20};  // |error| / (1 + |reference|): fails a gate atol = rtol = t when > t
  static constexpr LogBins joint_magnitude{-6, 6, 4}, joint_error{-12, 6, 4};

  // [0]: at most the lowest edge (exact zeros included); [i + 1]: bin i; the last also holds what lies beyond.
  std::vector<int64_t> ratio, gate;
  std::vector<int64_t> joint;        // [magnitude][error], of finite elements with both in range
  std::vector<int64_t> joint_small;  // [error], of those whose reference is below the range of magnitudes, or 0
  int64_t elements = 0, zero = 0, not_finite = 0;  // zero: no error at all; not_finite: NaN, infinite or never written
};

// One pass over the result, on all cores. Errors: Cancelled.
ErrorStatistics error_statistics(const ResultTensors& t, Activity& activity);

}  // namespace convscope
