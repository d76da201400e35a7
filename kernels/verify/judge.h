// Runs a kernel on a problem and says whether it is right, in layers, with evidence.
//
// On the requested inputs: the run that is shown (first picture), then runs with another poison and another thread
// order (never-written elements, dependence on what was in the output, determinism), then the time. On the judge's own
// inputs: the exact pass (integers, bitwise) and the precision pass (wide integers, bitwise). References are judged
// like kernels.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/base/activity.h"
#include "kernels/problem/inputs.h"
#include "kernels/reference/reference.h"
#include "kernels/runtime/device.h"
#include "kernels/verify/compare.h"
#include "kernels/verify/difference.h"
#include "kernels/verify/packed_times.h"
#include "kernels/verify/pattern.h"
#include "kernels/verify/pyramid.h"
#include "kernels/verify/verdict.h"

namespace convscope {

struct RunSpec {
  const KernelDefinition* kernel = nullptr;
  ConvProblem problem;
  InputSpec inputs;
  Accuracy accuracy = Accuracy::strict;
  std::optional<Gate> tolerance;  // shown beside 1e-2 and 1e-4
  int samples = 0;                // of the time; 0: as many as it takes
  bool references = true;         // judge and time them too
  bool pictures = false;          // keep the tensors' pyramid for tiles
  bool verdict_only = false;      // neither time it nor judge references
  bool right_only = false;        // whether it is right is asked: where its results are not, nothing else is looked at
};

struct ReferenceReport {
  std::string name;
  std::optional<double> max_abs, max_bound_ratio;
  Timing hot;
  std::string what_ran;
  std::string reason;  // why figures are missing
};

struct RunReport {
  RunSpec spec;
  DeviceInfo device;
  Verdict verdict;
  int64_t own_length = 0;  // output length the kernel worked out
  Comparison error;        // on the requested inputs
  std::optional<Comparison> exact, precision;
  std::string exact_skipped, precision_skipped;
  Pattern pattern;
  // What the wide integers show of the arithmetic: "strict", "3xtf32 or better", "tf32", "less than …", "unknown".
  std::string accuracy_ran;
  std::string oracle_where;
  std::vector<ReferenceReport> references;
  Timing hot, cold;  // of the whole plan
  PackedTimes packed;
  Timing launch;                   // of a launch of nothing, hot; on a GPU, where the kernel's time is not much more
  std::string timing_missing;      // why there is no time, or none with a cold cache
  std::optional<double> floor_ms;  // least time by bytes or operations at the device's theoretical peak (computed)
  std::string floor_from;          // "bytes", "flops", or why there is none
  std::shared_ptr<ResultTensors> tensors;
  std::shared_ptr<Pyramid> pyramid;
  std::shared_ptr<const Inputs> inputs;
};

class Judge {
 public:
  // Both must outlive the judge.
  Judge(Device& device, std::vector<std::unique_ptr<Reference>>& references);
  ~Judge();

  // Errors: InputError (illegal problem, not enough memory, files that do not fit), MissingError, Cancelled, and
  // DeviceError when the device is lost. What the kernel itself does wrong is a verdict, not an error. `partial` gets
  // the report as soon as the first comparison is there. `timing` is called with true before the kernel is timed, and
  // with false when it has been, so that the device's clocks can be looked at meanwhile; not with false when an error
  // ends the run.
  RunReport run(const RunSpec& spec, Activity& activity, const std::function<void(const RunReport&)>& partial = {},
                const std::function<void(bool begins)>& timing = {});

  // One run on the spec's inputs and its tensors, no more: what a kernel wrote, or, where reference is given (one of
  // the judge's own), what that did. A verdict only where it could not run or crashed; no tensors then. Errors: as
  // `run`, and InputError where the reference cannot compute the problem.
  RunReport output(const RunSpec& spec, Reference* reference, Activity& activity);

  // Two such outputs against each other (difference.h); the oracle's part is worked out where a run would.
  OutputDifference difference(const RunSpec& spec, const ResultTensors& one, const ResultTensors& other,
                              ResultTensors& apart, Activity& activity);

  // As a run would draw them, or those of the last one when it was of this problem: large ones take a second.
  std::shared_ptr<const Inputs> inputs(const ConvProblem& p, const InputSpec& spec, Activity& activity);

  // Host and device bytes a run will hold at its fullest.
  struct Need {
    uint64_t host = 0, device = 0;
  };
  static Need predict(const RunSpec& spec, bool on_emulator);

 private:
  class Run;
  struct Cache;
  void require_memory(const RunSpec& spec) const;
  Device& device_;
  std::vector<std::unique_ptr<Reference>>& references_;
  std::unique_ptr<Cache> cache_;  // inputs and reference results of the last problem
};

}  // namespace convscope
