// The profiler on a real GPU: records against events, counters against what a kernel must do, rates and costs. Figures
// are printed as name=value, for tests/bench/results. Skipped with the driver's reason where there is none.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kernels/problem/presets.h"
#include "kernels/runtime/registry.h"
#include "profiling/profile/bench.h"
#include "profiling/profile/profile.h"
#include "profiling/roofline/measure.h"

namespace convscope {
namespace {

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class ProfilingGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (cuda_devices(why).empty()) GTEST_SKIP() << "no GPU: " << why;
    device_ = open_cuda(0);
    references_ = references_for(*device_);
  }
  void TearDown() override {
    if (device_) Cupti::shared().forget(device_->native_context());
  }
  // A subject on a problem, with memory and inputs.
  struct Ready {
    ConvProblem problem;
    std::unique_ptr<Subject> subject;
    Inputs inputs;
    std::unique_ptr<ProblemMemory> memory;
    void run() { subject->run(memory->at(), nullptr); }
  };
  // Inputs are drawn once for several kernels in turn.
  Ready ready(const std::string& kernel, const ConvProblem& p, const InputSpec& spec = {}) {
    static std::pair<ConvProblem, Inputs> last;
    if (!(last.first == p)) last = {p, make_inputs(p, spec)};
    Ready r;
    r.problem = p;
    r.subject = make_subject(kernel, *device_, references_, p);
    r.inputs = last.second;
    r.memory =
        std::make_unique<ProblemMemory>(*device_, p, r.inputs, r.subject->out_length(), r.subject->workspace_bytes());
    r.run();
    return r;
  }
  CounterReading count(Ready& r, CounterSet set) {
    return Cupti::shared().count(
        device_->native_context(), 0, set, [&] { r.run(); }, nullptr);
  }
  // Small unless the script says otherwise (tests/bench/gpu_ncu.sh).
  ConvProblem compared_with_ncu() {
    auto p = find_preset("kernelbench-79").problem;
    const char* batch = std::getenv("CONVSCOPE_TEST_BATCH");
    p.batch = batch && std::atoi(batch) > 0 ? std::atoi(batch) : 1;
    return p;
  }
  ConvProblem line(int64_t length) {
    ConvProblem p;
    p.length = length;
    return p;
  }
  std::unique_ptr<Device> device_;
  std::vector<std::unique_ptr<Reference>> references_;
};

#define NEEDS_COUNTERS \
  if (auto gap = Cupti::shared().counters_gap(device_->native_context(), 0)) GTEST_SKIP() << gap.sentence()

// Every rung that packs: without packing it is no slower than the whole plan but for noise, and its packed calls follow
// their input.
TEST_F(ProfilingGpu, PackedTimes) {
  TimingOptions options;
  options.max_samples = 30;
  for (DType dtype : {DType::f32, DType::f16})
    for (const auto* k : all_kernels()) {
      auto p = find_preset("kernelbench-79-small").problem;
      p.dtype = dtype, p.length = 4096;
      const bool takes = k->kind() == KernelKind::ladder && k->unsupported(p).empty();
      if (!takes || !device_->unavailable(*k, k->plan_for(p)).empty()) continue;
      auto r = ready(k->name(), p);
      if (!r.subject->no_packed_times().empty()) continue;
      double whole = r.subject->time(r.memory->at(), false, options, nullptr).median_ms();
      double packed = r.subject->time_packed(r.memory->at(), false, options, nullptr).median_ms();
      double packing = r.subject->time_packing(r.memory->at(), options, nullptr).median_ms();
      fmt::print("packed kernel={} dtype={} whole_us={:.2f} packed_us={:.2f} packing_us={:.2f}\n", k->name(),
                 name_of(dtype), 1e3 * whole, 1e3 * packed, 1e3 * packing);
      EXPECT_LT(packed, 1.05 * whole) << k->name();
      EXPECT_LT(whole, 1.2 * (packed + packing) + 0.002) << k->name();
      EXPECT_EQ(packed_calls_look_honest(*r.subject, *r.memory, nullptr), "") << k->name();
    }
}

