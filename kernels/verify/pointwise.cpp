#include "kernels/verify/pointwise.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <utility>

#include "kernels/reference/oracle.h"
#include "kernels/verify/if_it_runs.h"
#include "kernels/verify/probe_inputs.h"
#include "kernels/verify/prober.h"

namespace convscope {
namespace pointwise {  // many of its words are those of other files as well
namespace {

constexpr size_t least_places = 24, few = 8;
constexpr double nearly_all = 0.99;
constexpr uint64_t values_seed = 0x5a1e5;

struct Place {
  double value, got;  // what is given to the function, and what comes of it
};

// Of functions that are made with a fast exponential, and of sums that were added in another order.
double slack_of(DType type) { return is_half(type) ? 1e-2 : 2e-3; }

class Places {
 public:
  Places(std::vector<Place> all, double slack) : all_(std::move(all)), slack_(slack) {}

  const std::vector<Place>& all() const { return all_; }
  bool near(double a, double b) const {
    return std::fabs(a - b) <= slack_ * std::max({1.0, std::fabs(a), std::fabs(b)});
  }
  bool apart(double a, double b) const {
    return std::fabs(a - b) > 4 * slack_ * std::max({1.0, std::fabs(a), std::fabs(b)});
  }
  template <class Is>
  size_t count(Is is) const {
    return static_cast<size_t>(std::count_if(all_.begin(), all_.end(), is));
  }
  bool most(size_t n) const { return static_cast<double>(n) >= nearly_all * static_cast<double>(all_.size()); }
  // The mean square of what is left over, where f gives nearly all of them.
  template <class F>
  std::optional<double> left_by(F f) const {
    if (!most(count([&](const Place& p) { return near(f(p.value), p.got); }))) return {};
    double sum = 0;
    for (const Place& p : all_) sum += (f(p.value) - p.got) * (f(p.value) - p.got);
    return sum / static_cast<double>(all_.size());
  }

 private:
  std::vector<Place> all_;
  double slack_;
};

// got = times · f(value) + plus, by least squares.
struct Line {
  double times = 1, plus = 0;
  double operator()(double v) const { return times * v + plus; }
};
template <class F>
Line line_of(const std::vector<Place>& all, bool with_plus, F f) {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const Place& p : all) {
    const double v = f(p.value);
    n++, x += v, y += p.got, xx += v * v, xy += v * p.got;
  }
  if (!with_plus) return {xx > 0 ? xy / xx : 1, 0};
  const double spread = n * xx - x * x;
  if (!(spread > 1e-9 * n * xx)) return {1, 0};
  const double times = (n * xy - x * y) / spread;
  return {times, (y - times * x) / n};
}

double sigmoid(double v) { return 1 / (1 + std::exp(-v)); }
double softplus(double v) { return std::log1p(std::exp(-std::fabs(v))) + std::max(v, 0.0); }

// As PyTorch defines them (torch.nn, "Non-linear Activations").
struct Named {
  const char* name;  // what a result goes through, or what it "is …"
  double (*f)(double);
};
constexpr Named functions[] = {
    {"a ReLU", [](double v) { return std::max(v, 0.0); }},
    {"tanh", [](double v) { return std::tanh(v); }},
    {"a sigmoid", sigmoid},
    {"a GELU", [](double v) { return 0.5 * v * (1 + std::erf(v * std::sqrt(0.5))); }},
    {"a GELU (by tanh)",
     [](double v) { return 0.5 * v * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (v + 0.044715 * v * v * v))); }},
    {"a SiLU (Swish)", [](double v) { return v * sigmoid(v); }},
    {"a softplus", softplus},
    {"a Mish", [](double v) { return v * std::tanh(softplus(v)); }},
    {"an ELU", [](double v) { return v > 0 ? v : std::expm1(v); }},
    {"a SELU", [](double v) { return 1.0507009873554805 * (v > 0 ? v : 1.6732632423543772 * std::expm1(v)); }},
    {"a Hardswish", [](double v) { return v * std::clamp(v + 3, 0.0, 6.0) / 6; }},
    {"a Hardsigmoid", [](double v) { return std::clamp(v + 3, 0.0, 6.0) / 6; }},
    {"a softsign", [](double v) { return v / (1 + std::fabs(v)); }},
    {"a log-sigmoid", [](double v) { return -softplus(-v); }},
    {"an absolute value", [](double v) { return std::fabs(v); }},
    {"a square", [](double v) { return v * v; }},
    {"an exponential", [](double v) { return std::exp(v); }},
    {"a sine", [](double v) { return std::sin(v); }},
    {"a cosine", [](double v) { return std::cos(v); }},
    {"is rounded to a whole number", [](double v) { return std::nearbyint(v); }},
    {"is cut to a whole number", [](double v) { return std::trunc(v); }},
    {"is rounded down to a whole number", [](double v) { return std::floor(v); }},
    {"a sign", [](double v) { return v > 0   ? 1.0
                                     : v < 0 ? -1.0
                                             : 0.0; }},
};

