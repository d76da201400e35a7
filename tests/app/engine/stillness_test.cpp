// A beat that does not come is held against an engine only for the time it had a processor.
#include "app/engine/stillness.h"

#include <chrono>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace convscope {
namespace {

// Ten seconds in steps of 0.1 s, of which two threads ran this share.
double after_ten_seconds(double share) {
  Stillness still;
  double at = 0;
  for (int i = 0; i <= 100; i++) {
    const double now = 0.1 * i;
    at = still.at(1, 5, now, ThreadTimes{2 * now * share, 2 * now * (1 - share)});
  }
  return at;
}

TEST(Stillness, CountsWhatItHadOfTheProcessors) {
  EXPECT_NEAR(after_ten_seconds(1), 10, 1e-9);
  EXPECT_NEAR(after_ten_seconds(0.4), 4, 1e-9);
  EXPECT_NEAR(after_ten_seconds(0.01), 10 * Stillness::least_share, 1e-9) << "what hangs is told some time";
}

TEST(Stillness, WhatSleepsIsStill) {
  Stillness still;
  for (int i = 0; i < 100; i++) still.at(1, 5, 0.1 * i, ThreadTimes{3, 1});
  EXPECT_NEAR(still.at(1, 5, 10, ThreadTimes{3, 1}), 10, 1e-9) << "a deadlock neither runs nor waits";
  EXPECT_NEAR(still.at(1, 5, 10.3, {}), 10.3, 1e-9) << "nor is time lost where nothing is counted";
}

TEST(Stillness, ABeatAndANewRequestBeginAnew) {
  Stillness still;
  EXPECT_EQ(still.at(1, 5, 100, {}), 0);
  EXPECT_NEAR(still.at(1, 5, 100.25, {}), 0.25, 1e-9);
  EXPECT_EQ(still.at(1, 6, 100.5, {}), 0);
  EXPECT_NEAR(still.at(1, 6, 100.75, {}), 0.25, 1e-9);
  EXPECT_EQ(still.at(2, 6, 101, {}), 0);
  // Nobody asked for a minute: this process did not run either.
  EXPECT_NEAR(still.at(2, 6, 161, {}), Stillness::longest_gap_s, 1e-9);
}

// What the system says of this very process: a thread that is at work has run for about that long, or waited to.
TEST(Stillness, TheSystemCountsThreads) {
  const auto before = thread_times();
  if (!before) GTEST_SKIP() << "this system does not count them";
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  volatile double x = 1;
  while (Clock::now() - begin < std::chrono::milliseconds(300)) x = x * 1.0000001;
  const auto after = thread_times();
  ASSERT_TRUE(after);
  const double both = after->ran_s - before->ran_s + after->waited_s - before->waited_s;
  EXPECT_GT(both, 0.2);
  EXPECT_LT(after->ran_s - before->ran_s, 1);
}

}  // namespace
}  // namespace convscope
