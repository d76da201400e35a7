#include "kernels/verify/judge_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/base/text.h"
#include "kernels/base/worker_pool.h"
#include "kernels/problem/counts.h"
#include "kernels/verify/probe_inputs.h"

namespace convscope {
namespace {

// What the output holds before a run. The first is a NaN: whoever adds to it gets NaN. The second is a tiny number that
// vanishes in any sum, so that such a kernel then looks right, and the difference gives it away.
constexpr uint32_t nan_poison = unwritten_word;
constexpr uint32_t tiny_poison = 0x00c3a5c3;  // 1.8e-38 as float, 2e-305 as double

}  // namespace

Judge::Run::Run(Judge& judge, const RunSpec& spec, Activity& activity, const std::function<void(const RunReport&)>& partial)
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

RunReport Judge::Run::go() {
  if (!declared()) return std::move(r_);
  auto& cache = *judge_.cache_;
  activity_.phase("drawing inputs");
  if (!cache.inputs || !(cache.problem == p_) || !(cache.spec == r_.spec.inputs)) {
    cache = {};
    cache.inputs = std::make_shared<Inputs>(make_inputs(p_, r_.spec.inputs, &activity_));
    cache.problem = p_;
    cache.spec = r_.spec.inputs;
  }
  r_.inputs = cache.inputs;
  take_memory();
  upload(*r_.inputs);
  for (size_t i = 0; i < input_sums_.size(); i++)
    if (auto* tensor = input_tensor(i).second) input_sums_[i] = tensor->checksum();
  if (!execute({nan_poison, 0})) return std::move(r_);
  shown_run();
  if (partial_) partial_(r_);
  second_looks();
  if (r_.verdict.status == Status::crashed) return std::move(r_);
  time_it();
  if (r_.spec.references) judge_references();
  exact_pass();
  precision_pass();
  fallback_rounding();
  conclude();
  return std::move(r_);
}

// ---- compile and binding --------------------------------------------------------------------------------------------

bool Judge::Run::declared() {
  Verdict& v = r_.verdict;
  v.add("compile", LayerStatus::pass, "compiled with the program (" + kernel_.file() + ")");
  auto not_run = [&](int code, const std::string& why) {
    v.add("binding", LayerStatus::fail, why);
    v.status = Status::not_run;
    v.exit_code = code;
    v.sentence = "not run: " + kernel_.name() + " " + why;
    return false;
  };
  if (auto why = kernel_.unsupported(p_); !why.empty()) return not_run(2, why);
  if (auto why = device_.unavailable(kernel_); !why.empty()) return not_run(3, why);
  size_t arguments = 0;
  for (const auto& l : plan_.launches()) arguments += l.arguments.size();
  v.add("binding", LayerStatus::pass,
        fmt::format("{} launch{}, {} arguments", plan_.launches().size(), plan_.launches().size() == 1 ? "" : "es", arguments));
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
  x_ = std::make_unique<GuardedTensor>(device_, size(p_.x_elements()));
  w_ = std::make_unique<GuardedTensor>(device_, size(p_.w_elements()), past_w);
  if (p_.bias) b_ = std::make_unique<GuardedTensor>(device_, size(p_.b_elements()));
  y_ = std::make_unique<GuardedTensor>(device_, size(rows_ * std::max({own_, p_.out_length(), int64_t{1}})));
  if (plan_.workspace_bytes()) workspace_ = std::make_unique<GuardedTensor>(device_, plan_.workspace_bytes());
  at_ = {x_->address(), w_->address(), b_ ? b_->address() : 0, y_->address(), workspace_ ? workspace_->address() : 0};
}

void Judge::Run::upload(const Inputs& in) {
  x_->write(in.x.data(), in.x.size_bytes());
  w_->write(in.w.data(), in.w.size_bytes());
  if (b_) b_->write(in.b.data(), in.b.size_bytes());
}

bool Judge::Run::execute(const Poison& poison) {
  y_->fill(poison.word);
  Verdict& v = r_.verdict;
  auto crashed = [&](const std::string& why) {
    v.add("memory", LayerStatus::fail, why);
    v.status = Status::crashed;
    v.exit_code = 4;
    v.sentence = "crashed: " + why;
    return false;
  };
  try {
    device_.run(kernel_, plan_, at_, {.order_seed = poison.order_seed, .activity = &activity_});
  } catch (const KernelFault& e) {
    return crashed(e.what());
  } catch (const DeviceError& e) {
    if (e.poisoned()) throw;  // the engine ends; its client reports the crash
    return crashed(e.what());
  }
  if (memory_fault_.empty())
    for (auto [name, tensor] : {std::pair{"y", y_.get()}, {"x", x_.get()}, {"w", w_.get()}, {"b", b_.get()}, {"the workspace", workspace_.get()}})
      if (tensor)
        if (auto damage = tensor->damage(); !damage.empty()) memory_fault_ = fmt::format("writes outside {}: {}", name, damage);
  return true;
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
      using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
      for (int64_t row = 0; row < rows_; row++) {
        if (overlap_ > 0)
          std::memcpy(t->output.as<T>() + row * lout, y.as<T>() + row * own_, static_cast<size_t>(overlap_) * sizeof(T));
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

// ---- what other runs show: never written, dependent on what was there, different from run to run ---------------------

void Judge::Run::second_looks() {
  if (overlap_ <= 0) return;
  auto& t = *r_.tensors;
  auto bits = [&]<class T>(T) {
    using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
    auto tiny = static_cast<Bits>(p_.dtype == DType::f64 ? uint64_t{tiny_poison} << 32 | tiny_poison : tiny_poison);
    auto mark = static_cast<Bits>(unwritten_bits(p_.dtype));
    auto plain_nan = std::bit_cast<Bits>(std::numeric_limits<T>::quiet_NaN());
    int64_t lout = p_.out_length(), unwritten = 0, dependent = 0;
    auto each = [&](const HostBytes& later, auto&& f) {
      for (int64_t row = 0; row < rows_; row++)
        for (int64_t j = 0; j < overlap_; j++) f(t.output.as<Bits>()[row * lout + j], later.as<Bits>()[row * own_ + j]);
    };

    activity_.phase("looking for elements never written");
    if (!execute({tiny_poison, 0x5eed1})) return;
    each(download(), [&](Bits& first, Bits second) {
      if (first == mark) {
        if (second == tiny) unwritten++;
        else first = plain_nan, dependent++;  // the poison's NaN went through a sum
      } else if (std::isnan(std::bit_cast<T>(first)) && !std::isnan(std::bit_cast<T>(second))) {
        dependent++;
      } else if (first != second) {
        differing_elements_++;
      }
    });
    r_.error.nan += r_.error.unwritten - unwritten;
    r_.error.unwritten = unwritten;
    depends_on_output_ = dependent > 0;
    if (depends_on_output_ && memory_fault_.empty())
      memory_fault_ = fmt::format("reads its output before it has written it: {} elements depend on what was there", grouped(dependent));

    activity_.phase("looking for differences between runs");
    // A fresh address: a result that was cached by pointer, or left from before, is not there.
    auto other = std::make_unique<GuardedTensor>(device_, y_->size());
    std::swap(y_, other);
    at_.y = y_->address();
    if (!execute({nan_poison, 0x5eed2})) return;
    HostBytes third = download();
    each(third, [&](Bits first, Bits last) {
      T a = std::bit_cast<T>(first), b = std::bit_cast<T>(last);
      if (first == last || (std::isnan(a) && std::isnan(b))) return;
      differing_elements_++;
      double d = std::fabs(static_cast<double>(a) - static_cast<double>(b));
      if (d > spread_) spread_ = d;
    });
    differs_between_runs_ = differing_elements_ > 0;
    if (differs_between_runs_) {
      CompareOptions options;
      options.accuracy = r_.spec.accuracy;
      auto truth = oracle(*r_.inputs);
      failing_later_ = compare(p_, *truth, {p_.dtype, third.data(), own_}, options, &activity_).failing;
    }
  };
  dispatch(p_.dtype, bits);

  for (size_t i = 0; i < input_sums_.size(); i++)
    if (auto [name, tensor] = input_tensor(i); tensor && tensor->checksum() != input_sums_[i] && input_fault_.empty())
      input_fault_ = fmt::format("changes its input {}", name);
  if (!input_fault_.empty()) upload(*r_.inputs);
}

std::pair<const char*, GuardedTensor*> Judge::Run::input_tensor(size_t i) const {
  const std::pair<const char*, GuardedTensor*> all[] = {{"x", x_.get()}, {"w", w_.get()}, {"b", b_.get()}};
  return all[i];
}

// ---- time -----------------------------------------------------------------------------------------------------------

void Judge::Run::time_it() {
  activity_.check();
  TimingOptions o;
  if (device_.is_emulator()) o = {.min_samples = 3, .max_samples = 25, .time_cap_ms = 150, .target_error = 0.02};
  if (r_.spec.samples > 0) o.min_samples = o.max_samples = r_.spec.samples;
  activity_.phase("timing");
  if (plan_.launches().empty()) {
    r_.timing_missing = "the kernel launched nothing";
    return;
  }
  r_.hot = device_.time(kernel_, plan_, at_, false, o, &activity_);
  if (!device_.is_emulator()) r_.cold = device_.time(kernel_, plan_, at_, true, o, &activity_);

  const DeviceInfo& d = device_.info();
  if (d.memory_bandwidth_gbs <= 0) {
    r_.floor_from = "no GPU: a floor of emulated time would mean nothing";
    return;
  }
  double by_bytes = static_cast<double>(least_bytes(p_)) / (d.memory_bandwidth_gbs * 1e6);
  double rate = d.fma_gflops * (p_.dtype == DType::f64 ? 0.5 : 1);
  double by_flops = r_.spec.accuracy == Accuracy::strict && rate > 0 ? flops(p_) / (rate * 1e6) : 0;
  r_.floor_ms = std::max(by_bytes, by_flops);
  r_.floor_from = by_flops > by_bytes ? "flops" : "bytes";
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
        y_->fill(nan_poison);
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
        if (device_.is_emulator()) t = {.min_samples = 3, .max_samples = 25, .time_cap_ms = 100, .target_error = 0.02};
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
