// CUPTI as a fake plays it: the steps down when it, or a part of it, is not to be had, and the bookkeeping of a
// collection. The fake is built from CUPTI's own headers (tests/fakes/fake_cupti.cpp).
#include "profiling/cupti/cupti.h"

#include <cmath>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "tests/fakes/setting.h"

namespace convscope {
namespace {

using test::Setting;

int context_stand_in;
void* const context = &context_stand_in;

Cupti::Places fake_places(const std::string& folder = "whole") {
  Cupti::Places p;
  p.folders = {"/nowhere", test::fakes_folder() + "/" + folder};
  p.by_name = false;
  return p;
}

int ask_fake(const Cupti& cupti, const char* function) {
  void* handle = dlopen(cupti.path().c_str(), RTLD_NOW | RTLD_NOLOAD);
  auto* f = reinterpret_cast<int (*)()>(dlsym(handle, function));
  return f();
}

TEST(CuptiFake, IsFoundAndTaken) {
  Cupti cupti(fake_places());
  EXPECT_FALSE(cupti.missing()) << cupti.missing().sentence();
  EXPECT_EQ(cupti.path(), test::fakes_folder() + "/whole/libcupti.so.13");
  EXPECT_TRUE(cupti.version().starts_with("CUPTI 13"));
  EXPECT_FALSE(cupti.counters_gap(context, 0)) << cupti.counters_gap(context, 0).sentence();
  EXPECT_EQ(cupti.chip(context, 0), "GH100");
}

// Each step: its code, what it says of the matter, and what to do.
void expect_gap(const Gap& gap, const std::string& code, const std::string& what, const std::string& how) {
  EXPECT_EQ(gap.code, code) << gap.sentence();
  EXPECT_NE(gap.what.find(what), std::string::npos) << gap.sentence();
  EXPECT_NE(gap.how.find(how), std::string::npos) << gap.sentence();
  for (const char* never : {"N/A", "sudo", "as root"}) EXPECT_EQ(gap.sentence().find(never), std::string::npos);
}

TEST(CuptiLadder, NoLibrary) {
  Cupti::Places nowhere;
  nowhere.folders = {"/nowhere"};
  nowhere.by_name = false;
  Cupti none(nowhere);
  expect_gap(none.missing(), "no-cupti", "cannot be opened", "cuda-cupti-13-0");
  nowhere.named = "/nowhere/else.so";
  Cupti named(nowhere);
  expect_gap(named.missing(), "no-cupti", "/nowhere/else.so", "CONVSCOPE_LIBCUPTI");
  // The work still runs, and what lacks is said with every answer.
  int runs = 0;
  Gap gap;
  EXPECT_TRUE(none.trace([&] { runs++; }, gap).empty());
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(gap.code, "no-cupti");
  EXPECT_EQ(none.count(
                    context, 0, CounterSet::live, [&] { runs++; }, nullptr)
                .gap.code,
            "no-cupti");
  EXPECT_EQ(runs, 1) << "nothing is run for counters that cannot be had";
  EXPECT_EQ(none.counters_gap(nullptr, 0).code, "no-gpu");
}

TEST(CuptiLadder, AnotherVersion) {
  for (const char* version : {"130000", "120400", "140000"}) {
    Setting v("FAKE_CUPTI_VERSION", version);
    expect_gap(Cupti(fake_places()).missing(), "cupti-version", version, "install CUPTI");
  }
  Setting later("FAKE_CUPTI_VERSION", "130102");
  EXPECT_FALSE(Cupti(fake_places()).missing()) << "a later one of the same major version is fine";
  Cupti::Places other;
  other.named = test::fakes_folder() + "/libfake_nvml.so";
  expect_gap(Cupti(other).missing(), "cupti-version", "lacks cuptiGetVersion", "CONVSCOPE_LIBCUPTI");
}

TEST(CuptiLadder, AnotherToolIsNamed) {
  Setting holder("FAKE_CUPTI_HOLDER", "CUPTI for Kineto");
  Cupti cupti(fake_places());
  expect_gap(cupti.missing(), "taken", "CUPTI for Kineto holds CUPTI", "start convscope without it");
  EXPECT_EQ(cupti.counters_gap(context, 0).code, "taken");
}

TEST(CuptiLadder, NoDriver) {
  Setting fails("FAKE_CUPTI_FAIL", "cuptiSubscribe_v2:999");
  Cupti cupti(fake_places());
  if (dlopen("libcuda.so.1", RTLD_LAZY))
    expect_gap(cupti.missing(), "cupti-fails", "CUPTI_ERROR_OF_THE_FAKE (999)", "try again");
  else
    expect_gap(cupti.missing(), "no-driver", "no NVIDIA driver", "install the driver");
}

TEST(CuptiLadder, NoNvperf) {
  Cupti cupti(fake_places("alone"));
  EXPECT_FALSE(cupti.missing()) << "records still work: " << cupti.missing().sentence();
  expect_gap(cupti.counters_gap(context, 0), "no-nvperf", "libnvperf_host.so", "install the whole of CUPTI");
}

struct Step {
  const char* setting;
  const char* value;
  const char* code;
  const char* what;
  const char* how;
};

TEST(CuptiLadder, WhatACardOrItsAdministratorForbids) {
  const Step steps[] = {
      {"FAKE_CUPTI_FAIL", "cuptiProfilerGetCounterAvailability:35", "not-permitted", "not permitted to this user",
       "NVreg_RestrictProfilingToAdminUsers=0"},
      {"FAKE_CUPTI_FAIL", "cuptiProfilerGetCounterAvailability:35", "not-permitted", "", "--cap-add=SYS_ADMIN"},
      {"FAKE_CUPTI_FAIL", "cuptiProfilerGetCounterAvailability:40", "not-permitted", "virtual machine", "vGPU"},
      {"FAKE_CUPTI_FAIL", "cuptiProfilerGetCounterAvailability:43", "mig", "MIG", "whole GPU"},
      {"FAKE_CUPTI_FAIL", "cuptiProfilerGetCounterAvailability:26", "busy", "another program", "try again"},
      {"FAKE_CUPTI_FAIL", "cuptiProfilerInitialize:15", "no-nvperf", "libnvperf_host.so", "whole of CUPTI"},
      {"FAKE_CUPTI_FAIL", "cuptiProfilerInitialize:23", "disabled", "disabled", "start without it"},
      {"FAKE_CUPTI_FAIL", "cuptiProfilerDeviceSupported:31", "mps", "MPS", "outside of MPS"},
      {"FAKE_CUPTI_FAIL", "cuptiProfilerDeviceSupported:999", "cupti-fails", "CUPTI_ERROR_OF_THE_FAKE (999)", "again"},
      {"FAKE_CUPTI_UNSUPPORTED", "vgpu", "vgpu", "virtual GPU", "passed through"},
      {"FAKE_CUPTI_UNSUPPORTED", "vgpu-disabled", "not-permitted", "virtual machine", "enable_profiling"},
      {"FAKE_CUPTI_UNSUPPORTED", "cc", "confidential", "confidential computing", "GPU that is not"},
      {"FAKE_CUPTI_UNSUPPORTED", "sli", "sli", "SLI", "switch SLI off"},
      {"FAKE_CUPTI_UNSUPPORTED", "cmp", "cmp", "mining", "another GPU"},
      {"FAKE_CUPTI_UNSUPPORTED", "wsl", "wsl", "WSL", "Linux itself"},
      {"FAKE_CUPTI_UNSUPPORTED", "other", "not-supported", "no hardware counters", "7.5"},
  };
  for (const auto& s : steps) {
    SCOPED_TRACE(s.value);
    Setting set(s.setting, s.value);
    Cupti cupti(fake_places());
    ASSERT_FALSE(cupti.missing());
    Gap gap = cupti.counters_gap(context, 0);
    expect_gap(gap, s.code, s.what, s.how);
    int runs = 0;
    auto r = cupti.count(
        context, 0, CounterSet::live, [&] { runs++; }, nullptr);
    EXPECT_EQ(r.gap.code, s.code);
    EXPECT_TRUE(r.values.empty());
    EXPECT_EQ(runs, 0);
    // Kernel records need no permission.
    Setting kernels("FAKE_CUPTI_KERNELS", "k");
    Gap tracing;
    EXPECT_EQ(cupti.trace([] {}, tracing).size(), 1u);
    EXPECT_FALSE(tracing);
  }
}

TEST(CuptiLadder, BusyIsAskedAgain) {
  Cupti cupti(fake_places());
  {
    Setting busy("FAKE_CUPTI_FAIL", "cuptiProfilerGetCounterAvailability:26");
    EXPECT_EQ(cupti.counters_gap(context, 0).code, "busy");
  }
  EXPECT_FALSE(cupti.counters_gap(context, 0)) << "the other program has ended";
}

TEST(CuptiTrace, RecordsInTheirOrder) {
  Cupti cupti(fake_places());
  Setting kernels("FAKE_CUPTI_KERNELS", "_ZN3abc3defEi,plain");
  Gap gap;
  int runs = 0;
  auto records = cupti.trace([&] { runs++; }, gap);
  EXPECT_FALSE(gap) << gap.sentence();
  EXPECT_EQ(runs, 1);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].name, "plain") << "by their start";
  EXPECT_EQ(records[1].name, "abc::def(int)");
  EXPECT_DOUBLE_EQ(records[1].ms(), 0.05);
  EXPECT_EQ(records[1].grid[0], 7u);
  EXPECT_EQ(records[1].block[0], 128u);
  EXPECT_EQ(records[1].registers, 40);
  EXPECT_EQ(records[1].static_shared_bytes, 1024);
  EXPECT_EQ(records[1].dynamic_shared_bytes, 64);
  EXPECT_EQ(records[1].local_bytes, 16);
  // A fault of the work comes through, and recording goes on to work.
  EXPECT_THROW(cupti.trace([] { throw std::runtime_error("broke"); }, gap), std::runtime_error);
  EXPECT_EQ(cupti.trace([] {}, gap).size(), 2u);
}

