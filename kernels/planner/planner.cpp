#include "kernels/planner/planner.h"

#include <algorithm>
#include <fmt/format.h>

#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/problem/inputs.h"
#include "kernels/runtime/registry.h"
#include "kernels/verify/problem_memory.h"

namespace convscope {
namespace {

constexpr size_t most_measured = 8;
// Samples that spread more (half the interquartile range over the median, percent) are taken again, this often in all:
// others may be using the GPU. Left alone they spread by 0.04 to 1 % (`bench` on an H200, hot, 2026-11-25).
constexpr double most_noise_pct = 5;
constexpr int most_tries = 3;

// Whether a kernel refuses a problem for its element type: then the least problem of that type is refused in the same
// words.
bool refuses_type(const KernelDefinition& k, const ConvProblem& p) {
  ConvProblem least;
  least.dtype = p.dtype;
  const std::string why = k.unsupported(p);
  return !why.empty() && k.unsupported(least) == why;
}

std::string milliseconds(double ms) {
  return ms < 1 ? fmt::format("{:.3g} µs", ms * 1e3) : fmt::format("{:.3g} ms", ms);
}

// Between others' calls each launch of a call waits for the one before it. H200, 2026-11-26, in graphs beside PyTorch:
// where cold calls of three launches and of one take the same (hifigan.u2, encodec.d1; ordered_1xf16 beside
// stream_1xf16), the one is 4 and 3 µs faster; encodec.d2, where the three are 3 µs faster, is 3 µs faster there.
constexpr double launch_more_ms = 1e-3;
double alone_ms(const Candidate& k) { return *k.measured_ms + launch_more_ms * (k.launches - 1); }

void sort_candidates(std::vector<Candidate>& all) {
  std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    if (a.refused.empty() != b.refused.empty()) return a.refused.empty();
    if (a.measured_ms.has_value() != b.measured_ms.has_value()) return a.measured_ms.has_value();
    return a.measured_ms ? alone_ms(a) < alone_ms(b) : a.predicted_ms < b.predicted_ms;
  });
}

void decide(Choice& c, const std::string& where) {
  sort_candidates(c.candidates);
  const Candidate &best = c.candidates[0],
                  *next = c.candidates.size() > 1 && c.candidates[1].refused.empty() ? &c.candidates[1] : nullptr;
  c.kernel = best.kernel;
  auto time = [](const Candidate& k) {
    std::string ms = milliseconds(k.measured_ms.value_or(k.predicted_ms));
    if (!k.measured_ms) return ms + " predicted";
    return ms + " measured" + (k.measured_on.empty() ? "" : " " + k.measured_on);
  };
  c.reason = fmt::format("{}: {} {}", best.kernel->name(), time(best), where);
  if (next) c.reason += fmt::format(", {} {}", next->kernel->name(), time(*next));
  if (next && next->measured_ms && best.measured_ms && *next->measured_ms < *best.measured_ms)
    c.reason += fmt::format(", but {} launches a call", next->launches);
  for (const auto& k : c.candidates)  // the one above it on the ladder that cannot be had
    if (!k.refused.empty() && !k.other_types && k.kernel->rung() > best.kernel->rung()) {
      c.reason += fmt::format("; {} {}", k.kernel->name(), k.refused);
      break;
    }
}

}  // namespace

Choice choose(const ConvProblem& p, Accuracy allowed, const Target& target, const Activation& then) {
  Choice c;
  for (const auto* k : all_kernels()) {
    if (k->kind() != KernelKind::ladder) continue;
    Candidate one;
    one.kernel = k, one.other_types = refuses_type(*k, p);
    one.refused = one.other_types ? k->unsupported(p) : target.unavailable(*k);
    auto promised = accuracy_from(k->accuracy());
    if (one.refused.empty() && p.dtype == DType::f32 && promised && *promised > allowed)
      one.refused = fmt::format("computes in {}, {} is asked for", k->accuracy(), name_of(allowed));
    if (one.refused.empty()) one.refused = k->unsupported(p);
    std::optional<Plan> plan;
    if (one.refused.empty()) one.refused = target.unavailable(*k, plan.emplace(k->plan_for(p)));
    if (one.refused.empty() && then && !k->fuses_activation()) one.refused = "cannot fuse " + then.name();
    if (one.refused.empty()) {
      one.predicted_ms = predicted_ms(*k, *plan, p, target);
      one.launches = static_cast<int>(plan->without_packing().launches().size());
    }
    c.candidates.push_back(std::move(one));
  }
  decide(c, target.where());
  return c;
}

namespace {

// Where the candidates of one choice are measured: with the same tensors, and the largest workspace of those so far.
class Measurement {
 public:
  Measurement(Device& device, const ConvProblem& p, Activity& activity)
      : device_(device), p_(p), activity_(activity), inputs_(make_inputs(p, {}, &activity)) {}