// What the words are of: results; sums, to which the bias is added behind; results that have no bias.
enum class Of { results, sums, without_bias };

constexpr const char* not_of_it = ", which is not of the layer";

std::string finished(Of of, const std::string& words) {
  return of == Of::without_bias ? words + ", and the bias is missing" : words;
}

std::string limits(const Places& p, Of of) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const Place& at : p.all()) low = std::min(low, at.got), high = std::max(high, at.got);
  const bool below = p.count([&](const Place&at) { return p.near(at.got, low); }) >= few,
             above = p.count([&](const Place&at) { return p.near(at.got, high); }) >= few;
  if ((!below && !above) || !p.apart(low, high)) return "";
  std::vector<Place> within;
  for (const Place& at : p.all())
    if ((!below || p.apart(at.got, low)) && (!above || p.apart(at.got, high))) within.push_back(at);
  if (within.size() < few) return "";
  const Line line = line_of(within, true, [](double v) { return v; });
  if (!p.left_by([&](double v) {
        const double at = line(v);
        return std::clamp(at, below ? low : std::min(at, low), above ? high : std::max(at, high));
      }))
    return "";
  const bool plain = std::fabs(line.times - 1) < 1e-2 && std::fabs(line.plus) < 1e-2;
  const char* what = of == Of::sums ? "sums" : "results";
  std::string words = below && above ? fmt::format("{} are limited to {:.3g} … {:.3g}", what, low, high)
                      : below        ? fmt::format("{} are no less than {:.3g}", what, low)
                                     : fmt::format("{} are no more than {:.3g}", what, high);
  if (!plain)
    words += fmt::format(", {:.3g} times the right ones{}", line.times,
                         std::fabs(line.plus) < 1e-2 ? "" : fmt::format(" plus {:.3g}", line.plus));
  words += of == Of::sums ? " before the bias is added" : "";
  const bool six = plain && below && above && p.near(low, 0) && p.near(high, 6);
  return finished(of, words + (six ? ", as behind a ReLU6" : ", as behind a clamp") + not_of_it);
}

// Below 0 another slope than above.
std::string two_slopes(const Places& p, Of of) {
  std::vector<Place> below, above;
  for (const Place& at : p.all()) (at.value < 0 ? below : above).push_back(at);
  if (below.size() < few || above.size() < few) return "";
  const auto itself = [](double v) { return v; };
  const double slope = line_of(below, false, itself).times, other = line_of(above, false, itself).times;
  if (std::fabs(other - 1) > 1e-2 || !(slope > 1e-3) || slope > 0.9) return "";
  if (!p.left_by([&](double v) { return v < 0 ? slope * v : v; })) return "";
  return finished(of,
                  fmt::format("{} times the right ones{}, as behind a LeakyReLU{}",
                              fmt::format("{} are {:.3g}", of == Of::sums ? "negative sums" : "negative values", slope),
                              of == Of::sums ? " before the bias is added" : "", not_of_it));
}

// What results may be besides the function's own: nothing, times a number, and with another one added.
enum Freedom { plain, times, times_and_plus };

