#include "profiling/cupti/timeline.h"

#include <algorithm>
#include <cmath>

namespace convscope {

LaneSummary Timeline::summary(const Lane& lane) const {
  LaneSummary s;
  size_t count = std::min({lane.values.size(), start_us.size(), end_us.size()});
  for (bool whole : {true, false}) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
      if (whole ? start_us[i] < 0 || end_us[i] > work_us : end_us[i] <= 0 || start_us[i] >= work_us) continue;
      double v = lane.values[i];
      s.least = s.points ? std::min(s.least, v) : v;
      s.most = s.points ? std::max(s.most, v) : v;
      sum += v;
      s.points++;
    }
    if (!s.points) continue;
    s.mean = sum / static_cast<double>(s.points);
    break;
  }
  return s;
}

int timeline_calls(const TimelineOptions& o) {
  constexpr double wanted_us = 1000, most_calls = 200;
  double us = o.call_ms * 1000;
  if (us <= 0 || us >= o.shortest_us) return 1;
  return static_cast<int>(std::min(most_calls, std::ceil(wanted_us / us)));
}

uint64_t timeline_interval_ns(double work_us) {
  constexpr double usual_us = 20, shortest_us = 5, wanted_points = 100, most_points = 1000;
  // Finer than usual only where the usual interval would leave few points, coarser only where it would make too many.
  double us = std::max(std::clamp(work_us / wanted_points, shortest_us, usual_us), work_us / most_points);
  // 1, 2 or 5 times a power of ten, not below what was worked out.
  double decade = std::pow(10.0, std::floor(std::log10(us)));
  for (double step : {1.0, 2.0, 5.0, 10.0})
    if (step * decade >= us * (1 - 1e-9)) return static_cast<uint64_t>(std::llround(1000 * step * decade));
  return static_cast<uint64_t>(std::llround(1000 * us));
}

}  // namespace convscope
