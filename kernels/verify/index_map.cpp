#include "kernels/verify/index_map.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "kernels/problem/counts.h"
#include "kernels/problem/tensor.h"
#include "kernels/verify/guarded.h"

namespace convscope {
namespace {

// Primes from 101 on: no product of one with a small number is another one.
std::vector<int> primes_made() {
  std::vector<int> list;
  for (int n = 101; n < 1024; n += 2) {
    bool prime = true;
    for (int d = 3; d * d <= n; d += 2) prime &= n % d != 0;
    if (prime) list.push_back(n);
  }
  return list;
}

const std::vector<int>& primes() {
  static const std::vector<int> all = primes_made();
  return all;
}

// odd: other factors that are looked for, of sums that are divided by one of the problem's sizes.
IndexMap::Read decoded(double v, const std::vector<int>& codes, int64_t count, const std::vector<double>& odd) {
  if (v == 0) return {};
  if (!std::isfinite(v)) return {IndexMap::unclear, static_cast<float>(v)};
  for (double times : {1., -1., 2., 3., 4., 5., 6., 7., 8., -2., 0.5, 16., 32., 64.})
    for (int64_t e = 0; e < count; e++)
      if (v == times * codes[static_cast<size_t>(e)]) return {static_cast<int32_t>(e), static_cast<float>(times)};
  // Scaled or rounded a little: primes are further apart than that.
  for (int64_t e = 0; e < count; e++)
    if (double times = v / codes[static_cast<size_t>(e)]; std::fabs(times - 1) < 4e-4)
      return {static_cast<int32_t>(e), static_cast<float>(times)};
  for (const double times : odd)
    for (int64_t e = 0; e < count; e++)
      if (std::fabs(v / (times * codes[static_cast<size_t>(e)]) - 1) < 4e-4)
        return {static_cast<int32_t>(e), static_cast<float>(times)};
  return {IndexMap::unclear, static_cast<float>(v)};
}

class Launcher {
 public:
  Launcher(Device& device, const KernelDefinition& kernel, const ConvProblem& p, Activity& activity)
      : device_(device), kernel_(kernel), p_(p), activity_(activity), plan_(kernel.plan_for(p)) {
    if (auto why = device.unavailable(kernel, plan_); !why.empty()) throw MissingError("kernel " + kernel.name(), why);
    auto tensor = [&](int64_t elements) {
      return std::make_unique<GuardedTensor>(device, static_cast<size_t>(elements) * size_of(p.dtype),
                                             GuardedTensor::least_zone, &activity_);
    };
    x_ = tensor(p.x_elements()), w_ = tensor(p.w_elements());
    if (p.bias) b_ = tensor(p.out_channels);
    // What lies beside a tensor counts as nothing here: the judge says who reads it.
    for (auto* t : {x_.get(), w_.get(), b_.get()})
      if (t) t->lay_zones(0);
    y_ = tensor(std::max(p.batch * p.out_channels * std::max(own_length(), p.out_length()), int64_t{1}));
    if (plan_.workspace_bytes())
      workspace_ =
          std::make_unique<GuardedTensor>(device, plan_.workspace_bytes(), GuardedTensor::least_zone, &activity_);
  }
  int launches() const { return launches_; }
  // Of two blocks that write one place the same one is last in each launch.
  void in_turn() { in_turn_ = true; }
  int64_t own_length() const { return std::max<int64_t>(plan_.out_length(), 0); }
  GuardedTensor& x() { return *x_; }
  GuardedTensor& w() { return *w_; }
  GuardedTensor& b() { return *b_; }