  struct Time {
    double ms;
    bool steady;
  };
  // None: nothing was timed. Errors: as of Device.
  std::optional<Time> of(const KernelDefinition& kernel) {
    Plan plan = kernel.plan_for(p_);
    if (!memory_ || plan.workspace_bytes() > workspace_) {
      workspace_ = plan.workspace_bytes(), memory_.reset();
      memory_ = std::make_unique<ProblemMemory>(device_, p_, inputs_, plan.out_length(), workspace_, &activity_);
    }
    TimingOptions options;
    options.max_samples = 9, options.time_cap_ms = 200;
    device_.run(kernel, plan, memory_->at(), {.activity = &activity_});  // packs the weights
    std::optional<Time> best;
    for (int tries = 0; tries < most_tries && !(best && best->steady); tries++) {
      // Cold: one call behind other work, as a layer of a model has it. In a row of calls each begins while the one
      // before it ends, and finds the caches full of its own. (H200, 2026-11-26, ordered_1xf16 beside stream_1xf16: in
      // a row hifigan.u2 33.2 and 32.9 µs, encodec.d2 24.7 and 27.4; cold 39.4 and 35.5, 27.7 and 34.5; beside PyTorch,
      // in graphs, 44.7 and 39.2, 29 and 32.)
      Timing t = device_.time(kernel, plan.without_packing(), memory_->at(), true, options, &activity_);
      if (t.empty()) break;
      const Time now{t.median_ms(), t.noise_pct() <= most_noise_pct};
      if (!best || now.steady || now.ms < best->ms) best = now;
    }
    return best;
  }

 private:
  Device& device_;
  const ConvProblem& p_;
  Activity& activity_;
  Inputs inputs_;
  std::unique_ptr<ProblemMemory> memory_;
  size_t workspace_ = 0;
};

}  // namespace

Choice Planner::choose(const ConvProblem& p, Accuracy allowed, Device& device, Activity& activity,
                       const Activation& then) {
  Target target = Target::of(device.info());
  Choice c = convscope::choose(p, allowed, target, then);
  if (device.is_emulator()) {
    for (auto& k : c.candidates)
      if (k.refused.empty()) k.refused = device.unavailable(*k.kernel);
    decide(c, target.where() + ", the emulator has no time of its own");
    return c;
  }
  std::optional<Measurement> measurement;
  std::exception_ptr first;  // what the first met that could not be measured
  double worst_ms = 0;
  size_t done = 0;
  for (Candidate& k : c.candidates) {
    if (!k.refused.empty() || done == most_measured) break;
    if (done == 0) worst_ms = std::max(6 * k.predicted_ms, k.predicted_ms + 0.02);
    if (k.predicted_ms > worst_ms) break;
    const std::string here = k.kernel->name() + " " + describe(p) + " " + device.info().pci_bus;
    if (auto failed = failed_.find(here); failed != failed_.end()) {
      k.refused = failed->second.refused;
      if (!first) first = failed->second.why;
      continue;
    }
    auto it = measured_.find(here);
    std::string key;  // only now: it takes an export's text
    if (it == measured_.end())
      if (auto kept = kept_time(key = time_key(device.info(), *k.kernel, p)))
        it = measured_.emplace(here, std::move(*kept)).first;
    if (it != measured_.end()) {
      k.measured_ms = it->second.ms, k.measured_on = it->second.date, done++;
      continue;
    }
    activity.phase("choosing a kernel");
    if (!measurement) measurement.emplace(device, p, activity);
    auto refuse = [&](const std::exception& e) {
      k.refused = fmt::format("cannot be run: {}", e.what());
      if (!first) first = std::current_exception();
    };
    bool steady = false;
    try {
      if (auto time = measurement->of(*k.kernel)) k.measured_ms = time->ms, steady = time->steady;
      done++;
    } catch (const InputError& e) {  // memory: there may be more of it the next time
      refuse(e);
    } catch (const MissingError& e) {
      refuse(e), failed_[here] = {k.refused, std::current_exception()};
    } catch (const KernelFault& e) {
      refuse(e), failed_[here] = {k.refused, std::current_exception()};
    } catch (const DeviceError& e) {
      if (e.poisoned()) throw;
      refuse(e), failed_[here] = {k.refused, std::current_exception()};
    }
    if (!k.measured_ms) continue;
    measured_[here] = {key, *k.measured_ms, ""};  // of this process: its day is not worth a word
    if (steady) keep_time({key, *k.measured_ms, today()});
  }
  if (done == 0 && first) std::rethrow_exception(first);
  decide(c, target.where());
  return c;
}

}  // namespace convscope
