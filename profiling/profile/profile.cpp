#include "profiling/profile/profile.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <tuple>

#include "kernels/base/text.h"
#include "kernels/problem/counts.h"
#include "kernels/runtime/registry.h"
#include "kernels/runtime/stand_ins.h"
#include "profiling/metrics/figures.h"
#include "profiling/roofline/measure.h"

namespace convscope {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point t) { return std::chrono::duration<double, std::milli>(Clock::now() - t).count(); }

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

TimingOptions options_for(const Device& device, int samples) {
  TimingOptions o;
  if (device.is_emulator()) o = {.min_samples = 3, .max_samples = 25, .time_cap_ms = 150, .target_error = 0.02};
  if (samples > 0) o.min_samples = o.max_samples = samples;
  return o;
}

void take_times(ProfileReport& r, const ProfileTools& tools, Subject& subject, const ProblemMemory& memory,
                Activity& activity) {
  TimingOptions o = options_for(tools.device, r.spec.samples);
  ConditionsWatch watch(tools.device.info().pci_bus, tools.nvml);
  subject.begin_phase(activity, "timing ");
  r.hot = subject.time(memory.at(), false, o, &activity);
  r.emulated = r.hot.emulated;
  if (!tools.device.is_emulator()) r.cold = subject.time(memory.at(), true, o, &activity);
  r.packed = subject.packed_times(memory.at(), o, &activity);
  r.conditions = watch.finish();
  if (r.emulated) return;
  std::vector<double> host;
  auto begin = Clock::now();
  do {
    auto start = Clock::now();
    subject.run(memory.at(), nullptr);
    host.push_back(ms_since(start));
    activity.check();
  } while (host.size() < 21 && ms_since(begin) < 100);
  r.host_ms = median(host);
}

// Kernels of a few calls. What runs in a call is the same every time but for a first one that loads something.
void record_kernels(ProfileReport& r, const ProfileTools& tools, Subject& subject, const ProblemMemory& memory,
                    Activity& activity) {
  if (tools.device.is_emulator()) {
    r.kernels_missing = {"no-gpu", "kernels are recorded on a GPU only", "run with --device cuda"};
    return;
  }
  activity.phase("recording kernels");
  std::vector<double> sums;
  double spent_ms = 0;  // of a long kernel one call says as much
  for (int call = 0; call < 5 && spent_ms < 200; call++) {
    auto records = tools.cupti.trace([&] { subject.run(memory.at(), nullptr); }, r.kernels_missing);
    if (r.kernels_missing) return;
    double sum = 0;
    for (const auto& k : records) sum += k.ms();
    sums.push_back(sum);
    spent_ms += sum;
    r.kernels = std::move(records);
    activity.check();
  }
  r.kernels_a_call = static_cast<int>(r.kernels.size());
  if (r.kernels_a_call) r.kernel_ms = median(sums);
}

std::string source_of(const EmulatedCounters& e) {
  return e.blocks == e.all_blocks ? "emulated, by tracing every access"
                                  : fmt::format("emulated, by tracing {} of {} blocks", e.blocks, e.all_blocks);
}

// The counters by source line, which need no hardware: its own do not know lines.
void take_lines(ProfileReport& r, EmulatedCounters& e) {
  r.lines_missing = e.missing;
  if (e.missing.empty()) r.lines_source = source_of(e);
  r.lines = std::move(e.lines);
}

// Requests and sectors follow from the addresses alone, which the emulator has as well.
void count_on_emulator(ProfileReport& r, const Inputs& inputs, Activity& activity) {
  r.counters_missing = {"no-gpu", "hardware counters are a GPU's, and none is used", "run with --device cuda"};
  if (r.is_reference) return;
  auto begin = Clock::now();
  EmulatedCounters e = count_emulated(find_kernel(r.name), r.spec.problem, inputs, activity);
  take_lines(r, e);
  if (!e.missing.empty()) {
    r.counters_missing.what += "; nor are there emulated ones: " + e.missing;
    return;
  }
  CounterReading c;
  c.set = CounterSet::memory;
  c.values = e.values;
  c.passes = 1;
  c.spent_ms = ms_since(begin);
  for (const auto& m : metrics_of(c.set))
    if (!c.values.contains(m.name)) c.not_here.emplace_back(m.name);
  r.counters.push_back(c);
  r.counters_source = source_of(e);
  r.counters_missing = {};
}

