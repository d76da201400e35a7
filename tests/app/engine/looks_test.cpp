// A run waits for the looks at its first pictures: for those that come, and not for ever.
#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <optional>
#include <thread>

#include "app/engine/service_state.h"

namespace convscope {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

Clock::duration waited(QuickLooks& looks, const Activity& activity = {}) {
  auto start = Clock::now();
  looks.let_pass(activity);
  return Clock::now() - start;
}

// A machine that is busy is late, never early.
TEST(QuickLooks, NoneComes) {
  QuickLooks looks;
  EXPECT_GE(waited(looks), 20ms);
}

TEST(QuickLooks, OneThatLastsIsWaitedFor) {
  QuickLooks looks;
  std::optional<QuickLooks::Now> now(std::in_place, looks);
  std::atomic<bool> over{false};
  std::thread answering([&] {
    std::this_thread::sleep_for(50ms);
    over = true;
    now.reset();
  });
  waited(looks);
  EXPECT_TRUE(over);
  answering.join();
}

TEST(QuickLooks, OneThatNeverEndsIsNot) {
  QuickLooks looks;
  QuickLooks::Now now(looks);
  EXPECT_GE(waited(looks), 80ms);
}

// Those before it do not count: only an answer after the pictures were there says that somebody looks.
TEST(QuickLooks, EarlierOnesAreNotTakenForTheFirst) {
  QuickLooks looks;
  { QuickLooks::Now earlier(looks); }
  EXPECT_GE(waited(looks), 20ms);
}

TEST(QuickLooks, ACancelEndsTheWaiting) {
  QuickLooks looks;
  Activity activity;
  activity.cancel();
  QuickLooks::Now now(looks);
  EXPECT_LT(waited(looks, activity), 60ms);
}

}  // namespace
}  // namespace convscope
