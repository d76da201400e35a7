#include "tests/app/model/kills.h"

#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/app/model/benches.h"

namespace convscope::test {
namespace {

// What an engine dies of. A kernel's own faults are answered as such; what comes from outside may also come too late.
enum class Way { killed, faults, hangs, garbage };

Way any_way(Random& r) {
  auto n = r() % 16;
  return n == 0 ? Way::hangs : n < 4 ? Way::faults : n < 8 ? Way::garbage : Way::killed;
}

Document faulty_document(const std::string& kernel) {
  Document d;
  d.problem = {};
  d.problem.in_channels = d.problem.out_channels = d.problem.kernel_size = 1, d.problem.length = 64;
  d.kernel = kernel;
  d.device = "emulator";
  return d;
}

// Writes what is no message into every pipe that the process writes to, except its output and its errors.
bool write_garbage(pid_t pid, Random& random) {
  namespace fs = std::filesystem;
  std::string folder = "/proc/" + std::to_string(pid);
  std::error_code error;
  bool written = false;
  for (const auto& entry : fs::directory_iterator(folder + "/fd", error)) {
    std::string number = entry.path().filename().string(), to = fs::read_symlink(entry.path(), error).string();
    if (number == "1" || number == "2" || !to.starts_with("pipe:")) continue;
    std::ifstream info(folder + "/fdinfo/" + number);
    std::string word;
    long flags = 0;
    while (info >> word)
      if (word == "flags:" && info >> word) flags = std::stol(word, nullptr, 8);
    if ((flags & O_ACCMODE) != O_WRONLY) continue;
    int fd = open(entry.path().c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) continue;
    unsigned char bytes[64];
    for (auto& b : bytes) b = static_cast<unsigned char>(random());
    written |= write(fd, bytes, sizeof bytes) > 0;
    close(fd);
  }
  return written;
}

class Killer {
 public:
  explicit Killer(unsigned seed) : random_(seed) {}

  void round() {
    Workbench& w = *bench_;
    Way way = any_way(random_);
    for (auto n = random_() % 3; n > 0; n--) w.run(small_document(random_));  // a slider moves
    Document last = way == Way::faults  ? faulty_document(random_() % 2 ? "wild_write" : "stack_overflow")
                    : way == Way::hangs ? faulty_document("loop_for_ever")
                                        : small_document(random_);
    bool had_picture = w.runs().picture() != nullptr;
    w.run(last);
    look();
    if (way == Way::killed || way == Way::garbage) {
      // Starting takes some milliseconds, a run some more: all of it is hit.
      double delay = static_cast<double>(random_() % 1000) * 1e-3 * most_delay_s_;
      bench_.until([] { return false; }, delay);
      if (pid_t pid = w.link().pid())
        kills_ += way == Way::killed ? kill(pid, SIGKILL) == 0 : write_garbage(pid, random_);
    } else {
      kills_++;
    }
    look();
    ASSERT_TRUE(bench_.settle()) << "a wish has no answer";
    ASSERT_TRUE(w.runs().report());
    const std::string &status = w.runs().report()->status, &sentence = w.runs().report()->sentence;
    seen_[static_cast<size_t>(way)] += status != "right";
    ASSERT_TRUE(!had_picture || w.runs().picture()) << "the last picture is kept";
    if (way == Way::faults) {
      ASSERT_EQ(status, "crashed") << sentence;
    } else if (way == Way::hangs) {
      ASSERT_EQ(status, "hung") << sentence;
    } else {
      // It died with its engine, or came through.
      bool crashed = status == "crashed";
      (crashed ? crashes_ : results_)++;
      if (crashed && way == Way::killed) {
        ASSERT_NE(sentence.find("signal 9 (Killed)"), std::string::npos) << sentence;
      }
      if (!crashed) {
        ASSERT_EQ(w.runs().report()->document, last);
        ASSERT_TRUE(w.runs().report()->right()) << sentence;
      }
      most_delay_s_ = std::clamp(most_delay_s_ * (crashed ? 1.2 : 0.8), 2e-3, 2.0);
    }
    expect_right();
  }

  // The next run of another document, and a picture of it.
  void expect_right() {
    Document d = small_document(random_);
    auto r = bench_.run(d);
    ASSERT_TRUE(r);
    ASSERT_TRUE(r->right()) << r->sentence << " " << describe(d.problem);
    ASSERT_EQ(bench_->runs().picture(), r);
    if (kills_ % 8 == 0) {
      ASSERT_TRUE(bench_.whole_tile(Pictures::Map::kernel, Quantity::output));
    }
  }

  int kills() const { return kills_; }
  int crashes() const { return crashes_; }
  int results() const { return results_; }
  int seen(Way way) const { return seen_[static_cast<size_t>(way)]; }
  Bench& bench() { return bench_; }

 private:
  // What a window wishes while it draws.
  void look() {
    Workbench& w = *bench_;
    w.drain();
    auto p = w.runs().picture();
    if (!p) return;
    w.pictures().want_tile(
        Pictures::Map::kernel,
        {p->key, Quantity::output, 0, static_cast<double>(p->rows()), 0, static_cast<double>(p->columns()), 8, 1, {}});
    w.pictures().want_numbers(0, 1, 0, 1 + static_cast<int64_t>(random_() % 3));
    w.pictures().want_hover({0, 0});
    w.pictures().want_statistics();
    Document beside = p->document;
    beside.compare_with = "polyphase";
    w.beside().want(beside);
  }

  double most_delay_s_ = 0.06 * slowness;
  Random random_;
  Bench bench_{
      test_engine_with("CONVSCOPE_LIBDNNL=none CONVSCOPE_PATIENCE_S=" + std::string(under_sanitizer ? "4" : "1.5"))};
  int kills_ = 0, crashes_ = 0, results_ = 0;
  int seen_[4] = {};  // engines that died so
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
  EXPECT_GT(killer.crashes(), kills / 40);
  EXPECT_GT(killer.results(), kills / 40);
  EXPECT_GT(killer.bench()->link().status().starts, kills / 2);
  if (kills >= 200) {  // else chance may leave one out
    for (Way way : {Way::killed, Way::faults, Way::hangs, Way::garbage})
      EXPECT_GT(killer.seen(way), kills / 100) << static_cast<int>(way);
  }
}

}  // namespace convscope::test
