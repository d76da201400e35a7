// The judge's own inputs, and the verdict that follows from everything seen.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/base/text.h"
#include "kernels/problem/counts.h"
#include "kernels/verify/judge_run.h"
#include "kernels/verify/probe_inputs.h"

namespace convscope {
namespace {

constexpr uint64_t exact_seed = 0xe8ac7, precision_seed = 0x9dec1;

bool drawn(const TensorSource& s) {
  return s.kind == InputKind::random || s.kind == InputKind::initial || s.kind == InputKind::signed_uniform || s.kind == InputKind::wide;
}

std::string at(const ElementReport& e) {
  return fmt::format("at n {}, co {}, j {}: {} instead of {}", e.n, e.co, e.j, number_text(e.got), number_text(e.expected));
}

}  // namespace

std::vector<SampleRow> Judge::Run::sample(const HostBytes& y, Oracle& oracle, const Inputs& in) const {
  // First and last batch; some neighbouring channels, so that exchanged ones are found. One window each, long enough for any
  // likely shift, from the middle of the row.
  constexpr int64_t window = 2048;
  std::vector<SampleRow> samples;
  std::vector<int64_t> rows;
  for (int64_t n : {int64_t{0}, p_.batch - 1})
    for (int64_t c : {int64_t{0}, int64_t{1}, int64_t{2}, p_.out_channels / 2, p_.out_channels - 2, p_.out_channels - 1})
      if (c >= 0 && c < p_.out_channels) rows.push_back(n * p_.out_channels + c);
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  int64_t columns = std::min(window, overlap_), first = (overlap_ - columns) / 2;
  for (int64_t row : rows) {
    SampleRow s{row, first, {}, std::vector<double>(static_cast<size_t>(columns)), 0};
    oracle.compute({row, 1, first, columns}, s.expected.data(), nullptr);
    for (int64_t j = 0; j < columns; j++) {
      int64_t e = row * own_ + first + j;
      s.got.push_back(p_.dtype == DType::f64 ? y.as<double>()[e] : y.as<float>()[e]);
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
  auto in = exact_inputs(p_, exact_seed);
  if (!in) {
    r_.exact_skipped = "an element has too many terms for integers to stay exact";
    return;
  }
  activity_.phase("exact pass");
  upload(*in);
  if (!execute({unwritten_word, 0})) return;
  auto truth = oracle(*in);
  HostBytes y = download();
  CompareOptions o;
  o.exactness = Exactness::bitwise;
  o.unwritten_pattern = unwritten_bits(p_.dtype);
  r_.exact = compare(p_, *truth, {p_.dtype, y.data(), own_}, o, &activity_);
  if (r_.exact->failing) r_.pattern = find_pattern(p_, *r_.exact, sample(y, *truth, *in));
  if (r_.exact->nan && !depends_on_output_) find_outside_reads();
}

// NaN from a red zone has reached the output: whose? The one whose zones, laid with zeros, make it go away.
void Judge::Run::find_outside_reads() {
  int64_t reached = r_.exact->nan;
  outside_ = fmt::format("reads outside its inputs: NaN from the red zones reaches {} elements", grouped(reached));
  for (size_t i = 0; i < 3; i++) {
    auto [name, tensor] = input_tensor(i);
    if (!tensor) continue;
    tensor->lay_zones(0);
    bool ran = execute({unwritten_word, 0});
    tensor->lay_zones(red_zone_word);
    if (!ran) return;
    HostBytes y = download();
    int64_t left = 0, n = rows_ * own_;
    for (int64_t e = 0; e < n; e++) left += std::isnan(p_.dtype == DType::f64 ? y.as<double>()[e] : y.as<float>()[e]);
    if (left < reached) {
      outside_ = fmt::format("reads beyond the end of {}: {} elements depend on what lies there", name, grouped(reached - left));
      return;
    }
  }
}

void Judge::Run::precision_pass() {
  if (overlap_ <= 0 || r_.verdict.status == Status::crashed) return;
  if (r_.spec.accuracy == Accuracy::tf32) {
    r_.precision_skipped = "TF32 is allowed";
    return;
  }
  if (r_.exact && r_.exact->failing) {
    r_.precision_skipped = "the index is wrong already";
    return;
  }
  auto in = precision_inputs(p_, precision_seed);
  if (!in) {
    r_.precision_skipped = "an element has too many terms for wide integers to stay exact";
    return;
  }
  activity_.phase("precision pass");
  upload(*in);
  if (!execute({unwritten_word, 0})) return;
  auto truth = oracle(*in);
  HostBytes y = download();
  CompareOptions o;
  o.exactness = Exactness::bitwise;
  r_.precision = compare(p_, *truth, {p_.dtype, y.data(), own_}, o, &activity_);
}

// Regular inputs (ones, a ramp, a file) may round all in one direction, beyond what the bound's model covers. Then random
// ones decide.
void Judge::Run::fallback_rounding() {
  const auto& s = r_.spec.inputs;
  bool all_drawn = drawn(s.x) && drawn(s.w) && (!p_.bias || drawn(s.b));
  bool index_right = r_.exact && r_.exact->failing == 0;
  if (overlap_ <= 0 || all_drawn || !index_right || r_.error.failing == 0 || r_.error.nan || r_.error.inf || r_.error.unwritten) return;
  activity_.phase("rounding pass on random inputs");
  InputSpec random;
  random.x.kind = InputKind::signed_uniform;
  Inputs in = make_inputs(p_, random, &activity_);
  upload(in);
  if (!execute({unwritten_word, 0})) return;
  auto truth = oracle(in);
  HostBytes y = download();
  CompareOptions o;
  o.accuracy = r_.spec.accuracy;
  random_rounding_ = compare(p_, *truth, {p_.dtype, y.data(), own_}, o, &activity_);
}

std::string Judge::Run::right_sentence() const {
  std::string exact = r_.exact ? " and bitwise on integers" : "";
  return fmt::format("right: all {} elements within {:.2g} of the rounding bound{}", grouped(r_.error.elements),
                     random_rounding_ ? random_rounding_->max_ratio : r_.error.max_ratio, exact);
}

void Judge::Run::conclude() {
  Verdict& v = r_.verdict;
  if (v.status == Status::crashed) return;
  const Comparison& e = r_.error;
  std::vector<std::string> wrong;  // sentences, the most telling first

  bool shape_fails = own_ != p_.out_length();
  // Memory.
  std::string memory = !memory_fault_.empty() ? memory_fault_ : input_fault_;
  if (memory.empty() && e.unwritten)
    memory = fmt::format("never writes {} elements ({})", grouped(e.unwritten), percent_text(static_cast<double>(e.unwritten), static_cast<double>(e.elements)));
  if (memory.empty()) memory = outside_;
  if (overlap_ <= 0) v.add("memory", LayerStatus::skipped, "nothing to judge");
  else if (memory.empty())
    v.add("memory", LayerStatus::pass, "every element written under two poisons, red zones whole, inputs unchanged");
  else v.add("memory", LayerStatus::fail, memory);

  // Mathematics.
  const Comparison& rounding = random_rounding_ ? *random_rounding_ : e;
  bool exact_fails = r_.exact && r_.exact->failing, imprecise = r_.precision && r_.precision->failing;
  bool rounding_fails = rounding.failing > 0;
  bool rms_fails = !rounding_fails && rounding.elements >= 1000 && rounding.rms_ratio > rms_limit;
  if (imprecise && !exact_fails) r_.accuracy_ran = "less than " + std::string(name_of(r_.spec.accuracy));
  else if (!exact_fails && !rounding_fails) r_.accuracy_ran = r_.precision ? "strict" : std::string(name_of(r_.spec.accuracy));
  std::string math;
  if (r_.exact)
    math = exact_fails ? fmt::format("integers: {} of {} elements not bitwise right, first {}", grouped(r_.exact->failing), grouped(r_.exact->elements), at(*r_.exact->first_failing))
                       : fmt::format("integers: all {} elements bitwise right", grouped(r_.exact->elements));
  else math = "integers: skipped, " + r_.exact_skipped;
  if (r_.precision)
    math += imprecise ? fmt::format("; wide integers: {} elements lose bits, first {}", grouped(r_.precision->failing), at(*r_.precision->first_failing))
                      : "; wide integers: bitwise right";
  else if (!r_.precision_skipped.empty()) math += "; wide integers: skipped, " + r_.precision_skipped;
  if (random_rounding_)
    math += fmt::format("; requested inputs are regular and exceed the model's bound ({} of it), random ones decide", ratio_text(e.max_ratio));
  math += fmt::format("; rounding: worst {} the bound (lambda {}), rms {}", ratio_text(rounding.max_ratio), bound_lambda, ratio_text(rounding.rms_ratio));
  if (rounding_fails) math += fmt::format(", {} elements beyond it", grouped(rounding.failing));
  if (rms_fails) math += fmt::format(", rms beyond {}: less accurate throughout than {} arithmetic", rms_limit, name_of(r_.spec.accuracy));
  bool math_fails = exact_fails || imprecise || rounding_fails || rms_fails;
  if (overlap_ <= 0) v.add("mathematics", LayerStatus::skipped, "nothing to judge");
  else v.add("mathematics", math_fails ? LayerStatus::fail : LayerStatus::pass, math);

  // Determinism.
  bool unsteady = differs_between_runs_ && !depends_on_output_ && failing_later_ > e.failing;
  if (overlap_ <= 0) v.add("determinism", LayerStatus::skipped, "nothing to judge");
  else if (!differs_between_runs_) v.add("determinism", LayerStatus::pass, "3 runs bitwise the same");
  else
    v.add("determinism", unsteady ? LayerStatus::fail : LayerStatus::pass,
          fmt::format("order-dependent, spread {} in {} elements over 3 runs{}", number_text(spread_), grouped(differing_elements_),
                      unsteady ? ", beyond the bound" : ", within the bound"));

  // Speed: only what cannot be is wrong.
  bool impossible = false;
  if (r_.hot.empty()) v.add("speed", LayerStatus::skipped, r_.timing_missing);
  else if (r_.hot.emulated) v.add("speed", LayerStatus::skipped, "emulated time says nothing of a GPU");
  else {
    double measured = r_.cold.empty() ? r_.hot.median_ms() : r_.cold.median_ms();
    bool beyond_cache = static_cast<uint64_t>(least_bytes(p_)) > 2 * device_.info().l2_bytes;
    impossible = beyond_cache && r_.floor_ms && r_.floor_from == "bytes" && measured < 0.9 * *r_.floor_ms;
    v.add("speed", impossible ? LayerStatus::fail : LayerStatus::pass,
          fmt::format("{} cold, {} hot, floor {} by {}{}", time_text(measured), time_text(r_.hot.median_ms()),
                      r_.floor_ms ? time_text(*r_.floor_ms) : "unknown", r_.floor_from, impossible ? ": faster than the memory can be read" : ""));
  }

  if (shape_fails) wrong.push_back(fmt::format("its output is {} long, the problem's {}{}", own_, p_.out_length(), length_words()));
  if (exact_fails) {
    // Told from the requested inputs, unless those hide the fault (zeros, say).
    const Comparison& c = e.failing > r_.exact->failing / 2 ? e : *r_.exact;
    wrong.push_back(percent_text(static_cast<double>(c.failing), static_cast<double>(c.elements)) + " of the elements: " + r_.pattern.where);
  }
  if (!memory.empty()) wrong.push_back(memory);
  if (unsteady) wrong.push_back(fmt::format("results differ between runs by up to {}", number_text(spread_)));
  if (imprecise && !exact_fails) wrong.push_back(fmt::format("less accurate than {}: loses low bits of its inputs", name_of(r_.spec.accuracy)));
  else if (rms_fails) wrong.push_back(fmt::format("less accurate than {}: rms error {:.2g} of the bound", name_of(r_.spec.accuracy), rounding.rms_ratio));
  if (rounding_fails && !exact_fails && !imprecise)
    wrong.push_back(fmt::format("{} elements beyond the rounding bound, worst {} the bound, first {}", grouped(rounding.failing), ratio_text(rounding.max_ratio), at(*rounding.first_failing)));
  if (impossible) wrong.push_back("faster than physics allows");

  if (wrong.empty()) {
    v.status = Status::right;
    v.exit_code = 0;
    v.sentence = right_sentence();
    return;
  }
  v.status = Status::wrong;
  v.exit_code = 1;
  std::string all = wrong[0];
  for (size_t i = 1; i < wrong.size(); i++) all += "; " + wrong[i];
  v.sentence = "wrong: " + all;
}

}  // namespace convscope