void lines_beside_gpu(ProfileReport& r, const Inputs& inputs, Activity& activity) {
  constexpr double most_bytes = 512.0 * 1024 * 1024;
  double bytes = r.work.least_bytes;
  if (bytes > most_bytes) {
    r.lines_missing = fmt::format(
        "lines are counted on the emulator, where tensors of {} take long (at most {}): try "
        "a small preset",
        bytes_text(static_cast<uint64_t>(bytes)), bytes_text(static_cast<uint64_t>(most_bytes)));
    return;
  }
  EmulatedCounters e = count_emulated(find_kernel(r.name), r.spec.problem, inputs, activity);
  take_lines(r, e);
}

void count(ProfileReport& r, const ProfileTools& tools, Subject& subject, const ProblemMemory& memory,
           const Inputs& memory_inputs, Activity& activity) {
  r.lines_missing = r.is_reference       ? "the source of " + r.name + " is not ours to show"
                    : r.too_slow.empty() ? "only counted with the full set"
                                         : r.too_slow;
  if (tools.device.is_emulator()) return count_on_emulator(r, memory_inputs, activity);
  if (r.spec.full && !r.is_reference) lines_beside_gpu(r, memory_inputs, activity);
  void* context = tools.device.native_context();
  r.counters_missing = tools.cupti.counters_gap(context, r.device.index);
  if (r.counters_missing) return;
  for (auto set : all_counter_sets) {
    if (!r.spec.full && set != CounterSet::live && !(r.spec.memory && set == CounterSet::memory)) continue;
    r.counters.push_back(tools.cupti.count(
        context, r.device.index, set, [&] { subject.run(memory.at(), nullptr); }, &activity));
    activity.check();
  }
  // When nothing came, the first reason is everyone's.
  bool any = false;
  for (const auto& c : r.counters) any |= !c.values.empty();
  if (!any && !r.counters.empty()) r.counters_missing = r.counters.front().gap;
}

// What the chip does over time: with the full set, on a GPU. Where warps are is for a process of its own.
void sample(ProfileReport& r, const ProfileTools& tools, Subject& subject, const ProblemMemory& memory,
            Activity& activity) {
  const char* how = "profile with --set full";
  if (tools.device.is_emulator()) {
    r.samples.gap = {"no-gpu", "warps are sampled on a GPU only, and none is used", "run with --device cuda"};
    r.timeline.gap = {"no-gpu", "a timeline is a GPU's, and none is used", "run with --device cuda"};
  } else if (!r.spec.full) {
    const std::string& why = r.too_slow;
    const char* code = why.empty() ? "not-asked" : "too-slow";
    r.samples.gap = {code, why.empty() ? "warps are sampled with the full set only" : why, why.empty() ? how : ""};
    r.timeline.gap = {code, why.empty() ? "a timeline is taken with the full set only" : why, why.empty() ? how : ""};
  } else {
    r.samples.gap = {"not-asked", "warps are sampled in a process of its own", ""};
    TimelineOptions t;
    t.call_ms = r.kernel_ms.value_or(r.hot.empty() ? 0 : r.hot.median_ms());
    r.timeline = tools.cupti.sample_timeline(
        tools.device.native_context(), r.device.index, t, [&](int calls) { subject.run_times(memory.at(), calls); },
        &activity);
  }
}

}  // namespace

Arithmetic arithmetic_of(const ConvProblem& p, Accuracy accuracy, bool tensor_cores) {
  if (p.dtype == DType::f64) return Arithmetic::f64;
  if (is_half(p.dtype)) return tensor_cores ? Arithmetic::f16 : Arithmetic::f32;
  switch (accuracy) {
    case Accuracy::strict:
      return Arithmetic::f32;
    case Accuracy::tf32x3:
      return Arithmetic::tf32x3;
    case Accuracy::tf32:
      return Arithmetic::tf32;
  }
  return Arithmetic::f32;
}