TEST_F(ProfilingGpu, CuptiAndNvmlAreThere) {
  auto& cupti = Cupti::shared();
  fmt::print("cupti={} path={} chip={}\n", cupti.version(), cupti.path(), cupti.chip(device_->native_context(), 0));
  EXPECT_FALSE(cupti.missing()) << cupti.missing().sentence();
  auto gap = cupti.counters_gap(device_->native_context(), 0);
  fmt::print("counters={}\n", gap ? gap.sentence() : "permitted");
  Gap why;
  uint64_t gpu = Nvml::shared().find(device_->info().pci_bus, why);
  ASSERT_TRUE(gpu) << why.sentence();
  auto reading = Nvml::shared().read(gpu);
  ASSERT_TRUE(reading.sm_mhz && reading.memory_mhz && reading.temperature_c && reading.power_w);
  fmt::print("driver={} sm_mhz={} memory_mhz={} temperature_c={} power_w={}\n", Nvml::shared().driver_version(),
             *reading.sm_mhz, *reading.memory_mhz, *reading.temperature_c, *reading.power_w);
  EXPECT_GT(*reading.memory_mhz, 100);
}

// Events see what CUPTI records, but for the gaps between launches. The problem is much larger than the L2 cache: timed
// calls have inputs of their own, recorded ones the same.
TEST_F(ProfilingGpu, RecordsAgreeWithEvents) {
  auto p = find_preset("kernelbench-79").problem;
  for (const auto* k : all_kernels()) {
    if (k->kind() == KernelKind::test || !k->unsupported(p).empty() || !device_->unavailable(*k).empty()) continue;
    auto r = ready(k->name(), p);
    Timing hot =
        r.subject->time(r.memory->at(), false, {.min_samples = 5, .max_samples = 30, .time_cap_ms = 100}, nullptr);
    std::vector<double> sums;
    Gap gap;
    for (int i = 0; i < 5; i++) {
      double sum = 0;
      for (const auto& record : Cupti::shared().trace([&] { r.run(); }, gap)) sum += record.ms();
      ASSERT_FALSE(gap) << gap.sentence();
      sums.push_back(sum);
    }
    std::sort(sums.begin(), sums.end());
    fmt::print("records {} events_ms={:.5f} records_ms={:.5f} ratio={:.4f}\n", k->name(), hot.median_ms(), sums[2],
               hot.median_ms() / sums[2]);
    auto launches = static_cast<double>(r.subject->launch_facts().size());
    EXPECT_NEAR(hot.median_ms(), sums[2], 0.02 * sums[2] + 0.004 * launches) << k->name();
  }
}

TEST_F(ProfilingGpu, ACopyMovesItsBytes) {
  NEEDS_COUNTERS;
  InputSpec ones;
  ones.x.kind = InputKind::ones;
  auto r = ready("profiled_copy", line(int64_t{1} << 28), ones);  // 1 GiB each way
  auto c = count(r, CounterSet::memory);
  ASSERT_FALSE(c.gap) << c.gap.sentence();
  double bytes = 4.0 * static_cast<double>(int64_t{1} << 28), read = c.values.at("dram_read_bytes"),
         written = c.values.at("dram_write_bytes");
  fmt::print("copy must={:.0f} read={:.0f} written={:.0f} passes={}\n", bytes, read, written, c.passes);
  EXPECT_NEAR(read / bytes, 1, 0.01);
  EXPECT_NEAR(written / bytes, 1, 0.01);
  // 16 bytes a thread: 16 sectors a request, exactly.
  EXPECT_EQ(c.values.at("load_requests"), bytes / 16 / 32);
  EXPECT_EQ(c.values.at("load_sectors"), bytes / 32);
  EXPECT_EQ(c.values.at("store_sectors"), bytes / 32);
}

TEST_F(ProfilingGpu, KnownCounts) {
  NEEDS_COUNTERS;
  auto strided = ready("profiled_strided", line(int64_t{1} << 24));
  auto c = count(strided, CounterSet::memory);
  ASSERT_FALSE(c.gap) << c.gap.sentence();
  EXPECT_EQ(c.values.at("load_sectors") / c.values.at("load_requests"), 32);
  EXPECT_EQ(c.values.at("store_sectors") / c.values.at("store_requests"), 4);
  auto arithmetic = ready("profiled_arithmetic", line(1 << 20));
  c = count(arithmetic, CounterSet::arithmetic);
  ASSERT_FALSE(c.gap) << c.gap.sentence();
  fmt::print("arithmetic ffma={:.0f} fma_pipe_busy={:.1f} issue: passes={}\n", c.values.at("ffma_threads"),
             c.values.at("fma_pipe_busy"), c.passes);
  EXPECT_EQ(c.values.at("ffma_threads"), 4.0 * 4096 * 2112 * 256);
  // One after another, each chain waits for itself: three quarters busy is what four chains a thread reach, or more.
  EXPECT_GT(c.values.at("fma_pipe_busy"), 60);
}

