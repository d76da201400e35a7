#include "profiling/statistics/compare.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <vector>

namespace convscope {
namespace {

double middle_of(const std::vector<double>& sorted) {
  size_t n = sorted.size();
  return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

std::string in_ms(double ms) {
  if (ms < 1) return fmt::format("{:.2f} µs", ms * 1e3);
  return fmt::format("{:.4g} ms", ms);
}

}  // namespace

Interval median_interval(std::span<const double> samples) {
  std::vector<double> v(samples.begin(), samples.end());
  if (v.empty()) return {};
  std::sort(v.begin(), v.end());
  size_t n = v.size();
  // The largest k with P(Binomial(n, 1/2) < k) ≤ 2.5 %: the median is between the k-th from below and from above.
  size_t k = 0;
  double tail = 0, log_half = static_cast<double>(n) * std::log(0.5);
  for (size_t i = 0; i < n / 2; i++) {
    auto d = [](size_t x) { return static_cast<double>(x); };
    tail += std::exp(std::lgamma(d(n) + 1) - std::lgamma(d(i) + 1) - std::lgamma(d(n - i) + 1) + log_half);
    if (tail > 0.025) break;
    k = i + 1;
  }
  size_t from = k ? k - 1 : 0;
  return {v[from], middle_of(v), v[n - 1 - from]};
}

double mann_whitney_p(std::span<const double> a, std::span<const double> b) {
  if (a.size() < 2 || b.size() < 2) return 1;
  struct Ranked {
    double value;
    bool first;
  };
  std::vector<Ranked> all;
  for (double v : a) all.push_back({v, true});
  for (double v : b) all.push_back({v, false});
  std::sort(all.begin(), all.end(), [](const Ranked& x, const Ranked& y) { return x.value < y.value; });
  auto n1 = static_cast<double>(a.size()), n2 = static_cast<double>(b.size()), n = n1 + n2;
  double ranks = 0, ties = 0;
  for (size_t i = 0; i < all.size();) {
    size_t end = i;
    while (end < all.size() && all[end].value == all[i].value) end++;
    auto equal = static_cast<double>(end - i);
    double rank = (static_cast<double>(i + end) + 1) / 2;  // the mean of ranks i + 1 … end
    for (size_t j = i; j < end; j++)
      if (all[j].first) ranks += rank;
    ties += equal * equal * equal - equal;
    i = end;
  }
  double u = ranks - n1 * (n1 + 1) / 2, mean = n1 * n2 / 2;
  double variance = n1 * n2 / 12 * (n + 1 - ties / (n * (n - 1)));
  if (variance <= 0) return 1;  // all are equal
  double z = std::max(0.0, std::abs(u - mean) - 0.5) / std::sqrt(variance);
  return std::erfc(z / std::sqrt(2.0));
}

const char* name_of(Comparative c) {
  switch (c) {
    case Comparative::same:
      return "SAME";
    case Comparative::faster:
      return "FASTER";
    case Comparative::slower:
      return "SLOWER";
    case Comparative::ambiguous:
      return "AMBIGUOUS";
  }
  return "";
}

ComparisonOfTimes compare_times(std::span<const double> a, std::span<const double> b, const std::string& doubt,
                                const CompareRules& rules) {
  ComparisonOfTimes c;
  c.a = median_interval(a), c.b = median_interval(b);
  c.p = mann_whitney_p(a, b);
  size_t fewest = std::min(a.size(), b.size());
  if (fewest > 0 && c.a.middle > 0) c.speedup = c.b.middle / c.a.middle;
  std::string numbers = fmt::format(
      "median {} ({} to {}) against {} ({} to {}), Mann-Whitney p {:.2g}, {} and {} samples", in_ms(c.a.middle),
      in_ms(c.a.low), in_ms(c.a.high), in_ms(c.b.middle), in_ms(c.b.low), in_ms(c.b.high), c.p, a.size(), b.size());
  if (fewest < static_cast<size_t>(rules.least_samples)) {
    c.evidence = fmt::format("too few samples: {} where {} are needed; {}", fewest, rules.least_samples, numbers);
    return c;
  }
  if (c.a.middle <= 0 || c.b.middle <= 0) {
    c.evidence = "a time of 0 cannot be compared; " + numbers;
    return c;
  }
  if (!doubt.empty()) {
    double nearest = std::max(c.b.low / c.a.high, c.a.low / c.b.high);
    if (rules.doubt_explains < 1 || nearest < rules.doubt_explains * (1 + rules.matters) || c.p >= rules.certain) {
      c.evidence = doubt + ": measure again; " + numbers;
      return c;
    }
    c.verdict = c.speedup > 1 ? Comparative::faster : Comparative::slower;
    c.evidence = fmt::format("{}, which explains a factor of {:.2f} at most: {}", doubt, rules.doubt_explains, numbers);
    return c;
  }
  bool apart = c.a.high < c.b.low || c.b.high < c.a.low;
  // The widest difference that the intervals leave room for.
  double most = std::max(c.b.high / c.a.low - 1, 1 - c.b.low / c.a.high);
  double difference = std::abs(c.speedup - 1);
  if (apart && c.p < rules.certain && difference >= rules.matters) {
    c.verdict = c.speedup > 1 ? Comparative::faster : Comparative::slower;
    c.evidence = "the intervals are apart: " + numbers;
  } else if (most < rules.matters || (difference < rules.matters && apart && most < 2 * rules.matters)) {
    c.verdict = Comparative::same;
    c.evidence = fmt::format("no difference of {:.0f} % or more: {}", 100 * rules.matters, numbers);
  } else {
    c.evidence = fmt::format("{}: {}",
                             apart                 ? "the tests do not agree, or the difference is about what matters"
                             : c.p < rules.certain ? "the intervals overlap, although the samples differ"
                                                   : "too noisy to tell",
                             numbers);
  }
  return c;
}

}  // namespace convscope
