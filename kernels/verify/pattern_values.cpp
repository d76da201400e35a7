#include "kernels/verify/pattern_values.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

#include "kernels/base/text.h"
#include "kernels/problem/counts.h"

namespace convscope {
namespace {

constexpr int64_t few = 8;  // places that prove nothing
constexpr double nearly_all = 0.99;

bool most_of(int64_t some, int64_t all) { return static_cast<double>(some) >= nearly_all * static_cast<double>(all); }

}  // namespace

std::string ranges(const std::vector<int64_t>& list) {
  std::string out;
  int shown = 0;
  for (size_t i = 0; i < list.size();) {
    size_t k = i;
    while (k + 1 < list.size() && list[k + 1] == list[k] + 1) k++;
    if (++shown > 6) return out + ", …";
    out += (out.empty() ? "" : ", ") + (k == i ? std::to_string(list[i]) : fmt::format("{}–{}", list[i], list[k]));
    i = k + 1;
  }
  return out;
}

std::optional<double> find_nearness(const ConvProblem& p, const Comparison& exact,
                                    const std::vector<SampleRow>& wrong) {
  constexpr double small = 0x1p-7;
  if (exact.nan || exact.inf || exact.unwritten || exact.not_infinite || exact.rms_relative > small) return {};
  double sum2 = 0, off2 = 0;
  int64_t all = 0, differing = 0, close = 0;
  for (const auto& s : wrong)
    for (size_t j = 0; j < s.got.size(); j++) {
      double off = std::fabs(s.got[j] - s.expected[j]);
      all++, sum2 += s.expected[j] * s.expected[j];
      if (off == 0) continue;
      differing++, off2 += off * off;
      close += off <= small * std::fabs(s.expected[j]);
    }
  // Integers differ by 1 at least, unless they are none any more.
  const bool below_one = exact.max_abs < 0.5 && exact.failing >= few;
  if (!below_one && (differing < few || sum2 == 0)) return {};
  // Sums that were rounded before they nearly vanished are not close to what is left of them. A tap is about the
  // root of the number of terms smaller than a usual value.
  double usual = all ? std::sqrt(sum2 / static_cast<double>(all)) : 1;
  double off = std::sqrt(off2 / static_cast<double>(std::max<int64_t>(differing, 1)));
  double terms = static_cast<double>(p.in_per_group()) * static_cast<double>(p.kernel_size);
  if (!below_one && !most_of(close, differing) && off > std::min(small / 2, 0.2 / std::sqrt(terms)) * usual) return {};
  double largest = differing ? 0 : exact.max_abs / std::max(usual, 1.0);
  for (const auto& s : wrong)
    for (size_t j = 0; j < s.got.size(); j++)
      largest = std::max(largest, std::fabs(s.got[j] - s.expected[j]) / std::max(std::fabs(s.expected[j]), usual));
  return largest;
}

std::string find_bias_times(const ConvProblem& p, const std::vector<SampleRow>& wrong) {
  // How often, counted in biases; where it would be right anyway, nothing is proven.
  int64_t places = 0, same = 0, by_tap = 0, by_product = 0, telling = 0, told_where = 0;
  std::optional<double> times;
  std::set<double> biases;
  const auto inputs = static_cast<double>(p.in_per_group());
  for (const auto& s : wrong) {
    if (s.bias == 0) continue;
    biases.insert(s.bias);
    for (size_t j = 0; j < s.got.size(); j++) {
      double n = (s.got[j] - s.expected[j]) / s.bias + 1;
      if (!std::isfinite(n)) return "";
      auto taps = static_cast<double>(taps_reaching(p, s.column + static_cast<int64_t>(j)));
      if (!times && n != 1) times = n;
      places++, telling += n != 1, told_where += n == 0 && taps == 0;
      same += times && n == *times, by_tap += n == taps, by_product += n == taps * inputs;
    }
  }
  if (telling < few) return "";
  if (most_of(same, places) && times && *times != 0 && (biases.size() > 1 || *times == std::floor(*times))) {
    if (*times == 2) return "the bias is added twice";
    if (*times == -1) return "the bias is subtracted";
    return fmt::format("the bias is added {} times{}", number_text(*times),
                       *times == inputs ? ": once an input channel" : "");
  }
  if (most_of(told_where, telling)) return "the bias is missing where no tap lands";
  if (most_of(by_product, places))
    return p.in_per_group() == 1 ? "the bias is added once a tap" : "the bias is added once a tap and input channel";
  return most_of(by_tap, places) ? "the bias is added once a tap" : "";
}

std::string find_carried_sum(const ConvProblem& p, const std::vector<SampleRow>& wrong,
                             const std::vector<double>& biases, int64_t first, const WholeOutput& y) {
  // The first output that another one's sum is in has no wrong one before it; where no tap lands for that one, it is a
  // little further away.
  constexpr int64_t enough = 12, furthest = 64;
  auto bias_of = [&](int64_t e) {
    return biases.empty() ? 0 : biases[static_cast<size_t>(e / y.length % p.out_channels)];
  };
  // landing: of outputs alone for which taps land. Where none does any copy of another output looks like its sum.
  auto carries = [&](int64_t lag, bool with_bias, bool landing) {
    int64_t places = 0, fits = 0;
    for (const auto& s : wrong)
      for (size_t j = 0; j < s.got.size(); j++) {
        const double more = s.got[j] - s.expected[j];
        const int64_t e = s.row * y.length + s.column + static_cast<int64_t>(j), from = e - lag;
        if (more == 0 || (landing && s.expected[j] == bias_of(e))) continue;
        places++;
        if (from >= 0) fits += more == y.at(from) - (with_bias ? 0 : bias_of(from));
        if (places == enough && !most_of(fits, places)) return false;
      }
    return places >= enough && most_of(fits, places);
  };
  for (int64_t lag = first; lag > std::max<int64_t>(0, first - furthest); lag--)
    for (const bool with_bias : {false, true}) {
      if ((with_bias && biases.empty()) || !carries(lag, with_bias, false) || !carries(lag, with_bias, true)) continue;
      const int64_t channels = lag / y.length;
      const std::string from = lag == 1              ? "the position before"
                               : lag % y.length != 0 ? fmt::format("{} elements before in y", grouped(lag))
                               : channels == 1       ? "the channel before"
                                                     : fmt::format("{} channels before", grouped(channels));
      return fmt::format(
          "sums go on from {} where each is to begin anew: a thread does not reset its sum between two "
          "outputs",
          from);
    }
  return "";
}

bool find_added_constant(const std::vector<SampleRow>& wrong) {
  int64_t places = 0, same = 0;
  for (const auto& s : wrong) {
    if (s.got.empty()) continue;
    double added = s.got[0] - s.expected[0];
    for (size_t j = 0; j < s.got.size(); j++) places++, same += added != 0 && s.got[j] - s.expected[j] == added;
  }
  return places >= few && most_of(same, places);
}

std::string find_period(const ConvProblem& p, const std::vector<SampleRow>& wrong) {
  constexpr int64_t longest = 1024;
  if (wrong.empty()) return "";
  const int64_t first = wrong.front().column, n = static_cast<int64_t>(wrong.front().got.size());
  std::vector<bool> hit(static_cast<size_t>(n));
  for (const auto& s : wrong)
    for (size_t j = 0; j < std::min(s.got.size(), hit.size()); j++)
      if (s.got[j] != s.expected[j]) hit[j] = true;
  int64_t hits = std::count(hit.begin(), hit.end(), true);
  if (hits < 3 || hits * 4 > n) return "";  // more than that say little
  for (int64_t period = 2; period <= std::min(longest, n / 3); period++) {
    if (period == p.stride) continue;
    std::vector<int64_t> wrong_in(static_cast<size_t>(period)), all(wrong_in);
    for (int64_t j = 0; j < n; j++) {
      auto r = static_cast<size_t>((first + j) % period);
      all[r]++, wrong_in[r] += hit[static_cast<size_t>(j)];
    }
    std::vector<int64_t> classes;
    bool whole = true;
    for (int64_t r = 0; r < period && whole; r++) {
      auto i = static_cast<size_t>(r);
      if (!wrong_in[i]) continue;
      classes.push_back(r);
      // Small integers meet by chance.
      whole = all[i] >= 3 && static_cast<double>(wrong_in[i]) >= 0.8 * static_cast<double>(all[i]);
    }
    if (!whole || static_cast<int64_t>(classes.size()) * 4 > period) continue;
    return classes.size() == 1 ? fmt::format("where j mod {} = {}", period, classes[0])
                               : fmt::format("where j mod {} in {{{}}}", period, ranges(classes));
  }
  return "";
}

}  // namespace convscope