  template <class At>
  void set(GuardedTensor& t, int64_t count, At at) {
    HostTensor h = make_tensor(p_.dtype, {count}, [&](auto* out, int64_t n) {
      for (int64_t e = 0; e < n; e++) out[e] = static_cast<std::remove_pointer_t<decltype(out)>>(at(e));
    });
    t.write(h.data(), h.size_bytes(), &activity_);
  }
  // What is written behind y. Where a row's last threads write into the row behind it, which value stays is what a
  // GPU's blocks leave to chance: from then on blocks run one by one on the emulator, and the row's own come later.
  void find_behind(IndexMap& map) {
    if (own_length() != p_.out_length()) return;
    run();
    dispatch(p_.dtype, [&](auto zero) {
      using T = decltype(zero);
      std::vector<T> zone(GuardedTensor::least_zone / sizeof(T));
      y_->read(y_->size(), zone.data(), zone.size() * sizeof(T));
      for (size_t e = 0; e < zone.size(); e++) {
        uint64_t bits = 0;
        std::memcpy(&bits, &zone[e], sizeof(T));
        if (bits == bits_of<T>(red_zone_word)) continue;
        const auto v = static_cast<double>(zone[e]);
        map.behind = static_cast<int64_t>(e) + 1, map.products_behind |= std::isfinite(v) && v != 0;
      }
    });
    y_->restore_zones();
    one_by_one_ = map.behind > 0 && device_.is_emulator();
  }
  // The outputs that depend on what stood in memory that the kernel takes for itself. It is zeros from then on.
  std::vector<int64_t> find_unset() {
    if (!workspace_) return {};
    auto after = [&](uint32_t word) {
      y_->fill(red_zone_word, &activity_), workspace_->fill(word, &activity_);
      run();
      std::vector<uint64_t> all(count());
      dispatch(p_.dtype,
               [&](auto zero) { each<decltype(zero)>([&](size_t e, uint64_t bits, auto) { all[e] = bits; }); });
      return all;
    };
    const std::vector<uint64_t> of_nan = after(red_zone_word), of_zero = after(0);
    std::vector<int64_t> unset;
    for (size_t e = 0; e < of_nan.size(); e++)
      if (of_nan[e] != of_zero[e]) unset.push_back(static_cast<int64_t>(e));
    workspace_begins_at_zero_ = !unset.empty();
    return unset;
  }
  // The outputs that are added to what stood there, on inputs that give each a sum which is not 0: of a NaN that stood
  // there it is NaN, and of a number another number. On the emulator the NaN keeps its bits and looks as if nobody had
  // written it; a GPU's additions give one of its own (CUDA C++ Programming Guide, "Floating-Point Standard").
  std::vector<int64_t> find_added() {
    enum class Found : char { same, nan, number };
    auto found = [&](uint32_t word) {
      y_->fill(word, &activity_);
      run();
      std::vector<Found> all(count());
      dispatch(p_.dtype, [&](auto zero) {
        each<decltype(zero)>([&](size_t e, uint64_t bits, auto v) {
          all[e] = bits == bits_of<decltype(zero)>(word)   ? Found::same
                   : std::isfinite(static_cast<double>(v)) ? Found::number
                                                           : Found::nan;
        });
      });
      return all;
    };
    constexpr uint32_t ones[] = {0x3f800000, 0x3ff00000, 0x3c003c00, 0x3f803f80};  // 1, or nearly so, of each type
    const uint32_t one = ones[p_.dtype == DType::f32 ? 0 : p_.dtype == DType::f64 ? 1 : p_.dtype == DType::f16 ? 2 : 3];
    const std::vector<Found> of_nan = found(red_zone_word), of_one = found(one);
    auto is_added = [&](size_t e) { return of_nan[e] != Found::number && of_one[e] == Found::number; };
    bool any = false;
    for (size_t e = 0; e < of_nan.size(); e++) any |= is_added(e);
    std::vector<int64_t> added;
    // Where no tap lands nothing is added that would show.
    auto has_taps = [&](int64_t j) {
      for (int64_t k = 0; k < p_.kernel_size; k++)
        if (const int64_t t = j + p_.padding - k * p_.dilation;
            t >= 0 && t % p_.stride == 0 && t / p_.stride < p_.length)
          return true;
      return false;
    };
    for (size_t e = 0; e < of_nan.size() && any; e++)
      if (is_added(e) ||
          (of_nan[e] != Found::number && of_one[e] == Found::same && !has_taps(static_cast<int64_t>(e) % own_length())))
        added.push_back(static_cast<int64_t>(e));
    begin_at_zero_ = added;
    return added;
  }
  // All outputs of a launch; infinite where nothing was written, NaN where it was no number.
  std::vector<double> outputs() {
    y_->fill(red_zone_word, &activity_);
    if (!begin_at_zero_.empty())
      dispatch(p_.dtype, [&](auto zero) {
        std::vector<decltype(zero)> typed(count());
        y_->read(0, typed.data(), typed.size() * sizeof zero);
        for (const int64_t e : begin_at_zero_) typed[static_cast<size_t>(e)] = zero;
        y_->write(typed.data(), typed.size() * sizeof zero, &activity_);
      });
    run();
    std::vector<double> out(count());
    dispatch(p_.dtype, [&](auto zero) {
      each<decltype(zero)>([&](size_t e, uint64_t bits, auto typed) {
        const auto v = static_cast<double>(typed);
        out[e] = bits == bits_of<decltype(zero)>(red_zone_word) ? std::numeric_limits<double>::infinity()
                 : std::isfinite(v)                             ? v
                                                                : std::numeric_limits<double>::quiet_NaN();
      });
    });
    return out;
  }

