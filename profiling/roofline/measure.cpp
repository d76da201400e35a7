#include "profiling/roofline/measure.h"

#include <algorithm>
#include <fmt/format.h>

#include "kernels/base/error.h"
#include "kernels/ceilings/ceilings.h"
#include "kernels/runtime/registry.h"

namespace convscope {
namespace {

// Median and spread of so many samples are known well enough; each is some milliseconds long. With the warm-up no
// measurement takes longer than a tenth of a second on a GPU that is worth measuring.
constexpr TimingOptions short_look{.min_samples = 9, .max_samples = 15, .time_cap_ms = 60, .target_error = 0.002};

class Measurement {
 public:
  Measurement(Device& device, Ceilings& c, Activity* activity) : device_(device), c_(c), activity_(activity) {}

  // `amount` of bytes or operations in one call of the plan; `most`: what physics allows a second, 0: not known.
  void take(const char* kernel, const Plan& plan, const Bindings& at, double Ceilings::*field, const char* name,
            double amount, double most, const std::string& how) {
    const KernelDefinition& definition = find_internal_kernel(kernel);
    if (!device_.unavailable(definition).empty()) return;
    if (activity_) activity_->phase("measuring " + how);
    Timing t;
    try {
      t = device_.time(definition, plan, at, false, short_look, activity_);
    } catch (const MissingError&) {  // no device code for this GPU in this build
      return;
    }
    const double rate = amount / (t.median_ms() * 1e6);
    CeilingFact fact{name, rate, t.noise_pct(), how};
    // Clocks are read, not measured: a few percent over them is their error.
    constexpr double tolerance = 1.03;
    if (!(rate > 0) || (most > 0 && rate > tolerance * most)) {
      fact.value = 0;
      fact.how = fmt::format("{}: not believed, {:.4g} where at most {:.4g} can be", how, rate, most);
    } else if (auto before = std::find_if(c_.facts.begin(), c_.facts.end(),
                                          [&](const CeilingFact& f) { return f.name == fact.name; });
               before != c_.facts.end()) {
      // Two ways to the same: the faster one is the ceiling.
      if (before->value < fact.value) *before = fact, c_.*field = rate;
      return;
    } else {
      c_.*field = rate;
    }
    c_.facts.push_back(fact);
  }

 private:
  Device& device_;
  Ceilings& c_;
  Activity* activity_;
};

void memory_rates(Measurement& m, Device& device) {
  const DeviceInfo& info = device.info();
  // Far larger than the L2 cache, and no burden on the memory that there is.
  int64_t bytes = int64_t{1} << 30;
  while (bytes > (int64_t{1} << 26) && static_cast<uint64_t>(bytes) * 4 > device.free_memory()) bytes /= 2;
  if (static_cast<uint64_t>(bytes) * 4 > device.free_memory()) return;
  auto x = device.allocate(static_cast<size_t>(bytes)), y = device.allocate(static_cast<size_t>(bytes));
  device.fill(*x, 0, 0x3f8ccccd, static_cast<size_t>(bytes));
  Bindings at;
  at.x = x->address(), at.y = y->address();
  m.take("ceiling_memory", copy_ceiling(bytes), at, &Ceilings::memory_gbs, "memory_gbs",
         2.0 * static_cast<double>(bytes), info.memory_bandwidth_gbs,
         fmt::format("a copy of {} MiB, bytes read and written", bytes >> 20));
  m.take("ceiling_memory", stream_ceiling(bytes), at, &Ceilings::memory_gbs, "memory_gbs",
         2.0 * static_cast<double>(bytes), info.memory_bandwidth_gbs,
         fmt::format("a streaming copy of {} MiB, bytes read and written", bytes >> 20));
  // A power of two, at most a third of the cache: Hopper's two halves each keep a copy of what the other one holds.
  int64_t cached = int64_t{1} << 20;
  while (static_cast<uint64_t>(cached) * 6 <= info.l2_bytes) cached *= 2;
  L2Work work{cached, int64_t{8} * std::max(1, info.multiprocessors), 64};
  m.take("ceiling_memory", l2_ceiling(work), at, &Ceilings::l2_gbs, "l2_gbs", work.moved(), 0,
         fmt::format("loads of {} MiB past the L1 cache", cached >> 20));
}

void arithmetic_rates(Measurement& m, Device& device) {
  const int64_t sms = std::max(1, device.info().multiprocessors);
  const double fma = device.info().fma_gflops;
  auto y = device.allocate(4096);
  Bindings at;
  at.y = y->address();
  const RoundsWork shared{8 * sms, 512}, ffma{8 * sms, 128}, dfma{8 * sms, 8}, mma{4 * sms, 1024}, wgmma{2 * sms, 512};
  // 128 bytes a cycle for each multiprocessor; f32 at 128 multiply-adds gives the clock.
  m.take("ceiling_memory", shared_ceiling(shared), at, &Ceilings::shared_gbs, "shared_gbs", shared.times(8 * 16), 0,
         "loads of 16 bytes from shared memory");
  m.take("ceiling_fma", ffma_ceiling(ffma), at, &Ceilings::f32_gflops, "f32_gflops", ffma.times(2 * 256), fma,
         "multiply-adds (FFMA)");
  m.take("ceiling_fma", dfma_ceiling(dfma), at, &Ceilings::f64_gflops, "f64_gflops", dfma.times(2 * 256), fma,
         "multiply-adds (DFMA)");
  constexpr double of_mma = 8.0 * 2 * 16 * 8 / 32, of_wgmma = 4.0 * 2 * 64 * 256 / 128;
  // A tensor core does at most 32 (TF32) and 64 (f16) times the arithmetic of the lanes beside it.
  m.take("ceiling_wgmma", wgmma_tf32_ceiling(wgmma), at, &Ceilings::tf32_gflops, "tf32_gflops",
         wgmma.times(of_wgmma * 8), 32 * fma, "wgmma 64×256×8 on values that are not zero");
  m.take("ceiling_mma", mma_tf32_ceiling(mma), at, &Ceilings::tf32_gflops, "tf32_gflops", mma.times(of_mma * 8),
         32 * fma, "mma.sync 16×8×8 on values that are not zero");
  m.take("ceiling_wgmma", wgmma_f16_ceiling(wgmma), at, &Ceilings::f16_gflops, "f16_gflops", wgmma.times(of_wgmma * 16),
         64 * fma, "wgmma 64×256×16 on values that are not zero");
  m.take("ceiling_mma", mma_f16_ceiling(mma), at, &Ceilings::f16_gflops, "f16_gflops", mma.times(of_mma * 16), 64 * fma,
         "mma.sync 16×8×16 on values that are not zero");
}

}  // namespace

Ceilings measure_ceilings(Device& device, const Ceilings& otherwise, Activity* activity) {
  Ceilings c = otherwise;
  if (device.is_emulator()) return c;
  c.gpu = device.info().name;
  c.facts.clear();
  Measurement m(device, c, activity);
  memory_rates(m, device);
  arithmetic_rates(m, device);
  const bool any = std::any_of(c.facts.begin(), c.facts.end(), [](const CeilingFact& f) { return f.value > 0; });
  if (any) c.source = "measured";
  return c;
}

}  // namespace convscope
