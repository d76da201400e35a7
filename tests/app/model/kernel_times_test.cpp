// Times of the list of kernels: of a recording; of what ran on a GPU see PackingPanels.
#include "app/model/kernel_times.h"

#include <gtest/gtest.h>
#include <memory>

#include "kernels/problem/presets.h"
#include "tests/app/model/benches.h"
#include "tests/support.h"

namespace convscope {
namespace {

class KernelTimesOfARecording : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(bench_.settle()) << "the kernels' list";
    bench_->open_recording(std::make_shared<Recording>(
        read_recording(test::project_file("assets/recordings/h200-kernelbench-79.convscope"))));
    document_.problem = find_preset("kernelbench-79").problem, document_.kernel = "tiled";
  }
  test::Bench bench_;
  Document document_;
};

TEST_F(KernelTimesOfARecording, AreThoseOfItsReports) {
  const KernelTimes times = kernel_times(*bench_, document_);
  EXPECT_TRUE(times.source.starts_with("recorded: NVIDIA H200, ")) << times.source;
  EXPECT_GT(times.all.size(), 15u);
  for (const auto& t : times.all) {
    Document d = document_;
    d.kernel = t.kernel;
    const Report* r = bench_->report_of(bench_->recorded().nearest(d));
    ASSERT_TRUE(r && r->timing.median_ms) << t.kernel;
    // A profile that is newer than the run has its own time: the report says so where it is another.
    if (r->timing.newer.empty())
      EXPECT_NEAR(t.ms, *r->timing.median_ms, 0.05 * t.ms) << t.kernel;
    else
      EXPECT_NE(r->timing.newer.find("profile of"), std::string::npos) << t.kernel;
    EXPECT_EQ(times.of(t.kernel), &t) << "once each";
  }
  EXPECT_EQ(times.of("cudnn-tf32"), nullptr) << "references stand elsewhere";
}

TEST_F(KernelTimesOfARecording, TheFastestIsOneThatIsAccurateEnough) {
  KernelTimes times = kernel_times(*bench_, document_);
  ASSERT_TRUE(times.of("tiled") && times.of("hopper_tf32") && times.of("hopper_3xtf32"));
  EXPECT_TRUE(times.of("hopper_tf32")->looser && times.of("hopper_3xtf32")->looser);
  EXPECT_FALSE(times.of("tiled")->looser);
  ASSERT_TRUE(times.of(times.fastest)) << times.fastest;
  const double strict_ms = times.fastest_ms;
  EXPECT_LT(times.of("hopper_tf32")->ms, strict_ms) << "it would be the fastest, were it accurate enough";
  for (const auto& t : times.all) EXPECT_TRUE(t.looser || t.ms >= strict_ms) << t.kernel;
  document_.accuracy = Accuracy::tf32;
  times = kernel_times(*bench_, document_);
  EXPECT_LT(times.fastest_ms, strict_ms);
  for (const auto& t : times.all) EXPECT_FALSE(t.looser) << t.kernel;
}

TEST(KernelTimesBars, AreLongerTheLongerTheTime) {
  KernelTimes times;
  times.all = {{"fast", 0.5, {}}, {"near", 0.55, {}}, {"slow", 50, {}}};
  EXPECT_GT(times.bar_of(0.5), 0.02) << "something is seen of the shortest";
  EXPECT_LT(times.bar_of(0.55) - times.bar_of(0.5), 0.1);
  EXPECT_DOUBLE_EQ(times.bar_of(50), 1);
  EXPECT_NEAR(times.bar_of(5) - times.bar_of(0.5), times.bar_of(50) - times.bar_of(5), 1e-12) << "logarithmic";
  times.all.pop_back();
  EXPECT_LT(times.bar_of(0.55), 0.2) << "a tenth more is no full bar";
}

TEST_F(KernelTimesOfARecording, AreOfItsProblemWhileItIsShown) {
  bench_->show_live(true);
  EXPECT_TRUE(kernel_times(*bench_, document_).all.empty()) << "nothing ran here on a GPU";
  bench_->show_live(false);
  EXPECT_FALSE(kernel_times(*bench_, document_).all.empty());
  document_.problem.length++;
  const KernelTimes other = kernel_times(*bench_, document_);
  EXPECT_TRUE(other.all.empty() && other.source.empty() && other.fastest.empty());
  document_.problem.length--;
  EXPECT_FALSE(kernel_times(*bench_, document_).all.empty());
  bench_->open_recording(nullptr);
  EXPECT_TRUE(kernel_times(*bench_, document_).all.empty());
}

}  // namespace
}  // namespace convscope
