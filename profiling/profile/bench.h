// Kernels against each other on one problem: samples taken in turn, so that what drifts drifts for all of them.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "profiling/nvml/conditions.h"
#include "profiling/profile/profile.h"
#include "profiling/statistics/compare.h"

namespace convscope {

struct BenchSpec {
  std::vector<std::string> kernels;  // or references; empty: every kernel that takes the problem here
  ConvProblem problem;
  InputSpec inputs;
  Accuracy accuracy = Accuracy::strict;
  std::string against;  // a kernel or a reference; "": the best reference there is, else the first of the kernels
  int samples = 0;      // of each; 0: as many as it takes
  // What is held against each other: calls with weights packed before, as inference has them, or whole plans.
  bool with_packing = false;
  bool keep_on_cancel = false;  // who cancels it wants what there is by then
};

struct BenchEntry {
  std::string name, what_ran;
  bool is_reference = false, emulated = false;
  std::string missing;  // why it was not measured
  Timing hot, cold;     // of whole plans
  PackedTimes packed;   // taken in the same turns
  struct Verdict {
    std::optional<ComparisonOfTimes> hot, cold;  // of this one against the other
    bool packed = false;                         // weights of one of them or of both were packed before
  };
  // The one that counts (BenchSpec::with_packing), and that of whole plans. Who packs nothing is in both with its only
  // times.
  Verdict verdict, whole_verdict;
  std::string no_verdict;      // why there is none
  std::string doubt;           // of its timed calls
  std::optional<Floor> floor;  // of its own arithmetic
};

// The times that a verdict is about: with weights packed before, or of whole plans. Of an entry without packed times
// its only ones.
inline const Timing& held_times(const BenchEntry& e, bool cold, bool packed) {
  const Timing &whole = cold ? e.cold : e.hot, &rest = cold ? e.packed.cold : e.packed.hot;
  return packed && !rest.empty() ? rest : whole;
}

struct BenchReport {
  BenchSpec spec;
  DeviceInfo device;
  std::string against;        // "" when there is nothing to compare with
  std::string why_not_other;  // why a better reference is not the one compared with
  std::vector<BenchEntry> entries;
  Conditions conditions;
  int rounds = 0;            // whole ones
  bool interrupted = false;  // cancelled (keep_on_cancel): fewer samples than meant, of some perhaps none
  Workload work;
  Ceilings ceilings;
  std::optional<Floor> floor;  // of the accuracy that was asked for
  std::vector<std::string> warnings;
};

// Errors: InputError for names that are not known; MissingError when none of what was named can run here; Cancelled,
// with keep_on_cancel before the first sample only.
BenchReport bench(const ProfileTools& tools, const BenchSpec& spec, Activity& activity);

}  // namespace convscope