TEST(CuptiCount, RunsOnceAPass) {
  Cupti cupti(fake_places());
  Setting passes("FAKE_CUPTI_PASSES", "9");
  Setting values("FAKE_CUPTI_VALUES", "dram__bytes_read.sum:1000,lts__t_sector_hit_rate.pct:55.5");
  int runs = 0;
  Activity activity;
  auto r = cupti.count(
      context, 0, CounterSet::memory, [&] { runs++; }, &activity);
  ASSERT_FALSE(r.gap) << r.gap.sentence();
  EXPECT_EQ(runs, 9);
  EXPECT_EQ(r.passes, 9u);
  EXPECT_EQ(activity.snapshot().phase, "counting: memory");
  EXPECT_EQ(activity.snapshot().done, 9u);
  EXPECT_EQ(activity.snapshot().total, 9u);
  EXPECT_DOUBLE_EQ(r.values.at("dram_read_bytes"), 1000);
  EXPECT_DOUBLE_EQ(r.values.at("l2_hit_rate"), 55.5);
  EXPECT_DOUBLE_EQ(r.values.at("store_sectors"), 1);
  EXPECT_EQ(r.values.size(), metrics_of(CounterSet::memory).size());
}

TEST(CuptiCount, KeepsASetAndChangesIt) {
  Cupti cupti(fake_places());
  int before = ask_fake(cupti, "fake_cupti_enables");
  for (int i = 0; i < 3; i++)
    cupti.count(
        context, 0, CounterSet::live, [] {}, nullptr);
  EXPECT_EQ(ask_fake(cupti, "fake_cupti_enables") - before, 1) << "a set that is asked for again costs no new session";
  EXPECT_FALSE(cupti
                   .count(
                       context, 0, CounterSet::stalls, [] {}, nullptr)
                   .gap)
      << "one session at a time";
  EXPECT_EQ(ask_fake(cupti, "fake_cupti_sessions"), 1);
  cupti.release();
  EXPECT_EQ(ask_fake(cupti, "fake_cupti_sessions"), 0);
}

