#include "tests/app/model/kills.h"

#include <csignal>
#include <gtest/gtest.h>

#include "tests/app/model/benches.h"

namespace convscope::test {
namespace {

class Killer {
 public:
  explicit Killer(unsigned seed) : random_(seed) {}

  void round() {
    Workbench& w = *bench_;
    for (auto n = random_() % 3; n > 0; n--) w.run(small_document(random_));
    Document last = small_document(random_);
    w.run(last);
    look();
    // Starting takes some milliseconds, a run some more: all of it is hit.
    double delay = static_cast<double>(random_() % 1000) * 1e-3 * most_delay_s_;
    bench_.until([] { return false; }, delay);
    if (pid_t pid = w.engine_pid()) kills_ += kill(pid, SIGKILL) == 0;
    look();
    ASSERT_TRUE(bench_.settle()) << "a wish has no answer";
    ASSERT_TRUE(w.report());
    // It died with its engine, or came through.
    bool crashed = w.report()->status == "crashed";
    (crashed ? crashes_ : results_)++;
    if (crashed) {
      ASSERT_NE(w.report()->sentence.find("signal 9 (Killed)"), std::string::npos) << w.report()->sentence;
    } else {
      ASSERT_EQ(w.report()->document, last);
      ASSERT_TRUE(w.report()->right()) << w.report()->sentence;
    }
    most_delay_s_ = std::clamp(most_delay_s_ * (crashed ? 1.05 : 0.95), 2e-3, 2.0);
    expect_right();
  }

  // The next run of another document, and a picture of it.
  void expect_right() {
    Document d = small_document(random_);
    auto r = bench_.run(d);
    ASSERT_TRUE(r);
    ASSERT_TRUE(r->right()) << r->sentence << " " << describe(d.problem);
    ASSERT_EQ(bench_->picture(), r);
    if (kills_ % 8 == 0) {
      ASSERT_TRUE(bench_.whole_tile(Workbench::Map::kernel, Quantity::output));
    }
  }

  int kills() const { return kills_; }
  int crashes() const { return crashes_; }
  int results() const { return results_; }
  Bench& bench() { return bench_; }

 private:
  // What a window wishes while it draws.
  void look() {
    Workbench& w = *bench_;
    w.drain();
    auto p = w.picture();
    if (!p) return;
    w.want_tile(
        Workbench::Map::kernel,
        {p->key, Quantity::output, 0, static_cast<double>(p->rows()), 0, static_cast<double>(p->columns()), 8, 1, {}});
    w.want_numbers(0, 1, 0, 1 + static_cast<int64_t>(random_() % 3));
    w.want_hover({0, 0});
    w.want_statistics();
  }

  double most_delay_s_ = 0.06 * slowness;
  Random random_;
  Bench bench_;
  int kills_ = 0, crashes_ = 0, results_ = 0;
};

}  // namespace

void kill_behind_a_workbench(int kills, unsigned seed) {
  Killer killer(seed);
  // What a process takes for itself once, it has taken after some rounds.
  while (killer.kills() < kills / 4)
    if (killer.round(); testing::Test::HasFatalFailure()) return;
  double before = resident_mib();
  size_t descriptors = open_descriptors();
  while (killer.kills() < kills)
    if (killer.round(); testing::Test::HasFatalFailure()) return;
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_EQ(children().size(), 1u) << "one engine, and no zombies";
  // Flat: within 5 %, and a megabyte of pages that the allocator has not given back (a kill that leaked 5 KiB would
  // show). The sanitizers keep what is freed for a while.
  if (!under_sanitizer) {
    EXPECT_LT(resident_mib(), before * 1.05 + 1) << "it was " << before << " MiB";
  }
  // Both ends were seen.
  EXPECT_GT(killer.crashes(), kills / 20);
  EXPECT_GT(killer.results(), kills / 20);
  EXPECT_GT(killer.bench()->engine().starts, kills / 2);
}

}  // namespace convscope::test
