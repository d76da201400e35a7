// Whole profiles and benchmarks, on the emulator and on a GPU whose libraries are fakes: what is said when a part is
// missing, and the ways in which a time can lie.
#include "profiling/profile/profile.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

#include "kernels/base/error.h"
#include "kernels/problem/presets.h"
#include "kernels/runtime/registry.h"
#include "profiling/profile/bench.h"
#include "profiling/profile/live.h"
#include "tests/fakes/on_fake_gpu.h"
#include "tests/fakes/setting.h"

namespace convscope {
namespace {

using test::Setting;

Cupti::Places places(const std::string& folder) {
  Cupti::Places p;
  p.folders = {test::fakes_folder() + "/" + folder};
  p.by_name = false;
  return p;
}

bool says(const std::vector<std::string>& list, const std::string& words) {
  for (const auto& line : list)
    if (line.find(words) != std::string::npos) return true;
  return false;
}

std::string all_of(const std::vector<std::string>& list) {
  std::string out;
  for (const auto& line : list) out += line + "\n";
  return out;
}

ConvProblem small_problem() { return find_preset("kernelbench-79-small").problem; }

// A persistent kernel has fewer threads than the launch that packs its weights, and all of the time.
TEST(Profile, TheLaunchThatCountsIsTheOneThatTakesLongest) {
  ProfileReport r;
  EXPECT_EQ(main_launch(r), nullptr);
  LaunchProfile pack, products;
  pack.facts.entry = "pack", pack.facts.grid = {1056}, pack.facts.block = {256};
  products.facts.entry = "products", products.facts.grid = {132}, products.facts.block = {384};
  r.launches = {pack, products};
  EXPECT_EQ(main_launch(r)->facts.entry, "pack") << "no records: by threads";
  r.launches[0].facts.output = false;
  EXPECT_EQ(main_launch(r)->facts.entry, "products") << "who is given the output";
  KernelRecord of_pack, of_products;
  of_pack.name = "pack", of_pack.start_ns = 100, of_pack.end_ns = 2100;
  of_products.name = "products", of_products.start_ns = 2200, of_products.end_ns = 402200;
  r.kernels = {of_pack, of_products};
  EXPECT_EQ(main_launch(r)->facts.entry, "products");
  r.kernels[0].end_ns = 900000;
  EXPECT_EQ(main_launch(r)->facts.entry, "pack");
}

// Which launches are given the output is known of a kernel's plan.
TEST(Profile, LaunchesThatPackAreKnown) {
  auto emulator = open_emulator();
  auto p = find_preset("kernelbench-79-small").problem;
  std::vector<std::unique_ptr<Reference>> none;
  auto facts = make_subject("registers", *emulator, none, p)->launch_facts();
  if (facts.empty()) GTEST_SKIP() << "a build without device code";
  ASSERT_EQ(facts.size(), 2u);
  EXPECT_FALSE(facts[0].output) << facts[0].entry;
  EXPECT_TRUE(facts[1].output) << facts[1].entry;
}

// Nobody is sent to a rung that he is on or past.
TEST(Profile, RungsThatAreReached) {
  ProfileReport r;
  auto has = [&](const char* name) {
    auto names = reached_rungs(r);
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  r.name = "registers";
  EXPECT_TRUE(has("direct") && has("tiled") && has("registers"));
  EXPECT_FALSE(has("mma_tf32") || has("hopper_tf32"));
  r.name = "S0";
  EXPECT_TRUE(reached_rungs(r).empty());
  r.name = "cudnn", r.is_reference = true;
  EXPECT_TRUE(has("tiled") && has("hopper_tf32"));
}

class FakeGpu : public test::OnFakeGpu {
 protected:
  ProfileReport run(ProfileSpec spec, const std::string& cupti_folder = "whole",
                    const std::string& nvml = test::fakes_folder() + "/libfake_nvml.so") {
    Cupti cupti(places(cupti_folder));
    Nvml clocks(nvml);
    Activity activity;
    if (spec.kernel.empty()) spec.kernel = "direct";
    if (spec.problem == ConvProblem{}) spec.problem = small_problem();
    return profile({*device_, references_, cupti, clocks}, spec, activity);
  }
  BenchReport race(BenchSpec spec) {
    Cupti cupti(places("whole"));
    Nvml clocks(test::fakes_folder() + "/libfake_nvml.so");
    Activity activity;
    spec.problem = small_problem();
    return bench({*device_, references_, cupti, clocks}, spec, activity);
  }
  Setting kernel_time_{"FAKE_CUDA_KERNEL_US", "50"};
  Setting kernels_{"FAKE_CUPTI_KERNELS", "direct_f32"};
};

// What a kernel may have unasked holds its static shared memory as well.
TEST_F(FakeGpu, DynamicSharedMemoryIsAskedFor) {
  const auto& kernel = find_kernel("columns_tf32");
  int seen = 0;
  for (int64_t taps = 1; taps <= 25; taps++)
    for (int64_t dilation = 1; dilation <= 5; dilation++) {
      ConvProblem p{.batch = 8, .in_channels = 160, .out_channels = 2, .kernel_size = taps, .length = 22375};
      p.stride = 2, p.dilation = dilation, p.groups = 2;
      Plan plan = kernel.plan_for(p);
      size_t most = 0;
      for (const auto& l : plan.launches()) most = std::max(most, l.dynamic_shared_bytes);
      if (most <= size_t{47} << 10 || most > size_t{48} << 10) continue;
      EXPECT_NO_THROW(device_->run_together(kernel, plan, {256, 512, 0, 768, 1024}, 1)) << describe(p);
      seen++;
    }
  EXPECT_GT(seen, 0) << "other problems are needed to see this";
}

// A launch takes its time to reach the GPU. No sample holds that: neither one of many nor a single one, as races take
// them in turn.
TEST_F(FakeGpu, HotSamplesHoldNoWaitForTheHost) {
  auto p = small_problem();
  auto subject = make_subject("direct", *device_, references_, p);
  ProblemMemory memory(*device_, p, make_inputs(p, {}, nullptr), p.out_length(), 0);
  Setting host("FAKE_CUDA_HOST_US", "30");
  for (const char* kernel_us : {"50", "300", "1500"}) {
    Setting kernel("FAKE_CUDA_KERNEL_US", kernel_us);
    for (int samples : {1, 2, 9}) {
      auto hot = subject->time(memory.at(), false, {.min_samples = samples, .max_samples = samples, .time_cap_ms = 0},
                               nullptr);
      EXPECT_EQ(hot.samples_ms.size(), static_cast<size_t>(samples));
      for (double ms : hot.samples_ms) EXPECT_NEAR(1e3 * ms / std::atof(kernel_us), 1, 0.002) << kernel_us << " us";
    }
  }
}

TEST_F(FakeGpu, AWholeProfile) {
  Setting values("FAKE_CUPTI_VALUES",
                 "dram__throughput.avg.pct_of_peak_sustained_elapsed:88,gpu__time_duration.sum:50000,"
                 "dram__bytes_read.sum:1600000,dram__bytes_write.sum:1600000");
  ProfileSpec spec;
  spec.full = true;
  auto r = run(spec);
  EXPECT_NEAR(r.hot.median_ms(), 0.05, 0.001);
  EXPECT_NEAR(r.cold.median_ms(), 0.05, 0.001);
  EXPECT_FALSE(r.emulated);
  EXPECT_TRUE(r.host_ms);
  ASSERT_EQ(r.kernels.size(), 1u);
  EXPECT_NEAR(r.kernel_ms.value(), 0.05, 1e-9);
  EXPECT_EQ(r.conditions.warning(), "");
  EXPECT_EQ(r.conditions.driver_version, "580.1.2");
  ASSERT_EQ(r.launches.size(), 1u);
  EXPECT_EQ(r.launches[0].facts.registers, 40);
  EXPECT_GT(r.launches[0].occupancy_pct, 50);
  EXPECT_NE(r.launches[0].limit.find("limited by"), std::string::npos);
  EXPECT_FALSE(r.counters_missing);
  EXPECT_EQ(r.counters.size(), 5u);
  EXPECT_EQ(r.all_counters().at("dram_busy"), 88);
  EXPECT_EQ(r.ceilings.source, "measured") << "by kernels that take 50 µs each on this GPU";
  ASSERT_EQ(r.roofline.size(), 3u);
  EXPECT_EQ(r.roofline[1].name, "measured bytes");
  EXPECT_TRUE(r.roofline[2].cold);
  EXPECT_EQ(r.bottleneck.rule, "memory-bound") << r.bottleneck.text();
  EXPECT_TRUE(r.warnings.empty()) << all_of(r.warnings);
}

// The range of the counters is longer than the kernel: shares of its time are those of the kernel's.
TEST_F(FakeGpu, SharesOfTheKernelsOwnTime) {
  Setting values(
      "FAKE_CUPTI_VALUES",
      "dram__throughput.avg.pct_of_peak_sustained_elapsed:30,gpu__time_duration.sum:100000,"
      "sm__cycles_active.avg:900,sm__cycles_elapsed.max:2000,smsp__issue_active.avg.pct_of_peak_sustained_active:44");
  auto r = run({});
  EXPECT_EQ(r.all_counters().at("dram_busy"), 30) << "as it was counted";
  auto c = r.counters_of_kernels();
  EXPECT_NEAR(c.at("dram_busy"), 60, 1e-6);
  EXPECT_NEAR(c.at("duration"), 50000, 1e-3);
  EXPECT_NEAR(c.at("sm_cycles_elapsed"), 1000, 1e-6);
  EXPECT_EQ(c.at("issue_busy"), 44) << "a share of active cycles is right as it is";
  for (const auto& h : r.headlines) {
    if (std::string(h.headline->name) == "memory-busy") {
      EXPECT_NEAR(h.value.value(), 60, 1e-6);
    }
  }
}

TEST_F(FakeGpu, TheLiveSetAlone) {
  auto r = run({});
  ASSERT_EQ(r.counters.size(), 1u);
  EXPECT_EQ(r.counters[0].set, CounterSet::live);
  EXPECT_EQ(r.counters[0].passes, 1u);
}

TEST_F(FakeGpu, EachMissingPartLeavesTheRest) {
  auto rest = [](const ProfileReport& r) {
    EXPECT_FALSE(r.hot.empty());
    EXPECT_EQ(r.launches.size(), 1u);
    EXPECT_EQ(r.headlines.size(), 12u);
    EXPECT_FALSE(r.roofline.empty());
    EXPECT_FALSE(r.bottleneck.sentence.empty());
  };
  auto r = run({}, "no-such-folder");
  rest(r);
  EXPECT_EQ(r.kernels_missing.code, "no-cupti");
  EXPECT_EQ(r.counters_missing.code, "no-cupti");
  EXPECT_EQ(r.bottleneck.rule, "far-from-floor");
  r = run({}, "alone");
  rest(r);
  EXPECT_FALSE(r.kernels_missing) << "records need no libnvperf";
  EXPECT_EQ(r.counters_missing.code, "no-nvperf");
  EXPECT_NE(r.bottleneck.next.find("libnvperf_host.so"), std::string::npos) << r.bottleneck.next;
  r = run({}, "whole", "/nowhere");
  rest(r);
  EXPECT_EQ(r.conditions.missing.code, "no-nvml");
  EXPECT_FALSE(r.counters_missing);
  Setting forbidden("FAKE_CUPTI_FAIL", "cuptiProfilerGetCounterAvailability:35");
  r = run({});
  rest(r);
  EXPECT_EQ(r.counters_missing.code, "not-permitted");
  EXPECT_EQ(r.kernels.size(), 1u);
}

// The live set was counted: it is not named as what would have to be counted.
TEST_F(FakeGpu, WhatTheChipLacksIsNoSetThatWasNotCounted) {
  Setting lacks("FAKE_CUPTI_LACKS", "dram__");
  ProfileSpec spec;
  spec.full = true;
  auto r = run(spec);
  ASSERT_FALSE(r.counters_missing);
  int lacking = 0;
  for (const auto& h : r.headlines) {
    EXPECT_EQ(h.missing.find("it is in the set"), std::string::npos) << h.headline->name << ": " << h.missing;
    lacking += h.missing.find("this chip has no counter for it (dram_") == 0;
  }
  EXPECT_EQ(lacking, 2);
}

TEST_F(FakeGpu, ClocksAreKeptOverTime) {
  Setting hot("FAKE_NVML_THROTTLE", "0x40"), mig("FAKE_NVML_MIG", "1");
  auto r = run({});
  ASSERT_FALSE(r.conditions.over_time.empty());
  EXPECT_EQ(r.conditions.over_time.front().slower_because, 0x40u);
  EXPECT_TRUE(says(r.warnings, "slowed itself down"));
  EXPECT_TRUE(says(r.warnings, "split into instances")) << all_of(r.warnings);
  auto race_report = race({{"direct", "polyphase"}, {}, {}, Accuracy::strict, "direct", 10});
  EXPECT_FALSE(race_report.conditions.over_time.empty());
  EXPECT_TRUE(says(race_report.warnings, "split into instances"));
}

// ---- the ways in which a time can lie ------------------------------------------------------------------------------

TEST_F(FakeGpu, WorkLeftOutsideOfTheTimedSection) {
  Setting quick("FAKE_CUDA_KERNEL_US", "20");  // as events see it, while the records say 50
  EXPECT_TRUE(says(run({}).warnings, "work was left outside of it"));
  // Not where the clock moved by more than the two are apart: they are of different calls.
  Setting clock("FAKE_NVML_SERIES", "1980:0,600:4");
  auto moved = run({});
  ASSERT_TRUE(moved.conditions.sm_mhz && moved.conditions.sm_mhz->least == 600 &&
              moved.conditions.sm_mhz->most == 1980);
  EXPECT_FALSE(says(moved.warnings, "work was left outside of it")) << all_of(moved.warnings);
}

TEST_F(FakeGpu, WaitingBetweenKernels) {
  Setting slow("FAKE_CUDA_KERNEL_US", "90");
  EXPECT_TRUE(says(run({}).warnings, "the rest is waiting between them"));
}

TEST_F(FakeGpu, AKernelThatLetsALibraryWork) {
  Setting kernels("FAKE_CUPTI_KERNELS", "direct_f32,cudnn::ops::dgrad");
  Setting time("FAKE_CUDA_KERNEL_US", "100");
  auto r = run({});
  EXPECT_EQ(r.kernels_a_call, 2);
  EXPECT_TRUE(says(r.warnings, "kernels ran that are not its own: cudnn::ops::dgrad")) << all_of(r.warnings);
}

TEST_F(FakeGpu, AnAnswerFromBefore) {
  Setting cached("FAKE_CUDA_WORK", "cached");
  EXPECT_TRUE(says(run({}).warnings, "the same answer whatever the input is"));
  Setting nothing("FAKE_CUDA_WORK", "nothing");
  EXPECT_TRUE(says(run({}).warnings, "write nothing"));
}

TEST_F(FakeGpu, FasterThanPhysics) {
  Setting quick("FAKE_CUDA_KERNEL_US", "0.2");
  Setting none("FAKE_CUPTI_KERNELS", "");
  auto r = run({});
  EXPECT_TRUE(says(r.warnings, "the work cannot all have been done")) << all_of(r.warnings);
}

TEST_F(FakeGpu, AThrottledClock) {
  Setting hot("FAKE_NVML_THROTTLE", "0x40");
  EXPECT_TRUE(says(run({}).warnings, "slowed itself down"));
  auto r = race({{"direct", "polyphase"}, {}, {}, Accuracy::strict, "direct", 10});
  ASSERT_EQ(r.entries.size(), 2u);
  ASSERT_TRUE(r.entries[1].verdict.hot);
  EXPECT_EQ(r.entries[1].verdict.hot->verdict, Comparative::ambiguous);
  EXPECT_NE(r.entries[1].verdict.hot->evidence.find("measure again"), std::string::npos);
}

TEST_F(FakeGpu, TooFewSamples) {
  ProfileSpec spec;
  spec.samples = 2;
  EXPECT_TRUE(says(run(spec).warnings, "2 samples say little"));
  auto r = race({{"direct", "polyphase"}, {}, {}, Accuracy::strict, "direct", 3});
  EXPECT_EQ(r.entries[1].verdict.hot->verdict, Comparative::ambiguous);
  EXPECT_NE(r.entries[1].verdict.hot->evidence.find("too few samples"), std::string::npos);
}

// ---- against each other --------------------------------------------------------------------------------------------

TEST_F(FakeGpu, OneTimeIsSame) {
  auto r = race({{"direct", "polyphase"}, {}, {}, Accuracy::strict, "", 20});
  EXPECT_EQ(r.against, "direct") << "no reference is here";
  EXPECT_TRUE(says(r.warnings, "not against cudnn: ")) << all_of(r.warnings);
  EXPECT_FALSE(r.entries[0].verdict.hot);
  EXPECT_FALSE(r.entries[0].no_verdict.empty());
  ASSERT_TRUE(r.entries[1].verdict.hot && r.entries[1].verdict.cold);
  EXPECT_EQ(r.entries[1].verdict.hot->verdict, Comparative::same) << r.entries[1].verdict.hot->evidence;
  EXPECT_EQ(r.entries[1].hot.samples_ms.size(), 20u);
  EXPECT_EQ(r.rounds, 20);
}

TEST_F(FakeGpu, ATimedCallThatDoesNothingWinsNothing) {
  Setting nothing("FAKE_CUDA_WORK", "nothing");
  auto r = race({{"direct", "polyphase"}, {}, {}, Accuracy::strict, "direct", 10});
  EXPECT_EQ(r.entries[1].verdict.hot->verdict, Comparative::ambiguous);
  EXPECT_EQ(r.entries[1].doubt, "its timed calls write nothing");
}

// Without names, every kernel that is as accurate as asked.
TEST_F(FakeGpu, AllThatAreAccurateEnough) {
  auto names = [&](Accuracy accuracy) {
    std::string all;
    for (const auto& e : race({{}, {}, {}, accuracy, "direct", 3}).entries) all += e.name + " ";
    return all;
  };
  std::string strict = names(Accuracy::strict), tf32 = names(Accuracy::tf32);
  EXPECT_NE(strict.find("tiled "), std::string::npos) << strict;
  EXPECT_EQ(strict.find("mma_tf32 "), std::string::npos) << strict;
  EXPECT_NE(tf32.find("mma_tf32 "), std::string::npos) << tf32;
}

TEST_F(FakeGpu, NamesThatCannotBe) {
  EXPECT_THROW(race({{"nonesuch"}, {}, {}, Accuracy::strict, "", 5}), InputError);
  EXPECT_THROW(race({{"direct", "direct"}, {}, {}, Accuracy::strict, "", 5}), InputError);
  EXPECT_THROW(race({{"direct"}, {}, {}, Accuracy::strict, "cudnn", 5}), MissingError) << "asked for, and not here";
  auto r = race({{"direct", "cudnn"}, {}, {}, Accuracy::strict, "direct", 8});
  EXPECT_NE(r.entries[1].missing.find("libcudnn.so.9"), std::string::npos) << "an entry with its reason";
  EXPECT_EQ(r.entries[1].no_verdict, r.entries[1].missing);
}

TEST_F(FakeGpu, CancelStopsBoth) {
  Cupti cupti(places("whole"));
  Nvml clocks(test::fakes_folder() + "/libfake_nvml.so");
  Activity activity;
  activity.cancel();
  ProfileSpec spec;
  spec.kernel = "direct", spec.problem = small_problem();
  EXPECT_THROW(profile({*device_, references_, cupti, clocks}, spec, activity), Cancelled);
  BenchSpec both;
  both.kernels = {"direct", "polyphase"}, both.problem = small_problem();
  EXPECT_THROW(bench({*device_, references_, cupti, clocks}, both, activity), Cancelled);
}

TEST_F(FakeGpu, AnUnknownGpuHasCeilingsByItsClocks) {
  DeviceInfo d = device_->info();
  d.name = "Some GPU";
  EXPECT_EQ(ceilings_for(d).source, "computed from the driver's clocks and widths");
  EXPECT_NEAR(ceilings_for(d).memory_gbs, 4917, 1);
  EXPECT_EQ(ceilings_for(device_->info()).source, "datasheet");
  EXPECT_NE(ceilings_for(open_emulator()->info()).source.find("another machine"), std::string::npos);
}

// Times alone, without a GPU: what the warnings rest on.
TEST(TimingWarnings, WhatTheCacheHides) {
  ProfileReport r;
  r.hot.samples_ms = std::vector<double>(10, 1.0);
  r.cold.samples_ms = std::vector<double>(10, 1.1);
  EXPECT_TRUE(timing_warnings(r).empty()) << all_of(timing_warnings(r));
  r.cold.samples_ms = std::vector<double>(10, 2.0);
  EXPECT_TRUE(says(timing_warnings(r), "with its data in the L2 cache")) << all_of(timing_warnings(r));
}

TEST(TimingWarnings, Noise) {
  ProfileReport r;
  for (int i = 0; i < 20; i++) r.hot.samples_ms.push_back(1 + 0.3 * (i % 2));
  EXPECT_TRUE(says(timing_warnings(r), "noisy")) << all_of(timing_warnings(r));
}

// The floor by bytes is one for data that is not in the cache.
TEST(TimingWarnings, FasterThanTheMemory) {
  ProfileReport r;
  r.hot.samples_ms = r.cold.samples_ms = std::vector<double>(10, 0.5);
  r.floor = Floor{1, true};
  r.work.least_bytes = 1e9;
  r.device.l2_bytes = 50 << 20;
  EXPECT_TRUE(says(timing_warnings(r), "faster than the floor of 1.00 ms by bytes")) << all_of(timing_warnings(r));
  r.work.least_bytes = 1e6;
  EXPECT_TRUE(timing_warnings(r).empty()) << "it may all be in the cache: " << all_of(timing_warnings(r));
}

TEST_F(FakeGpu, LiveReadings) {
  Cupti cupti(places("whole"));
  Nvml clocks(test::fakes_folder() + "/libfake_nvml.so");
  Activity activity;
  ProfileTools tools{*device_, references_, cupti, clocks};
  ProfileSpec spec;
  spec.kernel = "direct", spec.problem = small_problem();
  LiveProfile live(tools, spec, activity);
  for (int i = 0; i < 5; i++) {
    auto r = live.read(tools, activity);
    EXPECT_EQ(r.source, "recorded");
    EXPECT_NEAR(r.ms, 0.05, 1e-9);
    ASSERT_TRUE(r.counters);
    EXPECT_EQ(r.counters->passes, 1u);
    EXPECT_EQ(r.headlines.size(), 12u);
    EXPECT_FALSE(r.bottleneck.sentence.empty());
  }
  // A change of the hardware's figures is in the next reading.
  Setting values("FAKE_CUPTI_VALUES", "dram__throughput.avg.pct_of_peak_sustained_elapsed:97");
  EXPECT_EQ(live.read(tools, activity).bottleneck.rule, "memory-bound");
  Cupti none(places("no-such-folder"));
  ProfileTools without{*device_, references_, none, clocks};
  auto r = live.read(without, activity);
  EXPECT_EQ(r.source, "measured") << "events still tell the time";
  EXPECT_EQ(r.counters_missing.code, "no-cupti");
}

TEST_F(FakeGpu, MeasuredCeilingsTakeTheirPlace) {
  ProfileSpec spec;
  spec.ceilings = Ceilings{"this one", "measured", 4000, 50000};
  auto r = run(spec);
  EXPECT_EQ(r.ceilings.source, "measured");
  EXPECT_EQ(r.roofline[0].ceiling, std::min(50000.0, 4000 * r.roofline[0].intensity));
}

// ---- the emulator --------------------------------------------------------------------------------------------------

TEST(EmulatedProfile, SaysWhatItIs) {
  auto device = open_emulator();
  auto references = references_for(*device);
  Cupti cupti(places("whole"));
  Nvml clocks(test::fakes_folder() + "/libfake_nvml.so");
  Activity activity;
  ProfileSpec spec;
  spec.kernel = "tiled", spec.problem = small_problem(), spec.full = true, spec.samples = 3;
  auto r = profile({*device, references, cupti, clocks}, spec, activity);
  EXPECT_TRUE(r.emulated);
  EXPECT_EQ(r.hot.samples_ms.size(), 3u);
  EXPECT_TRUE(r.cold.empty());
  EXPECT_FALSE(r.host_ms);
  EXPECT_FALSE(r.kernel_ms);
  EXPECT_EQ(r.kernels_missing.code, "no-gpu");
  EXPECT_EQ(r.conditions.missing.code, "no-gpu");
  EXPECT_TRUE(r.roofline.empty());
  EXPECT_FALSE(r.roofline_missing.empty());
  EXPECT_EQ(r.bottleneck.rule, "unknown");
  EXPECT_TRUE(r.floor);
  // Counted from the traces, where there is a traced build.
  if (r.counters_missing) {
    EXPECT_NE(r.counters_missing.what.find("nor are there emulated ones"), std::string::npos);
  } else {
    EXPECT_TRUE(r.counters_source.starts_with("emulated, by tracing")) << r.counters_source;
    EXPECT_GT(r.all_counters().at("load_requests"), 0);
  }
}

// A kernel on tensor cores is held against what they can do, whatever accuracy was asked for.
TEST(ProfileOnTheEmulator, FloorsAreOfEachOnesOwnArithmetic) {
  auto device = open_emulator();
  std::vector<std::unique_ptr<Reference>> references;
  Cupti cupti(places("no-such-folder"));
  Nvml clocks("/nowhere/libnvidia-ml.so.1");
  Activity activity;
  BenchSpec spec;
  spec.kernels = {"tiled", "mma_3xtf32", "mma_tf32"};
  spec.problem.in_channels = spec.problem.out_channels = 256, spec.problem.kernel_size = 3, spec.problem.length = 32;
  spec.samples = 1;
  auto r = bench({*device, references, cupti, clocks}, spec, activity);
  ASSERT_EQ(r.entries.size(), 3u);
  const Ceilings& c = r.ceilings;
  double by_bytes = r.work.least_bytes / (c.memory_gbs * 1e6);
  auto expected = [&](double gflops) { return std::max(by_bytes, r.work.flops / (gflops * 1e6)); };
  ASSERT_GT(expected(c.f32_gflops), by_bytes) << "arithmetic sets the floor of f32";
  ASSERT_TRUE(r.floor && r.entries[0].floor && r.entries[1].floor && r.entries[2].floor);
  EXPECT_DOUBLE_EQ(r.floor->ms, expected(c.f32_gflops));
  EXPECT_DOUBLE_EQ(r.entries[0].floor->ms, expected(c.f32_gflops));
  EXPECT_DOUBLE_EQ(r.entries[1].floor->ms, expected(c.tf32_gflops / 3));
  EXPECT_DOUBLE_EQ(r.entries[2].floor->ms, expected(c.tf32_gflops));
  EXPECT_LT(r.entries[2].floor->ms, r.floor->ms);
  ProfileSpec one;
  one.kernel = "mma_tf32", one.problem = spec.problem, one.samples = 1;
  auto p = profile({*device, references, cupti, clocks}, one, activity);
  ASSERT_TRUE(p.floor);
  EXPECT_DOUBLE_EQ(p.floor->ms, expected(c.tf32_gflops));
}

// 16-bit numbers could be multiplied on tensor cores, which sets the problem's floor; rungs without them are held
// against f32's multiply-adds, which they use.
TEST(ProfileOnTheEmulator, FloorsOfSixteenBits) {
  auto device = open_emulator();
  std::vector<std::unique_ptr<Reference>> references;
  Cupti cupti(places("no-such-folder"));
  Nvml clocks("/nowhere/libnvidia-ml.so.1");
  Activity activity;
  BenchSpec spec;
  spec.kernels = {"tiled"};
  spec.problem.in_channels = spec.problem.out_channels = 256, spec.problem.kernel_size = 3, spec.problem.length = 32;
  spec.problem.dtype = DType::bf16;
  spec.samples = 1;
  auto r = bench({*device, references, cupti, clocks}, spec, activity);
  ASSERT_EQ(r.entries.size(), 1u);
  const Ceilings& c = r.ceilings;
  EXPECT_DOUBLE_EQ(r.work.least_bytes, 2.0 * (256 * 32 + 256 * 256 * 3 + 256 * 34));
  double by_bytes = r.work.least_bytes / (c.memory_gbs * 1e6);
  auto expected = [&](double gflops) { return std::max(by_bytes, r.work.flops / (gflops * 1e6)); };
  ASSERT_TRUE(r.floor && r.entries[0].floor);
  EXPECT_DOUBLE_EQ(r.floor->ms, expected(c.f16_gflops));
  EXPECT_DOUBLE_EQ(r.entries[0].floor->ms, expected(c.f32_gflops));
  EXPECT_LT(r.floor->ms, r.entries[0].floor->ms);
  EXPECT_EQ(arithmetic_of(spec.problem, Accuracy::strict, true), Arithmetic::f16);
  EXPECT_EQ(arithmetic_of(spec.problem, Accuracy::strict, false), Arithmetic::f32);
}

}  // namespace
}  // namespace convscope