void describe_launches(ProfileReport& r, Subject& subject) {
  std::vector<LaunchFacts> all = subject.launch_facts();
  if (all.empty())  // a reference: what was recorded says the same
    for (const auto& k : r.kernels)
      all.push_back({k.name,
                     {k.grid[0], k.grid[1], k.grid[2]},
                     {k.block[0], k.block[1], k.block[2]},
                     k.registers,
                     k.static_shared_bytes,
                     k.dynamic_shared_bytes,
                     k.local_bytes,
                     ""});
  for (const auto& f : all) {
    const std::string& name = f.binary.empty() ? r.device.architecture : f.binary;
    const GpuArchitecture* architecture = find_architecture(name);
    LaunchProfile l{f, {}, 0, "", ""};
    if (!architecture) {
      l.no_occupancy = "the limits of " + name + " are not known";
    } else {
      BlockShape shape{static_cast<int>(f.block.count()), f.registers, f.static_shared_bytes + f.dynamic_shared_bytes};
      l.occupancy = occupancy(*architecture, shape);
      l.occupancy_pct = 100 * l.occupancy->fraction(*architecture);
      l.limit = limiter_in_words(*architecture, shape, *l.occupancy);
    }
    r.launches.push_back(l);
  }
}

const LaunchProfile* main_launch(const ProfileReport& r) {
  auto weight = [&](const LaunchProfile& l) {
    double ms = 0;
    for (const auto& k : r.kernels)
      if (k.name == l.facts.entry) ms += k.ms();
    return std::tuple(!is_stand_in(l.facts.entry), ms, l.facts.output, l.facts.grid.count() * l.facts.block.count());
  };
  const LaunchProfile* main = nullptr;
  for (const auto& l : r.launches)
    if (!main || weight(l) > weight(*main)) main = &l;
  return main;
}

// Who is on the ladder is past the rungs before its own, and a library is past all of them.
std::vector<std::string> reached_rungs(const ProfileReport& r) {
  std::vector<std::string> names;
  int rung = r.is_reference ? std::numeric_limits<int>::max() : 0;
  for (const auto* k : all_kernels())
    if (k->kind() == KernelKind::ladder && k->name() == r.name) rung = k->rung();
  for (const auto* k : all_kernels())
    if (k->kind() == KernelKind::ladder && k->rung() <= rung) names.push_back(k->name());
  return names;
}

void conclude(ProfileReport& r) {
  Counters counters = r.counters_of_kernels();
  std::vector<AskedSet> asked;
  if (!r.emulated)
    for (const auto& c : r.counters) asked.push_back({c.set, c.not_here, c.gap.what});
  r.ceilings = r.spec.ceilings ? *r.spec.ceilings : ceilings_for(r.device);
  r.floor = floor_of(r.ceilings, r.arithmetic, r.work.flops, r.work.least_bytes);
  r.work.products_set_floor = r.floor && !r.floor->by_bytes;
  r.headlines = headline_values(counters, r.work, asked);
  if (r.emulated)
    for (auto& h : r.headlines)
      if (!h.value && h.missing.starts_with("not counted")) h.missing = "only a GPU counts it: run with --device cuda";
  r.least_possible = floor_of(ceilings_for(r.device), r.arithmetic, r.work.flops, r.work.least_bytes);
  RooflineWork work{r.work.flops, r.work.least_bytes, dram_bytes(counters), 0};
  if (r.emulated)
    r.roofline_missing = "emulated time is no point under a GPU's roof: run it with --device cuda";
  else if (!r.hot.empty())
    work.ms = r.hot.median_ms();
  if (!r.emulated && !r.cold.empty()) work.cold_ms = r.cold.median_ms();
  r.roofline = roofline_points(r.ceilings, r.arithmetic, work);
  if (r.roofline.empty() && r.roofline_missing.empty())
    r.roofline_missing =
        r.ceilings.memory_gbs > 0 ? "there is no time to place" : "the ceilings of this GPU are not known";

  BottleneckFacts f;
  if (!r.hot.empty()) f.ms = r.hot.median_ms();
  f.host_ms = r.host_ms;
  f.flops = r.work.flops, f.least_bytes = r.work.least_bytes;
  f.emulated = r.emulated;
  if (r.floor) f.floor_ms = r.floor->ms, f.floor_by_bytes = r.floor->by_bytes;
  if (!r.emulated) f.multiprocessors = r.device.multiprocessors;
  const LaunchProfile* main = main_launch(r);
  if (main) {
    f.blocks = main->facts.grid.count();
    f.local_bytes = main->facts.local_bytes, f.registers = main->facts.registers;
    if (main->occupancy) {
      f.theoretical_occupancy = main->occupancy_pct;
      f.blocks_per_multiprocessor = main->occupancy->blocks;
      f.occupancy_limit = main->limit;
    }
  }
  f.reached = reached_rungs(r);
  f.counters = counters;
  f.element_bytes = static_cast<int>(size_of(r.spec.problem.dtype));
  for (const auto& l : r.lines) f.lines.push_back(bottleneck_line(l.file, l.line, l.values));
  f.counters_missing = r.counters_missing.what;
  r.bottleneck = find_bottleneck(f);
}

