// Samples of warps and of the chip over time, as a fake CUPTI gives them (tests/fakes/fake_cupti_sampling.cpp): sums,
// places, the order of calls, and each step down.
#include <cmath>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "profiling/cupti/cupti.h"
#include "profiling/metrics/lanes.h"
#include "tests/fakes/setting.h"

namespace convscope {
namespace {

using test::Setting;

int context_stand_in;
void* const context = &context_stand_in;

Cupti::Places fake_places(const std::string& folder = "whole") {
  Cupti::Places p;
  p.folders = {test::fakes_folder() + "/" + folder};
  p.by_name = false;
  return p;
}

// As in a process that has not counted yet.
void new_process(const Cupti& cupti) {
  void* handle = dlopen(cupti.path().c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (!handle) return;
  reinterpret_cast<int (*)()>(dlsym(handle, "fake_cupti_forget"))();
}

SamplingOptions options(uint64_t enough = 1) {
  SamplingOptions o;
  o.enough = enough;
  o.cubins = {"code"};
  return o;
}
PcSamples sample(Cupti& cupti, const SamplingOptions& o = options()) {
  return cupti.sample_pcs(
      context, 0, o, [] {}, nullptr);
}
Timeline timeline(Cupti& cupti, double call_ms = 1) {
  TimelineOptions o;
  o.call_ms = call_ms;
  return cupti.sample_timeline(
      context, 0, o, [](int) {}, nullptr);
}

TEST(PcSampling, SumsReasonsAndFindsLines) {
  Setting found("FAKE_CUPTI_PC",
                "direct_f32:256:long_scoreboard:60,direct_f32:256:long_scoreboard_not_issued:50,"
                "direct_f32:272:selected:30,direct_f32:512:wait:10,other:0:wait:1");
  Cupti cupti(fake_places());
  new_process(cupti);
  PcSamples s = sample(cupti);
  ASSERT_FALSE(s.gap) << s.gap.sentence();
  EXPECT_EQ(s.samples, 101u) << "what was not issued is a part, and is not added";
  EXPECT_EQ(s.total, 101u);
  EXPECT_EQ(s.dropped, 0u);
  EXPECT_EQ(s.calls, 1);
  EXPECT_EQ(s.period_cycles, 2048u);
  EXPECT_EQ(s.reasons.size(), 5u) << "the parts are no reasons of their own";
  ASSERT_EQ(s.functions.size(), 2u);
  const PcFunction& f = s.functions[0];
  EXPECT_EQ(f.name, "direct_f32");
  EXPECT_EQ(f.samples, 100u);
  ASSERT_EQ(f.instructions.size(), 3u) << "handed over two at a time, the last by Disable";
  EXPECT_EQ(f.instructions[0].offset, 256u);
  EXPECT_EQ(f.instructions[0].not_issued.at("long_scoreboard"), 50u);
  EXPECT_EQ(f.instructions[0].at.file, "/src/kernels/ladder/direct.cu");
  EXPECT_EQ(f.instructions[0].at.line, 26);
  EXPECT_TRUE(f.no_lines.empty());
  EXPECT_EQ(f.cubin, 0u) << "the first of those that were given";
  EXPECT_EQ(s.lines()[0].at.line, 26);
  EXPECT_EQ(s.lines()[0].samples, 60u);
}

TEST(PcSampling, GoesOnUntilThereAreEnough) {
  Cupti cupti(fake_places());
  new_process(cupti);
  int runs = 0;
  auto s = cupti.sample_pcs(
      context, 0, options(1000), [&] { runs++; }, nullptr);
  EXPECT_GE(s.samples, 1000u);
  EXPECT_EQ(s.calls, runs);
  EXPECT_GT(runs, 1);
  // The time has an end, too.
  SamplingOptions impatient = options(1u << 30);
  impatient.time_cap_ms = 20;
  s = sample(cupti, impatient);
  EXPECT_FALSE(s.gap);
  EXPECT_LT(s.spent_ms, 2000);
}

TEST(PcSampling, LooksLessOftenAtLongKernels) {
  Cupti cupti(fake_places());
  new_process(cupti);
  SamplingOptions o = options();
  o.multiprocessors = 132, o.clock_mhz = 1980;
  for (auto [ms, period] : {std::pair{0.5, 2048u}, {7.0, 2048u}, {20.0, 8192u}, {1000.0, 262144u}}) {
    o.call_ms = ms;
    EXPECT_EQ(sample(cupti, o).period_cycles, period) << ms;
  }
}

TEST(PcSampling, CodeOfOthersHasNoLines) {
  Cupti cupti(fake_places());
  new_process(cupti);
  Setting crc("FAKE_CUPTI_PC_CRC", "5");
  PcSamples s = sample(cupti);
  EXPECT_NE(s.functions[0].no_lines.find("not this program's"), std::string::npos);
  EXPECT_FALSE(s.functions[0].cubin);
  EXPECT_EQ(s.functions[0].instructions[0].at.line, 0);
  EXPECT_GT(s.samples, 0u);
  Setting same("FAKE_CUPTI_PC_CRC", "77");
  Setting fails("FAKE_CUPTI_FAIL", "cuptiGetSassToSourceCorrelation:1");
  s = sample(cupti);
  EXPECT_NE(s.functions[0].no_lines.find("-lineinfo"), std::string::npos) << s.functions[0].no_lines;
}

TEST(PcSampling, DroppedSamplesAndAFullBufferAreSaid) {
  Cupti cupti(fake_places());
  new_process(cupti);
  {
    Setting dropped("FAKE_CUPTI_PC_DROPPED", "7");
    PcSamples s = sample(cupti);
    EXPECT_GE(s.dropped, 7u);
    EXPECT_EQ(s.samples, 100u);
  }
  {
    Setting full("FAKE_CUPTI_PC_FULL", "1");
    PcSamples s = sample(cupti);
    EXPECT_EQ(s.gap.code, "overflow");
    EXPECT_NE(s.gap.how.find("smaller problem"), std::string::npos);
  }
  {
    Setting none("FAKE_CUPTI_PC", "none");
    SamplingOptions o = options();
    o.time_cap_ms = 5;
    PcSamples s = sample(cupti, o);
    EXPECT_EQ(s.gap.code, "no-samples") << s.gap.sentence();
  }
  EXPECT_FALSE(sample(cupti).gap) << "and it works again";
}

// CUPTI notes the modules when ranges or samples first begin, and samples of what it did not note have no function.
TEST(PcSampling, CountersBeforeItHideFunctions) {
  Cupti cupti(fake_places());
  new_process(cupti);
  EXPECT_FALSE(cupti
                   .count(
                       context, 0, CounterSet::live, [] {}, nullptr)
                   .gap);
  PcSamples s = sample(cupti);
  EXPECT_EQ(s.gap.code, "unknown-code") << s.gap.sentence();
  EXPECT_GE(s.unknown, 60u);
  EXPECT_EQ(s.samples, 0u);
  new_process(cupti);
  s = sample(cupti);
  EXPECT_FALSE(s.gap) << s.gap.sentence();
  EXPECT_EQ(s.unknown, 0u);
}

// They share the hardware: each lets go of it before another takes it, whatever happens meanwhile.
TEST(Sampling, OneAtATime) {
  Cupti cupti(fake_places());
  new_process(cupti);
  auto count = [&] {
    return cupti
        .count(
            context, 0, CounterSet::live, [] {}, nullptr)
        .gap;
  };
  new_process(cupti);
  for (int round = 0; round < 2; round++) {
    EXPECT_FALSE(sample(cupti).gap) << sample(cupti).gap.sentence();
    EXPECT_FALSE(count());
    EXPECT_FALSE(timeline(cupti).gap) << timeline(cupti).gap.sentence();
  }
  Activity cancelled;
  cancelled.cancel();
  EXPECT_THROW(cupti.sample_pcs(
                   context, 0, options(), [] {}, &cancelled),
               Cancelled);
  EXPECT_THROW(cupti.sample_timeline(
                   context, 0, {}, [](int) {}, &cancelled),
               Cancelled);
  EXPECT_THROW(cupti.sample_pcs(
                   context, 0, options(), [] { throw std::runtime_error("broke"); }, nullptr),
               std::runtime_error);
  EXPECT_THROW(cupti.sample_timeline(
                   context, 0, {}, [](int) { throw std::runtime_error("broke"); }, nullptr),
               std::runtime_error);
  EXPECT_FALSE(count()) << "what was cut short leaves nothing behind";
  EXPECT_FALSE(sample(cupti).gap);
  EXPECT_FALSE(timeline(cupti).gap);
}

TEST(Timeline, LanesBeginWithTheKernel) {
  Setting values("FAKE_CUPTI_VALUES", "dram__throughput.avg.pct_of_peak_sustained_elapsed:61,lts__t_sectors.sum:10000");
  Cupti cupti(fake_places());
  new_process(cupti);
  Timeline t = timeline(cupti);
  ASSERT_FALSE(t.gap) << t.gap.sentence();
  EXPECT_EQ(t.calls, 1);
  EXPECT_EQ(t.longer, 0);
  EXPECT_DOUBLE_EQ(t.interval_us, 10);
  ASSERT_EQ(t.lanes.size(), lane_metrics().size());
  ASSERT_GE(t.start_us.size(), 100u);
  EXPECT_EQ(t.end_us.size(), t.start_us.size());
  for (const auto& lane : t.lanes) ASSERT_EQ(lane.values.size(), t.start_us.size()) << lane.name;
  // 100 points of work, the first half idle: it begins in the middle of it.
  EXPECT_NEAR(t.work_us, 995, 0.01);
  EXPECT_NEAR(t.start_us[3], -5, 0.01) << "three points of rest are kept";
  EXPECT_EQ(t.lanes[0].name, "dram_busy");
  EXPECT_DOUBLE_EQ(t.summary(t.lanes[0]).mean, 61);
  EXPECT_EQ(t.summary(t.lanes[0]).points, 99u);
  EXPECT_NEAR(t.summary(t.lanes[4]).mean, 32, 1e-9) << "10000 sectors in 10 µs are 32 GB/s";
  for (double v : t.lanes[2].values) EXPECT_TRUE(std::isfinite(v)) << "a chip at rest has 0 warps, not NaN";
  EXPECT_TRUE(t.launches.empty());
  // With records their times count.
  Setting kernels("FAKE_CUPTI_KERNELS", "second,first");
  t = timeline(cupti);
  ASSERT_EQ(t.launches.size(), 2u);
  EXPECT_EQ(t.launches[0].name, "first");
  EXPECT_DOUBLE_EQ(t.launches[0].start_us, 0);
  EXPECT_DOUBLE_EQ(t.launches[1].start_us, 100);
  EXPECT_DOUBLE_EQ(t.work_us, 150);
}

TEST(Timeline, ShortCallsAreRepeated) {
  Cupti cupti(fake_places());
  new_process(cupti);
  TimelineOptions o;
  o.call_ms = 0.05;
  int asked = 0;
  Timeline t = cupti.sample_timeline(
      context, 0, o, [&](int calls) { asked = calls; }, nullptr);
  EXPECT_EQ(t.calls, 20);
  EXPECT_EQ(asked, 20);
}

TEST(Timeline, OverflowMakesTheIntervalLonger) {
  Cupti cupti(fake_places());
  new_process(cupti);
  {
    Setting below("FAKE_CUPTI_PM_OVERFLOW_BELOW", "30000");
    Timeline t = timeline(cupti);
    ASSERT_FALSE(t.gap) << t.gap.sentence();
    EXPECT_EQ(t.longer, 2);
    EXPECT_DOUBLE_EQ(t.interval_us, 40);
  }
  Setting always("FAKE_CUPTI_PM_OVERFLOW_BELOW", "1e12");
  Timeline t = timeline(cupti);
  EXPECT_EQ(t.gap.code, "overflow");
  EXPECT_NE(t.gap.what.find("one in 320 µs"), std::string::npos) << t.gap.sentence();
}

TEST(Timeline, WhatDoesNotFitIsLeftOut) {
  Cupti cupti(fake_places());
  new_process(cupti);
  {
    Setting fits("FAKE_CUPTI_PM_FITS", "3");
    Timeline t = timeline(cupti);
    ASSERT_FALSE(t.gap) << t.gap.sentence();
    EXPECT_EQ(t.lanes.size(), 3u);
    EXPECT_EQ(t.not_here, (std::vector<std::string>{"l2_gbs", "ipc"}));
  }
  {
    Setting lacks("FAKE_CUPTI_LACKS", "dram__");
    Timeline t = timeline(cupti);
    ASSERT_FALSE(t.gap) << t.gap.sentence();
    EXPECT_EQ(t.not_here, std::vector<std::string>{"dram_busy"});
  }
  Setting none("FAKE_CUPTI_PM_FITS", "0");
  EXPECT_EQ(timeline(cupti).gap.code, "not-on-this-chip");
}

TEST(Timeline, ALongCallIsRefusedBeforeItRuns) {
  Cupti cupti(fake_places());
  new_process(cupti);
  TimelineOptions o;
  o.call_ms = 5000;
  bool ran = false;
  Timeline t = cupti.sample_timeline(
      context, 0, o, [&](int) { ran = true; }, nullptr);
  EXPECT_EQ(t.gap.code, "too-long");
  EXPECT_NE(t.gap.what.find("5 s"), std::string::npos) << t.gap.sentence();
  EXPECT_FALSE(ran);
}

// ---- the ladder: each step is a sentence, and what can go on goes on ----------------------------------------------

TEST(SamplingLadder, EachStepIsASentence) {
  struct Step {
    const char *setting, *value, *code, *what;
    bool samples, timeline;  // which of the two it is about
  };
  const Step steps[] = {
      {"FAKE_CUPTI_VERSION", "120400", "cupti-version", "120400", true, true},
      {"FAKE_CUPTI_HOLDER", "Nsight", "taken", "Nsight holds CUPTI", true, true},
      {"FAKE_CUPTI_FAIL", "cuptiProfilerGetCounterAvailability:35", "not-permitted", "not permitted", true, true},
      {"FAKE_CUPTI_FAIL", "cuptiPCSamplingEnable:35", "not-permitted", "not permitted", true, false},
      {"FAKE_CUPTI_FAIL", "cuptiPCSamplingEnable:26", "busy", "another program", true, false},
      {"FAKE_CUPTI_FAIL", "cuptiPCSamplingGetNumStallReasons:999", "cupti-fails", "stall reasons", true, false},
      {"FAKE_CUPTI_FAIL", "cuptiPCSamplingSetConfigurationAttribute:999", "cupti-fails", "setting up", true, false},
      {"FAKE_CUPTI_FAIL", "cuptiPCSamplingStart:999", "cupti-fails", "starting the sampler", true, false},
      {"FAKE_CUPTI_FAIL", "cuptiPCSamplingStop:999", "cupti-fails", "stopping the sampler", true, false},
      {"FAKE_CUPTI_FAIL", "cuptiPCSamplingGetData:999", "cupti-fails", "reading the sampler", true, false},
      {"FAKE_CUPTI_UNSUPPORTED_API", "pc", "not-supported", "no hardware counters", true, false},
      {"FAKE_CUPTI_UNSUPPORTED_API", "pm", "not-supported", "no hardware counters", false, true},
      {"FAKE_CUPTI_FAIL", "cuptiPmSamplingGetCounterAvailability:26", "busy", "another program", false, true},
      {"FAKE_CUPTI_FAIL", "cuptiPmSamplingEnable:26", "busy", "another program", false, true},
      {"FAKE_CUPTI_FAIL", "cuptiPmSamplingSetConfig:27", "not-supported", "no hardware counters", false, true},
      {"FAKE_CUPTI_FAIL", "cuptiPmSamplingStart:999", "cupti-fails", "starting the timeline", false, true},
      {"FAKE_CUPTI_FAIL", "cuptiPmSamplingStop:999", "cupti-fails", "stopping the timeline", false, true},
      {"FAKE_CUPTI_FAIL", "cuptiPmSamplingDecodeData:999", "cupti-fails", "reading the timeline", false, true},
      {"FAKE_CUPTI_LACKS", "_", "not-on-this-chip", "none of the timeline's counters", false, true},
  };
  for (const auto& s : steps) {
    SCOPED_TRACE(s.value);
    {
      Setting set(s.setting, s.value);
      Cupti cupti(fake_places());
      Gap pc = sample(cupti).gap, pm = timeline(cupti).gap;
      for (auto [concerned, gap] : {std::pair{s.samples, pc}, {s.timeline, pm}}) {
        EXPECT_EQ(gap.code, concerned ? s.code : "") << gap.sentence();
        if (!concerned) continue;
        EXPECT_NE(gap.what.find(s.what), std::string::npos) << gap.sentence();
        EXPECT_FALSE(gap.how.empty()) << gap.sentence();
      }
    }
    Cupti again(fake_places());
    new_process(again);
    EXPECT_FALSE(sample(again).gap) << "it works again afterwards: " << sample(again).gap.sentence();
    EXPECT_FALSE(timeline(again).gap);
  }
  Cupti::Places nowhere;
  nowhere.folders = {"/nowhere"};
  nowhere.by_name = false;
  Cupti none(nowhere);
  EXPECT_EQ(sample(none).gap.code, "no-cupti");
  EXPECT_EQ(timeline(none).gap.code, "no-cupti");
  Gap gap;
  EXPECT_TRUE(none.source_places("code", "f", {0}, gap).empty());
  EXPECT_EQ(gap.code, "no-cupti");
  Cupti alone(fake_places("alone"));
  EXPECT_EQ(sample(alone).gap.code, "no-nvperf");
}

}  // namespace
}  // namespace convscope
