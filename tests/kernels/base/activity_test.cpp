#include "kernels/base/activity.h"

#include <chrono>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace convscope {
namespace {

TEST(Activity, CountsWithinAPhaseAndBeatsOverAll) {
  Activity a;
  EXPECT_EQ(a.snapshot().beat, 0u);
  a.phase("first", 10);
  a.advance();
  a.advance(4);
  auto s = a.snapshot();
  EXPECT_EQ(s.phase, "first");
  EXPECT_EQ(s.done, 5u);
  EXPECT_EQ(s.total, 10u);
  uint64_t beat = s.beat;
  EXPECT_EQ(beat, 3u) << "the start of a phase and two advances";
  a.phase("second");
  s = a.snapshot();
  EXPECT_EQ(s.phase, "second");
  EXPECT_EQ(s.done, 0u) << "a phase begins at nothing";
  EXPECT_EQ(s.total, 0u) << "unknown";
  EXPECT_GT(s.beat, beat) << "a watchdog never sees the beat fall";
}

TEST(Activity, SaysWhetherAKernelRuns) {
  Activity a;
  EXPECT_FALSE(a.snapshot().of_kernel);
  a.phase_of_kernel("running mine", 7);
  auto s = a.snapshot();
  EXPECT_TRUE(s.of_kernel);
  EXPECT_EQ(s.phase, "running mine");
  EXPECT_EQ(s.total, 7u);
  a.phase("running mine");
  EXPECT_FALSE(a.snapshot().of_kernel) << "whatever it is called";
}

TEST(Activity, CancelIsSeenByCheck) {
  Activity a;
  EXPECT_FALSE(a.cancelled());
  EXPECT_NO_THROW(a.check());
  a.cancel();
  EXPECT_TRUE(a.cancelled());
  EXPECT_THROW(a.check(), Cancelled);
  a.phase("next");
  EXPECT_TRUE(a.cancelled()) << "a new phase does not take it back";
}

TEST(Activity, KnowsWhereTheTimeWent) {
  Activity a;
  EXPECT_TRUE(a.phases().empty());
  auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
  a.phase("load");
  pause();
  a.phase("run");
  a.phase("load");
  pause();
  auto phases = a.phases();
  ASSERT_EQ(phases.size(), 2u) << "the same name is one phase";
  EXPECT_EQ(phases[0].name, "load");
  EXPECT_EQ(phases[1].name, "run");
  EXPECT_GE(phases[0].seconds, 0.04) << "with the one in hand";
  EXPECT_LT(phases[1].seconds, phases[0].seconds);
  pause();
  auto later = a.phases();
  EXPECT_GE(later[0].seconds, phases[0].seconds + 0.02);
  EXPECT_EQ(later[1].seconds, phases[1].seconds);
}

TEST(Activity, IsReadWhileOthersWrite) {
  Activity a;
  a.phase("race", 4000);
  std::vector<std::thread> writers;
  for (int t = 0; t < 4; t++)
    writers.emplace_back([&] {
      for (int i = 0; i < 1000; i++) a.advance();
    });
  uint64_t last = 0;
  for (int i = 0; i < 1000; i++) {
    auto s = a.snapshot();
    EXPECT_GE(s.beat, last);
    EXPECT_LE(s.done, 4000u);
    last = s.beat;
  }
  for (auto& t : writers) t.join();
  EXPECT_EQ(a.snapshot().done, 4000u);
}

}  // namespace
}  // namespace convscope
