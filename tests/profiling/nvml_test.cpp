// NVML as a fake plays it, and what is said when it is not there.
#include <chrono>
#include <filesystem>
#include <gtest/gtest.h>
#include <thread>

#include "profiling/nvml/conditions.h"
#include "tests/fakes/setting.h"

namespace convscope {

std::string test::fakes_folder() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "fakes").string();
}

namespace {

using test::Setting;

std::string fake() { return test::fakes_folder() + "/libfake_nvml.so"; }
constexpr const char* bus = "0000:17:00.0";

TEST(NvmlFake, ReadsWhatTheGpuSays) {
  Nvml nvml(fake());
  ASSERT_FALSE(nvml.missing()) << nvml.missing().sentence();
  EXPECT_EQ(nvml.driver_version(), "580.1.2");
  Gap why;
  uint64_t gpu = nvml.find(bus, why);
  ASSERT_TRUE(gpu) << why.sentence();
  auto r = nvml.read(gpu);
  EXPECT_EQ(r.sm_mhz, 1980);
  EXPECT_EQ(r.memory_mhz, 3201);
  EXPECT_EQ(r.temperature_c, 41);
  EXPECT_DOUBLE_EQ(r.power_w.value(), 321.5);
  EXPECT_EQ(r.slower_because, 0u);
  auto l = nvml.limits(gpu);
  EXPECT_EQ(l.max_sm_mhz, 1980);
  EXPECT_DOUBLE_EQ(l.power_limit_w.value(), 700);
  EXPECT_FALSE(l.mig);
  Setting mig("FAKE_NVML_MIG", "1");
  EXPECT_TRUE(nvml.limits(gpu).mig);
}

TEST(NvmlFake, WhatTheGpuDoesNotTellIsLeftOut) {
  Setting fails("FAKE_NVML_FAIL", "nvmlDeviceGetPowerUsage:3");
  Nvml nvml(fake());
  Gap why;
  auto r = nvml.read(nvml.find(bus, why));
  EXPECT_FALSE(r.power_w);
  EXPECT_TRUE(r.temperature_c);
}

TEST(NvmlGap, EachStepSaysWhatToDo) {
  Gap none = Nvml("/nowhere/libnvidia-ml.so.1").missing();
  EXPECT_EQ(none.code, "no-nvml");
  EXPECT_NE(none.sentence().find("comes with the NVIDIA driver"), std::string::npos) << none.sentence();
  Gap other = Nvml(test::fakes_folder() + "/whole/libnvperf_host.so").missing();
  EXPECT_EQ(other.code, "old-nvml");
  EXPECT_NE(other.what.find("lacks nvmlInit_v2"), std::string::npos) << other.what;
  {
    Setting fails("FAKE_NVML_FAIL", "nvmlInit_v2:9");
    Gap no_driver = Nvml(fake()).missing();
    EXPECT_EQ(no_driver.code, "nvml-fails");
    EXPECT_NE(no_driver.sentence().find("Driver Not Loaded"), std::string::npos) << no_driver.sentence();
    EXPECT_NE(no_driver.how.find("kernel module"), std::string::npos);
  }
  Nvml nvml(fake());
  Gap why;
  EXPECT_EQ(nvml.find("0000:99:00.0", why), 0u);
  EXPECT_EQ(why.code, "nvml-no-gpu");
  EXPECT_FALSE(why.how.empty());
}

TEST(Conditions, AThrottledClockIsSaid) {
  Nvml nvml(fake());
  {
    ConditionsWatch watch(bus, nvml);
    Conditions fine = watch.finish();
    EXPECT_GE(fine.readings, 1);
    EXPECT_EQ(fine.warning(), "");
    EXPECT_DOUBLE_EQ(fine.sm_mhz.value().median, 1980);
    EXPECT_EQ(fine.throttled, 0.0);
  }
  Setting hot("FAKE_NVML_THROTTLE", "0x42");  // too hot, and clocks set by hand: the second is no throttling
  ConditionsWatch watch(bus, nvml);
  Conditions c = watch.finish();
  EXPECT_EQ(c.throttled, 1.0);
  EXPECT_EQ(c.warning(), "the GPU slowed itself down in 100 % of the readings (too hot (hardware))");
}

TEST(Conditions, AClockThatMovesIsSaid) {
  auto at = [](int mhz, uint64_t because = 0) {
    GpuReading r;
    r.sm_mhz = mhz;
    r.slower_because = because;
    return r;
  };
  EXPECT_EQ(conditions_of({at(1980), at(1965), at(1980)}).warning(), "");
  EXPECT_EQ(conditions_of({at(1980), at(1755), at(1980)}).warning(), "its clock moved between 1755 and 1980 MHz");
  // Resting before and after says nothing of the work.
  EXPECT_EQ(conditions_of({at(345, 1), at(1980), at(345, 1)}).warning(), "");
  EXPECT_EQ(conditions_of({at(345, 1)}).sm_mhz.value().median, 345);
  EXPECT_FALSE(conditions_of({}).sm_mhz);
}

TEST(Conditions, ReadingsAreKeptInTheirOrder) {
  Nvml nvml(fake());
  Setting hot("FAKE_NVML_THROTTLE", "0x4");
  ConditionsWatch watch(bus, nvml);
  std::this_thread::sleep_for(std::chrono::milliseconds(70));
  Conditions c = watch.finish();
  ASSERT_GE(c.over_time.size(), 2u);
  EXPECT_EQ(c.readings_for_one, 1);
  for (size_t i = 0; i < c.over_time.size(); i++) {
    const GpuReading& r = c.over_time[i];
    EXPECT_GE(r.t_ms, i ? c.over_time[i - 1].t_ms + 10 : 0) << i;
    EXPECT_EQ(r.sm_mhz, 1980);
    EXPECT_EQ(r.slower_because, 4u);
    EXPECT_DOUBLE_EQ(r.power_w.value(), 321.5);
  }
}

// However long it takes: a bounded number, in which no dip and no reason is lost.
TEST(Conditions, ManyReadingsAreThinned) {
  std::vector<GpuReading> all(1001);
  for (size_t i = 0; i < all.size(); i++)
    all[i].t_ms = 20.0 * static_cast<double>(i), all[i].sm_mhz = 1980, all[i].slower_because = 0;
  all[500].sm_mhz = 1200;
  all[701].slower_because = 0x40;
  Conditions c = conditions_of(all);
  EXPECT_LE(c.over_time.size(), most_kept_readings);
  EXPECT_GE(c.over_time.size(), most_kept_readings / 2);
  EXPECT_EQ(c.readings_for_one, 5);
  EXPECT_EQ(c.readings, 1001);
  int low = 0, hot = 0;
  for (size_t i = 0; i < c.over_time.size(); i++) {
    low += c.over_time[i].sm_mhz == 1200, hot += is_throttled(*c.over_time[i].slower_because);
    if (i) {
      EXPECT_GT(c.over_time[i].t_ms, c.over_time[i - 1].t_ms);
    }
  }
  EXPECT_EQ(low, 1);
  EXPECT_EQ(hot, 1);
  EXPECT_EQ(thinned(all, 2000).size(), all.size());
  EXPECT_EQ(thinned(all, 1).size(), 1u);
  EXPECT_EQ(thinned(all, 1)[0].sm_mhz, 1200);
  EXPECT_TRUE(thinned({}, 10).empty());
}

TEST(Conditions, APartOfAGpuIsSaid) {
  Nvml nvml(fake());
  EXPECT_EQ(ConditionsWatch(bus, nvml).finish().shared_with(), "");
  Setting mig("FAKE_NVML_MIG", "1");
  Conditions c = ConditionsWatch(bus, nvml).finish();
  EXPECT_NE(c.shared_with().find("split into instances (MIG)"), std::string::npos) << c.shared_with();
  EXPECT_EQ(c.warning(), "") << "that is no doubt of each time";
}

TEST(Conditions, WithoutAGpuTheReasonIsKept) {
  Nvml missing("/nowhere/libnvidia-ml.so.1");
  ConditionsWatch watch(bus, missing);
  EXPECT_EQ(watch.finish().missing.code, "no-nvml");
  ConditionsWatch emulator("", missing);
  EXPECT_EQ(emulator.finish().missing.code, "no-gpu");
}

TEST(NvmlWords, EveryBitHasWords) {
  for (uint64_t bit = 1; bit <= 0x100; bit <<= 1) {
    auto words = slower_because_words(bit);
    ASSERT_EQ(words.size(), 1u);
    EXPECT_EQ(words[0].find("unknown"), std::string::npos) << bit;
  }
  EXPECT_EQ(slower_because_words(0x200)[0], "unknown reason 0x200");
  EXPECT_FALSE(is_throttled(0x1 | 0x2 | 0x10 | 0x100));
  for (uint64_t bit : {0x4, 0x8, 0x20, 0x40, 0x80}) EXPECT_TRUE(is_throttled(bit)) << bit;
}

}  // namespace
}  // namespace convscope
