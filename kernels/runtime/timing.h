// Samples of a running time, and what can honestly be said of them.
#pragma once
#include <string>
#include <vector>

namespace convscope {

struct TimingOptions {
  int min_samples = 5, max_samples = 200;  // no more than 3 are waited for once they have taken 0.3 s
  double time_cap_ms = 1000;               // stop after this long, once min_samples are there
  double target_error = 0.005;             // stop when the median is known this well (relative half-width, 95 %)
};

struct Timing {
  std::vector<double> samples_ms;
  bool emulated = false;  // host time of the emulator: says nothing of a GPU

  bool empty() const { return samples_ms.empty(); }
  double median_ms() const;
  double min_ms() const;
  // Half the interquartile range over the median, in percent: half of all samples lie within this of the middle.
  double noise_pct() const;
  // Half-width of the 95 % confidence interval of the median over the median, from order statistics (David & Nagaraja,
  // Order Statistics, 7.1): ranks n/2 ± 0.98·sqrt(n).
  double median_error() const;
  bool enough(const TimingOptions& o, double spent_ms) const;
};

}  // namespace convscope
