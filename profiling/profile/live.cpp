#include "profiling/profile/live.h"

#include "kernels/problem/counts.h"
#include "profiling/roofline/measure.h"

namespace convscope {

LiveProfile::LiveProfile(const ProfileTools& tools, const ProfileSpec& spec, Activity& activity) {
  require_legal(spec.problem);
  report_.spec = spec;
  report_.device = tools.device.info();
  subject_ = make_subject(spec.kernel, tools.device, tools.references, spec.problem);
  report_.name = subject_->name();
  report_.spec.ceilings = ceilings_of(tools.device, ceilings_for(report_.device), &activity);
  report_.is_reference = subject_->is_reference();
  report_.arithmetic = arithmetic_of(spec.problem, subject_->accuracy(), subject_->tensor_cores());
  report_.work = {flops(spec.problem), static_cast<double>(least_bytes(spec.problem))};
  activity.phase("drawing inputs");
  inputs_ = make_inputs(spec.problem, spec.inputs, &activity);
  activity.phase("taking memory");
  memory_ = std::make_unique<ProblemMemory>(tools.device, spec.problem, inputs_, subject_->out_length(),
                                            subject_->workspace_bytes(), &activity);
  subject_->begin_phase(activity, "running ");
  subject_->run(memory_->at(), &activity);
  describe_launches(report_, *subject_);
}

LiveReading LiveProfile::read(const ProfileTools& tools, Activity& activity) {
  LiveReading out;
  ProfileReport r = report_;
  subject_->begin_phase(activity, "running ");
  auto work = [&] { subject_->run(memory_->at(), tools.device.is_emulator() ? &activity : nullptr); };
  const TimingOptions once{.min_samples = 1, .max_samples = 1, .time_cap_ms = 0, .target_error = 1};
  if (!tools.device.is_emulator()) {
    r.kernels = tools.cupti.trace(work, r.kernels_missing);
    double sum = 0;
    for (const auto& k : r.kernels) sum += k.ms();
    if (!r.kernels.empty()) r.kernel_ms = sum;
    out.packed_missing = subject_->no_packed_times();
    if (out.packed_missing.empty() && r.kernel_ms) {
      for (const auto& k : r.kernels)
        if (subject_->packs(k.name)) sum -= k.ms();
      out.packed_ms = sum;
    } else if (out.packed_missing.empty()) {
      out.packed_missing = "a call is not told apart without CUPTI's records";
    }
    r.counters_missing = tools.cupti.counters_gap(tools.device.native_context(), r.device.index);
    if (!r.counters_missing) {
      out.counters =
          tools.cupti.count(tools.device.native_context(), r.device.index, CounterSet::live, work, &activity);
      r.counters_missing = out.counters->gap;
      r.counters.push_back(*out.counters);
    }
  } else {
    r.counters_missing = {"no-gpu", "hardware counters are a GPU's, and none is used", "run with --device cuda"};
    out.packed_missing = subject_->no_packed_times();
  }
  if (r.kernel_ms) {
    r.hot.samples_ms = {*r.kernel_ms};
    out.source = "recorded";
  } else {
    r.hot = subject_->time(memory_->at(), false, once, &activity);
    r.emulated = r.hot.emulated;
    out.source = r.emulated ? "emulated" : "measured";
  }
  out.ms = r.hot.median_ms();
  conclude(r);
  out.counters_missing = r.counters_missing;
  out.headlines = r.headlines;
  out.bottleneck = r.bottleneck;
  return out;
}

}  // namespace convscope
