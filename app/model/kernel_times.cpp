#include "app/model/kernel_times.h"

#include <algorithm>
#include <cmath>

#include "app/model/roof.h"
#include "app/model/workbench.h"

namespace convscope {

const KernelTime* KernelTimes::of(const std::string& kernel) const {
  auto it = std::find_if(all.begin(), all.end(), [&](const KernelTime& t) { return t.kernel == kernel; });
  return it == all.end() ? nullptr : &*it;
}

double KernelTimes::bar_of(double ms) const {
  constexpr double below = 1.25, least_span = 10;
  double shortest = ms, longest = ms;
  for (const auto& t : all) shortest = std::min(shortest, t.ms), longest = std::max(longest, t.ms);
  if (!(shortest > 0)) return 0;
  const double from = shortest / below;
  return std::log(ms / from) / std::log(std::max(longest / from, least_span));
}

KernelTimes kernel_times(const Workbench& bench, const Document& document) {
  KernelTimes times;
  if (!bench.live_shown())
    for (const auto& p : bench.recorded().points(document))
      if (p.kind != "reference" && !times.of(p.kernel)) times.all.push_back({p.kernel, p.ms, p.packs, false, p.of});
  if (!times.all.empty()) {
    times.source = "recorded: " + bench.recorded().source();
  } else if (bench.runs().ran_on(document)) {
    times.all = bench.runs().ran();
    times.source = "measured: " + bench.runs().ran_device();
  }
  for (auto& t : times.all) {
    t.looser = is_looser(bench, document, t.kernel);
    if (t.looser || (!times.fastest.empty() && t.ms >= times.fastest_ms)) continue;
    times.fastest = t.kernel, times.fastest_ms = t.ms;
  }
  return times;
}

}  // namespace convscope
