// The judge's own inputs, and the verdict that follows from everything seen.
#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>

#include "kernels/base/text.h"
#include "kernels/problem/counts.h"
#include "kernels/verify/judge_run.h"
#include "kernels/verify/pointwise.h"
#include "kernels/verify/probe_inputs.h"

namespace convscope {
namespace {

constexpr uint64_t exact_seed = 0xe8ac7, precision_seed = 0x9dec1;
// The order of threads in these passes: others than in the runs before, since one order more finds more.
constexpr uint32_t exact_order = 0x5eed3, precision_order = 0x5eed4;

bool drawn(const TensorSource& s) {
  return s.kind == InputKind::random || s.kind == InputKind::initial || s.kind == InputKind::signed_uniform ||
         s.kind == InputKind::wide;
}

std::string at(const ElementReport& e) {
  std::string got = number_text(e.got), expected = number_text(e.expected);
  if (got == expected) got = fmt::format("{:.9g}", e.got), expected = fmt::format("{:.9g}", e.expected);
  return fmt::format("at n {}, co {}, j {}: {} instead of {}", e.n, e.co, e.j, got, expected);
}

}  // namespace

bool Judge::Run::inputs_are_drawn() const {
  const auto& s = r_.spec.inputs;
  return drawn(s.x) && drawn(s.w) && (!p_.bias || drawn(s.b));
}

std::vector<SampleRow> Judge::Run::sample(const HostBytes& y, Oracle& oracle, const Inputs& in) const {
  // First and last batch; some neighbouring channels, so that exchanged ones are found, and the first wrong ones with
  // their neighbours. One window each, long enough for any likely shift, from the middle of the row.
  constexpr int64_t window = 2048;
  constexpr size_t most_wrong = 4;
  std::vector<int64_t> channels = {0, 1, 2, p_.out_channels / 2, p_.out_channels - 2, p_.out_channels - 1};
  const auto& wrong = r_.exact->places.channel_wrong;
  for (size_t c = 0, seen = 0; c < wrong.size() && seen < most_wrong; c++)
    if (wrong[c]) {
      seen++;
      for (int64_t by : {-1, 0, 1}) channels.push_back(static_cast<int64_t>(c) + by);
    }
  std::vector<SampleRow> samples;
  std::vector<int64_t> rows;
  for (int64_t n : {int64_t{0}, p_.batch - 1})
    for (int64_t c : channels)
      if (c >= 0 && c < p_.out_channels) rows.push_back(n * p_.out_channels + c);
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  int64_t columns = std::min(window, overlap_), first = (overlap_ - columns) / 2;
  for (int64_t row : rows) {
    SampleRow s{row, first, {}, std::vector<double>(static_cast<size_t>(columns)), 0};
    oracle.compute({row, 1, first, columns}, s.expected.data(), nullptr);
    for (int64_t j = 0; j < columns; j++) {
      int64_t e = row * own_ + first + j;
      s.got.push_back(dispatch(p_.dtype, [&](auto zero) { return static_cast<double>(y.as<decltype(zero)>()[e]); }));
      s.expected[static_cast<size_t>(j)] = rounded_to(p_.dtype, s.expected[static_cast<size_t>(j)]);
    }
    if (p_.bias) s.bias = in.b.at(row % p_.out_channels);
    samples.push_back(std::move(s));
  }
  return samples;
}

void Judge::Run::exact_pass() {
  if (overlap_ <= 0) {
    r_.exact_skipped = "the kernel's output has no overlap with the problem's";
    return;
  }
  activity_.phase("exact pass");
  // A few elements may be right by accident: they are looked at several times.
  constexpr int64_t enough_elements = 64, most_rounds = 4;
  int64_t rounds = std::clamp<int64_t>(enough_elements / (rows_ * overlap_), 1, most_rounds);
  std::optional<Inputs> in;
  std::unique_ptr<Oracle> truth;
  HostBytes y;
  for (int64_t round = 0; round < rounds && !(r_.exact && r_.exact->failing); round++) {
    in = exact_inputs(p_, exact_seed + static_cast<uint64_t>(round));
    if (!in) {
      r_.exact_skipped = "an element has too many terms for integers to stay exact";
      return;
    }
    upload(*in);
    if (!execute({math_poison(), exact_order})) return;
    truth = oracle(*in);
    y = download();
    CompareOptions o;
    o.exactness = Exactness::bitwise;
    o.unwritten_pattern = unwritten_bits(p_.dtype);
    r_.exact = compare(p_, *truth, {p_.dtype, y.data(), own_}, o, &activity_);
  }
  if (r_.exact->failing) {
    std::vector<double> biases;
    for (int64_t c = 0; c < p_.b_elements(); c++) biases.push_back(in->b.at(c));
    bool comparable = inputs_are_drawn() && !depends_on_output_;
    const WholeOutput whole{own_, [&](int64_t e) {
                              return dispatch(
                                  p_.dtype, [&](auto zero) { return static_cast<double>(y.as<decltype(zero)>()[e]); });
                            }};
    r_.pattern = find_pattern(p_, *r_.exact, sample(y, *truth, *in), biases, comparable ? &r_.error : nullptr, &whole,
                              [&] { return behind_the_sums(); });
  }
  if (r_.exact->nan) find_outside_reads();
}

// What is done to every result behind the layer; "": nothing that is known.
std::string Judge::Run::behind_the_sums() {
  activity_.phase("values pass");
  const Inputs in = value_inputs(p_, exact_seed);
  upload(in);
  if (!execute({math_poison(), exact_order})) return "";
  const auto truth = oracle(in);
  return find_pointwise(p_.dtype, sample(download(), *truth, in));
}

// Nothing but zeros to sum: what a kernel leaves out then (`if (sum != 0) y[…] = sum`), or adds to every sum. No other
// pass has sums that are zero where taps land.
void Judge::Run::zero_pass() {
  if (overlap_ <= 0 || depends_on_output_) return;
  // What is not written at all any more says nothing of zeros.
  if (r_.exact && r_.exact->unwritten == r_.exact->elements) return;
  activity_.phase("zero pass");
  x_->fill(0, &activity_);  // the weights stay those of the pass before
  if (b_) b_->fill(0, &activity_);
  y_->lay_zones(number_zone_word);
  const bool ran = execute({unwritten_word, exact_order});
  y_->restore_zones();
  if (!ran) return;
  // One that is never written at all is known from before.
  each_element(download(), [&](auto zero, size_t e, auto shown, auto bits) {
    using T = decltype(zero);
    const auto unwritten = static_cast<decltype(bits)>(unwritten_bits(p_.dtype));
    T v = std::bit_cast<T>(bits);
    if (bits == unwritten) {
      zero_unwritten_ += shown != unwritten;
    } else if (v != T(0) && !zero_wrong_++) {
      auto j = static_cast<int64_t>(e) % overlap_, row = static_cast<int64_t>(e) / overlap_;
      zero_first_ = fmt::format("at n {}, co {}, j {}: {} instead of 0", row / p_.out_channels, row % p_.out_channels,
                                j, number_text(static_cast<double>(v)));
    }
  });
}

// NaN has reached the output: from a red zone, and from which? From those that make it go away when they hold zeros.
void Judge::Run::find_outside_reads() {
  auto reached = [&]() -> std::optional<int64_t> {
    if (!execute({math_poison(), exact_order})) return std::nullopt;
    int64_t n = 0;
    each_element(download(), [&](auto zero, size_t, auto, auto bits) {
      using T = decltype(zero);
      n += std::isnan(std::bit_cast<T>(bits)) && bits != static_cast<decltype(bits)>(unwritten_bits(p_.dtype));
    });
    return n;
  };
  // One that comes and goes by itself (a race on shared memory, say) is of no zone.
  auto steady = [&] { return reached() == r_.exact->nan; };
  if (fails_in_some_runs_ || !steady()) return;
  using Zone = GuardedTensor::Zone;
  auto saved = [&](GuardedTensor* tensor, Zone zone) -> std::optional<int64_t> {
    tensor->lay_zones(0, zone);
    auto left = reached();
    tensor->restore_zones(zone);
    if (!left) return std::nullopt;
    return r_.exact->nan - *left;
  };
  for (auto [name, tensor] : all_tensors())
    for (Zone zone : {Zone::after, Zone::before}) {
      if (!tensor) continue;
      auto n = saved(tensor, zone);
      if (!n) return;
      if (*n > 0)
        outside_ +=
            fmt::format("{}reads {} of {}: what lies there reaches {}", outside_.empty() ? "" : "; ",
                        zone == Zone::after ? "beyond the end" : "before the start", name, amount(*n, "element"));
    }
  if (!outside_.empty()) {
    if (!steady()) outside_.clear();
    return;
  }
  // From several at once? Else the NaN is of its own making (shared memory that was not written), which no zone shows.
  for (auto [name, tensor] : all_tensors())
    if (tensor) tensor->lay_zones(0);
  auto left = reached();
  for (auto [name, tensor] : all_tensors())
    if (tensor) tensor->restore_zones();
  if (left && *left < r_.exact->nan)
    outside_ =
        fmt::format("reads outside its tensors: what lies there reaches {}", amount(r_.exact->nan - *left, "element"));
}

// Every element on inputs whose sums are exact; nothing when the kernel crashed.
std::optional<Comparison> Judge::Run::on_exact(const Inputs& in) {
  activity_.phase("precision pass");
  upload(in);
  if (!execute({math_poison(), precision_order})) return std::nullopt;
  auto truth = oracle(in);
  HostBytes y = download();
  CompareOptions o;
  o.exactness = Exactness::bitwise;
  return compare(p_, *truth, {p_.dtype, y.data(), own_}, o, &activity_);
}

// On integers that need all of `bits` bits, and of 16-bit types on such whose products need 16; nothing when they would
// not be exact, or the kernel crashed.
std::optional<Comparison> Judge::Run::wide_integers(int bits) {
  std::vector<std::optional<Inputs>> all = {precision_inputs(p_, precision_seed, bits, false)};
  if (p_.in_per_group() == 1)  // else both kinds of channel are in the first
    all.push_back(precision_inputs(p_, precision_seed, bits, true));
  if (is_half(p_.dtype)) all.push_back(product_inputs(p_, precision_seed));
  std::optional<Comparison> worst;
  for (const auto& in : all) {
    auto c = in ? on_exact(*in) : std::nullopt;
    if (!c) return std::nullopt;
    if (!worst || c->failing > worst->failing) worst = c;
  }
  return worst;
}

void Judge::Run::precision_pass() {
  if (overlap_ <= 0) return;
  if (r_.exact && r_.exact->failing) {
    r_.precision_skipped = "sums of smaller integers are not right already";
    return;
  }
  bool tf32 = r_.spec.accuracy == Accuracy::tf32 && p_.dtype == DType::f32;
  r_.precision = wide_integers(wide_bits(p_.dtype));
  full_precision_ = r_.precision && r_.precision->failing == 0;
  // Where TF32 is allowed, integers of its own width must still come through.
  if (tf32 && !full_precision_ && r_.verdict.status != Status::crashed) r_.precision = wide_integers(tf32_bits);
  if (!r_.precision) r_.precision_skipped = "an element has too many terms for wide integers to stay exact";
}

// Regular inputs (ones, a ramp, a file) may round all in one direction, beyond what the bound's model covers. Then
// random ones decide.
void Judge::Run::fallback_rounding() {
  bool index_right = r_.exact && r_.exact->failing == 0;
  bool beyond = r_.error.failing > 0 || (!is_half(p_.dtype) && r_.error.rms_ratio > rms_limit);
  if (overlap_ <= 0 || inputs_are_drawn() || !index_right || !beyond || r_.error.nan || r_.error.inf ||
      r_.error.not_infinite || r_.error.unwritten)
    return;
  activity_.phase("rounding pass on random inputs");
  InputSpec random;
  random.x.kind = InputKind::signed_uniform;
  Inputs in = make_inputs(p_, random, &activity_);
  upload(in);
  if (!execute({math_poison(), precision_order})) return;
  auto truth = oracle(in);
  HostBytes y = download();
  CompareOptions o;
  o.accuracy = r_.spec.accuracy;
  random_rounding_ = compare(p_, *truth, {p_.dtype, y.data(), own_}, o, &activity_);
}

// Two digits, rounded upwards: what is said to lie within it does.
static std::string at_most(double v) {
  if (!(v > 0) || !std::isfinite(v)) return fmt::format("{:.2g}", v);
  const double unit = std::pow(10, std::floor(std::log10(v)) - 1);
  return fmt::format("{:.2g}", std::ceil(v / unit * (1 - 1e-12)) * unit);
}

std::string Judge::Run::right_sentence() const {
  std::string exact = r_.exact ? " and bitwise on integers" : "";
  // Right by a wide bound is another thing than right by a narrow one.
  const std::string whose =
      r_.spec.accuracy == Accuracy::strict ? std::string() : fmt::format(" of {}", name_of(r_.spec.accuracy));
  const double ratio = random_rounding_ ? random_rounding_->max_ratio : r_.error.max_ratio;
  if (ratio == 0) return fmt::format("right: all {} elements without an error{}", grouped(r_.error.elements), exact);
  return fmt::format("right: all {} elements within {} of the rounding bound{}{}", grouped(r_.error.elements),
                     at_most(ratio), whose, exact);
}

void Judge::Run::conclude() {
  Verdict& v = r_.verdict;
  if (v.status == Status::crashed) return;
  if (overlap_ > 0) {
    conclude_memory();
    conclude_mathematics();
    conclude_determinism();
  } else {
    for (const char* layer : {"memory", "mathematics", "determinism"})
      v.add(layer, LayerStatus::skipped, "nothing to judge");
  }
  conclude_speed();

  // Sentences, the most telling first: what memory does explains wrong sums, and not the other way round.
  std::vector<std::string> wrong;
  const Comparison& e = r_.error;
  const Comparison& rounding = random_rounding_ ? *random_rounding_ : e;
  if (own_ != p_.out_length())
    wrong.push_back(fmt::format("its output is {} long, the problem's {}{}", own_, p_.out_length(), length_words()));
  if (!memory_.empty()) wrong.push_back(memory_);
  if (!races_.race.empty()) wrong.push_back(races_.race);
  // What is read before it is written may be of no use; where numbers are none, or change, it is what they come from.
  const bool no_numbers = e.nan > 0 || (r_.exact && r_.exact->nan > 0);
  if (!races_.unset.empty() && races_.race.empty() && (no_numbers || races_.unset_shows || (unsteady_ && by_nobody_)))
    v.fail("memory", races_.unset, Finding::unset_shared), wrong.push_back(races_.unset);
  if (unsteady_)
    wrong.push_back((std::isinf(spread_) ? "results differ between runs: some are not finite"
                                         : "results differ between runs by up to " + number_text(spread_)) +
                    (by_nobody_ ? ", as a value is used that the launch has not set" : ""));
  if (zero_fails_)
    wrong.push_back(fmt::format("{} not 0 where the sum is, first {}", amount(zero_wrong_, "element"), zero_first_));
  if (exact_fails_) {
    // Told from the requested inputs, unless those hide the fault (zeros, say).
    const bool asked = e.failing > r_.exact->failing / 2;
    const Comparison& c = asked ? e : *r_.exact;
    wrong.push_back(percent_text(static_cast<double>(c.failing), static_cast<double>(c.elements)) +
                    (asked ? " of the elements: " : " of the elements, on integers: ") + r_.pattern.where);
  }
  if (imprecise_ && races_.race.empty())  // low bits are lost as any are
    wrong.push_back(fmt::format("less accurate than {}: loses low bits of its inputs{}", name_of(r_.spec.accuracy),
                                is_half(p_.dtype) ? ", or sums in less than f32" : ""));
  else if (rms_fails_ && races_.race.empty())
    wrong.push_back(fmt::format("less accurate than {}: rms error {:.2g} of the bound", name_of(r_.spec.accuracy),
                                rounding.rms_ratio));
  if (rounding_fails_ && !exact_fails_ && !imprecise_)
    wrong.push_back(
        fmt::format("{} beyond the rounding bound, worst {} the bound, first {}{}", amount(rounding.failing, "element"),
                    ratio_text(rounding.max_ratio), at(*rounding.first_failing),
                    all_whole_numbers() ? "; every result is a whole number: a sum is kept in integers" : ""));
  if (impossible_) wrong.push_back("faster than physics allows");

  if (!v.results_are_right() && !wrong.empty() && !plan_.doubt().empty()) wrong.insert(wrong.begin(), plan_.doubt());

  if (wrong.empty()) {
    v.status = Status::right;
    v.exit_code = 0;
    v.sentence = right_sentence();
    return;
  }
  v.status = Status::wrong;
  v.exit_code = 1;
  v.sentence = "wrong: " + wrong[0];
  for (size_t i = 1; i < wrong.size(); i++) v.sentence += "; " + wrong[i];
}

// Of the inputs that were asked for; where sums of integers are judged this tells nothing.
bool Judge::Run::all_whole_numbers() const {
  constexpr int64_t few = 32;
  int64_t all = 0, whole = 0;
  each_element(r_.tensors->output, [&](auto zero, size_t, auto shown, auto) {
    const auto v = static_cast<double>(std::bit_cast<decltype(zero)>(shown));
    all++, whole += v == std::floor(v);
  });
  return all >= few && whole == all && inputs_are_drawn() && own_ == p_.out_length();
}

void Judge::Run::conclude_memory() {
  const Comparison& e = r_.error;
  auto add = [&](const std::string& what) { memory_ += (memory_.empty() ? "" : "; ") + what; };
  if (!memory_fault_.empty()) add(memory_fault_);
  if (!plan_.fault().empty()) add(plan_.fault());
  if (!input_fault_.empty()) add(input_fault_);
  if (e.unwritten)
    add(fmt::format("never writes {} ({})", amount(e.unwritten, "element"),
                    percent_text(static_cast<double>(e.unwritten), static_cast<double>(e.elements))));
  std::vector<Finding> found;
  if (zero_unwritten_) {
    add(fmt::format("leaves {} unwritten where the sum is 0", amount(zero_unwritten_, "element")));
    found.push_back(Finding::zeros_unwritten);
  }
  if (!outside_.empty()) add(outside_);
  if (!races_.variable.empty()) add(races_.variable), found.push_back(Finding::unset_variable);
  r_.verdict.leaves_arrays = !memory_.empty() && (memory_ == races_.leaves || memory_ == races_.variable);
  r_.verdict.add(
      "memory", memory_.empty() ? LayerStatus::pass : LayerStatus::fail,
      memory_.empty() ? "every element written under two poisons, red zones whole, inputs unchanged" : memory_,
      std::move(found));
}

void Judge::Run::conclude_mathematics() {
  const Comparison& rounding = random_rounding_ ? *random_rounding_ : r_.error;
  exact_fails_ = r_.exact && r_.exact->failing;
  imprecise_ = r_.precision && r_.precision->failing;
  // Where sums of integers are wrong by more than a part of 1, that says more.
  zero_fails_ =
      zero_wrong_ && r_.exact &&
      (!exact_fails_ || (r_.exact->max_abs < 0.5 && !r_.exact->nan && !r_.exact->inf && !r_.exact->unwritten));
  // What was in the output before is no error of the sums.
  rounding_fails_ = !depends_on_output_ && rounding.failing > 0;
  // The mean is known for rounding errors of sums only; errors of the inputs are in the bound at their worst.
  // Of 16 bits the output's own rounding is nearly all of the bound, and nothing else fits into it.
  rms_fails_ = r_.spec.accuracy == Accuracy::strict && !is_half(p_.dtype) && !depends_on_output_ && !rounding_fails_ &&
               rounding.elements >= 1000 && rounding.rms_ratio > rms_limit;

  if (r_.pattern.nearness || (!exact_fails_ && (imprecise_ || rms_fails_)))
    r_.accuracy_ran = "less than " + std::string(name_of(r_.spec.accuracy));
  else if (!exact_fails_ && !rounding_fails_ && full_precision_)
    r_.accuracy_ran = r_.spec.accuracy == Accuracy::strict ? "strict" : "3xtf32 or better";
  else if (!exact_fails_ && !rounding_fails_ && r_.precision)
    r_.accuracy_ran = "tf32";

  std::string math;
  if (r_.exact)
    math = exact_fails_
               ? fmt::format("integers: {} of {} elements not bitwise right, first {}", grouped(r_.exact->failing),
                             grouped(r_.exact->elements), at(*r_.exact->first_failing))
               : fmt::format("integers: all {} elements bitwise right", grouped(r_.exact->elements));
  else
    math = "integers: skipped, " + r_.exact_skipped;
  if (depends_on_output_) math += " on a cleared output";
  std::vector<Finding> found;
  if (exact_fails_ && !r_.pattern.carried.empty())
    math += "; " + r_.pattern.carried, found.push_back(Finding::carried_sum);
  if (r_.precision)
    math += imprecise_ ? fmt::format("; wide integers: {} elements lose bits, first {}", grouped(r_.precision->failing),
                                     at(*r_.precision->first_failing))
                       : "; wide integers: bitwise right";
  else if (!r_.precision_skipped.empty())
    math += "; wide integers: skipped, " + r_.precision_skipped;
  if (random_rounding_)
    math += fmt::format(
        "; requested inputs are regular and exceed the bound's model (worst {} of it, rms {}), random ones decide",
        ratio_text(r_.error.max_ratio), ratio_text(r_.error.rms_ratio));
  if (depends_on_output_) {
    math += "; rounding: not judged, what was in the output is in the result";
  } else {
    math += fmt::format("; rounding: worst {} the bound (lambda {}), rms {}", ratio_text(rounding.max_ratio),
                        bound_lambda, ratio_text(rounding.rms_ratio));
    if (rounding_fails_) math += fmt::format(", {} beyond it", amount(rounding.failing, "element"));
    if (rms_fails_)
      math += fmt::format(", rms beyond {}: less accurate throughout than {} arithmetic", rms_limit,
                          name_of(r_.spec.accuracy));
  }
  if (zero_fails_)
    math += fmt::format("; x and b of zeros: {} not 0, first {}", amount(zero_wrong_, "element"), zero_first_);
  bool fails = zero_fails_ || exact_fails_ || imprecise_ || rounding_fails_ || rms_fails_;
  r_.verdict.add("mathematics", fails ? LayerStatus::fail : LayerStatus::pass, math, std::move(found));
}

void Judge::Run::conclude_determinism() {
  auto add = [&](LayerStatus status, const std::string& why) { r_.verdict.add("determinism", status, why); };
  if (depends_on_output_) return add(LayerStatus::skipped, "not judged: depends on what was in the output");
  if (!races_.race.empty()) return r_.verdict.add("determinism", LayerStatus::fail, races_.race, {Finding::race});
  const std::string races =
      !races_.missing.empty()
          ? "races as such were not looked for: " + races_.missing
          : fmt::format("no race between the threads of {} that {} traced{}{}", amount(races_.blocks, "block"),
                        races_.blocks == 1 ? "was" : "were", races_.whole ? "" : ", in the first accesses of each",
                        races_.between ? ", and none between blocks" : "") +
                (races_.piece.empty() ? "" : fmt::format(" (by the emulator, on {})", races_.piece));
  if (!differing_elements_)
    return add(LayerStatus::pass,
               fmt::format("3 runs bitwise the same{}; {}",
                           device_.is_emulator() ? ", one of them in a shuffled order of threads" : "", races));
  if (!input_fault_.empty()) return add(LayerStatus::skipped, "not judged: runs differ, and so did their inputs");
  unsteady_ = fails_in_some_runs_;
  // Races were looked for and not found, and nothing is added up atomically. (Behind an array of shared memory lie
  // others, of which the search for races keeps them apart.)
  by_nobody_ = races_.missing.empty() && races_.between && races_.race.empty() && races_.leaves.empty() &&
               !races_.atomics && device_.is_emulator();
  std::string spread = std::isinf(spread_) ? "some not finite" : "spread " + number_text(spread_);
  add(unsteady_ ? LayerStatus::fail : LayerStatus::pass,
      fmt::format("{}, {} in {} over 3 runs{}",
                  by_nobody_ ? "not the same twice, and nothing in it depends on an order: a value is used that the "
                               "launch has not set (a variable or memory that is read before it is written)"
                  : unsteady_ && !device_.is_emulator() ? "not the same twice"
                                                        : "order-dependent",
                  spread, amount(differing_elements_, "element"),
                  !unsteady_ ? ", within the bound"
                  : device_.is_emulator()
                      ? ", beyond the bound"
                      : ", beyond the bound: --device emulator looks for races and for memory that is read before it "
                        "is written"));
}

// Only what cannot be is wrong.
void Judge::Run::conclude_speed() {
  Verdict& v = r_.verdict;
  if (r_.hot.empty()) return v.add("speed", LayerStatus::skipped, r_.timing_missing);
  if (r_.hot.emulated) return v.add("speed", LayerStatus::skipped, "emulated time says nothing of a GPU");
  double measured = r_.cold.empty() ? r_.hot.median_ms() : r_.cold.median_ms();
  std::string packed;
  double least = measured;
  if (!r_.packed.cold.empty()) {
    least = std::min(least, r_.packed.cold.median_ms());
    packed = fmt::format(" ({} and {} with weights packed before)", time_text(r_.packed.cold.median_ms()),
                         time_text(r_.packed.hot.median_ms()));
  }
  bool beyond_cache = static_cast<uint64_t>(least_bytes(p_)) > 2 * device_.info().l2_bytes;
  impossible_ = beyond_cache && r_.floor_ms && r_.floor_from == "bytes" && least < 0.9 * *r_.floor_ms;
  // Nothing beats what the driver names; a profile's floor is by what was measured, and is higher.
  std::string peak;
  if (r_.floor_ms && r_.floor_from == "bytes")
    peak = fmt::format(" at the {:.0f} GB/s of the driver's clock and width", device_.info().memory_bandwidth_gbs);
  else if (r_.floor_ms)
    peak = fmt::format(" at the {:.3g} TFLOP/s of the driver's clock and cores",
                       device_.info().fma_gflops * (p_.dtype == DType::f64 ? 0.5 : 1) * 1e-3);
  v.add("speed", impossible_ ? LayerStatus::fail : LayerStatus::pass,
        fmt::format(
            "{}{} hot{}, no less than {} by {}{}{}{}{}{}", r_.cold.empty() ? "" : time_text(measured) + " cold, ",
            time_text(r_.hot.median_ms()), packed, r_.floor_ms ? time_text(*r_.floor_ms) : "unknown", r_.floor_from,
            peak, r_.launch.empty() ? "" : "; a launch of nothing takes " + time_text(r_.launch.min_ms()) + " at least",
            impossible_ ? ": faster than the memory can be read" : "",
            r_.timing_missing.empty() ? "" : "; " + r_.timing_missing, and_of_stand_ins()));
}

}  // namespace convscope
