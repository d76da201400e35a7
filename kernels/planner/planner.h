// Which kernel is the best for a problem: a small model of each, and where there is a GPU a measurement of the few that
// the model puts first.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernels/base/activity.h"
#include "kernels/planner/activation.h"
#include "kernels/planner/kept_times.h"
#include "kernels/runtime/device.h"
#include "kernels/verify/accuracy.h"

namespace convscope {

// What the model knows of a GPU.
struct Target {
  std::string architecture = "sm_90";  // a compute capability
  std::string name = "NVIDIA H200";
  double bandwidth_gbs = 4814;  // data sheet
  double fma_gflops = 66908;    // f32 multiply-adds, two operations each
  int multiprocessors = 132;

  // Of the device; where it is the emulator, an H200 by its data sheet.
  static Target of(const DeviceInfo& device);
  // Another architecture: the H200's figures with it. Errors: InputError("architecture", …).
  static Target of_architecture(const std::string& name);
};

struct Candidate {
  const KernelDefinition* kernel = nullptr;
  std::string refused;                // why it is out of the question, or ""
  double predicted_ms = 0;            // by the model
  std::optional<double> measured_ms;  // median of a few calls, hot, with weights packed
  std::string measured_on;            // the day, where it is not of this process: 2026-11-20
};

struct Choice {
  const KernelDefinition* kernel = nullptr;
  std::string reason;                 // one sentence
  std::vector<Candidate> candidates;  // every rung, the best first, refused ones last
};

// The model's milliseconds for a kernel of the ladder: the larger of its arithmetic at the rate it was measured to
// reach (tests/bench/results/h200-ladder.md) with padding to its tiles, and its traffic; at least a launch.
double predicted_ms(const KernelDefinition& kernel, const ConvProblem& p, const Target& target);

// By the model alone. The rung `direct` takes every problem and every activation, so there always is one.
Choice choose(const ConvProblem& p, Accuracy allowed, const Target& target, const Activation& then = {});

// On a GPU, with weights packed (inference packs them once), the candidates that the model puts within six times or 20
// microseconds of its best, eight at most, are measured, without the activation, which costs next to nothing. What was
// measured before is remembered, for the object's life and in the user's cache (kept_times.h). The emulator measures
// nothing.
class Planner {
 public:
  Choice choose(const ConvProblem& p, Accuracy allowed, Device& device, Activity& activity,
                const Activation& then = {});

 private:
  std::map<std::string, KeptTime> measured_;  // by kernel, problem and GPU of this machine
};

}  // namespace convscope