TEST_F(ProfilingGpu, LiveSetAndFullSetTakeTheirTime) {
  NEEDS_COUNTERS;
  auto p = find_preset("kernelbench-79").problem;
  p.batch = 4;
  auto r = ready("tiled", p);
  double start = now_ms();
  auto first = count(r, CounterSet::live);
  ASSERT_FALSE(first.gap) << first.gap.sentence();
  EXPECT_EQ(first.passes, 1u);
  fmt::print("live first_ms={:.1f} kernel_ms={:.3f}\n", now_ms() - start, first.values.at("duration") / 1e6);
  start = now_ms();
  int times = 0;
  for (; times < 60 && now_ms() - start < 3000; times++) ASSERT_FALSE(count(r, CounterSet::live).gap);
  double rate = 1000 * times / (now_ms() - start);
  fmt::print("live collections_per_s={:.1f}\n", rate);
  EXPECT_GE(rate, 5);
  for (int round = 0; round < 2; round++) {
    start = now_ms();
    for (auto set : all_counter_sets) {
      auto c = count(r, set);
      EXPECT_FALSE(c.gap) << c.gap.sentence();
      fmt::print("full round={} set={} passes={} ms={:.1f}\n", round, name_of(set), c.passes, c.spent_ms);
    }
    double all = now_ms() - start;
    fmt::print("full round={} all_ms={:.1f}\n", round, all);
    EXPECT_LT(all, 3000);
  }
}

TEST_F(ProfilingGpu, TracingCostsLittle) {
  auto r = ready("profiled_short", line(1 << 20));
  TimingOptions o{.min_samples = 100, .max_samples = 100, .time_cap_ms = 1000, .target_error = 0};
  double off = 0, on = 0;
  Gap gap;
  size_t records = 0;
  std::vector<double> ratios;
  for (int i = 0; i < 5; i++) {
    off = r.subject->time(r.memory->at(), false, o, nullptr).median_ms();
    records =
        Cupti::shared().trace([&] { on = r.subject->time(r.memory->at(), false, o, nullptr).median_ms(); }, gap).size();
    ASSERT_FALSE(gap) << gap.sentence();
    ratios.push_back(on / off);
  }
  std::sort(ratios.begin(), ratios.end());
  fmt::print("tracing off_ms={:.5f} on_ms={:.5f} median_ratio={:.4f} records={}\n", off, on, ratios[2], records);
  EXPECT_GE(records, 1000u);
  EXPECT_LT(ratios[2], 1.03);
}

TEST_F(ProfilingGpu, ACancelledCountLeavesTheGpuUsable) {
  NEEDS_COUNTERS;
  auto r = ready("tiled", find_preset("kernelbench-79-small").problem);
  Activity activity;
  int runs = 0;
  auto work = [&] {
    r.run();
    if (++runs == 2) activity.cancel();
  };
  EXPECT_THROW(Cupti::shared().count(device_->native_context(), 0, CounterSet::speed_of_light, work, &activity),
               Cancelled);
  auto again = count(r, CounterSet::memory);
  EXPECT_FALSE(again.gap) << again.gap.sentence();
  Cupti::shared().release();
  EXPECT_FALSE(count(r, CounterSet::live).gap);
}

TEST_F(ProfilingGpu, AProfileIsWholeAndHonest) {
  ProfileSpec spec;
  spec.kernel = "tiled";
  spec.problem = find_preset("kernelbench-79").problem;
  spec.problem.batch = 4;
  spec.full = true;
  Activity activity;
  double start = now_ms();
  auto r = profile({*device_, references_, Cupti::shared(), Nvml::shared()}, spec, activity);
  fmt::print("profile tiled ms={:.0f} hot_ms={:.4f} rule={} \"{}\"\n", now_ms() - start, r.hot.median_ms(),
             r.bottleneck.rule, r.bottleneck.text());
  for (const auto& w : r.warnings) fmt::print("  warning: {}\n", w);
  EXPECT_FALSE(r.kernels.empty());
  EXPECT_GT(r.conditions.readings, 0);
  EXPECT_FALSE(r.launches.empty());
  for (const auto& w : r.warnings) EXPECT_EQ(w.find("cannot all have been done"), std::string::npos) << w;
}

// For ncu: each kernel of the ladder five times, and nothing of ours around it.
TEST_F(ProfilingGpu, RunsEachKernelFiveTimes) {
  auto p = compared_with_ncu();
  for (const auto* k : all_kernels()) {
    if (k->kind() == KernelKind::test || !k->unsupported(p).empty() || !device_->unavailable(*k).empty()) continue;
    auto r = ready(k->name(), p);
    for (int i = 0; i < 4; i++) r.run();
  }
}

