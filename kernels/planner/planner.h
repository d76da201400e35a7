// Which kernel is the best for a problem: a small model of each, and where there is a GPU a measurement of the few that
// the model puts first.
#pragma once
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernels/base/activity.h"
#include "kernels/planner/activation.h"
#include "kernels/planner/costs.h"
#include "kernels/planner/kept_times.h"
#include "kernels/planner/target.h"
#include "kernels/verify/accuracy.h"

namespace convscope {

struct Candidate {
  const KernelDefinition* kernel = nullptr;
  std::string refused;                // why it is out of the question, or ""
  bool other_types = false;           // it is for other element types, and no reason names it
  double predicted_ms = 0;            // by the model
  int launches = 0;                   // of a call, with weights packed
  std::optional<double> measured_ms;  // median of a few calls, cold, with weights packed
  std::string measured_on;            // the day, where it is not of this process: 2026-11-20
};

struct Choice {
  const KernelDefinition* kernel = nullptr;
  std::string reason;                 // one sentence
  std::vector<Candidate> candidates;  // every rung, the best first, refused ones last
};

// By the model alone. The rung `direct` takes every problem and every activation, so there always is one.
Choice choose(const ConvProblem& p, Accuracy allowed, const Target& target, const Activation& then = {});

// On a GPU, with weights packed (inference packs them once), the candidates that the model puts within six times or 20
// microseconds of its best, eight at most, are measured, without the activation, which costs next to nothing. What was
// measured before is remembered, for the object's life and in the user's cache (kept_times.h); there only what was
// steady: while others use the GPU times are wrong, and would be so for good. The emulator measures nothing. A
// candidate that cannot be measured (no memory, a launch that the driver refuses) is refused with that reason, and the
// next one is measured in its place, further down as well, until one has run. What the driver refused is not tried
// again; memory may have come free. Errors: those of make_inputs; Cancelled, also while memory is taken; DeviceError
// where the context is lost; where none has run what the first one met, the same each time.
class Planner {
 public:
  Choice choose(const ConvProblem& p, Accuracy allowed, Device& device, Activity& activity,
                const Activation& then = {});

 private:
  // By kernel, problem and GPU of this machine.
  std::map<std::string, KeptTime> measured_;
  struct Failure {
    std::string refused;     // a candidate's
    std::exception_ptr why;  // as it was thrown: another kind has another exit code
  };
  std::map<std::string, Failure> failed_;
};

}  // namespace convscope