std::string named(const Places& p, Of of, Freedom most) {
  // What says least that is not seen comes first.
  for (int freedom = plain; freedom <= most; freedom++) {
    const Named* best = nullptr;
    Line of_best;
    double least = std::numeric_limits<double>::infinity();
    for (const Named& n : functions) {
      const Line line = freedom ? line_of(p.all(), freedom == times_and_plus, n.f) : Line{};
      const auto left = p.left_by([&](double v) { return line(n.f(v)); });
      if (!left || *left >= least || std::fabs(line.times) < 1e-2 || std::fabs(line.plus) > 100) continue;
      best = &n, of_best = line, least = *left;
    }
    if (!best) continue;
    const std::string_view name = best->name;
    if (!freedom && name == "a ReLU")
      return finished(of, (of == Of::sums ? "negative sums are 0 before the bias is added" : "negative values are 0") +
                              std::string(", as behind a ReLU") + not_of_it);
    if (!freedom && name == "an absolute value" && of == Of::results) return "negative values have lost their sign";
    std::string words = fmt::format("every {} {}{}", of == Of::sums ? "sum" : "result",
                                    name.starts_with("is ") ? "" : "goes through ", name);
    if (freedom) words += fmt::format(" times {:.3g}", of_best.times);
    if (freedom == times_and_plus) words += fmt::format(" plus {:.3g}", of_best.plus);
    if (of == Of::sums) words += " before the bias is added";
    return finished(of, words + not_of_it);
  }
  return "";
}

std::string line_of_results(const Places& p) {
  const Line line = line_of(p.all(), true, [](double v) { return v; });
  if (!p.apart(0, line.plus) || std::fabs(line.plus) > 100 || std::fabs(line.times) < 1e-2 || !p.left_by(line))
    return "";
  const std::string times = std::fabs(line.times - 1) < 2e-3 ? "" : fmt::format("{:.4g} times ", line.times);
  return fmt::format("every result is {}the right one {} {:.4g}{}", times, line.plus < 0 ? "minus" : "plus",
                     std::fabs(line.plus), not_of_it);
}

// In each row its own line: a normalisation's numbers are those of a channel, or of a row.
std::string lines_of_rows(const std::vector<SampleRow>& rows, double slack) {
  size_t telling = 0;
  double first = std::numeric_limits<double>::quiet_NaN();
  bool alike = true;
  for (const SampleRow& row : rows) {
    std::vector<Place> all;
    for (size_t j = 0; j < row.got.size(); j++) all.push_back({row.expected[j], row.got[j]});
    if (all.size() < few) return "";
    const Places p(all, slack);
    const Line line = line_of(all, true, [](double v) { return v; });
    if (std::fabs(line.times) < 1e-3 || !p.left_by(line)) return "";
    if (std::isnan(first)) first = line.times;
    alike &= std::fabs(line.times - first) < 1e-2 * std::fabs(first);
    telling += p.apart(1, line.times) || p.apart(0, line.plus);
  }
  return telling >= 2 && !alike
             ? std::string(
                   "every row of y is the right one times a number and plus a number of its own, as behind a "
                   "normalisation") +
                   not_of_it
             : "";
}

// No function that is known here, but one: a result lies between those of the next smaller and the next larger right
// value. One of many terms that is missing, or another, is a function of more, and seldom so near.
std::string some_function(const Places& p) {
  constexpr size_t enough = 200;
  std::vector<Place> all = p.all();
  if (all.size() < enough) return "";
  std::sort(all.begin(), all.end(), [](const Place& a, const Place& b) { return a.value < b.value; });
  size_t between = 0;
  for (size_t i = 1; i + 1 < all.size(); i++) {
    const double width = all[i + 1].value - all[i - 1].value,
                 part = width > 0 ? (all[i].value - all[i - 1].value) / width : 0.5;
    between += p.near(all[i].got, all[i - 1].got + part * (all[i + 1].got - all[i - 1].got));
  }
  if (static_cast<double>(between) < 0.95 * static_cast<double>(all.size() - 2)) return "";
  std::string shown;
  for (const size_t i : {all.size() / 10, all.size() / 2, all.size() - 1 - all.size() / 10})
    shown += fmt::format("{}{:.3g} becomes {:.3g}", shown.empty() ? "" : ", ", all[i].value, all[i].got);
  return fmt::format("every result is a function of the right one alone ({}): something is done behind the layer",
                     shown);
}

}  // namespace
}  // namespace pointwise

