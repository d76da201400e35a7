#include "tests/app/engine/kills.h"

#include <algorithm>
#include <csignal>
#include <gtest/gtest.h>
#include <malloc.h>
#include <random>
#include <thread>

#include "tests/app/engine/harness.h"

namespace convscope::test {
namespace {

class Killer {
 public:
  explicit Killer(unsigned seed) : random_(seed) {}

  // Asks for something, kills the engine after a while, and waits for the answer.
  void round() {
    EngineClient& c = client_;
    Collector all;
    std::vector<std::byte> payload;
    json request = run_request("healthy", {{"length", 64 + random_() % 64}});
    switch (random_() % 4) {
      case 0:
        request = run_request("slow", {{"length", 40}, {"dilation", 1}});
        break;
      case 1: {  // with bytes that may still be on their way
        constexpr int n = 100000;
        payload.resize(n * sizeof(float));
        request = run_request("healthy", {{"length", n}});
        request["files"] = {{"input", {{"name", "x.npy"}, {"dtype", "f32"}, {"shape", {1, 1, n}}, {"offset", 0}}}};
        break;
      }
    }
    size_t asked = 1 + random_() % 2;
    for (size_t i = 0; i < asked; i++) c.post(request.dump(), payload, all.handlers());
    // Starting takes some milliseconds, a run some more: all of it is hit.
    std::this_thread::sleep_for(std::chrono::microseconds(random_() % static_cast<unsigned>(most_delay_us_)));
    if (pid_t pid = c.pid()) kills_ += kill(pid, SIGKILL) == 0;
    ASSERT_TRUE(all.wait(asked)) << "a request has no answer";
    for (const auto& a : all.answers()) {
      // As many die as come through, however fast the machine is.
      bool came = a.kind == Answer::Kind::result;
      most_delay_us_ = std::clamp(most_delay_us_ * (came ? 0.95 : 1.05), 2e3, 2e6);
      if (came) {
        results_++;
        continue;
      }
      ASSERT_EQ(a.kind, Answer::Kind::crashed) << describe(a);
      ASSERT_TRUE(a.message.starts_with("the engine ended with signal 9 (Killed)")) << a.message;
      crashes_++;
    }
  }

  int kills() const { return kills_; }
  int results() const { return results_; }
  int crashes() const { return crashes_; }
  EngineClient& client() { return client_; }

 private:
  double most_delay_us_ = under_sanitizer ? 600e3 : 60e3;
  std::mt19937 random_;
  EngineClient client_{EngineOptions{.command = test_engine()}};
  int kills_ = 0, results_ = 0, crashes_ = 0;
};

}  // namespace

void kill_engines(int kills, unsigned seed, double most_seconds) {
  NothingLeft nothing_left;
  Killer killer(seed);
  Stopwatch watch;
  // What a process takes for itself once, it has taken after some rounds.
  while (killer.kills() < kills / 5)
    if (killer.round(); testing::Test::HasFatalFailure()) return;
  expect_works(killer.client());
  malloc_trim(0);  // what lies free between the pieces in use is no growth
  double before = resident_mib();
  size_t descriptors = open_descriptors();
  while (killer.kills() < kills && (killer.kills() < kills / 2 || watch.seconds() < most_seconds))
    if (killer.round(); testing::Test::HasFatalFailure()) return;
  kills = killer.kills();
  expect_works(killer.client());
  malloc_trim(0);
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_EQ(children().size(), 1u) << "one engine, and no zombies";
  // Flat: within 5 %, and a megabyte of pages that the allocator has not given back (a kill that leaked 5 KiB would
  // show). The sanitizers keep what is freed for a while.
  if (!under_sanitizer) {
    EXPECT_LT(resident_mib(), before * 1.05 + 1) << "it was " << before << " MiB";
  }
  // Both ends were seen: requests that died with their engine, and others that were quicker or came through.
  EXPECT_GT(killer.crashes(), kills / 10);
  EXPECT_GT(killer.results(), kills / 10);
  EXPECT_GT(killer.client().starts(), kills / 2);
}

}  // namespace convscope::test
