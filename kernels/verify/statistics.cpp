#include "kernels/verify/statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <mutex>

#include "kernels/base/worker_pool.h"

namespace convscope {
namespace {

// Finds a value's bin: the exponent and a coarse logarithm say about where, the table of edges says exactly.
class Finder {
 public:
  explicit Finder(LogBins bins) : bins_(bins) {
    for (int i = 0; i <= bins.count(); i++) edges_.push_back(static_cast<float>(bins.edge(i)));
  }
  // −1: at or below the lowest edge; count(): above the highest.
  int operator()(float v) const {
    if (!(v > edges_.front())) return -1;
    if (v > edges_.back()) return bins_.count();
    // log2 from the bits of a float is at most 0.09 off, less than one bin of a twentieth of a decade (0.166).
    float log2 = static_cast<float>(std::bit_cast<int32_t>(v) - 0x3f800000) * 0x1p-23f;
    auto i = std::clamp(static_cast<int>((log2 * 0.30103f - static_cast<float>(bins_.low_decade)) *
                                         static_cast<float>(bins_.per_decade)),
                        0, bins_.count() - 1);
    while (v > edges_[static_cast<size_t>(i) + 1]) i++;
    while (!(v > edges_[static_cast<size_t>(i)])) i--;
    return i;
  }

 private:
  LogBins bins_;
  std::vector<float> edges_;
};

}  // namespace

double LogBins::edge(int i) const { return std::pow(10.0, low_decade + static_cast<double>(i) / per_decade); }

ErrorStatistics error_statistics(const ResultTensors& t, Activity& activity) {
  using S = ErrorStatistics;
  const Finder ratio(S::ratio_bins), gate(S::gate_bins), magnitude(S::joint_magnitude), error(S::joint_error);
  auto slots = [](LogBins b) { return static_cast<size_t>(b.count() + 1); };
  auto empty = [&] {
    S s;
    s.ratio.resize(slots(S::ratio_bins));
    s.gate.resize(slots(S::gate_bins));
    s.joint.resize(static_cast<size_t>(S::joint_magnitude.count() * S::joint_error.count()));
    s.joint_small.resize(static_cast<size_t>(S::joint_error.count()));
    return s;
  };
  S all = empty();
  all.elements = t.rows * t.columns;
  constexpr int64_t grain = int64_t{1} << 18;
  activity.phase("counting errors", static_cast<uint64_t>((all.elements + grain - 1) / grain));
  std::mutex mutex;
  WorkerPool::shared().for_chunks(all.elements, grain, [&](int64_t begin, int64_t end) {
    if (activity.cancelled()) return;
    S s = empty();
    auto slot = [](int bin, LogBins b) { return static_cast<size_t>(std::min(bin, b.count() - 1) + 1); };
    for (int64_t e = begin; e < end; e++) {
      auto signed_error = static_cast<float>(t.error_at(e));
      const float r = t.ratio_at(e);
      if (!std::isfinite(signed_error) || std::isnan(r)) {
        s.not_finite++;
        continue;
      }
      float d = std::fabs(signed_error), truth = static_cast<float>(std::fabs(t.reference_at(e)));
      s.ratio[slot(ratio(r), S::ratio_bins)]++;
      s.gate[slot(gate(d / (1 + truth)), S::gate_bins)]++;
      if (d == 0) {
        s.zero++;
        continue;
      }
      int m = magnitude(truth), x = error(d);
      if (x < 0 || x >= S::joint_error.count()) continue;
      if (m < 0)
        s.joint_small[static_cast<size_t>(x)]++;
      else if (m < S::joint_magnitude.count())
        s.joint[static_cast<size_t>(m * S::joint_error.count() + x)]++;
    }
    std::lock_guard lock(mutex);
    auto add = [](std::vector<int64_t>& to, const std::vector<int64_t>& from) {
      for (size_t i = 0; i < to.size(); i++) to[i] += from[i];
    };
    add(all.ratio, s.ratio), add(all.gate, s.gate), add(all.joint, s.joint), add(all.joint_small, s.joint_small);
    all.zero += s.zero, all.not_finite += s.not_finite;
    activity.advance();
  });
  activity.check();
  return all;
}

}  // namespace convscope