std::string find_pointwise(DType type, const std::vector<SampleRow>& rows) {
  using namespace pointwise;
  const double slack = slack_of(type);
  std::vector<Place> results, sums, without_bias;
  bool any_bias = false;
  for (const SampleRow& row : rows)
    for (size_t j = 0; j < row.got.size(); j++) {
      if (!(std::fabs(row.got[j]) < 1e6)) return "";  // what was never set, say: near anything by its size
      any_bias |= row.bias != 0;
      results.push_back({row.expected[j], row.got[j]});
      sums.push_back({row.expected[j] - row.bias, row.got[j] - row.bias});
      without_bias.push_back({row.expected[j] - row.bias, row.got[j]});
    }
  const pointwise::Places as_they_are(results, slack);
  // So large they are near anything of that size.
  if (2 * as_they_are.count([](const Place& p) { return std::fabs(p.got) > 100; }) > results.size()) return "";
  const size_t off = as_they_are.count([&](const Place& p) { return as_they_are.apart(p.value, p.got); });
  if (results.size() < least_places || off < std::max(few, results.size() / 50)) return "";
  for (const auto& [of, places] :
       {std::pair{Of::results, &results}, {Of::sums, &sums}, {Of::without_bias, &without_bias}}) {
    if (of != Of::results && !any_bias) break;
    const pointwise::Places p(*places, slack);
    std::string found = named(p, of, times_and_plus);
    for (auto* words : {two_slopes, limits})
      if (found.empty()) found = words(p, of);
    if (!found.empty()) return found;
  }
  if (std::string line = line_of_results(as_they_are); !line.empty()) return line;
  // A factor alone is told in other words, which have its name.
  if (as_they_are.left_by(line_of(results, false, [](double v) { return v; }))) return "";
  if (std::string lines = lines_of_rows(rows, slack); !lines.empty()) return lines;
  return some_function(as_they_are);
}

std::string find_activation(const std::vector<SampleRow>& rows) {
  using namespace pointwise;
  std::vector<Place> results;
  for (const SampleRow& row : rows)
    for (size_t j = 0; j < row.got.size(); j++) results.push_back({row.expected[j], row.got[j]});
  size_t below = 0, above = 0;
  for (const Place& p : results) below += p.value<0, above += p.value> 0;
  if (below < few || above < few) return "";
  const pointwise::Places p(std::move(results), slack_of(DType::bf16));
  if (p.left_by([](double v) { return v; })) return "";
  const std::string found = named(p, Of::results, plain);
  return found.empty() ? two_slopes(p, Of::results) : found;
}

std::string behind_the_layer(Device& device, const KernelDefinition& kernel, ConvProblem p, Activity& activity) {
  constexpr int64_t enough = 600;  // results: of a limit that few reach, too
  for (ConvProblem longer = p; p.y_elements() < enough; p = longer) {
    longer.length *= 2;
    if (check(longer) || !kernel.unsupported(longer).empty()) break;
  }
  if (!kernel.unsupported(p).empty()) return "";
  return if_it_runs([&]() -> std::string {
           Prober prober(device, kernel, p, activity);
           if (prober.own_length() != p.out_length()) return "";
           const Inputs in = value_inputs(p, pointwise::values_seed);
           prober.set(in);
           prober.element(0, 0, 0);
           const auto oracle = make_cpu_oracle(p, in);
           std::vector<SampleRow> rows;
           for (int64_t row = 0; row < p.batch * p.out_channels; row++) {
             SampleRow s{row, 0, prober.row(row / p.out_channels, row % p.out_channels, 0, p.out_length()),
                         std::vector<double>(static_cast<size_t>(p.out_length())),
                         p.bias ? in.b.at(row % p.out_channels) : 0};
             oracle->compute({row, 1, 0, p.out_length()}, s.expected.data(), nullptr);
             rows.push_back(std::move(s));
           }
           return find_pointwise(p.dtype, rows);
         })
      .value_or("");
}

}  // namespace convscope