TEST(CuptiCount, ForgetsAContextThatGoes) {
  Cupti cupti(fake_places());
  EXPECT_FALSE(cupti
                   .count(
                       context, 0, CounterSet::live, [] {}, nullptr)
                   .gap);
  Setting forbidden("FAKE_CUPTI_FAIL", "cuptiProfilerGetCounterAvailability:43");
  EXPECT_FALSE(cupti.counters_gap(context, 0)) << "asked once";
  int other = 0;
  cupti.forget(&other);
  EXPECT_EQ(ask_fake(cupti, "fake_cupti_sessions"), 1) << "another context's counters stay";
  cupti.forget(context);
  EXPECT_EQ(ask_fake(cupti, "fake_cupti_sessions"), 0);
  EXPECT_EQ(cupti.counters_gap(context, 0).code, "mig") << "a new context at the same address is asked anew";
}

TEST(CuptiCount, OtherSpellingsAndMetricsThatAreNotThere) {
  Setting lacks("FAKE_CUPTI_LACKS", "dram__bytes_read");
  Setting values("FAKE_CUPTI_VALUES", "dram__bytes_op_read.sum:77");
  Cupti cupti(fake_places());
  auto r = cupti.count(
      context, 0, CounterSet::memory, [] {}, nullptr);
  EXPECT_DOUBLE_EQ(r.values.at("dram_read_bytes"), 77) << "Blackwell's spelling";
  EXPECT_TRUE(r.not_here.empty());
  cupti.release();
  Setting all("FAKE_CUPTI_LACKS", "dram__");
  Cupti integrated(fake_places());
  r = integrated.count(
      context, 0, CounterSet::memory, [] {}, nullptr);
  EXPECT_EQ(r.not_here, (std::vector<std::string>{"dram_read_bytes", "dram_write_bytes"}));
  EXPECT_FALSE(r.values.contains("dram_read_bytes"));
  EXPECT_TRUE(r.values.contains("l2_hit_rate"));
  Setting none("FAKE_CUPTI_LACKS", "_");
  Cupti nothing(fake_places());
  EXPECT_EQ(nothing
                .count(
                    context, 0, CounterSet::memory, [] {}, nullptr)
                .gap.code,
            "not-on-this-chip");
}

