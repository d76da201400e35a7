#include "kernels/runtime/timing.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace convscope {
namespace {

double at_fraction(std::vector<double> v, double q) {
  std::sort(v.begin(), v.end());
  double rank = q * static_cast<double>(v.size() - 1);
  auto low = static_cast<size_t>(rank);
  double part = rank - static_cast<double>(low);
  return low + 1 < v.size() ? v[low] * (1 - part) + v[low + 1] * part : v[low];
}

}  // namespace

double Timing::median_ms() const { return at_fraction(samples_ms, 0.5); }
double Timing::min_ms() const { return *std::min_element(samples_ms.begin(), samples_ms.end()); }

double Timing::noise_pct() const {
  double m = median_ms();
  return m > 0 ? 100 * (at_fraction(samples_ms, 0.75) - at_fraction(samples_ms, 0.25)) / 2 / m : 0;
}

double Timing::median_error() const {
  auto n = static_cast<double>(samples_ms.size());
  double reach = 0.98 * std::sqrt(n) / n, m = median_ms();
  if (n < 5 || m <= 0) return std::numeric_limits<double>::infinity();
  return (at_fraction(samples_ms, std::min(1.0, 0.5 + reach)) - at_fraction(samples_ms, std::max(0.0, 0.5 - reach))) /
         2 / m;
}

bool Timing::enough(const TimingOptions& o, double spent_ms) const {
  auto n = static_cast<int>(samples_ms.size());
  if (n >= o.max_samples) return true;
  if (o.min_samples == o.max_samples) return false;  // a number that was asked for
  // Long runs are steady: three of them tell as much as five short ones, and nobody waits for more.
  int least = spent_ms > 300 ? std::min(o.min_samples, 3) : o.min_samples;
  if (n < least) return false;
  return spent_ms >= o.time_cap_ms || (n >= 10 && median_error() <= o.target_error);
}

}  // namespace convscope
