// The counts of an error's spread (kernels/verify/statistics.h) as the statistics panel draws them.
#pragma once
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <string>
#include <vector>

#include "app/model/report.h"

namespace convscope::ui {

// Made once for each result.
struct Spread {
  std::string key;
  // |error|/bound in fifths of a decade: places, log10 of counts
  std::vector<double> within_at, within, above_at, above;
  int low = -4, high = 2;  // decades with elements, at least these
  double tallest = 1, below = 0;
  double quantiles[5] = {};
  std::vector<double> tolerance, share;  // log10 t, share that fails
  int share_low = -8, share_high = 1;
  int magnitude_low = 0, magnitude_high = 0;  // bins of the joint counts that hold something
  int error_low = 0, error_high = 0;
  double densest = 0, joint_sum = 0;
  double small_sum = 0;  // of joint_sum: the reference is 0, or below the least magnitude
};
inline constexpr double quantile_at[5] = {0.5, 0.9, 0.99, 0.999, 1};
inline constexpr const char* quantile_name[5] = {"p50", "p90", "p99", "p99.9", "max"};
inline constexpr int merged = 4;  // bins a bar

// Is there a count for every bin?
inline bool whole(const Statistics& s) {
  auto fits = [](size_t have, int want) { return want > 0 && have == static_cast<size_t>(want); };
  return fits(s.ratio.size(), s.ratio_bins.count() + 1) && fits(s.gate.size(), s.gate_bins.count() + 1) &&
         fits(s.joint.size(), s.magnitude_bins.count() * s.error_bins.count()) &&
         fits(s.joint_small.size(), s.error_bins.count());
}

inline Spread spread_of(const Statistics& s) {
  Spread d;
  d.key = s.key;
  const auto& b = s.ratio_bins;
  const double width = static_cast<double>(merged) / b.per_decade;
  d.below = s.ratio.empty() ? 0 : s.ratio[0] - static_cast<double>(s.zero);
  int least = b.high_decade, most = b.low_decade;
  for (int i = 0; i + merged <= b.count(); i += merged) {
    double n = 0;
    for (int k = 0; k < merged; k++) n += s.ratio[static_cast<size_t>(i + k) + 1];
    if (n == 0) continue;
    double at = b.low_decade + (i + merged / 2.0) / b.per_decade;
    (at < 0 ? d.within_at : d.above_at).push_back(at);
    (at < 0 ? d.within : d.above).push_back(std::log10(n) + 0.3);  // so that one element is a bar, too
    d.tallest = std::max(d.tallest, n);
    least = std::min(least, static_cast<int>(std::floor(at - width / 2))),
    most = std::max(most, static_cast<int>(std::ceil(at + width / 2)));
  }
  d.low = std::max(b.low_decade, std::min(d.low, least)), d.high = std::min(b.high_decade, std::max(d.high, most));
  for (size_t q = 0; q < 5; q++) d.quantiles[q] = s.ratio_quantile(quantile_at[q]);

  const auto& g = s.gate_bins;
  double failing = static_cast<double>(s.not_finite), all = std::max<double>(1, static_cast<double>(s.elements));
  d.tolerance.resize(static_cast<size_t>(g.count()) + 1), d.share.resize(d.tolerance.size());
  for (int i = g.count(); i >= 0; i--) {
    if (i < g.count()) failing += s.gate[static_cast<size_t>(i) + 1];
    d.tolerance[static_cast<size_t>(i)] = g.low_decade + static_cast<double>(i) / g.per_decade;
    d.share[static_cast<size_t>(i)] = 100 * failing / all;
    if (i < g.count() && s.gate[static_cast<size_t>(i) + 1] > 0) {
      d.share_low = std::min(d.share_low, g.low_decade + i / g.per_decade);
      d.share_high = std::max(d.share_high, g.low_decade + (i + g.per_decade) / g.per_decade);
    }
  }

  const int m = s.magnitude_bins.count(), e = s.error_bins.count();
  d.magnitude_low = m, d.error_low = e;
  for (int i = 0; i < m; i++)
    for (int k = 0; k < e; k++) {
      double n = s.joint[static_cast<size_t>(i * e + k)];
      if (n <= 0) continue;
      d.densest = std::max(d.densest, n), d.joint_sum += n;
      d.magnitude_low = std::min(d.magnitude_low, i), d.magnitude_high = std::max(d.magnitude_high, i + 1);
      d.error_low = std::min(d.error_low, k), d.error_high = std::max(d.error_high, k + 1);
    }
  for (int k = 0; k < e; k++)
    if (const double n = s.joint_small[static_cast<size_t>(k)]; n > 0) {
      d.densest = std::max(d.densest, n), d.joint_sum += n, d.small_sum += n;
      d.error_low = std::min(d.error_low, k), d.error_high = std::max(d.error_high, k + 1);
    }
  if (d.small_sum > 0 && d.magnitude_high == 0) d.magnitude_low = 0, d.magnitude_high = 1;
  return d;
}

// The bins that hold something, with their edges.
inline std::string bins_csv(const char* what, const std::vector<double>& counts, const StatisticsBins& b) {
  std::string out = fmt::format("{}_above,{}_to,elements\n", what, what);
  for (size_t i = 0; i < counts.size(); i++)
    if (counts[i] > 0)
      out += fmt::format("{:g},{:g},{:.0f}\n", i ? b.edge(static_cast<int>(i) - 1) : 0.0, b.edge(static_cast<int>(i)),
                         counts[i]);
  return out;
}

}  // namespace convscope::ui