TEST(CuptiCount, LiveLeavesOutWhatWouldCostAPass) {
  {
    Cupti cupti(fake_places());
    EXPECT_TRUE(cupti
                    .count(
                        context, 0, CounterSet::live, [] {}, nullptr)
                    .values.contains("dram_read_bytes"));
  }
  Setting passes("FAKE_CUPTI_PASSES", "2");
  Cupti cupti(fake_places());
  auto r = cupti.count(
      context, 0, CounterSet::live, [] {}, nullptr);
  EXPECT_FALSE(r.values.contains("dram_read_bytes"));
  EXPECT_TRUE(r.values.contains("l2_sectors"));
}

TEST(CuptiCount, CancelBetweenPassesAndFaultsOfTheWork) {
  Setting passes("FAKE_CUPTI_PASSES", "4");
  Cupti cupti(fake_places());
  Activity activity;
  int runs = 0;
  auto work = [&] {
    if (++runs == 2) activity.cancel();
  };
  EXPECT_THROW(cupti.count(context, 0, CounterSet::memory, work, &activity), Cancelled);
  EXPECT_EQ(runs, 2);
  EXPECT_TRUE(ask_fake(cupti, "fake_cupti_clean"));
  EXPECT_THROW(cupti.count(
                   context, 0, CounterSet::memory, [] { throw std::runtime_error("broke"); }, nullptr),
               std::runtime_error);
  EXPECT_TRUE(ask_fake(cupti, "fake_cupti_clean"));
  auto r = cupti.count(
      context, 0, CounterSet::memory, [] {}, nullptr);
  EXPECT_FALSE(r.gap) << "what was cut short leaves nothing behind: " << r.gap.sentence();
  EXPECT_EQ(r.passes, 4u);
}

TEST(CuptiCount, FailuresOnTheWay) {
  for (const char* function : {"cuptiRangeProfilerEnable:26", "cuptiRangeProfilerSetConfig:26",
                               "cuptiRangeProfilerStop:26", "cuptiRangeProfilerDecodeData:26"}) {
    Cupti cupti(fake_places());
    {
      Setting fails("FAKE_CUPTI_FAIL", function);
      auto r = cupti.count(
          context, 0, CounterSet::live, [] {}, nullptr);
      EXPECT_EQ(r.gap.code, "busy") << function;
      EXPECT_TRUE(r.values.empty());
    }
    EXPECT_FALSE(cupti
                     .count(
                         context, 0, CounterSet::live, [] {}, nullptr)
                     .gap)
        << "it works again after " << function;
  }
}

}  // namespace
}  // namespace convscope
