// How convscope ends: its exit codes, Ctrl-C, and that no engine outlives it.
#include <filesystem>
#include <gtest/gtest.h>
#include <thread>

#include "tests/app/cli/cli.h"

namespace convscope {
namespace {

using test::operator+;
using test::Cli;
using test::convscope_run;
using test::convscope_shell;
using test::json;
using test::Words;

void sleep_s(double s) { std::this_thread::sleep_for(std::chrono::duration<double>(s)); }

// Minutes of work, in blocks that end.
// Long in time, not in memory: other tests run beside it.
const Words long_run = {"run", "direct", "--preset", "kernelbench-64", "--batch", "8"};

// ---- what is missing: exit code 3, and how to get it --------------------------------------------------------------

// Until a run is under way; well below the 10 s after which an engine that finishes nothing counts as hung.
constexpr double until_begun_s = test::under_sanitizer ? 3 : 0.6;

TEST(Missing, TheGpu) {
  for (const char* device : {"cuda", "cuda:0", "cuda:7"})
    for (const Words& verb : {Words{"run", "direct"}, Words{"explain", "direct", "--at", "0,0,0"},
                              Words{"demo", "--out", "/nonexistent/x"}, Words{"list", "kernels"}}) {
      if (verb[0] == "demo") continue;  // needs a folder: below
      auto r = convscope_run(verb + Words{"--device", device});
      EXPECT_EQ(r.code, 3) << r.err;
      EXPECT_EQ(r.out, "");
      EXPECT_NE(r.err.find("--device emulator"), std::string::npos) << r.err;
    }
  test::ScratchFolder folder;
  auto r = convscope_run({"demo", "--out", folder.path("demo"), "--device", "cuda"});
  EXPECT_EQ(r.code, 3) << r.err;
}

TEST(Missing, TheEngine) {
  const std::string how = "; its command must start `convscope engine`, here or as `ssh box convscope engine`\n";
  for (const Words& verb :
       {Words{"run", "direct"}, Words{"info"}, Words{"list", "presets"}, Words{"explain", "direct", "--at", "0,0,0"}}) {
    auto r = convscope_run(verb + Words{"--engine", "/no/such/engine"});
    EXPECT_EQ(r.code, 3);
    EXPECT_EQ(r.out, "");
    EXPECT_EQ(r.err, "convscope: cannot start /no/such/engine: No such file or directory" + how);
  }
  // It starts, and is none: what it says is passed on.
  auto r = convscope_run({"info", "--engine", "sh -c 'echo no route to box >&2; exit 255'"});
  EXPECT_EQ(r.code, 3);
  EXPECT_EQ(r.err, "no route to box\nconvscope: the engine ended with exit code 255: no route to box" + how);
  r = convscope_run({"info", "--engine", "sh -c 'head -c 100000 /dev/zero'"});
  EXPECT_EQ(r.code, 3);
  EXPECT_EQ(r.err, "convscope: the engine cannot be used: it does not greet like a convscope engine" + how);
}

// What stands before the greeting, as from a login shell, does no harm.
TEST(Engine, ByACommand) {
  auto r = convscope_shell(
      "convscope list devices --json --engine \"sh -c 'echo Welcome; echo; exec env $(command -v env >/dev/null && "
      "echo A=1) " +
      test::test_engine().substr(1, test::test_engine().size() - 2) + "'\"");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.document()["devices"][0]["kind"], "emulator");
}

// ---- Ctrl-C -------------------------------------------------------------------------------------------------------

TEST(Interrupt, ALongRun) {
  for (bool as_json : {false, true}) {
    Cli cli(long_run + (as_json ? Words{"--json"} : Words{}));
    EXPECT_TRUE(test::wait_until([&] { return cli.processes().size() >= 2; }, 10 * test::slowness));
    sleep_s(until_begun_s);
    EXPECT_GE(cli.processes().size(), 2u) << "the engine is at work";
    test::Stopwatch watch;
    cli.signal(SIGINT);
    const auto& r = cli.finish();
    EXPECT_LT(watch.seconds(), 1.5 * test::slowness);
    EXPECT_EQ(r.code, 130);
    EXPECT_FALSE(r.by_signal);
    EXPECT_EQ(r.err, "convscope: cancelled\n");
    if (as_json) {
      EXPECT_EQ(r.document()["error"]["code"], "cancelled");
    } else {
      EXPECT_EQ(r.out, "");
    }
    EXPECT_TRUE(cli.processes().empty()) << "the engine is gone before convscope is";
  }
}

TEST(Interrupt, AtAnyMoment) {
  for (int i = 0; i < 12; i++) {
    Cli cli(long_run);
    sleep_s(0.02 * i);
    cli.signal(SIGINT);
    EXPECT_EQ(cli.finish().code, 130) << i;
  }
}

// `timeout` of coreutils signals its child, and then the child's group: what is done is said all the same.
TEST(Interrupt, TwoSignalsTogetherAreOne) {
  for (int number : {SIGINT, SIGTERM}) {
    Cli cli({"bench", "--preset", "kernelbench-79-small", "--device", "emulator", "--json"});
    EXPECT_TRUE(test::wait_until([&] { return cli.processes().size() >= 2; }, 10 * test::slowness));
    sleep_s(until_begun_s);
    cli.signal(number);
    sleep_s(0.02);
    cli.signal(number);
    EXPECT_EQ(cli.finish().code, 128 + number);
    EXPECT_FALSE(cli.finish().document().empty());
  }
}

// A block that does not end cannot be stopped: its engine is ended, after two seconds or at the second Ctrl-C.
TEST(Interrupt, AKernelThatDoesNotStop) {
  for (bool twice : {false, true}) {
    Cli cli(test::with_test_engine({"run", "loop_for_ever", "--length", "64"}));
    sleep_s(until_begun_s);
    test::Stopwatch watch;
    cli.signal(SIGINT);
    if (twice) {
      sleep_s(1.1);  // a second one within a second is the first
      cli.signal(SIGINT);
    }
    EXPECT_EQ(cli.finish().code, 130);
    EXPECT_LT(watch.seconds(), (twice ? 1.8 : 4) * test::slowness);
  }
}

// As a scheduler ends what it runs: what is done is kept, under SIGTERM's own code.
TEST(Interrupt, BySigterm) {
  test::ScratchFolder folder;
  const std::string file = folder.path("r.convscope");
  Cli cli({"record", file, "tiled", "direct", "S4", "--preset", "kernelbench-79-small", "--device", "emulator"});
  EXPECT_TRUE(cli.says("1 of 7  ")) << "the first profile is there";
  cli.signal(SIGTERM);
  EXPECT_EQ(cli.finish().code, 128 + SIGTERM);
  EXPECT_TRUE(std::filesystem::exists(file));
  EXPECT_FALSE(std::filesystem::exists(file + ".part"));
  EXPECT_EQ(convscope_run({"profile", "tiled", "--recording", file}).code, 0);
}

TEST(Interrupt, OtherVerbs) {
  for (const Words& verb : {Words{"explain", "direct", "--at", "0,0,0", "--preset", "kernelbench-64"}}) {
    Cli cli(verb);
    sleep_s(until_begun_s);
    cli.signal(SIGINT);
    EXPECT_EQ(cli.finish().code, 130);
  }
}

// ---- other ends ---------------------------------------------------------------------------------------------------

// However it goes, its engine goes with it, even from the middle of a block.
TEST(Ending, TakesTheEngineAlong) {
  for (int number : {SIGTERM, SIGHUP, SIGKILL}) {
    Cli cli(test::with_test_engine({"run", "all_loop_for_ever", "--length", "64"}));
    sleep_s(until_begun_s);
    EXPECT_GE(cli.processes().size(), 2u);
    cli.signal(number);
    EXPECT_EQ(cli.finish().code, 128 + number);
  }
}

TEST(Ending, StdoutThatTakesNothing) {
  auto r = convscope_shell("convscope list presets > /dev/full");
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.err, "convscope: stdout cannot be written: No space left on device\n");
  // A reader that has seen enough is no error worth a word.
  r = convscope_shell("convscope list presets | head -n 1");
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.err, "");
  EXPECT_TRUE(r.out.starts_with("kernelbench-64"));
}

