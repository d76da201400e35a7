#include "kernels/verify/fuzz.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <utility>

#include "kernels/problem/counts.h"
#include "kernels/problem/presets.h"

namespace convscope {
namespace {

constexpr int64_t most_cases = 100000;
// Smaller problems that are tried. An engine that died at one is started anew, and a hang is waited for.
constexpr int64_t most_steps(Status failure) {
  return failure == Status::wrong ? 500 : failure == Status::crashed ? 60 : 8;
}
// Problems in a row that the kernel does not take, or that were drawn before, until the search ends.
constexpr int64_t large_every = 12, most_refused = 2000, most_repeated = 2000;

std::string key_of(const ConvProblem& p) {
  std::string key = p.bias ? "b" : "";
  for (const auto& f : problem_fields()) key += fmt::format(",{}", p.*f.value);
  return key;
}

// In the order in which they are made smaller: first what makes a problem large, last what it is about. `get` and `set`
// speak of channels of a group, so that groups and channels can shrink one after the other.
struct Shrinkable {
  std::set<std::string> fields;  // it changes
  int64_t minimum;
  int64_t (*get)(const ConvProblem&);
  void (*set)(ConvProblem&, int64_t);
};
#define CONVSCOPE_PLAIN(field, minimum)                                                \
  {                                                                                    \
    {#field}, minimum, [](const ConvProblem& p) { return int64_t{p.field}; },          \
        [](ConvProblem& p, int64_t v) { p.field = static_cast<decltype(p.field)>(v); } \
  }
// Two at once, by the same number of steps: one of them alone may be held by the other.
#define CONVSCOPE_BOTH(a, b, minimum_of_b)                                                        \
  {                                                                                               \
    {#a, #b}, 0, [](const ConvProblem& p) { return std::min<int64_t>(p.a, p.b - minimum_of_b); }, \
        [](ConvProblem& p, int64_t v) {                                                           \
          const int64_t steps = std::min<int64_t>(p.a, p.b - minimum_of_b) - v;                   \
          p.a -= steps, p.b -= steps;                                                             \
        }                                                                                         \
  }
const std::vector<Shrinkable>& shrinkables() {
  static const std::vector<Shrinkable> list = {
      CONVSCOPE_PLAIN(batch, 1),
      {{"groups", "in_channels", "out_channels"},
       1,
       [](const ConvProblem& p) { return p.groups; },
       [](ConvProblem& p, int64_t v) {
         p.in_channels = p.in_per_group() * v, p.out_channels = p.out_per_group() * v, p.groups = v;
       }},
      {{"in_channels"},
       1,
       [](const ConvProblem& p) { return p.in_per_group(); },
       [](ConvProblem& p, int64_t v) { p.in_channels = v * p.groups; }},
      {{"out_channels"},
       1,
       [](const ConvProblem& p) { return p.out_per_group(); },
       [](ConvProblem& p, int64_t v) { p.out_channels = v * p.groups; }},
      CONVSCOPE_PLAIN(length, 1),
      CONVSCOPE_PLAIN(bias, 0),
      CONVSCOPE_PLAIN(padding, 0),
      CONVSCOPE_PLAIN(output_padding, 0),
      CONVSCOPE_PLAIN(kernel_size, 1),
      CONVSCOPE_PLAIN(dilation, 1),
      CONVSCOPE_PLAIN(stride, 1),
      CONVSCOPE_BOTH(padding, stride, 1),
      CONVSCOPE_BOTH(padding, kernel_size, 1),
      CONVSCOPE_BOTH(output_padding, stride, 1),
      CONVSCOPE_BOTH(output_padding, dilation, 1),
      // With fixed channels groups can only become 1.
      {{"groups"}, 1, [](const ConvProblem& p) { return p.groups; }, [](ConvProblem& p, int64_t v) { p.groups = v; }},
  };
  return list;
}
#undef CONVSCOPE_PLAIN
#undef CONVSCOPE_BOTH

// What a problem asks of a kernel beside the plainest.
int64_t features_of(const ConvProblem& p) {
  return (p.groups > 1) + p.bias + (p.batch > 1) + (p.stride > 1) + (p.padding > 0) + (p.output_padding > 0) +
         (p.dilation > 1) + (p.kernel_size > 1);
}

std::string without_numbers(const std::string& sentence) {
  std::string key;
  for (const char c : sentence)
    if (c < '0' || c > '9')
      key += c;
    else if (key.empty() || key.back() != '#')
      key += '#';
  return key;
}

}  // namespace

Fuzz::Fuzz(const FuzzSpec& spec) : spec_(spec), random_(spec.seed) {
  coverage_ = {{"a stride", [](const ConvProblem& p) { return p.stride > 1; }},
               {"a stride beyond the taps",
                [](const ConvProblem& p) { return p.stride > p.dilation * (p.kernel_size - 1) + 1; }},
               {"padding", [](const ConvProblem& p) { return p.padding > 0; }},
               {"output padding", [](const ConvProblem& p) { return p.output_padding > 0; }},
               {"dilation", [](const ConvProblem& p) { return p.dilation > 1 && p.kernel_size > 1; }},
               {"groups", [](const ConvProblem& p) { return p.groups > 1; }},
               {"a bias", [](const ConvProblem& p) { return p.bias; }},
               {"several sequences", [](const ConvProblem& p) { return p.batch > 1; }},
               {"more than 32 channels of a group", [](const ConvProblem& p) { return p.in_per_group() > 32; }},
               {"more than 1,024 positions", [](const ConvProblem& p) { return p.length > 1024; }}};
  if (spec.cases < 1 || spec.cases > most_cases)
    throw InputError("cases", std::to_string(spec.cases), fmt::format("must be between 1 and {}", most_cases));
  for (const auto& f : problem_fields())
    if (int64_t v = spec.base.*f.value; is_fixed(f.name) && (v < f.minimum || v > f.maximum))
      throw InputError(f.name, std::to_string(v), fmt::format("must be between {} and {}", f.minimum, f.maximum));
  if (!draw()) {
    if (auto why = check(spec.base)) throw *why;  // the nearest that there is to a reason
    throw InputError("problem", "", "no problem of these parameters is legal and small enough to be checked");
  }
  begin_drawing();
}

void Fuzz::begin_drawing() {
  random_.seed(spec_.seed), random_of_large_.seed(spec_.seed), seen_.clear(), ended_early_.clear();
  draws_ = 0;
}

// The same on every machine, which std::uniform_int_distribution is not.
int64_t Fuzz::between(int64_t low, int64_t high) {
  return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
}

ConvProblem Fuzz::drawn_once() {
  ConvProblem p = spec_.base;
  auto draw = [&](const char* field, int64_t ConvProblem::*member, auto value) {
    if (!is_fixed(field)) p.*member = value();
  };
  const bool tiles = chance(50);  // sizes that tiles are made of, and beside them
  auto channels = [&]() -> int64_t {
    if (tiles && chance(70))
      return std::array<int64_t, 7>{4, 8, 16, 24, 32, 64, 128}[static_cast<size_t>(between(0, 6))];
    return chance(20) ? 1 : between(1, tiles ? 40 : 8);
  };
  int64_t shared = 0;  // groups must divide it
  if (is_fixed("in_channels")) shared = std::gcd(shared, p.in_channels);
  if (is_fixed("out_channels")) shared = std::gcd(shared, p.out_channels);
  draw("groups", &ConvProblem::groups, [&]() -> int64_t {
    int64_t g = chance(55) ? 1 : chance(20) ? between(5, 40) : between(2, 4);
    if (shared && shared % g) g = chance(50) ? shared : 1;
    return g;
  });
  const bool depthwise = p.groups > 1 && chance(40);
  draw("in_channels", &ConvProblem::in_channels, [&] { return p.groups * (depthwise ? 1 : channels()); });
  draw("out_channels", &ConvProblem::out_channels, [&] { return p.groups * (depthwise ? 1 : channels()); });
  draw("batch", &ConvProblem::batch, [&] { return chance(60) ? 1 : between(2, 5); });
  draw("kernel_size", &ConvProblem::kernel_size, [&] { return chance(80) ? between(1, 7) : between(8, 25); });
  draw("stride", &ConvProblem::stride, [&] { return chance(75) ? between(1, 4) : between(5, 16); });
  draw("dilation", &ConvProblem::dilation, [&] { return chance(55) ? 1 : between(2, chance(80) ? 4 : 9); });
  draw("length", &ConvProblem::length, [&]() -> int64_t {
    if (tiles && chance(60)) return (int64_t{32} << between(0, 5)) + between(-1, 1);
    if (tiles && chance(50)) return 4 * between(1, 64);
    return chance(20) ? between(1, 3) : between(1, 70);
  });
  draw("output_padding", &ConvProblem::output_padding,
       [&] { return chance(50) ? 0 : between(0, std::max(p.stride, p.dilation) - 1); });
  const int64_t spare = (p.length - 1) * p.stride + p.dilation * (p.kernel_size - 1) + p.output_padding;
  draw("padding", &ConvProblem::padding, [&]() -> int64_t {
    if (spare < 2 || chance(30)) return 0;
    return chance(75) ? between(0, std::min<int64_t>(4, spare / 2)) : between(0, spare / 2);
  });
  if (!is_fixed("bias")) p.bias = chance(40);
  return p;
}

// Where a loop over a warp's lanes, over a tile, or an index of 16 bits ends: one size is beyond it, the others small.
ConvProblem Fuzz::large_once() {
  std::swap(random_, random_of_large_);
  ConvProblem p = drawn_once();
  auto set = [&](const char* field, int64_t ConvProblem::*member, int64_t value) {
    if (!is_fixed(field)) p.*member = value;
  };
  // In turn, so that a hundred problems have one of each: beyond a tile of channels, blocks of positions, 16 bits of
  // them, 8 bits of a tap's reach, a stride by which no reciprocal divides well, and the shared memory of a block.
  enum { in_channels, out_channels, positions, very_long, dilated, far_apart, weights, kinds };
  const auto which = draws_ / large_every % kinds;
  const bool channels_are_free = !is_fixed("in_channels") && !is_fixed("out_channels");
  const int64_t large = between(33, 160), few = between(1, 3), taps = which == dilated ? 3 : between(1, 4);
  const bool few_groups = which != very_long && which != weights;
  if (channels_are_free) set("groups", &ConvProblem::groups, few_groups ? between(1, 2) : 1);
  set("batch", &ConvProblem::batch, 1);
  set("in_channels", &ConvProblem::in_channels,
      p.groups * (which == in_channels ? large
                  : which == weights   ? between(520, 700)
                  : which == very_long ? 1
                                       : few));
  set("out_channels", &ConvProblem::out_channels,
      p.groups * (which == out_channels                    ? large
                  : which == very_long || which == weights ? 1
                                                           : few));
  set("length", &ConvProblem::length,
      which == positions   ? between(1025, 5000)
      : which == very_long ? between(65537, 70000)
                           : between(1, which == weights ? 4 : 24));
  set("kernel_size", &ConvProblem::kernel_size, which == weights ? between(17, 25) : taps);
  set("stride", &ConvProblem::stride,
      which == far_apart ? 2 * between(20, 60) + 1 : between(1, which == very_long ? 2 : 4));
  if (which == dilated) set("dilation", &ConvProblem::dilation, between(130, 300));
  set("output_padding", &ConvProblem::output_padding, 0);
  set("padding", &ConvProblem::padding, between(0, taps - 1));
  std::swap(random_, random_of_large_);
  return p;
}

std::optional<ConvProblem> Fuzz::draw() {
  if (spec_.start) return spec_.start;
  if (++draws_ % large_every == large_every / 2)
    if (ConvProblem p = large_once();
        !check(p) && walked_products(p) <= spec_.most_products && seen_.insert(key_of(p)).second)
      return p;
  for (int64_t tries = 0; tries < most_repeated; tries++) {
    // Most are small, for small ones say more and are quick.
    const double most = spec_.most_products * std::pow(10.0, -3 * static_cast<double>(between(0, 1000)) / 1000);
    ConvProblem p = drawn_once();
    while (!check(p) && walked_products(p) > most) {
      ConvProblem before = p;
      for (auto [field, member] : {std::pair{"length", &ConvProblem::length}, {"batch", &ConvProblem::batch}})
        if (!is_fixed(field)) p.*member = (p.*member + 1) / 2;
      auto halve = [&](const char* field, int64_t ConvProblem::*member) {
        if (!is_fixed(field)) p.*member = (p.*member / p.groups + 1) / 2 * p.groups;
      };
      if (walked_products(p) > most) halve("in_channels", &ConvProblem::in_channels);
      if (walked_products(p) > most) halve("out_channels", &ConvProblem::out_channels);
      if (p == before) break;
    }
    if (check(p)) continue;
    // Fixed sizes may be as large as they are.
    if (walked_products(p) > most && walked_products(p) > 1e3 * spec_.most_products) continue;
    if (seen_.insert(key_of(p)).second) return p;
  }
  ended_early_ = "there are no further problems of these parameters";
  return std::nullopt;
}

std::optional<ConvProblem> Fuzz::next() {
  if (asked_) return asked_;
  if (pin_search_ && !(asked_ = pin_search_->next())) end_pin_search();
  if (asked_) return asked_;
  if (first_)
    asked_ = smaller();
  else if (right_ < spec_.cases && ended_early_.empty()) {
    if (right_ + static_cast<int64_t>(spec_.layers.size() - layer_) >= spec_.cases) asked_ = layer();
    if (!asked_) asked_ = draw();
  }
  return asked_;
}

std::optional<ConvProblem> Fuzz::layer() {
  while (layer_ < spec_.layers.size()) {
    const ConvProblem& p = spec_.layers[layer_++];
    const auto& all = problem_fields();
    const bool fits = std::all_of(all.begin(), all.end(), [&](const ProblemField& f) {
      return !is_fixed(f.name) || p.*f.value == spec_.base.*f.value;
    });
    if (fits && (!is_fixed("bias") || p.bias == spec_.base.bias)) return p;
  }
  return {};
}

std::vector<ConvProblem> layers_for_the_end(DType dtype) {
  constexpr double most = 3e7;
  std::vector<ConvProblem> all;
  for (const auto& preset : presets()) {
    ConvProblem p = preset.problem;
    p.dtype = dtype;
    if (preset.name.starts_with("kernelbench-") && preset.name.ends_with("-small") && walked_products(p) <= most)
      all.push_back(p);
  }
  return all;
}

// Either problems are drawn anew, with what was found, or what failed is made smaller.
void Fuzz::end_pin_search() {
  pins_ = pin_search_->found();
  pin_search_.reset();
  if (!pins_) return;
  first_.reset(), smallest_.reset();
  for (const auto& f : problem_fields())
    if (pins_->fields.contains(f.name)) spec_.base.*f.value = pins_->problem.*f.value, spec_.fixed.insert(f.name);
  right_ = refused_ = refused_in_a_row_ = largest_right_ = 0, refusals_.clear();
  for (auto& part : coverage_) part.count = 0;
  begin_drawing();
}

std::vector<Fuzz::Refusal> Fuzz::refusals() const {
  std::vector<Refusal> all;
  for (const auto& [key, refusal] : refusals_) all.push_back(refusal);
  std::stable_sort(all.begin(), all.end(), [](const Refusal& a, const Refusal& b) {
    return a.features != b.features ? a.features < b.features : a.count > b.count;
  });
  return all;
}

void Fuzz::judged(Status status, std::string sentence, bool fails, const std::vector<std::string>& not_given,
                  bool sums_are_right) {
  if (!asked_) return;
  Case c{*asked_, status, std::move(sentence), sums_are_right};
  asked_.reset();
  if (pin_search_) return pin_search_->judged(status);
  if (first_) {
    steps_++;
    // Only what fails in the same way is the same failure, made smaller.
    if (c.status != first_->status || (status == Status::not_run && !fails)) return;
    if (c.sums_are_right != first_->sums_are_right) return;
    smallest_ = std::move(c);
    progress_ = true;
    // Values between what failed to fail and this one are still to be tried.
    listed_ = false;
    return;
  }
  if (status == Status::not_run && !fails) {
    refused_++;
    const int64_t features = features_of(c.problem);
    Refusal& why = refusals_.try_emplace(without_numbers(c.sentence), Refusal{c.sentence, 0, features}).first->second;
    if (features < why.features) why.sentence = c.sentence, why.features = features;
    why.count++;
    if (++refused_in_a_row_ >= most_refused)
      ended_early_ =
          fmt::format("the kernel takes none of {} further ones ({})", most_refused, refusals().front().sentence);
    return;
  }
  refused_in_a_row_ = 0;
  if (status == Status::right) {
    right_++, largest_right_ = std::max(largest_right_, c.problem.y_elements());
    for (auto& part : coverage_) part.count += part.has(c.problem);
    return;
  }
  first_ = smallest_ = std::move(c);
  seen_.clear();
  if (status == Status::wrong && !std::exchange(looked_for_pins_, true) && !spec_.start)
    pin_search_.emplace(first_->problem, not_given, spec_.fixed);
}

// Smallest first, then nearer and nearer to what it is.
void Fuzz::list_smaller_values() {
  const Shrinkable& s = shrinkables()[parameter_];
  values_.clear();
  listed_ = true;
  if (std::any_of(s.fields.begin(), s.fields.end(), [&](const std::string& f) { return spec_.fixed.contains(f); }))
    return;
  const int64_t now = s.get(smallest_->problem);
  for (int64_t gap = now - s.minimum; gap > 0; gap /= 2) values_.push_back(now - gap);
  std::reverse(values_.begin(), values_.end());
}

std::optional<ConvProblem> Fuzz::smaller() {
  while (!least_ && steps_ < most_steps(first_->status)) {
    if (!listed_) list_smaller_values();
    while (!values_.empty()) {
      ConvProblem p = smallest_->problem;
      shrinkables()[parameter_].set(p, values_.back());
      values_.pop_back();
      if (!check(p) && seen_.insert(key_of(p)).second) return p;
    }
    listed_ = false;
    if (++parameter_ < shrinkables().size()) continue;
    least_ = !std::exchange(progress_, false);
    parameter_ = 0;
  }
  return std::nullopt;
}

}  // namespace convscope
