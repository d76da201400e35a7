#include "profiling/cupti/timeline.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace convscope {

namespace {

// When kernels ran: those that overlap taken together, in their order.
std::vector<TimeSpan> busy_spans(const Timeline& t) {
  std::vector<TimeSpan> spans, joined;
  for (const auto& l : t.launches) spans.push_back({l.start_us, l.end_us});
  if (spans.empty()) return {{0, t.work_us}};
  std::sort(spans.begin(), spans.end(), [](const TimeSpan& a, const TimeSpan& b) { return a.begin < b.begin; });
  for (const auto& s : spans)
    if (joined.empty() || s.begin > joined.back().end)
      joined.push_back(s);
    else
      joined.back().end = std::max(joined.back().end, s.end);
  return joined;
}

}  // namespace

LaneSummary Timeline::summary(const Lane& lane) const {
  LaneSummary s;
  const std::vector<TimeSpan> busy = busy_spans(*this);
  size_t count = std::min({lane.values.size(), start_us.size(), end_us.size()});
  for (bool whole : {true, false}) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
      const bool counts = std::any_of(busy.begin(), busy.end(), [&](const TimeSpan& b) {
        return whole ? start_us[i] >= b.begin && end_us[i] <= b.end : end_us[i] > b.begin && start_us[i] < b.end;
      });
      if (!counts) continue;
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

double Timeline::kernels_us() const {
  double sum = 0;
  for (const auto& b : busy_spans(*this)) sum += b.end - b.begin;
  return sum;
}

std::vector<size_t> rows_of(const std::vector<TimeSpan>& spans) {
  std::vector<size_t> order(spans.size()), rows(spans.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return spans[a].begin < spans[b].begin; });
  std::vector<double> free_from;  // of each row
  for (size_t i : order) {
    size_t row = 0;
    while (row < free_from.size() && free_from[row] > spans[i].begin) row++;
    if (row == free_from.size()) free_from.push_back(0);
    free_from[row] = spans[i].end;
    rows[i] = row;
  }
  return rows;
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
