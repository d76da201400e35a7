// Timelines of a real GPU: lanes that agree with the counters. Figures are printed as name=value. (Samples of warps:
// tests/app/engine/gpu_samples_test.cpp.) Skipped with the driver's reason where there is none.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kernels/problem/presets.h"
#include "kernels/runtime/registry.h"
#include "profiling/profile/profile.h"

namespace convscope {
namespace {

class TimelineGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (cuda_devices(why).empty()) GTEST_SKIP() << "no GPU: " << why;
    device_ = open_cuda(0);
    references_ = references_for(*device_);
    if (auto gap = Cupti::shared().counters_gap(device_->native_context(), 0)) GTEST_SKIP() << gap.sentence();
  }
  void TearDown() override {
    if (device_) Cupti::shared().forget(device_->native_context());
  }
  ProfileReport full(const std::string& kernel, const std::string& preset, int64_t batch) {
    ProfileSpec spec;
    spec.kernel = kernel;
    spec.problem = find_preset(preset).problem;
    spec.problem.batch = batch;
    spec.full = true;
    spec.samples = 10;
    Activity activity;
    ProfileReport r = profile({*device_, references_, Cupti::shared(), Nvml::shared()}, spec, activity);
    const Timeline& t = r.timeline;
    fmt::print(
        "pm kernel={} interval_us={} calls={} longer={} points={} work_us={:.1f} launches={} spent_ms={:.0f} {}\n",
        kernel, t.interval_us, t.calls, t.longer, t.start_us.size(), t.work_us, t.launches.size(), t.spent_ms,
        t.gap.sentence());
    for (const auto& lane : t.lanes) {
      LaneSummary sum = t.summary(lane);
      fmt::print("  lane {} least={:.3f} mean={:.3f} most={:.3f} {} points={}\n", lane.name, sum.least, sum.mean,
                 sum.most, lane.unit, sum.points);
    }
    return r;
  }
  std::unique_ptr<Device> device_;
  std::vector<std::unique_ptr<Reference>> references_;
};

TEST_F(TimelineGpu, LanesAgreeWithTheCounters) {
  ProfileReport r = full("tiled", "kernelbench-79", 16);
  const Timeline& t = r.timeline;
  ASSERT_FALSE(t.gap) << t.gap.sentence();
  ASSERT_GT(*r.kernel_ms, 0.5);
  ASSERT_EQ(t.lanes.size(), 5u);
  EXPECT_EQ(t.lanes[0].name, "dram_busy");
  LaneSummary dram = t.summary(t.lanes[0]);
  EXPECT_GE(dram.points, 10u);
  double counted = r.counters_of_kernels().at("dram_busy");
  fmt::print("dram lane={:.2f} counted={:.2f}\n", dram.mean, counted);
  EXPECT_NEAR(dram.mean, counted, 0.15 * counted + 3);
  EXPECT_NEAR(t.work_us, 1000 * *r.kernel_ms * t.calls, 200 * *r.kernel_ms * t.calls + 50);
  EXPECT_GT(t.summary(t.lanes[1]).mean, 80) << "multiprocessors at work";
}

TEST_F(TimelineGpu, EveryKernelOfTheLadder) {
  for (const auto* k : all_kernels()) {
    auto p = find_preset("kernelbench-79").problem;
    p.batch = 2;
    if (k->kind() == KernelKind::test || !k->unsupported(p).empty() || !device_->unavailable(*k).empty()) continue;
    ProfileReport r = full(k->name(), "kernelbench-79", 2);
    EXPECT_FALSE(r.timeline.gap) << k->name() << ": " << r.timeline.gap.sentence();
    EXPECT_GE(r.timeline.summary(r.timeline.lanes.at(0)).points, 10u) << k->name();
  }
}

TEST_F(TimelineGpu, AShortKernelIsRepeated) {
  ProfileReport r = full("tiled", "kernelbench-79-small", 1);
  ASSERT_FALSE(r.timeline.gap) << r.timeline.gap.sentence();
  EXPECT_GT(r.timeline.calls, 1);
  EXPECT_GE(r.timeline.summary(r.timeline.lanes[0]).points, 10u);
  EXPECT_EQ(static_cast<int>(r.timeline.launches.size()), r.timeline.calls * r.kernels_a_call);
}

}  // namespace
}  // namespace convscope
