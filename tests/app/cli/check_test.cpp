// The verb check: right kernels on everything it draws, wrong ones with the smallest problem that shows it.
#include <gtest/gtest.h>

#include "kernels/problem/conv_problem.h"
#include "tests/app/cli/outside.h"

namespace convscope {
namespace {

using test::operator+;
using test::convscope_run;
using test::holds;
using test::json;
using test::Words;

// All parameters of the plainest problem but the length.
const Words plainest = {"--batch",  "1", "--in-channels", "1", "--out-channels",   "1", "--kernel-size", "1",
                        "--stride", "1", "--padding",     "0", "--output-padding", "0", "--dilation",    "1",
                        "--groups", "1", "--no-bias"};

TEST(CheckCli, ARightKernelIsRightOnAllThatIsDrawn) {
  auto r = convscope_run({"check", "tiled", "--cases", "25"});
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  for (const char* said : {"tiled on problems drawn with seed 42, on CPU emulator", "✓ right on all 25 problems, in ",
                           "Of the right ones ", " with a stride beyond the taps, "})
    EXPECT_TRUE(holds(r.out, said)) << said << "\n" << r.out;
  EXPECT_EQ(r.err, "") << "no progress in a pipe";
}

TEST(CheckCli, AWrongKernelWithTheSmallestProblem) {
  auto r = convscope_run({"check", "S4"});
  EXPECT_EQ(r.code, 1);
  for (const char* said : {"✗ wrong on problem ", "as drawn  ", "smallest  1 × 1→1, K 2, L 1, s 2, p 0, d 1   (",
                           "why       it takes i = (j + p − k·d)/s, quotients cut off",
                           "see it    convscope run S4 --kernel-size 2 --stride 2\n",
                           "convscope explain S4 --at 0,0,0 --kernel-size 2 --stride 2\n"})
    EXPECT_TRUE(holds(r.out, said)) << said << "\n" << r.out;
  // What it says to type shows it.
  EXPECT_EQ(convscope_run({"run", "S4", "--kernel-size", "2", "--stride", "2"}).code, 1);
}

TEST(CheckCli, TheDocument) {
  auto right = convscope_run({"check", "direct", "--cases", "5", "--stride", "3", "--seed", "9", "--json"}).document();
  EXPECT_EQ(right["status"], "right");
  EXPECT_EQ(right["right"], 5);
  EXPECT_EQ(right["cases"], 5);
  EXPECT_EQ(right["seed"], 9);
  EXPECT_EQ(right["fixed"], json({{"stride", 3}}));
  EXPECT_EQ(right["right_with"]["a stride"], 5);
  EXPECT_EQ(right["device"]["kind"], "emulator");
  for (const char* none : {"first_failing", "smallest_failing", "ended_early"})
    EXPECT_TRUE(right[none].is_null()) << none;
  auto wrong = convscope_run({"check", "S2", "--stride", "2", "--json"}).document();
  EXPECT_EQ(wrong["status"], "wrong");
  EXPECT_EQ(wrong["smallest_failing"]["problem"]["stride"], 2);
  EXPECT_EQ(wrong["smallest_failing"]["verdict"]["status"], "wrong");
  EXPECT_TRUE(holds(wrong["smallest_failing"]["verdict"]["cause"], "the padding stands outside of the division"));
  EXPECT_TRUE(wrong["first_failing"]["error"].is_object());
  EXPECT_GT(wrong["smaller_tried"], 3);
}

// The fault is at position 13 and later: the smallest problem that shows it has 14.
TEST(CheckCli, NoSmallerProblemShowsIt) {
  auto r = convscope_run(test::with_test_engine(Words{"check", "few_wrong"} + plainest + Words{"--json"}));
  EXPECT_EQ(r.code, 1) << r.err;
  auto j = r.document();
  EXPECT_EQ(j["smallest_failing"]["problem"]["length"], 14) << j["smallest_failing"].dump(1);
  EXPECT_EQ(j["smallest_failing"]["error"]["first_failing"]["j"], 13);
}

TEST(CheckCli, OfAPresetTheSizesAreDrawn) {
  auto j =
      convscope_run({"check", "S1", "--preset", "kernelbench-64", "--no-bias", "--cases", "20", "--json"}).document();
  // S1 is right on this layer, at every size.
  EXPECT_EQ(j["status"], "right") << j.dump(1);
  EXPECT_EQ(j["fixed"]["kernel_size"], 3);
  EXPECT_FALSE(j["fixed"].contains("length"));
}

// Each takes its engine with it: the next problem gets another one.
TEST(CheckCli, ACrashIsMadeSmallAsWell) {
  auto r = convscope_run(test::with_test_engine(Words{"check", "wild_write"} + plainest + Words{"--json"}));
  EXPECT_EQ(r.code, 4) << r.err;
  auto j = r.document();
  EXPECT_EQ(j["status"], "crashed");
  EXPECT_EQ(j["smallest_failing"]["verdict"]["status"], "crashed");
  EXPECT_EQ(j["smallest_failing"]["problem"]["length"], 1);
}

TEST(CheckCli, WhatTheKernelDoesNotTakeIsCounted) {
  auto j = convscope_run(test::with_test_engine(Words{"check", "picky"} + plainest + Words{"--json"})).document();
  EXPECT_EQ(j["right"], 1) << "of one length only";
  EXPECT_GT(j["not_taken"], 50);
  EXPECT_TRUE(holds(j["ended_early"], "no further problems")) << j["ended_early"];
  EXPECT_EQ(j["status"], "right");
  auto none = convscope_run(test::with_test_engine(Words{"check", "picky", "--length", "8"}));
  EXPECT_EQ(none.code, 2);
  EXPECT_TRUE(holds(none.out, "✗ right on 0 of 100 asked for")) << none.out;
  EXPECT_TRUE(holds(none.out, "is for length 7"));
}

using CheckOfFilesCli = test::OutsideCli;

// Written for one layer of KernelBench: what is drawn reaches beside its tensors, or looks like a fault of its index.
TEST_F(CheckOfFilesCli, AKernelOfOneLayerIsFoundRightThere) {
  const std::string text = R"(// 32 input and 64 output channels, three taps, stride 2, padding 1, dilation 2
// convscope: launch up grid=ceil_div(N*64*Lout,256) block=256 args=x,w,y,N,L,Lout
#include "convscope/kernel.h"
extern "C" __global__ void up(const float* x, const float* w, float* y, int N, int L, int Lout) {
  const int e = blockIdx.x * blockDim.x + threadIdx.x, j = e % Lout, co = e / Lout % 64, n = e / Lout / 64;
  if (n >= N) return;
  float sum = 0;
  for (int ci = 0; ci < 32; ci++)
    for (int k = 0; k < 3; k++)
      if (const int t = j + 1 - 2 * k; t >= 0 && t % 2 == 0 && t / 2 < L)
        sum += x[(n * 32 + ci) * L + t / 2] * w[(ci * 64 + co) * 3 + k];
  y[e] = sum;
}
)";
  const std::string path = file("layer.cu", text);
  auto r = run({"check", path, "--cases", "10"});
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  for (const char* said : {"  right on  kernelbench-79-small: 1 × 32→64, K 3, L 4096, s 2, p 1, d 2\n",
                           // As many sizes as there was time for.
                           "  why       right there, but not in general: right with 32 input channels",
                           " 64 output channels", "wrong with 33"})
    EXPECT_TRUE(holds(r.out, said)) << said << "\n" << r.out;
  // A layer that is named comes first.
  const json j = run({"check", path, "--cases", "10", "--preset", "kernelbench-79", "--json"}).document();
  EXPECT_EQ(j["right_on"]["name"], "the layer that was given");
  EXPECT_EQ(j["right_on"]["cause_fixed"]["in_channels"], 32);
  EXPECT_EQ(j["smallest_failing"]["problem"]["in_channels"], 1);
  // The controls: wrong on its layer as well, and right on nearly all.
  r = run({"check", changed_text(text, "j + 1 -", "j + 2 -"), "--cases", "10"});
  EXPECT_FALSE(holds(r.out, "right on  ")) << r.out;
  EXPECT_TRUE(convscope_run({"check", "S4", "--json"}).document()["right_on"].is_null());
}

TEST(CheckCli, Refuses) {
  struct Asked {
    Words words;
    int code;
    const char* says;
  };
  for (const auto& a : std::initializer_list<Asked>{
           {{"check"}, 2, "convscope: kernel is missing: for example `convscope check S2 --stride 2`\n"},
           {{"check", "direct", "--cases", "0"}, 2, "convscope: cases 0 must be between 1 and 100000\n"},
           {{"check", "direct", "--cases", "many"}, 2, "convscope: cases many must be a whole number\n"},
           {{"check", "direct", "--groups", "3", "--in-channels", "4"},
            2,
            "convscope: groups 3 must divide in_channels = 4\n"},
           {{"check", "direct", "--input", "ones"},
            2,
            "convscope: option --input is none of `check`: see `convscope help check`\n"},
           {{"check", "nobody"}, 2, "convscope: kernel nobody is not known: see `convscope list kernels`\n"}}) {
    auto r = convscope_run(a.words);
    EXPECT_EQ(r.code, a.code) << a.says;
    EXPECT_EQ(r.err, a.says);
    EXPECT_EQ(r.out, "");
  }
  auto r = convscope_run(test::with_test_engine({"check", "from_the_future"}));
  EXPECT_EQ(r.code, 3) << r.err;
  EXPECT_TRUE(holds(r.err, "sm_999x")) << r.err;
}

TEST(CheckCli, CtrlCKeepsWhatIsDone) {
  test::Cli cli({"check", "direct", "--cases", "100000", "--json"});
  EXPECT_TRUE(test::wait_until([&] { return cli.processes().size() >= 2; }, 10 * test::slowness));
  std::this_thread::sleep_for(std::chrono::milliseconds(test::under_sanitizer ? 8000 : 3000));
  cli.signal(SIGINT);
  const auto& r = cli.finish();
  EXPECT_EQ(r.code, 130);
  auto j = r.document();
  EXPECT_EQ(j["ended_early"], "interrupted");
  EXPECT_GT(j["right"], 0);
  EXPECT_TRUE(cli.processes().empty());
}

}  // namespace
}  // namespace convscope
