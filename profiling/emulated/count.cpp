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

// What the plainest kernel walks; traced, some 10^7 a second are put together.
constexpr double most_products = 2e8, counted_products = 1e7, least_blocks = 512;

struct Zone {
  uint64_t begin, bytes;
};

}  // namespace

EmulatedCounters count_emulated(const KernelDefinition& kernel, const ConvProblem& p, const Inputs& in,
                                Activity& activity) {
  EmulatedCounters out;
  double products =
      static_cast<double>(p.y_elements()) * static_cast<double>(p.kernel_size) * static_cast<double>(p.in_per_group());
  if (products > most_products) {
    out.missing = fmt::format("{:.2g} products are too many to trace in seconds (at most {:.0g}): try a small preset",
                              products, most_products);
    return out;
  }
  if (out.missing = simt::load_traced_kernels(); !out.missing.empty()) return out;
  const KernelDefinition* traced = find_traced(kernel.name());
  if (!traced) {
    out.missing = "there is no traced build of " + kernel.name();
    return out;
  }
  auto device = open_emulator();
  if (out.missing = device->unavailable(kernel); !out.missing.empty()) return out;
  Plan plan = traced->plan_for(p);
  ProblemMemory memory(*device, p, in, plan.out_length(), plan.workspace_bytes());
  std::vector<Zone> zones;
  for (const auto& t : memory.extents())
    zones.push_back({t.address - GuardedTensor::least_zone, t.bytes + 2 * GuardedTensor::least_zone + t.walked});
  auto is_global = [&zones](uint64_t a) {
    return std::any_of(zones.begin(), zones.end(), [a](const Zone& z) { return a - z.begin < z.bytes; });
  };

  activity.phase("counting on the emulator");
  // Blocks are alike but for those at borders: of many, every n-th is counted, n odd so that no pattern of two hides.
  for (const auto& launch : plan.launches()) out.all_blocks += launch.grid.count();
  auto every = static_cast<uint64_t>(std::clamp(std::ceil(products / counted_products), 1.0,
                                                std::max(1.0, static_cast<double>(out.all_blocks) / least_blocks)));
  if (every > 1) every |= 1;
  for (const auto& launch : plan.launches())
    out.blocks += (launch.grid.count() + static_cast<int64_t>(every) - 1) / static_cast<int64_t>(every);
  std::mutex mutex;
  std::map<std::thread::id, std::unique_ptr<WarpAssembler>> assemblers;
  bool over = false;  // from then on one thread alone delivers what all had left
  {
    simt::Tracing tracing([&](std::span<const simt::Access> part) {
      auto counted = [every](const simt::Access& a) { return a.block % every == 0; };
      auto first = std::find_if(part.begin(), part.end(), counted);
      if (first == part.end()) return;
      WarpAssembler* mine = nullptr;
      {
        std::lock_guard lock(mutex);
        // At the end, whoever has this block open goes on with it.
        if (over)
          for (auto& [id, assembler] : assemblers)
            if (assembler->in_hand() == first->block) mine = assembler.get();
        if (!mine) {
          auto& slot = assemblers[std::this_thread::get_id()];
          if (!slot) slot = std::make_unique<WarpAssembler>(is_global);
          mine = slot.get();
        }
      }
      for (auto a = first; a != part.end(); ++a)
        if (counted(*a)) mine->take(*a);
    });
    device->run(*traced, plan, memory.at(), {.order_seed = 0, .activity = &activity});
    over = true;
  }
  WarpCounts sum;
  for (auto& [id, assembler] : assemblers) sum.add(assembler->finish());
  double scale = out.blocks ? static_cast<double>(out.all_blocks) / static_cast<double>(out.blocks) : 0;
  auto put = [&](const char* name, uint64_t n) { out.values[name] = scale * static_cast<double>(n); };
  put("load_requests", sum.load_requests), put("load_sectors", sum.load_sectors);
  put("store_requests", sum.store_requests), put("store_sectors", sum.store_sectors);
  put("shared_wavefronts", sum.shared_wavefronts), put("shared_conflicts", sum.shared_conflicts);
  return out;
}

}  // namespace convscope