 private:
  size_t count() const { return static_cast<size_t>(p_.batch * p_.out_channels * own_length()); }
  void run() {
    launches_++;
    if (workspace_begins_at_zero_) workspace_->fill(0, &activity_);
    Bindings at{x_->address(), w_->address(), b_ ? b_->address() : 0, y_->address(),
                workspace_ ? workspace_->address() : 0};
    at.elements = {p_.x_elements(), p_.w_elements(), p_.b_elements(), static_cast<int64_t>(count())};
    at.element_bytes = size_of(p_.dtype);
    if (!one_by_one_) return device_.run(kernel_, plan_, at, {.activity = &activity_, .one_worker = in_turn_});
    for (size_t l = 0; l < plan_.launches().size(); l++) {
      const auto launch = static_cast<int64_t>(l);
      const Shape& grid = plan_.launches()[l].grid;
      // Where rows have a side of the grid for themselves, the last block along a row before its first: it may write
      // what the first one of the same channels has.
      const bool backward = grid.y * grid.z > 1;
      for (int64_t row = 0; row < grid.y * grid.z; row++)
        for (int64_t x = 0; x < grid.x; x++)
          device_.run(kernel_, plan_, at,
                      {.activity = &activity_,
                       .only_launch = launch,
                       .part_of = launch,
                       .first_block = static_cast<uint64_t>(row * grid.x + (backward ? grid.x - 1 - x : x)),
                       .blocks = 1});
    }
  }
  template <class T>
  static uint64_t bits_of(uint32_t word) {
    const uint32_t words[] = {word, word};
    uint64_t bits = 0;
    std::memcpy(&bits, words, sizeof(T));
    return bits;
  }
  // f(element, its bits, its value) of all that stands in y.
  template <class T, class F>
  void each(F f) {
    std::vector<T> typed(count());
    y_->read(0, typed.data(), typed.size() * sizeof(T));
    for (size_t e = 0; e < typed.size(); e++) {
      uint64_t bits = 0;
      std::memcpy(&bits, &typed[e], sizeof(T));
      f(e, bits, typed[e]);
    }
  }

