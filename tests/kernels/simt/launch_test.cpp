// Launches as a whole: workers, progress, cancel, and several at the same time.
#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <numeric>
#include <thread>

#include "kernels/base/worker_pool.h"
#include "tests/kernels/simt/test_entries.h"

namespace convscope {
namespace {

using test::launch_entry;
using test::launch_test;
using test::planned_launch;

TEST(Launch, GivesTheSameOnAnyNumberOfWorkers) {
  for (int workers : {1, 2, 3, 0, 100}) {
    std::vector<int> in(64 * 200), out(200);
    std::iota(in.begin(), in.end(), 0);
    launch_entry(planned_launch("block_sum"), {200}, {64}, 0, {.workers = workers}, in.data(), out.data());
    for (int b = 0; b < 200; b++) ASSERT_EQ(out[static_cast<size_t>(b)], 64 * (64 * b) + 64 * 63 / 2) << workers;
  }
}

TEST(Launch, RunsEveryNthBlock) {
  for (uint32_t seed : {0u, 7u}) {
    std::vector<int> in(64 * 200, 1), out(200, -1);
    launch_entry(planned_launch("block_sum"), {200}, {64}, 0, {.every = 7, .order_seed = seed}, in.data(), out.data());
    for (int b = 0; b < 200; b++) ASSERT_EQ(out[static_cast<size_t>(b)], b % 7 ? -1 : 64) << b;
  }
}

TEST(Launch, EachBlockIsOneUnitOfProgress) {
  Activity activity;
  activity.phase("test", 123);
  auto before = activity.snapshot();
  launch_entry(planned_launch("many_barriers"), {123}, {32}, 0, {.activity = &activity}, 2);
  auto after = activity.snapshot();
  EXPECT_EQ(after.done, 123u);
  EXPECT_EQ(after.beat, before.beat + 123);
}

// A kernel in a test: it needs no file of its own.
std::atomic<int> blocks_run{0};
Activity* to_cancel = nullptr;
void cancel_in_block(int which) {
  blocks_run++;
  if (static_cast<int>(blockIdx.x) == which) to_cancel->cancel();
  __syncthreads();
}
const simt::Entry cancelling{"cancel_in_block", &simt::Loop<&cancel_in_block>::run};

TEST(Launch, CancelIsLookedAtBetweenBlocks) {
  for (int workers : {1, 4}) {
    Activity activity;
    to_cancel = &activity;
    blocks_run = 0;
    int which = 10;
    void* args[] = {&which};
    EXPECT_THROW(simt::launch(cancelling, {1000000}, {1}, 0, args, {.workers = workers, .activity = &activity}),
                 Cancelled);
    EXPECT_GE(blocks_run, 1);
    EXPECT_LT(blocks_run, 1000) << "the blocks after it are not begun";
    if (workers == 1) {
      EXPECT_EQ(blocks_run, 11) << "the block that runs is finished";
      EXPECT_EQ(activity.snapshot().done, 11u);
    }
  }
  Activity activity;
  activity.cancel();
  to_cancel = &activity;
  blocks_run = 0;
  int nobody = -1;
  void* args[] = {&nobody};
  EXPECT_THROW(simt::launch(cancelling, {5}, {1}, 0, args, {.activity = &activity}), Cancelled);
  EXPECT_EQ(blocks_run, 0) << "cancelled before it began";
  EXPECT_NO_THROW(launch_test("many_barriers", {50}, {32}, 2)) << "the next launch works";
}

TEST(Launch, CancelFromAnotherThread) {
  Activity activity;
  std::thread person([&] {
    while (activity.snapshot().done < 3) std::this_thread::yield();
    activity.cancel();
  });
  auto start = std::chrono::steady_clock::now();
  EXPECT_THROW(launch_entry(planned_launch("many_barriers"), {int64_t{1} << 30}, {32}, 0, {.activity = &activity}, 10),
               Cancelled);
  person.join();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(Launch, TwoHostThreadsAtTheSameTime) {
  std::atomic<int> wrong{0};
  auto host = [&](int base) {
    for (int round = 0; round < 40; round++) {
      std::vector<int> in(96 * 8), out(8);
      std::iota(in.begin(), in.end(), base + round);
      launch_test("block_sum", {8}, {96}, in.data(), out.data());
      for (size_t b = 0; b < 8; b++)
        wrong += out[b] != std::accumulate(in.begin() + static_cast<long>(96 * b),
                                           in.begin() + static_cast<long>(96 * b + 96), 0);
    }
  };
  std::thread a(host, 0), b(host, 100000);
  host(-5000);
  a.join();
  b.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Launch, FaultsOfOneHostThreadDoNotReachAnother) {
  std::atomic<int> faults{0}, wrong{0};
  std::thread faulty([&] {
    for (int round = 0; round < 40; round++)
      faults += !test::fault_of([] { launch_test("trap_at", {4}, {64}, 2, 7); }).empty();
  });
  for (int round = 0; round < 40; round++) {
    std::vector<int> out(64 * 8);
    auto said = test::fault_of([&] { launch_test("healthy", {8}, {64}, out.data()); });
    wrong += !said.empty() || out[0] != (63 ^ 1);
  }
  faulty.join();
  EXPECT_EQ(faults, 40);
  EXPECT_EQ(wrong, 0);
}

TEST(Launch, InsideABodyOfThePool) {
  // As when several problems are verified in parallel: each launch then runs whole on its worker.
  std::atomic<int> wrong{0};
  WorkerPool::shared().for_chunks(24, 1, [&](int64_t i, int64_t) {
    std::vector<int> in(64 * 5), out(5);
    std::iota(in.begin(), in.end(), static_cast<int>(i));
    launch_test("block_sum", {5}, {64}, in.data(), out.data());
    for (size_t b = 0; b < 5; b++)
      wrong += out[b] != 64 * (static_cast<int>(i) + 64 * static_cast<int>(b)) + 64 * 63 / 2;
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Launch, ThreadsThatEndTakeTheirBlocksWithThem) {
  for (int i = 0; i < 20; i++) {
    std::thread host([] {
      std::vector<int> out(64);
      launch_entry(planned_launch("healthy"), {1}, {64}, 0, {.workers = 1}, out.data());
      EXPECT_EQ(out[0], 63 ^ 1);
    });
    host.join();
  }
}

// What a signal handler asks.
simt::Position seen;
void where_am_i() {
  if (threadIdx.x == 5 && blockIdx.x == 2) simt::current_position(seen);
}
const simt::Entry asking{"where_am_i", &simt::Loop<&where_am_i>::run};

TEST(Launch, KnowsWhatRunsNow) {
  simt::Position nothing;
  EXPECT_FALSE(simt::current_position(nothing));
  simt::launch(asking, {4}, {32}, 0, nullptr, {});
  EXPECT_STREQ(seen.kernel, "where_am_i");
  EXPECT_EQ(seen.block.x, 2u);
  EXPECT_EQ(seen.thread.x, 5u);
  EXPECT_FALSE(simt::current_position(nothing)) << "no longer";
}

}  // namespace
}  // namespace convscope
