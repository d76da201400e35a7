// What can be timed and profiled: a kernel or a reference, on one problem.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "kernels/problem/inputs.h"
#include "kernels/reference/reference.h"
#include "kernels/runtime/device.h"
#include "kernels/verify/accuracy.h"
#include "kernels/verify/packed_times.h"
#include "kernels/verify/problem_memory.h"

namespace convscope {

class Subject {
 public:
  virtual ~Subject() = default;
  virtual std::string name() const = 0;
  virtual bool is_reference() const = 0;
  virtual std::string file() const { return ""; }
  virtual std::vector<std::string> requires_hardware() const { return {}; }
  virtual std::string what_ran() const { return ""; }
  // What is to be said beside its times of launches that stand for a library's, or "".
  virtual std::string stand_ins() const { return ""; }
  virtual int64_t out_length() const = 0;  // that it works out itself
  virtual size_t workspace_bytes() const { return 0; }
  // Says what is being done ("running ", "timing ") with it, and whether it is a kernel, which may never end.
  void begin_phase(Activity& activity, const char* doing) const {
    if (is_reference())
      activity.phase(doing + name());
    else
      activity.phase_of_kernel(doing + name());
  }
  // A call, whole: issued at once, waited for.
  virtual void run(const Bindings& at, Activity* activity) = 0;
  // Several, back to back.
  virtual void run_times(const Bindings& at, int times) {
    for (int i = 0; i < times; i++) run(at, nullptr);
  }
  virtual Timing time(const Bindings& at, bool cold, const TimingOptions& options, Activity* activity) = 0;
  virtual bool packs_weights() const { return false; }  // in launches of their own
  // Why it has no times with weights packed before, or "". Where it has them: all of them; and one by one, a call
  // without the launches that pack, on a workspace in which its last whole call has run, and these launches alone, hot.
  virtual std::string no_packed_times() const {
    return "nothing is packed before: a library's call is timed whole, with what it does to weights";
  }
  virtual PackedTimes packed_times(const Bindings&, const TimingOptions&, Activity*) {
    return {.packs = packs_weights(), .missing = no_packed_times()};
  }
  virtual Timing time_packed(const Bindings&, bool /*cold*/, const TimingOptions&, Activity*) { return {}; }
  virtual Timing time_packing(const Bindings&, const TimingOptions&, Activity*) { return {}; }
  // Whether launches of this name pack weights.
  virtual bool packs(const std::string& /*entry*/) const { return false; }
  virtual std::vector<LaunchFacts> launch_facts() { return {}; }
  virtual Accuracy accuracy() const = 0;  // what its arithmetic may be
  // Whether it multiplies f16 and bf16 on tensor cores. A library chooses by itself: it may.
  virtual bool tensor_cores() const { return true; }
};

// By the name of a kernel or of one of `references`. Errors: InputError when there is none, or it does not support the
// problem; MissingError when this device cannot run it.
std::unique_ptr<Subject> make_subject(const std::string& name, Device& device,
                                      std::vector<std::unique_ptr<Reference>>& references, const ConvProblem& p);

}  // namespace convscope
