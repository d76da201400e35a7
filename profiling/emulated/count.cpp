#include "profiling/emulated/count.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <thread>

#include "kernels/runtime/registry.h"
#include "kernels/verify/problem_memory.h"

namespace convscope {
namespace {

// Products as the plainest kernel walks them; traced, some 10^7 a second are put together.
constexpr double most_products = 2e8, counted_products = 1e7, least_blocks = 512;

struct Zone {
  uint64_t begin, bytes;
};

// Counts of places, put together by source line.
std::vector<LineCounts> by_line(const PlaceCounts& places, double scale) {
  std::map<std::pair<std::string, int>, WarpCounts> lines;
  for (const auto& [pc, counts] : places) {
    simt::SourceLine at = simt::source_line(pc);
    lines[{at.file, at.line}].add(counts);
  }
  std::vector<LineCounts> out;
  for (const auto& [at, c] : lines) {
    const uint64_t in_order[] = {c.load_requests,     c.load_sectors,     c.load_bytes,
                                 c.store_requests,    c.store_sectors,    c.store_bytes,
                                 c.shared_wavefronts, c.shared_conflicts, c.accesses};
    static_assert(std::size(in_order) == 9);
    LineCounts l{at.first, at.second, {}};
    for (size_t i = 0; i < std::size(in_order); i++)
      l.values[line_counters()[i].name] = scale * static_cast<double>(in_order[i]);
    out.push_back(std::move(l));
  }
  return out;
}

}  // namespace

const std::vector<LineCounter>& line_counters() {
  static const std::vector<LineCounter> list = {
      {"load_requests", "request", "loads of a warp from global memory"},
      {"load_sectors", "sector", "32-byte sectors that these loads touch"},
      {"load_bytes", "byte", "what threads asked for, of the 32 bytes in each sector"},
      {"store_requests", "request", "stores of a warp to global memory"},
      {"store_sectors", "sector", "32-byte sectors that these stores touch"},
      {"store_bytes", "byte", "what threads stored"},
      {"shared_wavefronts", "cycle", "cycles of shared memory"},
      {"shared_conflicts", "cycle", "those of them that threads met in a bank for"},
      {"accesses", "access", "reads and writes of single threads"},
  };
  return list;
}

EmulatedCounters count_emulated(const KernelDefinition& kernel, const ConvProblem& p, const Inputs& in,
                                Activity& activity) {
  EmulatedCounters out;
  if (out.missing = simt::load_traced_kernels(); !out.missing.empty()) return out;
  const KernelDefinition* traced = find_traced(kernel.name());
  if (!traced) {
    out.missing = "there is no traced build of " + kernel.name();
    return out;
  }
  auto device = open_emulator();
  if (out.missing = device->unavailable(kernel); !out.missing.empty()) return out;
  Plan plan = traced->plan_for(p);
  // Blocks are alike but for those at borders: of many, every n-th is run and counted, n odd so that no pattern of two
  // hides.
  double products =
      static_cast<double>(p.y_elements()) * static_cast<double>(p.kernel_size) * static_cast<double>(p.in_per_group());
  for (const auto& launch : plan.launches()) out.all_blocks += launch.grid.count();
  auto every = static_cast<uint64_t>(std::clamp(std::ceil(products / counted_products), 1.0,
                                                std::max(1.0, static_cast<double>(out.all_blocks) / least_blocks)));
  if (every > 1) every |= 1;
  if (double traced_products = products / static_cast<double>(every); traced_products > most_products) {
    out.missing = fmt::format(
        "{:.2g} products in {} blocks are too many to trace in seconds (at most {:.0g}): try a "
        "small preset",
        traced_products, least_blocks, most_products);
    return out;
  }
  for (const auto& launch : plan.launches())
    out.blocks += (launch.grid.count() + static_cast<int64_t>(every) - 1) / static_cast<int64_t>(every);

  ProblemMemory memory(*device, p, in, plan.out_length(), plan.workspace_bytes());
  std::vector<Zone> zones;
  for (const auto& t : memory.extents())
    zones.push_back({t.address - GuardedTensor::least_zone, t.bytes + 2 * GuardedTensor::least_zone + t.walked});
  auto is_global = [&zones](uint64_t a) {
    return std::any_of(zones.begin(), zones.end(), [a](const Zone& z) { return a - z.begin < z.bytes; });
  };

  activity.phase("counting on the emulator");
  std::mutex mutex;
  std::map<std::thread::id, std::unique_ptr<WarpAssembler>> assemblers;
  bool over = false;  // from then on one thread alone delivers what all had left
  {
    simt::Tracing tracing([&](std::span<const simt::Access> part) {
      if (part.empty()) return;
      WarpAssembler* mine = nullptr;
      {
        std::lock_guard lock(mutex);
        // At the end, whoever has this block open goes on with it.
        if (over)
          for (auto& [id, assembler] : assemblers)
            if (assembler->in_hand() == part.front().block) mine = assembler.get();
        if (!mine) {
          auto& slot = assemblers[std::this_thread::get_id()];
          if (!slot) slot = std::make_unique<WarpAssembler>(is_global);
          mine = slot.get();
        }
      }
      for (const auto& a : part) mine->take(a);
    });
    device->run(*traced, plan, memory.at(), {.activity = &activity, .every = every});
    over = true;
  }
  PlaceCounts places;
  for (auto& [id, assembler] : assemblers)
    for (const auto& [pc, counts] : assembler->finish()) places[pc].add(counts);
  WarpCounts sum;
  for (const auto& [pc, counts] : places) sum.add(counts);
  double scale = out.blocks ? static_cast<double>(out.all_blocks) / static_cast<double>(out.blocks) : 0;
  auto put = [&](const char* name, uint64_t n) { out.values[name] = scale * static_cast<double>(n); };
  put("load_requests", sum.load_requests), put("load_sectors", sum.load_sectors);
  put("store_requests", sum.store_requests), put("store_sectors", sum.store_sectors);
  put("shared_wavefronts", sum.shared_wavefronts), put("shared_conflicts", sum.shared_conflicts);
  out.lines = by_line(places, scale);
  return out;
}

}  // namespace convscope
