// Everything that can be said of one kernel's time on one problem, and why it is what it is.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/verify/accuracy.h"
#include "kernels/verify/packed_times.h"
#include "profiling/bottleneck/bottleneck.h"
#include "profiling/cupti/cupti.h"
#include "profiling/emulated/count.h"
#include "profiling/metrics/metrics.h"
#include "profiling/nvml/conditions.h"
#include "profiling/occupancy/occupancy.h"
#include "profiling/profile/subject.h"
#include "profiling/roofline/roofline.h"

namespace convscope {

struct ProfileSpec {
  std::string kernel;  // or a reference
  ConvProblem problem;
  InputSpec inputs;
  Accuracy accuracy = Accuracy::strict;
  bool full = false;                 // all counter sets, not the live one alone
  bool memory = false;               // the live set and that of the memory
  double slow_ms = 0;                // a call that takes longer gets the live and the memory set alone; 0: none does
  int samples = 0;                   // of each time; 0: as many as it takes
  std::optional<Ceilings> ceilings;  // else those that are measured on this GPU, and without one ceilings_for()
};

struct LaunchProfile {
  LaunchFacts facts;
  std::optional<Occupancy> occupancy;  // theoretical
  double occupancy_pct = 0;
  std::string limit;         // in words
  std::string no_occupancy;  // why there is none
};

struct ProfileReport {
  ProfileSpec spec;
  DeviceInfo device;
  std::string name, file, what_ran;
  bool is_reference = false;
  std::vector<std::string> requires_hardware;

  Timing hot, cold;  // of the whole plan
  PackedTimes packed;
  bool emulated = false;
  std::string too_slow;             // why it is not as full as was asked (ProfileSpec::slow_ms)
  std::optional<double> host_ms;    // of a call, from outside: issue to end
  std::optional<double> kernel_ms;  // of a call, kernels alone, by CUPTI's records
  Conditions conditions;

  std::vector<KernelRecord> kernels;  // of one call
  int kernels_a_call = 0;
  Gap kernels_missing;
  std::vector<LaunchProfile> launches;

  std::vector<CounterReading> counters;
  std::string counters_source = "counted by hardware";
  Gap counters_missing;
  // Memory traffic of each source line, from the emulator's trace, on a GPU too with the full set.
  std::vector<LineCounts> lines;
  std::string lines_source, lines_missing;
  // Full set, on a GPU: what the chip did over time, and where warps were and why; else the gap says why not. Samples
  // are not taken by profile(), but put in by who has them: sample_pcs() wants a process that has counted nothing.
  PcSamples samples;
  Timeline timeline;
  Counters all_counters() const;
  // The same with shares of elapsed time put right: the counters' range around a kernel is longer than the kernel (by
  // about 60 µs on an H200), and its own time is known from its record.
  Counters counters_of_kernels() const;

  Workload work;
  std::vector<HeadlineValue> headlines;
  Ceilings ceilings;
  Arithmetic arithmetic = Arithmetic::f32;
  std::optional<Floor> floor;
  std::optional<Floor> least_possible;  // by the datasheet, which nothing beats: what a time is doubted by
  std::vector<RooflinePoint> roofline;
  std::string roofline_missing;
  Bottleneck bottleneck;
  std::vector<std::string> warnings;  // why a time is not to be believed as it stands
};

// What is profiled with: the device's own, and the libraries that are there.
struct ProfileTools {
  Device& device;
  std::vector<std::unique_ptr<Reference>>& references;
  Cupti& cupti;
  const Nvml& nvml;
  // Who has drawn these inputs already; else they are drawn.
  std::function<std::shared_ptr<const Inputs>(const ConvProblem&, const InputSpec&, Activity&)> inputs = {};
  // Called when times are taken and, on a GPU, the full set of counters comes next: what disturbs no counter may begin.
  std::function<void()> before_counting = {};
};

// Errors: those of make_subject and of running it; Cancelled.
ProfileReport profile(const ProfileTools& tools, const ProfileSpec& spec, Activity& activity);

// Where the warps of a kernel or a reference are, and why. Once a process, before any profile() (Cupti::sample_pcs says
// why). Errors: as profile().
PcSamples sample_pcs(const ProfileTools& tools, const ProfileSpec& spec, Activity& activity);

std::shared_ptr<const Inputs> inputs_for(const ProfileTools& tools, const ProfileSpec& spec, Activity& activity);

// Its parts, for whoever measures in another way (live.cpp): fills in launches, and all that follows from what was
// measured.
// What sets the floor and the roof. tensor_cores: whether products of f16 and bf16 are made there; else they are
// multiply-adds in f32, as all that kernels without tensor cores do with them.
Arithmetic arithmetic_of(const ConvProblem& p, Accuracy accuracy, bool tensor_cores);
void describe_launches(ProfileReport& r, Subject& subject);
void conclude(ProfileReport& r);

// The launch that counts: by the records the one that takes longest (weights are packed by more threads than a
// persistent kernel has); without records, of those that are given the output the one with the most threads. Null:
// there is none.
const LaunchProfile* main_launch(const ProfileReport& r);
// The kernels of the ladder that are no further up than the one that was profiled; all of them, if that is a reference.
std::vector<std::string> reached_rungs(const ProfileReport& r);

// The ceilings of a device without measuring: its datasheet, else what the driver's clocks and widths give. The
// emulator gets those of the H200, named as such.
Ceilings ceilings_for(const DeviceInfo& device);

// What must be said beside times: more than one clock saw them, and they should agree. Milliseconds of a call.
std::vector<std::string> timing_warnings(const ProfileReport& r);

// Do timed calls do the work? Runs them on a poisoned output and on other input values. "" or what is odd.
std::string timed_calls_look_honest(Subject& subject, ProblemMemory& memory, Activity* activity);
// The same of calls with weights packed before, of a subject that has their times.
std::string packed_calls_look_honest(Subject& subject, ProblemMemory& memory, Activity* activity);

}  // namespace convscope
