// --watch: again whenever the kernel's file changes.
#include <chrono>
#include <gtest/gtest.h>
#include <thread>

#include "app/cli/session.h"
#include "tests/app/cli/outside.h"
#include "tests/support.h"

namespace convscope::test {
namespace {

constexpr const char* waits = "to change; Ctrl-C ends\n";

class WatchCli : public OutsideCli {
 protected:
  const std::string text_ = text_file(project_file("assets/kernels/gather.cu"));
  const std::string path_ = file("mine.cu", text_);
  Words cache() const { return {"CONVSCOPE_CACHE=" + own_cache(folder_)}; }
};

TEST_F(WatchCli, RunsAgainUntilCtrlC) {
  Cli cli(Words{"run", path_, "--trust", "--watch"} + little, cache());
  ASSERT_TRUE(cli.says(waits));
  file("mine.cu", changed_into(text_, "return;", "retrn;"));
  ASSERT_TRUE(cli.says("'retrn' was not declared")) << "what is said of it while it is compiled";
  ASSERT_TRUE(cli.says(waits, 2)) << "a file that does not compile is waited for as well";
  file("mine.cu", changed_into(text_, "j + p - k * d", "j - p - k * d"));
  ASSERT_TRUE(cli.says(waits, 3));
  cli.signal(SIGINT);
  const Finished& f = cli.finish();
  EXPECT_EQ(f.code, 1) << "that of the last run";
  size_t at = 0;
  for (const char* said :
       {"  right: all 324 elements", "  not run: it does not compile: ", "the padding has the wrong sign"}) {
    at = f.out.find(said, at);
    ASSERT_NE(at, std::string::npos) << said << "\n" << f.out;
  }
  size_t changes = 0;
  for (at = 0; (at = f.err.find("mine.cu changed at ", at)) != std::string::npos; at++) changes++;
  EXPECT_EQ(changes, 2u) << f.err;
  EXPECT_FALSE(holds(f.out, "changed at")) << "tables and documents have nothing between them";
}

TEST_F(WatchCli, WhatIsInWorkIsCalledOff) {
  Cli cli(Words{"check", path_, "--trust", "--watch", "--cases", "100000"}, cache());
  while (files("cache/kernels", "") < of_a_file) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  file("mine.cu", changed_into(text_, "j + p - k * d", "j - p - k * d"));
  ASSERT_TRUE(cli.says(waits, 2)) << "the first, which would have taken an hour, and the second, which fails";
  cli.signal(SIGINT);
  const Finished& f = cli.finish();
  EXPECT_EQ(f.code, 1);
  EXPECT_TRUE(holds(f.out, "interrupted")) << f.out;
  EXPECT_TRUE(holds(f.out, "the padding has the wrong sign")) << f.out;
}

TEST_F(WatchCli, WhatCannotBeWatchedIsRefused) {
  expect_refused({"run", "direct", "--watch"}, "watch", "",
                 "needs a kernel's file that is there: `convscope run mine.cu --trust --watch`");
  expect_refused({"run", path_, "--watch"}, "kernel", path_, untrusted_file);
  auto r = run({"run", path_, "--watch", "--json"});
  EXPECT_EQ(r.code, 2);
  EXPECT_TRUE(holds(r.err, "cannot be together with --json, which is one document")) << r.err;
  // No change of the file mends what is wrong with the line.
  r = run({"run", path_, "--watch", "--stride", "0"});
  EXPECT_EQ(r.code, 2);
  EXPECT_TRUE(holds(r.err, "stride 0 must be")) << r.err;
  EXPECT_FALSE(holds(r.err, waits)) << r.err;
  r = run({"run", path_ + ":gather", "--watch", "--device", "nonsense"});
  EXPECT_NE(r.code, 0);
  EXPECT_FALSE(holds(r.err, waits)) << "nor what is wrong with the device\n" << r.err;
}

}  // namespace
}  // namespace convscope::test