TEST(Ending, WithoutDescriptors) {
  const std::string run = "convscope run direct --kernel-size 3 --length 20";
  for (const char* closed : {" <&-", " 2>&-", " <&- 2>&-"}) {
    auto r = convscope_shell(run + " --json" + closed);
    EXPECT_EQ(r.code, 0) << closed << r.err;
    EXPECT_EQ(r.document()["verdict"]["status"], "right") << closed;
  }
  // What nobody can read is not well said.
  auto r = convscope_shell(run + " >&-");
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.err, "convscope: stdout cannot be written: it is closed\n");
  EXPECT_EQ(convscope_shell(run + " >&- <&- 2>&-").code, 1);
}

TEST(Ending, HungByItsOwnMeasure) {
  auto r = convscope_run(test::with_test_engine({"run", "loop_for_ever", "--length", "64"}),
                         {std::string("CONVSCOPE_PATIENCE_S=") + (test::under_sanitizer ? "4" : "1")});
  EXPECT_EQ(r.code, 4);
  EXPECT_NE(r.out.find("hung: nothing has finished for "), std::string::npos) << r.out;
}

TEST(Ending, CrashedSaysWhere) {
  if (test::under_sanitizer) GTEST_SKIP() << "a sanitizer reports in its own words";
  auto r = convscope_run(test::with_test_engine({"run", "wild_write", "--length", "64"}));
  EXPECT_EQ(r.code, 4);
  const std::string where =
      "an address that is not there was used (signal 11, address 0x10), kernel run_wild_write, block (2, 0, 0), thread "
      "(5, 0, 0), at "
      "tests/app/engine/faulty.cu:";
  EXPECT_NE(r.out.find("\n  crashed: " + where), std::string::npos) << r.out;
  EXPECT_NE(r.err.find("convscope-crash: " + where), std::string::npos) << r.err;
}

}  // namespace
}  // namespace convscope
