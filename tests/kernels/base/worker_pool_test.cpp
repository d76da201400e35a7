#include "kernels/base/worker_pool.h"

#include <atomic>
#include <gtest/gtest.h>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/support.h"

namespace convscope {
namespace {

TEST(WorkerPool, RunsTheBodyOnceOnEachWorker) {
  WorkerPool pool(4);
  EXPECT_EQ(pool.size(), 4);
  for (int round = 0; round < 200; round++) {
    std::atomic<int> calls[4] = {};
    pool.run(4, [&](int worker) { calls[worker]++; });
    for (auto& c : calls) ASSERT_EQ(c, 1);
  }
}

TEST(WorkerPool, CapsTheNumberOfWorkers) {
  WorkerPool pool(3);
  for (int wanted : {-1, 0, 1, 2, 3, 100}) {
    std::atomic<int> calls{0};
    pool.run(wanted, [&](int worker) {
      EXPECT_LT(worker, 3);
      calls++;
    });
    EXPECT_EQ(calls, std::clamp(wanted, 1, 3)) << wanted;
  }
  EXPECT_EQ(WorkerPool(0).size(), 1);
}

TEST(WorkerPool, AWorkerIsAlwaysTheSameThread) {
  // The emulator's fibres must not change their thread, so numbers and threads belong together.
  WorkerPool pool(3);
  std::thread::id seen[3] = {};
  pool.run(3, [&](int worker) { seen[worker] = std::this_thread::get_id(); });
  EXPECT_EQ(seen[0], std::this_thread::get_id()) << "the caller is worker 0";
  EXPECT_EQ(std::set(seen, seen + 3).size(), 3u);
  for (int round = 0; round < 50; round++)
    pool.run(3, [&](int worker) { EXPECT_EQ(seen[worker], std::this_thread::get_id()); });
}

TEST(WorkerPool, ThrowsAnExceptionAgainAndGoesOn) {
  WorkerPool pool(4);
  for (int thrower = 0; thrower < 4; thrower++) {
    auto said = test::error_of<std::runtime_error>([&] {
      pool.run(4, [&](int worker) {
        if (worker == thrower) throw std::runtime_error("worker " + std::to_string(worker));
      });
    });
    EXPECT_EQ(said, "worker " + std::to_string(thrower));
    std::atomic<int> calls{0};
    EXPECT_NO_THROW(pool.run(4, [&](int) { calls++; })) << "an error is not kept for the next run";
    EXPECT_EQ(calls, 4);
  }
}

TEST(WorkerPool, ACallFromABodyRunsOnItsOwnThread) {
  WorkerPool pool(4);
  std::atomic<int> inner{0};
  pool.run(4, [&](int) {
    auto outside = std::this_thread::get_id();
    pool.run(4, [&](int worker) {
      EXPECT_EQ(worker, 0);
      EXPECT_EQ(std::this_thread::get_id(), outside);
      inner++;
    });
    // Also after that the thread is known to be inside.
    pool.for_chunks(3, 1, [&](int64_t, int64_t) { EXPECT_EQ(std::this_thread::get_id(), outside); });
  });
  EXPECT_EQ(inner, 4);
}

TEST(WorkerPool, TakesCallersOneAfterAnother) {
  WorkerPool pool(3);
  std::atomic<int> inside{0}, overlapped{0}, calls{0};
  auto caller = [&] {
    for (int i = 0; i < 100; i++) {
      std::atomic<int> mine{0};
      pool.run(3, [&](int) {
        if (++inside > 3) overlapped++;
        mine++;
        inside--;
      });
      EXPECT_EQ(mine, 3);
      calls++;
    }
  };
  std::thread a(caller), b(caller);
  a.join();
  b.join();
  EXPECT_EQ(calls, 200);
  EXPECT_EQ(overlapped, 0);
}

TEST(WorkerPool, ChunksCoverEachElementOnce) {
  WorkerPool pool(4);
  for (int64_t count : {0, 1, 2, 7, 64, 1000})
    for (int64_t grain : {-1, 1, 3, 64, 5000}) {
      std::vector<std::atomic<int>> hits(static_cast<size_t>(count));
      std::atomic<int64_t> longest{0};
      pool.for_chunks(count, grain, [&](int64_t a, int64_t b) {
        EXPECT_LT(a, b);
        int64_t old = longest;
        while (b - a > old && !longest.compare_exchange_weak(old, b - a)) {
        }
        for (int64_t e = a; e < b; e++) hits[static_cast<size_t>(e)]++;
      });
      for (auto& h : hits) ASSERT_EQ(h, 1) << count << " by " << grain;
      EXPECT_LE(longest, std::max<int64_t>(1, grain));
    }
  pool.for_chunks(-5, 1, [](int64_t, int64_t) { FAIL() << "nothing to do"; });
}

TEST(WorkerPool, SharedPoolLives) {
  EXPECT_GE(WorkerPool::shared().size(), 1);
  EXPECT_EQ(&WorkerPool::shared(), &WorkerPool::shared());
  if (const char* wanted = std::getenv("CONVSCOPE_WORKERS")) {
    EXPECT_EQ(WorkerPool::shared().size(), std::atoi(wanted));
  }
}

}  // namespace
}  // namespace convscope