Counters ProfileReport::all_counters() const {
  Counters all;
  for (const auto& c : counters)
    for (const auto& [name, value] : c.values) all.emplace(name, value);  // the first set that has it counts
  return all;
}

Counters ProfileReport::counters_of_kernels() const { return of_kernels_alone(all_counters(), kernel_ms); }

Ceilings ceilings_for(const DeviceInfo& d) {
  if (d.kind == DeviceInfo::Kind::emulator) {
    Ceilings c = *find_datasheet("NVIDIA H200");
    c.source = "datasheet of another machine: this one has no GPU";
    return c;
  }
  if (const Ceilings* c = find_datasheet(d.name)) return *c;
  Ceilings c;
  c.gpu = d.name;
  c.source = "computed from the driver's clocks and widths";
  c.memory_gbs = d.memory_bandwidth_gbs;
  c.f32_gflops = d.fma_gflops;
  return c;
}

std::vector<std::string> timing_warnings(const ProfileReport& r) {
  std::vector<std::string> list;
  for (const auto& w : {r.conditions.warning(), r.conditions.shared_with()})
    if (!w.empty()) list.push_back(w);
  if (r.hot.empty() || r.emulated) return list;
  double hot = r.hot.median_ms();
  if (r.hot.samples_ms.size() < 5)
    list.push_back(fmt::format("{} samples say little", r.hot.samples_ms.size()));
  else if (r.hot.noise_pct() > 5)
    list.push_back(
        fmt::format("times are noisy: half of them are more than {:.0f} % from the middle", r.hot.noise_pct()));
  // A kernel that lets a library do its work, say.
  std::string strangers;
  if (!r.is_reference)
    for (const auto& k : r.kernels) {
      bool own = false;
      for (const auto& l : r.launches) own |= k.name == l.facts.entry;
      if (!own && strangers.find(k.name) == std::string::npos) strangers += (strangers.empty() ? "" : ", ") + k.name;
    }
  if (!strangers.empty()) list.push_back("kernels ran that are not its own: " + strangers);
  if (r.kernel_ms) {
    constexpr double launch_ms = 0.003;  // issuing a kernel takes the GPU this long
    double gap = hot - *r.kernel_ms;
    // Kernels are recorded in other calls than those that are timed: their clock may have been another.
    const auto& clock = r.conditions.sm_mhz;
    const double by_clock = clock && clock->least > 0 ? clock->most / clock->least - 1 : 0;
    if (-gap > (0.05 + by_clock) * hot + launch_ms)
      list.push_back(fmt::format("kernels ran for {} a call, and the timed section for {}: work was left outside of it",
                                 time_text(*r.kernel_ms), time_text(hot)));
    else if (gap > 0.1 * hot + launch_ms * std::max(1, r.kernels_a_call))
      list.push_back(fmt::format("kernels ran for {} of the {} of a call: the rest is waiting between them",
                                 time_text(*r.kernel_ms), time_text(hot)));
  }
  // The work does not need the memory when everything is in the cache: only arithmetic is a floor then.
  double cold = r.cold.empty() ? hot : r.cold.median_ms();
  double least_hot = r.packed.hot.empty() ? hot : std::min(hot, r.packed.hot.median_ms());
  double least_cold = r.packed.cold.empty() ? cold : std::min(cold, r.packed.cold.median_ms());
  bool beyond_cache = r.work.least_bytes > 2.0 * static_cast<double>(r.device.l2_bytes);
  if (const auto& floor = r.least_possible ? r.least_possible : r.floor;
      floor && ((floor->by_bytes && beyond_cache && least_cold < 0.9 * floor->ms) ||
                (!floor->by_bytes && least_hot < 0.9 * floor->ms)))
    list.push_back(fmt::format("{} is faster than the floor of {} by {}: the work cannot all have been done",
                               time_text(floor->by_bytes ? least_cold : least_hot), time_text(floor->ms),
                               floor->by_bytes ? "bytes" : "arithmetic"));
  if (!r.cold.empty() && cold > 1.2 * hot)
    list.push_back(
        fmt::format("{} with its data in the L2 cache, {} without: which of the two a layer sees depends on "
                    "what ran before it",
                    time_text(hot), time_text(cold)));
  return list;
}

