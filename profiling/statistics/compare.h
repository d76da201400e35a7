// Is one kernel faster than another? Two sets of times that were taken in turn, and what can honestly be said of them.
#pragma once
#include <span>
#include <string>

namespace convscope {

struct Interval {
  double low = 0, middle = 0, high = 0;
};
// The median with its 95 % confidence interval, from order statistics (the binomial distribution of ranks; Conover,
// Practical Nonparametric Statistics, 3.2). With fewer than 6 samples no interval covers it: low and high are the ends.
Interval median_interval(std::span<const double> samples);

// Two-sided p of the Mann-Whitney U test (Mann & Whitney 1947), normal approximation with correction for ties and
// continuity: the chance of such a difference if both came from one distribution. 1 with fewer than 2 samples a side.
double mann_whitney_p(std::span<const double> a, std::span<const double> b);

enum class Comparative { same, faster, slower, ambiguous };
const char* name_of(Comparative c);  // "SAME", …

struct CompareRules {
  double matters = 0.01;  // a difference below this is none: SAME
  double certain = 0.01;  // p below which a difference is believed
  int least_samples = 8;  // a side
  // The largest ratio of two times that what is doubted can explain (a clock that moved: its highest over its lowest).
  // 0: any. Intervals that are further apart are believed all the same.
  double doubt_explains = 0;
};

// What it is of `a`, against `b`.
struct ComparisonOfTimes {
  Comparative verdict = Comparative::ambiguous;
  double speedup = 1;  // median of b over median of a: above 1, a is faster
  double p = 1;
  Interval a, b;
  std::string evidence;  // the numbers it rests on, in one sentence
};

// `doubt`: a reason known beforehand not to believe the times (the GPU slowed itself down); then nothing is FASTER
// unless the rules say how much the doubt explains.
ComparisonOfTimes compare_times(std::span<const double> a, std::span<const double> b, const std::string& doubt = "",
                                const CompareRules& rules = {});

}  // namespace convscope
