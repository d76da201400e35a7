#include "kernels/verify/xray_sizes.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <vector>

#include "kernels/problem/counts.h"
#include "kernels/verify/fuzz.h"
#include "kernels/verify/if_it_runs.h"
#include "kernels/verify/index_channels.h"
#include "kernels/verify/judge.h"

namespace convscope {
namespace {

constexpr double most_of_a_piece = 5e6;  // hundredths of a second on the emulator

// Short ones first, each with another of the sizes as it was asked for.
std::vector<ConvProblem> pieces(const ConvProblem& p) {
  constexpr int64_t short_row = 40, longer_row = 2100, few_channels = 4;
  std::vector<ConvProblem> all;
  auto add = [&](int64_t batch, int64_t length, int64_t outputs) {
    ConvProblem q = p;
    q.batch = std::min(p.batch, batch), q.length = std::min(p.length, length);
    q.out_channels = p.groups * std::min(p.out_per_group(), outputs);
    if (!check(q) && walked_products(q) <= most_of_a_piece && std::find(all.begin(), all.end(), q) == all.end())
      all.push_back(q);
  };
  add(1, short_row, few_channels);
  add(1, short_row, p.out_channels);
  add(1, longer_row, few_channels);
  add(p.batch, short_row, few_channels);
  add(1, longer_row, p.out_channels);
  add(p.batch, p.length, p.out_channels);
  return all;
}

// What its products are on the smallest problem.
void look_at_products(SizeFault& fault, Device& device, const KernelDefinition& kernel, Activity& activity) {
  auto m = if_it_runs([&] { return index_map(device, kernel, fault.smallest, activity); });  // nothing: too large
  if (!m) return;
  fault.mapped = true, fault.launches = m->launches;
  if (first_deviation(*m).empty()) return;
  if (const auto s = structure_of(*m))
    for (const auto& f : s->faults) fault.what += (fault.what.empty() ? "" : "; ") + f;
  if (fault.what.empty()) fault.what = first_deviation(*m), fault.odd = std::move(*m);
}

RunReport judged(Device& device, const KernelDefinition& kernel, const ConvProblem& q, Accuracy accuracy,
                 Activity& activity) {
  std::vector<std::unique_ptr<Reference>> none;
  Judge judge(device, none);
  RunSpec spec;
  spec.kernel = &kernel, spec.problem = q, spec.accuracy = accuracy, spec.verdict_only = true;
  activity.check();
  return judge.run(spec, activity);
}

}  // namespace

std::optional<bool> sums_are_right(Device& device, const KernelDefinition& kernel, const ConvProblem& q,
                                   Accuracy accuracy, Activity& activity) {
  if (check(q) || !kernel.unsupported(q).empty()) return {};
  const auto v = if_it_runs([&] { return judged(device, kernel, q, accuracy, activity).verdict; });
  if (!v) return {};
  if (v->status == Status::right) return true;
  return v->status == Status::wrong && !v->results_are_right() ? std::optional(false) : std::nullopt;
}

SeenBeside seen_beside(Device& device, const KernelDefinition& kernel, const ConvProblem& p, Accuracy accuracy,
                       Activity& activity) {
  constexpr double most = 3e7;  // a part of a second on the emulator
  constexpr int64_t least_length = 64;
  ConvProblem q = p;
  if (walked_products(q) > most) q.batch = std::min<int64_t>(q.batch, 2);
  while (walked_products(q) > most && q.length > least_length) q.length /= 2;
  if (check(q) || walked_products(q) > most || !kernel.unsupported(q).empty()) return {};
  try {
    const RunReport r = judged(device, kernel, q, accuracy, activity);
    SeenBeside seen{r.pattern.carried, "", ""};
    for (const Layer& l : r.verdict.layers) {
      if (l.has(Finding::race)) seen.race = l.evidence;
      if (l.has(Finding::unset_variable) || l.has(Finding::unset_shared)) seen.unset = l.evidence;
    }
    return seen;
  } catch (const InputError&) {
  } catch (const DeviceError& e) {
    if (e.poisoned()) throw;
  }
  return {};
}

std::string bias_of_more_channels(Device& device, const KernelDefinition& kernel, ConvProblem p, Accuracy accuracy,
                                  Activity& activity) {
  constexpr int64_t channels = 16;  // of a group
  p.in_channels = channels * p.groups, p.bias = true;
  if (check(p) || !kernel.unsupported(p).empty()) return "";
  try {
    const std::string times = judged(device, kernel, p, accuracy, activity).pattern.bias_times;
    const std::string is = "the bias is added ";
    if (!times.starts_with(is) || times.find(" once ") != times.npos ||
        times == fmt::format("{}{} times", is, channels))
      return "";
    return fmt::format("{} with {} input channels", times.substr(is.size()), channels);
  } catch (const InputError&) {
  } catch (const DeviceError& e) {
    if (e.poisoned()) throw;
  }
  return "";
}

std::optional<SizeFault> size_fault(Device& device, const KernelDefinition& kernel, const ConvProblem& p,
                                    Accuracy accuracy, double limit_s, Activity& activity) {
  const auto begin = std::chrono::steady_clock::now();
  auto over = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > limit_s; };
  std::string carried;
  auto verdict = [&](const ConvProblem& q) {
    RunReport r = judged(device, kernel, q, accuracy, activity);
    carried = r.pattern.carried;
    return r.verdict;
  };
  // A race, or an array of shared memory that is left, is nothing that sizes or values are to blame for.
  auto wrong = [](const Verdict& v) { return v.status == Status::wrong && !v.results_are_right(); };
  std::optional<ConvProblem> failing;
  for (const auto& q : pieces(p)) {
    if (over()) return {};
    if (wrong(verdict(q))) {
      failing = q;
      break;
    }
  }
  if (!failing) return {};
  SizeFault fault;
  if (!carried.empty()) {  // smaller ones have too few outputs for that to be seen
    fault.smallest = *failing, fault.what = carried;
    return fault;
  }
  FuzzSpec spec;
  spec.cases = 1, spec.start = *failing, spec.base = *failing;
  Fuzz fuzz(spec);
  fuzz.next(), fuzz.judged(Status::wrong, "");
  bool least = true;
  while (auto q = fuzz.next()) {
    if (over()) {
      least = false;
      break;
    }
    const Verdict v = verdict(*q);
    fuzz.judged(v.status == Status::wrong && !wrong(v) ? Status::right : v.status, v.sentence, v.exit_code != 2);
  }
  fault.smallest = fuzz.smallest()->problem, fault.least = least;
  look_at_products(fault, device, kernel, activity);
  const Verdict last = verdict(fault.smallest);
  if (const Layer* memory = last.find("memory"); memory && memory->status == LayerStatus::fail)
    fault.beside = memory->evidence;
  else if (const Layer* order = last.find("determinism"); order && order->has(Finding::race))
    fault.beside = "has " + order->evidence;
  return fault;
}

}  // namespace convscope