std::string timed_calls_look_honest(Subject& subject, ProblemMemory& memory, Activity* activity) {
  constexpr uint32_t poison = 0x7fc0babe;  // a NaN
  TimingOptions once{.min_samples = 1, .max_samples = 1, .time_cap_ms = 0, .target_error = 1};
  memory.fill_output(poison, activity);
  uint64_t poisoned = memory.output_checksum(activity);
  subject.time(memory.at(), false, once, activity);
  uint64_t first = memory.output_checksum(activity);
  if (first == poisoned) return "its timed calls write nothing";
  memory.change_input(activity);
  memory.fill_output(poison, activity);
  subject.time(memory.at(), false, once, activity);
  uint64_t second = memory.output_checksum(activity);
  memory.restore_input(activity);
  return first == second ? "its timed calls give the same answer whatever the input is" : "";
}

std::string packed_calls_look_honest(Subject& subject, ProblemMemory& memory, Activity* activity) {
  const TimingOptions once{.min_samples = 1, .max_samples = 1, .time_cap_ms = 0, .target_error = 1};
  return memory.packed_calls_look_honest([&] { subject.time(memory.at(), false, once, activity); },
                                         [&] { subject.time_packed(memory.at(), false, once, activity); }, activity);
}

std::shared_ptr<const Inputs> inputs_for(const ProfileTools& tools, const ProfileSpec& spec, Activity& activity) {
  if (tools.inputs) return tools.inputs(spec.problem, spec.inputs, activity);
  return std::make_shared<Inputs>(make_inputs(spec.problem, spec.inputs, &activity));
}

ProfileReport profile(const ProfileTools& tools, const ProfileSpec& spec, Activity& activity) {
  require_legal(spec.problem);
  ProfileReport r;
  r.spec = spec;
  r.device = tools.device.info();
  auto subject = make_subject(spec.kernel, tools.device, tools.references, spec.problem);
  r.name = subject->name(), r.file = subject->file();
  r.is_reference = subject->is_reference();
  r.requires_hardware = subject->requires_hardware();
  if (!r.spec.ceilings) r.spec.ceilings = ceilings_of(tools.device, ceilings_for(r.device), &activity);
  r.work = {flops(spec.problem), static_cast<double>(least_bytes(spec.problem))};
  activity.phase("drawing inputs");
  const std::shared_ptr<const Inputs> drawn = inputs_for(tools, spec, activity);
  const Inputs& inputs = *drawn;
  activity.phase("taking memory");
  ProblemMemory memory(tools.device, spec.problem, inputs, subject->out_length(), subject->workspace_bytes(),
                       &activity);
  subject->begin_phase(activity, "running ");
  subject->run(memory.at(), &activity);  // loads code, chooses algorithms
  r.what_ran = subject->what_ran();
  r.arithmetic = arithmetic_of(spec.problem, subject->accuracy(), subject->tensor_cores());
  take_times(r, tools, *subject, memory, activity);
  if (spec.slow_ms > 0 && spec.full && !r.emulated && r.hot.median_ms() > spec.slow_ms) {
    r.spec.full = false, r.spec.memory = true;
    r.too_slow = fmt::format("a call takes {}: above {} only the live and the memory counters are taken",
                             time_text(r.hot.median_ms()), time_text(spec.slow_ms));
  }
  record_kernels(r, tools, *subject, memory, activity);
  describe_launches(r, *subject);
  if (r.spec.full && !tools.device.is_emulator() && tools.before_counting) tools.before_counting();
  count(r, tools, *subject, memory, inputs, activity);
  sample(r, tools, *subject, memory, activity);
  activity.phase("checking that timed calls compute");
  std::vector<std::string> odd;
  if (!tools.device.is_emulator()) odd.push_back(timed_calls_look_honest(*subject, memory, &activity));
  if (r.packed.missing.empty()) {
    odd.push_back(packed_calls_look_honest(*subject, memory, &activity));
    if (!odd.back().empty()) r.packed = {.packs = true, .missing = odd.back()};
  }
  conclude(r);
  r.warnings = timing_warnings(r);
  odd.push_back(subject->stand_ins());
  for (const auto& words : odd)
    if (!words.empty()) r.warnings.push_back(words);
  return r;
}

}  // namespace convscope