// The same with our own counters and records, as lines that the script holds against ncu's.
TEST_F(ProfilingGpu, CountsEachKernel) {
  NEEDS_COUNTERS;
  auto p = compared_with_ncu();
  for (const auto* k : all_kernels()) {
    if (k->kind() == KernelKind::test || !k->unsupported(p).empty() || !device_->unavailable(*k).empty()) continue;
    auto r = ready(k->name(), p);
    Gap gap;
    r.run();
    std::vector<std::vector<KernelRecord>> all;
    for (int i = 0; i < 5; i++) all.push_back(Cupti::shared().trace([&] { r.run(); }, gap));
    for (size_t i = 0; i < all[0].size(); i++) {
      std::vector<double> ms;
      for (const auto& call : all)
        if (i < call.size()) ms.push_back(call[i].ms());
      std::sort(ms.begin(), ms.end());
      fmt::print("ours kernel={} entry={} records_ms={:.6f}\n", k->name(), all[0][i].name, ms[ms.size() / 2]);
    }
    // A range holds all launches of a call: the script adds ncu's up.
    std::string entries;
    for (const auto& record : all[0]) entries += (entries.empty() ? "" : "+") + record.name;
    for (auto set : {CounterSet::live, CounterSet::memory})
      for (const auto& [name, value] : count(r, set).values)
        fmt::print("ours kernel={} entry={} counter={} value={:.10g}\n", k->name(), entries, name, value);
  }
}

// What the emulator's counters are held against.
TEST_F(ProfilingGpu, CountsOnSmallProblems) {
  NEEDS_COUNTERS;
  for (const char* preset : {"kernelbench-64-small", "kernelbench-74-small", "kernelbench-79-small"}) {
    auto p = find_preset(preset).problem;
    for (const auto* k : all_kernels()) {
      if (k->kind() == KernelKind::test || !k->unsupported(p).empty() || !device_->unavailable(*k).empty()) continue;
      auto r = ready(k->name(), p);
      fmt::print("small preset={} kernel={}", preset, k->name());
      for (const auto& [name, value] : count(r, CounterSet::memory).values) fmt::print(" {}={:.6g}", name, value);
      for (const auto& [name, value] : count(r, CounterSet::arithmetic).values) fmt::print(" {}={:.6g}", name, value);
      fmt::print("\n");
    }
  }
}

// Ceilings: below what clocks and widths allow, and not far below it; twice the same; within two seconds.
TEST_F(ProfilingGpu, CeilingsAreNearWhatPhysicsAllows) {
  const DeviceInfo& d = device_->info();
  double begin = now_ms();
  Ceilings first = measure_ceilings(*device_, {}, nullptr);
  double spent = now_ms() - begin;
  Ceilings again = measure_ceilings(*device_, {}, nullptr);
  std::printf("ceilings_spent_ms=%.0f\n", spent);
  for (const auto& f : first.facts)
    std::printf("ceiling %s=%.6g noise_pct=%.3g how=%s\n", f.name.c_str(), f.value, f.noise_pct, f.how.c_str());
  std::printf("theory memory_gbs=%.6g f32_gflops=%.6g\n", d.memory_bandwidth_gbs, d.fma_gflops);
  EXPECT_LT(spent, 3000);
  EXPECT_EQ(first.source, "measured");
  for (const auto& f : first.facts) EXPECT_GT(f.value, 0) << f.how;
  EXPECT_LE(first.memory_gbs, d.memory_bandwidth_gbs);
  EXPECT_GE(first.memory_gbs, 0.8 * d.memory_bandwidth_gbs);
  EXPECT_LE(first.f32_gflops, 1.03 * d.fma_gflops);
  EXPECT_GE(first.f32_gflops, 0.85 * d.fma_gflops);
  EXPECT_GT(first.l2_gbs, first.memory_gbs);
  EXPECT_GT(first.shared_gbs, first.l2_gbs);
  EXPECT_NEAR(again.memory_gbs / first.memory_gbs, 1, 0.03);
  EXPECT_NEAR(again.f32_gflops / first.f32_gflops, 1, 0.05);
  if (d.name.find("H200") != std::string::npos) {
    // A copy by the driver moves 4267 GB/s there.
    EXPECT_NEAR(first.memory_gbs / 4267, 1, 0.1);
    EXPECT_GT(first.tf32_gflops, 300000);
    EXPECT_GT(first.f16_gflops, 600000);
  }
}

}  // namespace
}  // namespace convscope