  Device& device_;
  const KernelDefinition& kernel_;
  const ConvProblem& p_;
  Activity& activity_;
  Plan plan_;
  std::unique_ptr<GuardedTensor> x_, w_, b_, y_, workspace_;
  std::vector<int64_t> begin_at_zero_;
  bool workspace_begins_at_zero_ = false, one_by_one_ = false, in_turn_ = false;
  int launches_ = 0;
};

// What is made of an input and a weight where that is not their product: alike for all terms that the definition has,
// tried with three pairs of numbers.
std::string operation_of(Launcher& launcher, const ConvProblem& p) {
  struct Kind {
    const char* words;
    double (*of)(double x, double w);
  };
  constexpr Kind kinds[] = {{"x + w", [](double x, double w) { return x + w; }},
                            {"x − w", [](double x, double w) { return x - w; }},
                            {"w − x", [](double x, double w) { return w - x; }},
                            {"x/w", [](double x, double w) { return x / w; }},
                            {"w/x", [](double x, double w) { return w / x; }},
                            {"max(x, w)", [](double x, double w) { return std::max(x, w); }},
                            {"min(x, w)", [](double x, double w) { return std::min(x, w); }},
                            {"x·x", [](double x, double) { return x * x; }},
                            {"w·w", [](double, double w) { return w * w; }},
                            {"x without its weight", [](double x, double) { return x; }},
                            {"w without its input", [](double, double w) { return w; }}};
  constexpr std::pair<double, double> pairs[] = {{3, 5}, {-7, 2}, {2, -11}};
  constexpr double of_a_division = 1e-2;  // in 16 bits
  std::vector<const Kind*> left;
  for (const Kind& k : kinds) left.push_back(&k);
  for (const auto& [x, w] : pairs) {
    launcher.set(launcher.x(), p.x_elements(), [value = x](int64_t) { return value; });
    launcher.set(launcher.w(), p.w_elements(), [value = w](int64_t) { return value; });
    const std::vector<double> values = launcher.outputs();
    std::erase_if(left, [&, x = x, w = w](const Kind* k) {
      bool any = false;
      for (size_t e = 0; e < values.size(); e++) {
        const double terms = static_cast<double>(p.in_per_group() *
                                                 taps_reaching(p, static_cast<int64_t>(e) % launcher.own_length())),
                     expected = terms * k->of(x, w);
        if (!(std::fabs(values[e] - expected) <= of_a_division * std::fabs(expected))) return true;
        any |= terms > 0;
      }
      return !any;
    });
  }
  return left.empty() ? "" : left.front()->words;
}

}  // namespace

int input_code(int64_t element) { return primes()[static_cast<size_t>(element)]; }

IndexMap index_map(Device& device, const KernelDefinition& kernel, const ConvProblem& p, Activity& activity) {
  require_legal(p);
  if (auto why = kernel.unsupported(p); !why.empty()) throw InputError("kernel", kernel.name(), why);
  if (p.x_elements() > most_mapped_of(p.dtype) || p.out_channels > most_mapped_of(p.dtype))
    throw InputError("problem", describe(p), "must have at most 140 input elements for its index to be mapped");
  // A kernel may work out any length of its own.
  constexpr int64_t most_cells = int64_t{1} << 26;
  if (const int64_t own = kernel.plan_for(p).out_length();
      own > most_cells / (p.w_elements() * p.batch * p.out_channels))
    throw InputError("output", std::to_string(own), "is too long for the kernel's products to be mapped");
  const std::vector<int>& codes = primes();
  Launcher launcher(device, kernel, p, activity);
  IndexMap map;
  map.problem = p, map.out_length = launcher.own_length();
  const int64_t weights = p.w_elements(), outputs = map.outputs();
  map.reads.resize(static_cast<size_t>(weights * outputs));
  std::vector<double> odd;
  for (const int64_t by : {p.kernel_size, p.in_per_group(), p.kernel_size * p.in_per_group(), p.stride})
    if (by > 1) odd.push_back(1.0 / static_cast<double>(by));
  auto code = [](int64_t e) { return input_code(e); };
  auto take = [&](IndexMap::Read* to, const std::vector<double>& values, int64_t count) {
    for (int64_t o = 0; o < outputs; o++) to[o] = decoded(values[static_cast<size_t>(o)], codes, count, odd);
  };
  launcher.set(launcher.x(), p.x_elements(), code);
  if (p.bias) launcher.set(launcher.b(), p.out_channels, [](int64_t) { return 0; });
  activity.phase("mapping the index of " + kernel.name());
  launcher.set(launcher.w(), weights, [](int64_t) { return 1; });
  launcher.in_turn(), launcher.find_behind(map);
  map.unset = launcher.find_unset();
  map.added = launcher.find_added();
  for (int64_t e = 0; e < weights; e++) {
    activity.check();
    launcher.set(launcher.w(), weights, [&](int64_t at) { return at == e ? 1 : 0; });
    take(map.reads.data() + e * outputs, launcher.outputs(), p.x_elements());
  }
  if (map.out_length == p.out_length() && std::any_of(map.reads.begin(), map.reads.end(), [](const IndexMap::Read& r) {
        return r.at == IndexMap::unclear && !r.unwritten();
      }))
    map.operation = operation_of(launcher, p);
  if (p.bias) {
    launcher.set(launcher.x(), p.x_elements(), [](int64_t) { return 0; });
    launcher.set(launcher.w(), weights, [](int64_t) { return 0; });
    launcher.set(launcher.b(), p.out_channels, code);
    map.biases.resize(static_cast<size_t>(outputs));
    take(map.biases.data(), launcher.outputs(), p.out_channels);
  }
  map.launches = launcher.launches();
  return map;
}

std::vector<int64_t> outputs_left(Device& device, const KernelDefinition& kernel, const ConvProblem& p,
                                  Activity& activity) {
  require_legal(p);
  Launcher launcher(device, kernel, p, activity);
  launcher.set(launcher.x(), p.x_elements(), [](int64_t) { return 1; });
  launcher.set(launcher.w(), p.w_elements(), [](int64_t) { return 1; });
  if (p.bias) launcher.set(launcher.b(), p.out_channels, [](int64_t) { return 1; });
  std::vector<int64_t> left;
  const std::vector<double> values = launcher.outputs();
  for (size_t o = 0; o < values.size(); o++)
    if (std::isinf(values[o])) left.push_back(static_cast<int64_t>(o));
  return left;
}

}  // namespace convscope
