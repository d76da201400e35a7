#include "kernels/verify/judge_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <functional>
#include <limits>

#include "kernels/base/text.h"
#include "kernels/base/worker_pool.h"
#include "kernels/problem/counts.h"
#include "kernels/runtime/simt/executor.h"
#include "kernels/verify/unset_variables.h"

namespace convscope {
namespace {

// What the output holds before a run. The first is a NaN: whoever adds to it gets NaN. The second is a tiny number that
// vanishes in any sum, so that such a kernel then looks right, and the difference gives it away. The last two show
// whether what was there comes through in a way that no NaN does.
constexpr uint32_t nan_poison = unwritten_word;
struct Poisons {
  uint32_t tiny, large, negative;
  double most;  // hardly a result is as large
};
constexpr Poisons poisons_of(DType t) {
  if (t == DType::f16) return {0x00030003, 0x7b537b53, 0xfb53fb53, 3e4};  // 1.8e-7, 6e4, −6e4
  return {0x00c300c3, 0x7e967e96, 0xfe96fe96, 1e37};                      // 1.8e-38, ±1e38; in f64 2e-305, ±2e301
}

constexpr std::string_view depends_words = "reads its output before it has written it: what was there reaches ";

template <class T>
BitsOf<T> poison_bits(uint32_t word) {
  return static_cast<BitsOf<T>>(sizeof(T) == 8 ? uint64_t{word} << 32 | word : word);
}

}  // namespace

Judge::Run::Run(Judge& judge, const RunSpec& spec, Activity& activity,
                const std::function<void(const RunReport&)>& partial)
    : judge_(judge),
      device_(judge.device_),
      activity_(activity),
      partial_(partial),
      p_(r_.spec.problem),
      kernel_(*spec.kernel),
      plan_(kernel_.plan_for(spec.problem)) {
  r_.spec = spec;
  r_.device = device_.info();
  rows_ = p_.batch * p_.out_channels;
  own_ = r_.own_length = plan_.out_length();
  overlap_ = std::min(own_, p_.out_length());
  r_.accuracy_ran = "unknown";
}

RunReport Judge::Run::go(const std::function<void(bool begins)>& timing) {
  if (!declared()) return std::move(r_);
  draw_inputs();
  for (size_t i = 0; i < input_sums_.size(); i++)
    if (auto* tensor = input_tensor(i).second) input_sums_[i] = tensor->checksum(&activity_);
  if (!execute({nan_poison, 0})) return std::move(r_);
  shown_run();
  if (partial_) partial_(r_);
  // Of drawn inputs alone: regular ones may round beyond the bound.
  if (r_.spec.right_only && r_.error.failing && inputs_are_drawn()) {
    r_.verdict.status = Status::wrong, r_.verdict.exit_code = 1;
    r_.verdict.sentence = fmt::format("wrong: {} beyond the rounding bound", amount(r_.error.failing, "element"));
    return std::move(r_);
  }
  second_looks();
  if (r_.verdict.status == Status::crashed) return std::move(r_);
  if (r_.spec.verdict_only) {
    r_.timing_missing = "not timed: only the verdict was asked for";
  } else {
    if (timing) timing(true);
    time_it();
    if (timing) timing(false);
    if (r_.verdict.status == Status::crashed) return std::move(r_);
    check_packed_calls();
    if (r_.verdict.status == Status::crashed) return std::move(r_);
    if (r_.spec.references) judge_references();
  }
  for (auto pass : {&Run::exact_pass, &Run::zero_pass, &Run::precision_pass, &Run::fallback_rounding,
                    &Run::look_for_races, &Run::look_for_unset})
    if (r_.verdict.status != Status::crashed) (this->*pass)();
  conclude();
  return std::move(r_);
}

// Another's output: a reference's needs the tensors and not the plan, whose length may be the kernel's own.
RunReport Judge::Run::output_alone(Reference* reference) {
  if (reference) {
    own_ = r_.own_length = overlap_ = p_.out_length();
    if (reference->may_use_tf32()) r_.spec.accuracy = Accuracy::tf32;
  } else if (!declared()) {
    return std::move(r_);
  }
  draw_inputs();
  if (!reference) {
    if (!execute({nan_poison, 0})) return std::move(r_);
  } else {
    activity_.phase("running " + reference->name());
    y_->fill(nan_poison, &activity_);
    reference->run(p_, at_, &activity_);
  }
  shown_run();
  return std::move(r_);
}

OutputDifference Judge::Run::difference(const ResultTensors& one, const ResultTensors& other, ResultTensors& apart) {
  draw_inputs();
  return output_difference(p_, *oracle(*r_.inputs), one, other, r_.spec.accuracy, apart, &activity_);
}

// ---- compile and binding --------------------------------------------------------------------------------------------

bool Judge::Run::declared() {
  Verdict& v = r_.verdict;
  v.add("compile", LayerStatus::pass,
        (kernel_.kind() != KernelKind::outside ? std::string("compiled with the program (")
         : device_.is_emulator()               ? std::string("compiled for the emulator (")
                                               : "compiled for " + device_.info().architecture + " (") +
            kernel_.file() + ")");
  auto not_run = [&](int code, const std::string& why) {
    v.add("binding", LayerStatus::fail, why);
    v.status = Status::not_run;
    v.exit_code = code;
    v.sentence = "not run: " + kernel_.name() + (why.starts_with("its ") ? ": " : " ") + why;
    return false;
  };
  if (auto why = kernel_.unsupported(p_); !why.empty()) return not_run(2, why);
  if (auto why = device_.unavailable(kernel_); !why.empty()) return not_run(3, why);
  if (const std::string& words = plan_.wrong_shape(); !words.empty()) {
    const bool output = words.starts_with("its output ");
    v.add("binding", LayerStatus::pass, output ? "its host code returns a tensor" : "its module is followed");
    v.add("shape", LayerStatus::fail, words);
    v.status = Status::wrong, v.exit_code = 1, v.sentence = "wrong: " + words;
    return false;
  }
  if (auto why = device_.unavailable(kernel_, plan_); !why.empty()) return not_run(3, why);
  for (const auto& l : plan_.launches())
    if (auto why = simt::launch_fault(l); !why.empty()) return not_run(1, "cannot be launched: " + why);
  v.notes = plan_.notes();
  size_t arguments = 0;
  for (const auto& l : plan_.launches()) arguments += l.arguments.size();
  v.add("binding", LayerStatus::pass,
        fmt::format("{} launch{}, {} arguments{}", plan_.launches().size(), plan_.launches().size() == 1 ? "" : "es",
                    arguments, and_of_stand_ins()));
  if (own_ == p_.out_length()) {
    v.add("shape", LayerStatus::pass, fmt::format("output [{}, {}, {}]", p_.batch, p_.out_channels, own_));
  } else {
    v.add("shape", LayerStatus::fail,
          fmt::format("works out length {} where the problem's is {}{}: {}", own_, p_.out_length(), length_words(),
                      overlap_ > 0 ? fmt::format("judged on the first {} positions", overlap_) : "nothing to judge"));
  }
  return true;
}

std::string Judge::Run::length_words() const {
  std::string why = explain_length(p_, own_);
  return why.empty() ? "" : ", " + why;
}

void Judge::Run::take_memory() {
  activity_.phase("taking memory");
  auto size = [&](int64_t elements) { return static_cast<size_t>(elements) * size_of(p_.dtype); };
  // A kernel that ignores groups walks a weight tensor `groups` times as long: it shall read NaN there and not crash.
  size_t past_w = std::min(size(p_.w_elements()) * static_cast<size_t>(p_.groups - 1), size_t{256} << 20);
  auto tensor = [&](size_t bytes, size_t zone_after = GuardedTensor::least_zone, uint32_t word = red_zone_word) {
    return std::make_unique<GuardedTensor>(device_, bytes, zone_after, &activity_, word);
  };
  x_ = tensor(size(p_.x_elements()));
  w_ = tensor(size(p_.w_elements()), past_w);
  if (p_.bias) b_ = tensor(size(p_.b_elements()));
  y_ = tensor(size(rows_ * std::max({own_, p_.out_length(), int64_t{1}})), GuardedTensor::least_zone, result_zone_word);
  if (plan_.workspace_bytes())
    workspace_ = tensor(plan_.workspace_bytes(), GuardedTensor::least_zone, result_zone_word);
  at_ = {x_->address(), w_->address(), b_ ? b_->address() : 0, y_->address(), workspace_ ? workspace_->address() : 0};
  at_.elements = {p_.x_elements(), p_.w_elements(), p_.b_elements(), rows_ * std::max<int64_t>(own_, 0)};
  at_.element_bytes = size_of(p_.dtype);
}

void Judge::Run::draw_inputs() {
  activity_.phase("drawing inputs");
  r_.inputs = judge_.inputs(p_, r_.spec.inputs, activity_);
  take_memory();
  upload(*r_.inputs);
}

void Judge::Run::upload(const Inputs& in) {
  x_->write(in.x.data(), in.x.size_bytes(), &activity_);
  w_->write(in.w.data(), in.w.size_bytes(), &activity_);
  if (b_) b_->write(in.b.data(), in.b.size_bytes(), &activity_);
}

bool Judge::Run::execute(const Poison& poison) {
  y_->fill(poison.word, &activity_);
  const auto begin = std::chrono::steady_clock::now();
  if (!survives([&] { device_.run(kernel_, plan_, at_, {.order_seed = poison.order_seed, .activity = &activity_}); }))
    return false;
  ran_ms_.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  if (memory_fault_.empty())
    for (auto [name, tensor] : all_tensors())
      if (tensor)
        if (auto damage = tensor->damage(tensor == workspace_.get() ? 1 : size_of(p_.dtype)); !damage.empty())
          memory_fault_ = fmt::format("writes outside {}: {}", name, damage);
  return true;
}

void Judge::Run::crashed(const std::string& why) {
  Verdict& v = r_.verdict;
  // Damage behind dynamic shared memory is seen when its block has ended.
  const bool shared = device_.is_emulator() && why.find("dynamic shared memory") != why.npos;
  const std::string where = shared ? where_it_leaves(device_, kernel_, p_, at_, activity_) : "",
                    all = where.empty() ? why : why + "; it " + where;
  v.add("memory", LayerStatus::fail, all);
  v.status = Status::crashed;
  v.exit_code = 4;
  v.sentence = "crashed: " + all;
}

std::unique_ptr<Oracle> Judge::Run::oracle(const Inputs& in) {
  // Beyond this many products the CPU would keep a person waiting for seconds.
  if (device_.is_emulator() || useful_taps(p_) < int64_t{1} << 30) return make_cpu_oracle(p_, in);
  return make_device_oracle(p_, in, device_, at_);
}

HostBytes Judge::Run::download() const {
  HostBytes y(static_cast<size_t>(rows_ * std::max<int64_t>(own_, 0)) * size_of(p_.dtype));
  y_->read(0, y.data(), y.size());
  return y;
}

// ---- the run that is shown ------------------------------------------------------------------------------------------

void Judge::Run::shown_run() {
  activity_.check();
  auto t = std::make_shared<ResultTensors>();
  t->rows = rows_, t->columns = p_.out_length(), t->dtype = p_.dtype;
  auto all = static_cast<size_t>(p_.y_elements());
  t->error = HostBytes(all * sizeof(float));
  t->ratio = HostBytes(all * sizeof(float));
  auto truth = oracle(*r_.inputs);
  r_.oracle_where = truth->where();
  HostBytes y = download();
  CompareOptions options;
  options.accuracy = r_.spec.accuracy;
  if (r_.spec.tolerance) options.gates.push_back(*r_.spec.tolerance);
  options.unwritten_pattern = unwritten_bits(p_.dtype);
  options.sink = {t->error.as<float>(), t->ratio.as<float>()};
  r_.error = compare(p_, *truth, {p_.dtype, y.data(), own_}, options, &activity_);

  if (own_ == p_.out_length()) {
    t->output = std::move(y);
  } else {
    // Kept in the problem's shape; what the kernel's own length does not reach counts as never written.
    t->output = HostBytes(all * size_of(p_.dtype));
    int64_t lout = p_.out_length(), missing = lout - std::max<int64_t>(0, overlap_);
    HostBytes expected(static_cast<size_t>(std::max<int64_t>(missing, 0) * rows_) * 8);
    if (missing > 0) truth->compute({0, rows_, lout - missing, missing}, expected.as<double>(), nullptr);
    dispatch(p_.dtype, [&](auto zero) {
      using T = decltype(zero);
      using Bits = BitsOf<T>;
      for (int64_t row = 0; row < rows_; row++) {
        if (overlap_ > 0)
          std::memcpy(t->output.as<T>() + row * lout, y.as<T>() + row * own_,
                      static_cast<size_t>(overlap_) * sizeof(T));
        for (int64_t m = 0; m < missing; m++) {
          int64_t e = row * lout + lout - missing + m;
          t->output.as<Bits>()[e] = static_cast<Bits>(unwritten_bits(p_.dtype));
          t->error.as<float>()[e] = static_cast<float>(expected.as<double>()[row * missing + m]);
          t->ratio.as<float>()[e] = std::numeric_limits<float>::infinity();
        }
      }
    });
  }
  r_.tensors = t;
}

// ---- what other runs show: never written, dependent on what was there, different from run to run --------------------

// Each run changes one thing, so that a difference has one cause.
void Judge::Run::second_looks() {
  if (overlap_ <= 0) return;
  std::vector<bool> differs(static_cast<size_t>(rows_ * overlap_));
  activity_.phase("looking for elements never written");
  if (!execute({poisons_of(p_.dtype).tiny, 0})) return;
  other_poison(differs);

  activity_.phase("looking for differences between runs");
  // A fresh address: a result that was cached by pointer, or left from before, is not there.
  auto other =
      std::make_unique<GuardedTensor>(device_, y_->size(), GuardedTensor::least_zone, &activity_, result_zone_word);
  std::swap(y_, other);
  at_.y = y_->address();
  other.reset();
  // What is added atomically to a NaN leaves its bits as they are: here a number lies beside the results.
  y_->lay_zones(number_zone_word);
  if (!execute({nan_poison, 0x5eed2})) return;
  y_->restore_zones();
  other_order(differs);
  differing_elements_ = std::count(differs.begin(), differs.end(), true);
  if (differing_by_poison_) look_closer();

  for (size_t i = 0; i < input_sums_.size(); i++)
    if (auto [name, tensor] = input_tensor(i);
        tensor && tensor->checksum(&activity_) != input_sums_[i] && input_fault_.empty())
      input_fault_ = fmt::format("changes its input {}", name);
  if (!input_fault_.empty()) upload(*r_.inputs);
}

// The same run with another content of the output.
void Judge::Run::other_poison(std::vector<bool>& differs) {
  HostBytes later = download();
  int64_t unwritten = 0, dependent = 0;
  std::vector<bool> was_nan(differs.size());
  each_element(later, [&](auto zero, size_t e, auto first, auto second) {
    using T = decltype(zero);
    T a = std::bit_cast<T>(first), b = std::bit_cast<T>(second);
    if (first == poison_bits<T>(nan_poison) && second == poison_bits<T>(poisons_of(p_.dtype).tiny)) {
      unwritten++;
    } else if (std::isnan(a) && (!std::isnan(b) || first == poison_bits<T>(nan_poison))) {
      was_nan[e] = true;
      dependent++;
    } else if (first != second && !std::isnan(a)) {
      differing_by_poison_++;
      differs[e] = true;
      note_spread(a, b);
    }
  });
  r_.error.nan += r_.error.unwritten - unwritten;
  r_.error.unwritten = unwritten;
  if (differing_by_poison_) note_later(later);
  if (!dependent) return;
  // The poison's NaN went through a sum there, and is none that was never written. What has been shown is not changed.
  auto shown = std::exchange(r_.tensors, std::make_shared<ResultTensors>());
  r_.tensors->rows = shown->rows, r_.tensors->columns = shown->columns, r_.tensors->dtype = shown->dtype;
  for (auto part : {&ResultTensors::output, &ResultTensors::error, &ResultTensors::ratio}) {
    (*r_.tensors).*part = HostBytes(((*shown).*part).size());
    std::memcpy(((*r_.tensors).*part).data(), ((*shown).*part).data(), ((*shown).*part).size());
  }
  each_element(later, [&](auto zero, size_t e, auto& first, auto) {
    using T = decltype(zero);
    if (was_nan[e]) first = std::bit_cast<BitsOf<T>>(static_cast<T>(std::numeric_limits<float>::quiet_NaN()));
  });
  // Again as at first: the same NaN must come back, or it is not the content of the output that makes it.
  if (!execute({nan_poison, 0})) return;
  int64_t gone = 0;
  each_element(download(), [&](auto zero, size_t e, auto, auto now) {
    if (!was_nan[e] || std::isnan(std::bit_cast<decltype(zero)>(now))) return;
    gone++;
    differs[e] = true;
    note_spread(std::numeric_limits<double>::quiet_NaN(), std::bit_cast<decltype(zero)>(now));
  });
  if (gone) {
    differing_by_poison_ += gone;
    fails_in_some_runs_ = true;
    return;
  }
  depends_on_output_ = true;
  if (memory_fault_.empty()) memory_fault_ = std::string(depends_words) + amount(dependent, "element");
}

// The same content of the output, at another address and in another order of threads.
void Judge::Run::other_order(std::vector<bool>& differs) {
  HostBytes later = download();
  each_element(later, [&](auto zero, size_t e, auto& first, auto last) {
    using T = decltype(zero);
    T a = std::bit_cast<T>(first), b = std::bit_cast<T>(last);
    if (first == last || (std::isnan(a) && std::isnan(b))) return;
    differing_by_order_++;
    differs[e] = true;
    note_spread(a, b);
  });
  if (differing_by_order_) note_later(later);
}

void Judge::Run::note_spread(double a, double b) {
  double d = std::fabs(a - b);
  spread_ = std::max(spread_, std::isnan(d) ? std::numeric_limits<double>::infinity() : d);
}

void Judge::Run::note_later(const HostBytes& y) {
  CompareOptions options;
  options.accuracy = r_.spec.accuracy;
  auto truth = oracle(*r_.inputs);
  fails_in_some_runs_ |=
      compare(p_, *truth, {p_.dtype, y.data(), own_}, options, &activity_).failing != r_.error.failing;
}

// Only the content of the output made a difference: was it left there, or did it enter the result in a way that NaN
// does not? Two contents that no result looks like tell.
void Judge::Run::look_closer() {
  std::vector<bool> left(static_cast<size_t>(rows_ * overlap_), true);
  int64_t reached = 0;
  const Poisons poisons = poisons_of(p_.dtype);
  for (uint32_t poison : {poisons.large, poisons.negative}) {
    if (!execute({poison, 0})) return;
    HostBytes later = download();
    int64_t now_reached = 0;
    each_element(later, [&](auto zero, size_t e, auto& first, auto now) {
      using T = decltype(zero);
      T a = std::bit_cast<T>(first), b = std::bit_cast<T>(now);
      if (std::isnan(a) || now != poison_bits<T>(poison)) left[e] = false;
      now_reached +=
          std::fabs(static_cast<double>(a)) <= poisons.most && std::fabs(static_cast<double>(b)) > poisons.most;
    });
    reached = std::max(reached, now_reached);
  }
  int64_t unwritten = std::count(left.begin(), left.end(), true);
  const bool depends = !unwritten && reached && !differing_by_order_;
  depends_on_output_ |= depends;
  if (!memory_fault_.empty()) return;
  if (unwritten)
    memory_fault_ = fmt::format("leaves {} unwritten when it is run again", amount(unwritten, "element"));
  else if (depends)
    memory_fault_ = std::string(depends_words) + amount(reached, "element");
}

std::pair<const char*, GuardedTensor*> Judge::Run::input_tensor(size_t i) const { return all_tensors()[i]; }

std::array<std::pair<const char*, GuardedTensor*>, 5> Judge::Run::all_tensors() const {
  return {{{"x", x_.get()}, {"w", w_.get()}, {"b", b_.get()}, {"y", y_.get()}, {"the workspace", workspace_.get()}}};
}

// ---- races
// -----------------------------------------------------------------------------------------------------------

// The emulator's order of threads is one of many: whether another could give something else is told from what they
// access. What they write is what is there already.
void Judge::Run::look_for_races() {
  if (!device_.is_emulator()) {
    // Of the program's own kernels tests know that they have none. Of a kernel that writes outside its tensors the
    // emulator knows where.
    if (kernel_.kind() != KernelKind::outside || (!memory_fault_.empty() && !writes_outside())) {
      races_.missing = "the emulator does it, and this ran on a GPU";
      return;
    }
    races_ = find_races_of_piece(kernel_, p_, activity_);
    add_where_it_leaves();
    return;
  }
  // Of the program's own kernels tests know that their blocks have outputs of their own.
  const bool between = kernel_.kind() != KernelKind::ladder && kernel_.kind() != KernelKind::specimen;
  // With zeros, which the pass before may have left, all sums are one: two that write the same value are no race.
  upload(*r_.inputs);
  if (!survives([&] { races_ = find_races(device_, kernel_, p_, at_, activity_, between); }) && races_.missing.empty())
    races_.missing = "the kernel crashed";
  // Of a large problem the reads of all blocks are followed on a short piece.
  if (races_.fences_unseen && races_.race.empty()) races_.race = unfenced_in_a_piece(kernel_, p_, activity_);
  if (memory_fault_.empty()) memory_fault_ = races_.misaligned;
  add_where_it_leaves();
}

bool Judge::Run::writes_outside() const { return memory_fault_.starts_with("writes outside "); }

void Judge::Run::add_where_it_leaves() {
  if (memory_fault_.empty())
    memory_fault_ = races_.leaves;
  else if (writes_outside() && races_.leaves.starts_with("writes "))
    memory_fault_ += "; it " + races_.leaves;
}

// Of a wrong kernel file, on the emulator: here what stands in them is a number that no sum is right with.
void Judge::Run::look_for_unset() {
  constexpr double patience_ms = 1000;  // of a run, which takes the twin several times as long
  const bool wrong = r_.error.failing || (r_.exact && r_.exact->failing);
  if (!device_.is_emulator() || !wrong || overlap_ <= 0 || ran_ms_.front() > patience_ms) return;
  if (!memory_fault_.empty() || !outside_.empty() || differing_elements_ || !may_look_for_unset(kernel_, races_))
    return;
  activity_.phase("looking for variables that nobody sets");
  upload(*r_.inputs);
  auto output_of = [&](const KernelDefinition& kernel) {
    y_->fill(nan_poison, &activity_);
    device_.run(kernel, kernel.plan_for(p_), at_, {.activity = &activity_});
    return download();
  };
  races_.variable = unset_variable_used(kernel_, p_.dtype, output_of, activity_);
}

void Judge::Run::judge_references() {
  auto& cache = *judge_.cache_;
  if (cache.references && cache.accuracy == r_.spec.accuracy) {
    r_.references = *cache.references;
    return;
  }
  std::unique_ptr<Oracle> truth;
  for (auto& ref : judge_.references_) {
    activity_.check();
    ReferenceReport report;
    report.name = ref->name();
    report.reason = ref->unavailable();
    if (report.reason.empty()) report.reason = ref->unsupported(p_);
    if (report.reason.empty()) {
      activity_.phase("running " + ref->name());
      try {
        y_->fill(nan_poison, &activity_);
        ref->run(p_, at_, &activity_);
        HostBytes y(static_cast<size_t>(p_.y_elements()) * size_of(p_.dtype));
        y_->read(0, y.data(), y.size());
        if (!truth) truth = oracle(*r_.inputs);
        CompareOptions o;
        o.accuracy = ref->may_use_tf32() ? Accuracy::tf32 : Accuracy::strict;
        Comparison c = compare(p_, *truth, {p_.dtype, y.data(), p_.out_length()}, o, &activity_);
        report.max_abs = c.max_abs;
        report.max_bound_ratio = c.max_ratio;
        TimingOptions t;
        // Its threads spin at barriers: while others are at work on these cores, a call takes a hundred times as long.
        if (device_.is_emulator()) t = {.min_samples = 9, .max_samples = 50, .time_cap_ms = 400, .target_error = 0.02};
        activity_.phase("timing " + ref->name());
        report.hot = ref->time(p_, at_, false, t, &activity_);
        report.what_ran = ref->what_ran();
      } catch (const InputError& e) {
        report.reason = e.what();
      } catch (const DeviceError& e) {
        if (e.poisoned()) throw;
        report.reason = e.what();
      }
    }
    r_.references.push_back(std::move(report));
  }
  cache.references = r_.references;
  cache.accuracy = r_.spec.accuracy;
}

}  // namespace convscope
