#include "profiling/profile/bench.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <random>

#include "kernels/base/error.h"
#include "kernels/problem/counts.h"
#include "kernels/runtime/registry.h"
#include "profiling/roofline/measure.h"

namespace convscope {
namespace {

using Clock = std::chrono::steady_clock;

struct Contender {
  BenchEntry entry;
  std::unique_ptr<Subject> subject;  // null: cannot run here
};

Contender contender(const std::string& name, const ProfileTools& tools, const ConvProblem& p) {
  Contender c;
  c.entry.name = name;
  c.subject = make_subject(name, tools.device, tools.references, p);
  c.entry.is_reference = c.subject->is_reference();
  return c;
}

// May it be used where this accuracy is asked for? What is named by a person is taken as it is.
bool accurate_enough(const KernelDefinition& k, const BenchSpec& spec) {
  auto promised = accuracy_from(k.accuracy());
  return spec.problem.dtype != DType::f32 || !promised || *promised <= spec.accuracy;
}

// Everything that was asked for; what cannot run is an entry with its reason, what is not known an error.
std::vector<Contender> contenders(BenchReport& r, const ProfileTools& tools) {
  const BenchSpec& spec = r.spec;
  std::vector<std::string> names = spec.kernels;
  bool all = names.empty();
  if (all)
    for (const auto* k : all_kernels())
      if (k->kind() == KernelKind::ladder && accurate_enough(*k, spec) && k->unsupported(spec.problem).empty() &&
          tools.device.unavailable(*k, k->plan_for(spec.problem)).empty())
        names.push_back(k->name());
  r.against = spec.against;
  if (r.against.empty() && !tools.device.is_emulator())
    for (auto& ref : tools.references) {  // the first is the strict one, as kernels are
      if (ref->unavailable().empty() && ref->unsupported(spec.problem).empty()) {
        r.against = ref->name();
        break;
      }
      if (r.why_not_other.empty())
        r.why_not_other = "not against " + ref->name() + ": " +
                          (ref->unavailable().empty() ? ref->unsupported(spec.problem) : ref->unavailable());
    }
  if (r.against.empty() && names.size() > 1) r.against = names.front();
  if (!r.against.empty() && std::find(names.begin(), names.end(), r.against) == names.end()) names.push_back(r.against);
  if (names.empty()) throw InputError("kernel", "", "is missing: no kernel here takes this problem");

  std::vector<Contender> list;
  std::string first_missing;
  int can_run = 0;
  for (const auto& name : names) {
    for (const auto& have : list)
      if (have.entry.name == name) throw InputError("kernel", name, "is given more than once");
    try {
      list.push_back(contender(name, tools, spec.problem));
      can_run++;
    } catch (const MissingError& e) {
      // The one that all are to be held against must be there when a person asked for it.
      if (name == spec.against) throw;
      Contender c;
      c.entry.name = name;
      c.entry.missing = e.what();
      if (first_missing.empty()) first_missing = e.what();
      list.push_back(std::move(c));
    }
  }
  if (!can_run) throw MissingError(first_missing, "name a kernel that runs on " + tools.device.info().name);
  return list;
}

bool all_known(const std::vector<Contender>& list, bool cold) {
  for (const auto& c : list) {
    if (!c.subject) continue;
    for (bool packed : {false, true})
      if (const Timing& t = held_times(c.entry, cold, packed); !t.empty() && t.median_error() > 0.005) return false;
  }
  return true;
}

// A library of this CPU: its time is measured, and says as little of a GPU as of the emulator.
bool is_of_this_cpu(const BenchEntry& e) { return e.is_reference && e.hot.emulated; }

void compare_all(BenchReport& r) {
  const BenchEntry* other = nullptr;
  for (const auto& e : r.entries)
    if (e.name == r.against) other = &e;
  for (auto& e : r.entries) {
    if (!other || &e == other) {
      e.no_verdict = other ? "the others are compared with this one" : "there is nothing to compare with";
    } else if (e.hot.empty() || other->hot.empty()) {
      e.no_verdict = e.hot.empty() ? e.missing : other->missing;
    } else if (is_of_this_cpu(e) != is_of_this_cpu(*other)) {
      const bool emulated = (is_of_this_cpu(e) ? *other : e).hot.emulated;
      e.no_verdict = fmt::format("{} and the time of a library on this CPU say nothing of each other",
                                 emulated ? "emulated time" : "a GPU's time");
    } else {
      std::string doubt = r.conditions.throttled.value_or(0) > 0.1 ? r.conditions.warning() : "";
      for (const BenchEntry* side : {static_cast<const BenchEntry*>(&e), other})
        if (!side->doubt.empty()) doubt += (doubt.empty() ? "" : "; ") + side->name + ": " + side->doubt;
      // Samples were taken in turn under one clock that moved; what a kernel did wrong has no such limit.
      CompareRules rules;
      const auto& clock = r.conditions.sm_mhz;
      if (e.doubt.empty() && other->doubt.empty() && clock && clock->least > 0)
        rules.doubt_explains = static_cast<double>(clock->most) / static_cast<double>(clock->least);
      auto held = [&](bool packed) {
        BenchEntry::Verdict v;
        auto samples = [&](const BenchEntry& of, bool cold) { return held_times(of, cold, packed).samples_ms; };
        v.hot = compare_times(samples(e, false), samples(*other, false), doubt, rules);
        if (!e.cold.empty() && !other->cold.empty())
          v.cold = compare_times(samples(e, true), samples(*other, true), doubt, rules);
        return v;
      };
      e.whole_verdict = held(false);
      const bool packs = !e.packed.hot.empty() || !other->packed.hot.empty();
      e.verdict = r.spec.with_packing || !packs ? e.whole_verdict : held(true);
      e.verdict.packed = packs && !r.spec.with_packing;
    }
  }
}

void sample_in_turn(BenchReport& r, std::vector<Contender>& list, const ProfileTools& tools, ProblemMemory& memory,
                    Activity& activity) {
  const BenchSpec& spec = r.spec;
  const bool emulator = tools.device.is_emulator();
  const int least = spec.samples > 0 ? spec.samples : emulator ? 8 : 15, most = spec.samples > 0 ? spec.samples : 100;
  const double cap_ms = emulator ? 3000 : 6000, hard_cap_ms = emulator ? 20000 : 40000;
  const TimingOptions once{.min_samples = 1, .max_samples = 1, .time_cap_ms = 0, .target_error = 1};
  auto add = [](Timing& into, const Timing& t) {
    into.emulated = t.emulated;
    into.samples_ms.insert(into.samples_ms.end(), t.samples_ms.begin(), t.samples_ms.end());
  };
  std::mt19937 order(1);  // who comes first must not depend on who is better
  auto begin = Clock::now();
  for (r.rounds = 0; r.rounds < most; r.rounds++) {
    double spent = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
    if (spec.samples <= 0) {
      // Slow kernels are steady: eight samples of them are enough for a verdict, and nobody waits for more.
      if (r.rounds >= 8 && spent > hard_cap_ms) break;
      if (r.rounds >= least && (spent > cap_ms || (all_known(list, false) && all_known(list, true)))) break;
    }
    std::vector<Contender*> turn;
    for (auto& c : list)
      if (c.subject) turn.push_back(&c);
    std::shuffle(turn.begin(), turn.end(), order);
    for (auto* c : turn) {
      c->subject->begin_phase(activity, "timing ");
      for (bool cold : {false, true}) {
        if (cold && emulator) continue;
        Timing& into = cold ? c->entry.cold : c->entry.hot;
        add(into, c->subject->time(memory.at(), cold, once, &activity));
        c->entry.emulated = into.emulated && !c->entry.is_reference;
        activity.check();
        if (!c->entry.packed.missing.empty()) continue;
        // The workspace is the one that this kernel's own whole call has just filled: all share it.
        add(cold ? c->entry.packed.cold : c->entry.packed.hot,
            c->subject->time_packed(memory.at(), cold, once, &activity));
        if (!cold) add(c->entry.packed.packing, c->subject->time_packing(memory.at(), once, &activity));
        activity.check();
      }
    }
  }
}

// Who had no turn before the samples were interrupted.
void leave_unsampled(Contender& c) {
  constexpr const char* why = "interrupted before it was sampled";
  if (!c.subject) return;
  if (c.entry.hot.empty()) c.entry.missing = why;
  if (c.entry.packed.packs && c.entry.packed.hot.empty() && c.entry.packed.missing.empty())
    c.entry.packed.missing = why;
}

}  // namespace

BenchReport bench(const ProfileTools& tools, const BenchSpec& spec, Activity& activity) {
  require_legal(spec.problem);
  BenchReport r;
  r.spec = spec;
  r.device = tools.device.info();
  auto list = contenders(r, tools);
  r.work = {flops(spec.problem), static_cast<double>(least_bytes(spec.problem))};
  r.ceilings = ceilings_of(tools.device, ceilings_for(r.device), &activity);
  auto floor = [&](Arithmetic a) { return floor_of(r.ceilings, a, r.work.flops, r.work.least_bytes); };
  r.floor = floor(arithmetic_of(spec.problem, spec.accuracy, true));
  for (auto& c : list)
    if (c.subject) c.entry.floor = floor(arithmetic_of(spec.problem, c.subject->accuracy(), c.subject->tensor_cores()));
  activity.phase("drawing inputs");
  Inputs inputs = make_inputs(spec.problem, spec.inputs, &activity);
  int64_t longest = 0;
  size_t workspace = 0;
  for (const auto& c : list)
    if (c.subject) {
      longest = std::max(longest, c.subject->out_length());
      workspace = std::max(workspace, c.subject->workspace_bytes());
    }
  activity.phase("taking memory");
  ProblemMemory memory(tools.device, spec.problem, inputs, longest, workspace, &activity);
  for (auto& c : list) {
    if (!c.subject) continue;
    c.subject->begin_phase(activity, "running ");
    c.subject->run(memory.at(), &activity);
    c.entry.what_ran = c.subject->what_ran();
    c.entry.packed.packs = c.subject->packs_weights(), c.entry.packed.missing = c.subject->no_packed_times();
    activity.check();
  }

  ConditionsWatch watch(r.device.pci_bus, tools.nvml);
  try {
    sample_in_turn(r, list, tools, memory, activity);
  } catch (const Cancelled&) {
    const bool any = std::any_of(list.begin(), list.end(), [](const Contender& c) { return !c.entry.hot.empty(); });
    if (!spec.keep_on_cancel || !any) throw;
    r.interrupted = true;
    r.warnings.push_back("interrupted: what had been sampled by then is compared");
    for (auto& c : list) leave_unsampled(c);
  }
  r.conditions = watch.finish();
  activity.phase("checking that timed calls compute");
  const bool emulator = tools.device.is_emulator();
  for (auto& c : list) {
    if (is_of_this_cpu(c.entry)) c.entry.floor.reset();  // a GPU's
    if (c.subject && !emulator && !r.interrupted)
      c.entry.doubt = timed_calls_look_honest(*c.subject, memory, &activity);
    if (c.subject)
      if (const auto words = c.subject->stand_ins(); !words.empty()) r.warnings.push_back(c.entry.name + ": " + words);
    if (c.subject && !r.interrupted && c.entry.packed.missing.empty())
      if (auto odd = packed_calls_look_honest(*c.subject, memory, &activity); !odd.empty()) {
        c.entry.packed = {.packs = true, .missing = odd};
        r.warnings.push_back(c.entry.name + " is held with its packing: " + odd);
      }
    r.entries.push_back(std::move(c.entry));
  }
  compare_all(r);
  for (const auto& w : {r.conditions.warning(), r.conditions.shared_with()})
    if (!w.empty()) r.warnings.push_back(w);
  if (!r.why_not_other.empty()) r.warnings.push_back(r.why_not_other);
  return r;
}

}  // namespace convscope
