#include "profiling/emulated/count.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <functional>
#include <iterator>
#include <map>

#include "kernels/problem/counts.h"
#include "kernels/runtime/registry.h"
#include "kernels/runtime/simt/trace_readers.h"
#include "kernels/verify/problem_memory.h"
#include "profiling/metrics/figures.h"

namespace convscope {
namespace {

// Products as the plainest kernel walks them; traced, some 10^7 a second are put together.
constexpr double most_products = 2e8, counted_products = 1e7, least_blocks = 512;

// Every block of every grid, however long that takes: for comparing with a GPU's counters.
bool whole_grids() {
  const char* set = std::getenv("CONVSCOPE_COUNT_ALL");
  return set && *set;
}

struct Zone {
  uint64_t begin, bytes;
};

// Whether an address is in __constant__ memory that the plan fills.
bool is_constant(const Plan& plan, uint64_t address) {
  return std::any_of(plan.variables().begin(), plan.variables().end(), [&](const Plan::Variable& v) {
    return v.constant && address - reinterpret_cast<uint64_t>(v.on_host) < static_cast<uint64_t>(v.bytes);
  });
}

// One launch of the plan: every `every`-th block of it is run and counted.
PlaceCounts count_launch(Device& device, const KernelDefinition& kernel, const Plan& plan, const Bindings& at,
                         int64_t launch, uint64_t every, const std::function<bool(uint64_t)>& is_global,
                         Activity& activity) {
  simt::TraceReaders<WarpAssembler> assemblers([&] { return std::make_unique<WarpAssembler>(is_global); });
  {
    auto take = [&](std::span<const simt::Access> part) {
      if (plan.variables().empty()) return assemblers.take(part);
      // Neither the load and store units' nor shared memory's.
      std::vector<simt::Access> rest;
      std::copy_if(part.begin(), part.end(), std::back_inserter(rest),
                   [&](const simt::Access& a) { return !is_constant(plan, a.address); });
      assemblers.take(rest);
    };
    simt::Tracing tracing(take, {.rounds = true});
    device.run(kernel, plan, at, {.activity = &activity, .only_launch = launch, .every = every});
    assemblers.only_rests_follow();
  }
  PlaceCounts places;
  for (const auto& assembler : assemblers.all())
    for (const auto& [pc, counts] : assembler->finish()) places[pc].add(counts);
  return places;
}

// Adds `scale` times the counts of each place to its source line.
using Lines = std::map<std::pair<std::string, int>, Counters>;
void add_lines(Lines& lines, const PlaceCounts& places, double scale) {
  for (const auto& [pc, c] : places) {
    simt::SourceLine at = simt::source_line(pc);
    Counters& values = lines[{at.file, at.line}];
    for (const auto& each : line_counters()) values[each.name] += scale * static_cast<double>(c.*each.count);
  }
}

// What follows from sums: how much of what was fetched was used, how many threads took part. Nothing of nothing.
void add_shares(Counters& values) {
  auto used = [&](const char* name, const char* bytes, const char* sectors) {
    if (auto share = used_of_sectors(values.at(bytes), values.at(sectors))) values[name] = *share;
  };
  used("load_efficiency", "load_used_bytes", "load_sectors");
  used("store_efficiency", "store_used_bytes", "store_sectors");
  auto each = [&](const char* name, const char* of, const char* by) {
    if (values.at(by) > 0) values[name] = values.at(of) / values.at(by);
  };
  each("lanes_per_load", "load_lanes", "load_requests");
  each("lanes_per_store", "store_lanes", "store_requests");
  each("lanes_per_shared_request", "shared_lanes", "shared_requests");
}

}  // namespace

const std::vector<LineCounter>& line_counters() {
  static const std::vector<LineCounter> list = {
      {"load_requests", "request", &WarpCounts::load_requests},
      {"load_sectors", "sector", &WarpCounts::load_sectors},
      {"load_bytes", "byte", &WarpCounts::load_bytes},
      {"store_requests", "request", &WarpCounts::store_requests},
      {"store_sectors", "sector", &WarpCounts::store_sectors},
      {"store_bytes", "byte", &WarpCounts::store_bytes},
      {"shared_wavefronts", "wavefront", &WarpCounts::shared_wavefronts},
      {"shared_conflicts", "wavefront", &WarpCounts::shared_conflicts},
      {"accesses", "access", &WarpCounts::accesses},
      {"load_used_bytes", "byte", &WarpCounts::load_used_bytes},
      {"load_lanes", "thread", &WarpCounts::load_lanes},
      {"store_used_bytes", "byte", &WarpCounts::store_used_bytes},
      {"store_lanes", "thread", &WarpCounts::store_lanes},
      {"shared_requests", "request", &WarpCounts::shared_requests},
      {"shared_lanes", "thread", &WarpCounts::shared_lanes},
  };
  return list;
}

EmulatedCounters count_emulated(const KernelDefinition& kernel, const ConvProblem& p, const Inputs& in,
                                Activity& activity) {
  EmulatedCounters out;
  const KernelDefinition* traced_kernel = traced_twin(kernel, out.missing);
  if (!traced_kernel) return out;
  auto device = open_emulator();
  if (out.missing = device->unavailable(kernel); !out.missing.empty()) return out;
  Plan plan = traced_kernel->plan_for(p);
  // Blocks of a launch are alike but for those at borders: of many, every n-th is run and counted, n odd so that no
  // pattern of two hides. A launch of few blocks is counted whole.
  const double products = walked_products(p);
  struct Sample {
    int64_t all, every;
    int64_t counted() const { return (all + every - 1) / every; }
  };
  std::vector<Sample> samples;
  for (const auto& launch : plan.launches()) {
    int64_t all = launch.grid.count();
    double n =
        std::clamp(std::ceil(products / counted_products), 1.0, std::max(1.0, static_cast<double>(all) / least_blocks));
    samples.push_back({all, whole_grids() ? 1 : static_cast<int64_t>(n) | 1});
    out.all_blocks += all, out.blocks += samples.back().counted();
  }
  // Those that write the output do the work.
  const Sample* most = nullptr;
  for (size_t i = 0; i < samples.size(); i++)
    if (plan.launches()[i].is_given(Tensor::y) && (!most || samples[i].every < most->every)) most = &samples[i];
  double traced = most ? products / static_cast<double>(most->every) : 0;
  if (traced > most_products && !whole_grids()) {
    out.missing = fmt::format(
        "{:.2g} products in {} blocks are too many to trace in seconds (at most {:.0g}): try a small preset", traced,
        most->counted(), most_products);
    out.blocks = out.all_blocks = 0;
    return out;
  }

  ProblemMemory memory(*device, p, in, plan.out_length(), plan.workspace_bytes(), &activity);
  std::vector<Zone> zones;
  for (const auto& t : memory.extents())
    zones.push_back({t.address - GuardedTensor::least_zone, t.bytes + 2 * GuardedTensor::least_zone + t.walked});
  for (const auto& v : plan.variables())
    if (!v.constant) zones.push_back({reinterpret_cast<uint64_t>(v.on_host), static_cast<uint64_t>(v.bytes)});
  auto is_global = [&zones](uint64_t a) {
    return std::any_of(zones.begin(), zones.end(), [a](const Zone& z) { return a - z.begin < z.bytes; });
  };

  activity.phase("counting on the emulator");
  Lines lines;
  for (size_t i = 0; i < samples.size(); i++) {
    const Sample& sample = samples[i];
    PlaceCounts places = count_launch(*device, *traced_kernel, plan, memory.at(), static_cast<int64_t>(i),
                                      static_cast<uint64_t>(sample.every), is_global, activity);
    if (sample.all > 0)
      add_lines(lines, places, static_cast<double>(sample.all) / static_cast<double>(sample.counted()));
  }
  for (const auto& counter : line_counters()) {
    if (!find_metric(counter.name)) continue;  // accesses of single threads are nothing that a GPU counts
    double& sum = out.values[counter.name];
    for (const auto& [at, values] : lines) sum += values.at(counter.name);
  }
  add_shares(out.values);
  for (auto& [at, values] : lines) out.lines.push_back({at.first, at.second, std::move(values)});
  return out;
}

}  // namespace convscope
