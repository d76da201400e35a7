// The verb xray, and what run says of a wrong kernel by it.
#include <gtest/gtest.h>

#include "tests/app/cli/cli.h"

namespace convscope {
namespace {

using test::convscope_run;
using test::holds;

TEST(XrayCli, SaysWhichTermsAreWrong) {
  auto r = convscope_run({"xray", "S0", "--preset", "kernelbench-79"});  // full shape: what runs is small
  EXPECT_EQ(r.code, 1);
  for (const char* said :
       {"it takes i = (j − k·d)/s, where i = (j + p − k·d)/s belongs: the padding is missing",
        "definition   i = (j + p − k·d)/s", "for example  y[0, 0, ", "launches with one weight each"})
    EXPECT_TRUE(holds(r.out, said)) << said << "\n" << r.out;
  auto j = convscope_run({"xray", "S0", "--preset", "kernelbench-79", "--json"}).document();
  const auto& x = j["xray"];
  EXPECT_EQ(x["status"], "wrong");
  EXPECT_EQ(x["formula"], "i = (j − k·d)/s");
  EXPECT_EQ(x["faults"], test::json({"the padding is missing"}));
  EXPECT_EQ(x["problems"].size(), 5u);
  EXPECT_EQ(x["problems"][0]["problem"]["stride"], 2);
  EXPECT_GT(x["launches"], 50);
}

TEST(XrayCli, ARightKernelExitsWithZero) {
  auto r = convscope_run({"xray", "tiled", "--preset", "hifigan.u2"});
  EXPECT_EQ(r.code, 0) << r.out;
  EXPECT_TRUE(holds(r.out, "✓ every product is the definition's on 5 small problems")) << r.out;
  EXPECT_EQ(convscope_run({"xray", "auto", "--preset", "kernelbench-79"}).code, 0);
}

TEST(XrayCli, RightOnItsOwnProblemOnly) {
  auto j = convscope_run({"xray", "S1", "--preset", "kernelbench-64", "--json"}).document();
  EXPECT_EQ(j["xray"]["status"], "right-here-only");
  EXPECT_EQ(j["xray"]["formula"], "i = (j + p + op − k)/s − p, quotients cut off");
}

TEST(XrayCli, AKernelThatCrashesExitsWithFour) {
  auto r = convscope_run(test::with_test_engine({"xray", "wild_write", "--length", "64"}));
  EXPECT_EQ(r.code, 4) << r.out << r.err;
  EXPECT_TRUE(holds(r.out, "on it the kernel ended the engine: ")) << r.out;
}

TEST(XrayCli, ARunSaysTheCauseOfAWrongKernel) {
  auto wrong = convscope_run({"run", "S4", "--preset", "kernelbench-79-small", "--json"}).document();
  EXPECT_TRUE(holds(wrong["verdict"]["cause"], "nothing asks whether the stride divides: quotients are cut off"));
  EXPECT_TRUE(holds(convscope_run({"run", "S4", "--preset", "kernelbench-79-small"}).out, "\n  Why: it takes i = "));
  auto right = convscope_run({"run", "tiled", "--preset", "kernelbench-79-small", "--json"}).document();
  EXPECT_FALSE(right["verdict"].contains("cause"));
}

TEST(XrayCli, WhatIsNoKernelIsRefused) {
  EXPECT_EQ(convscope_run({"xray"}).code, 2);
  EXPECT_EQ(convscope_run({"xray", "nosuch"}).code, 2);
  auto r = convscope_run({"xray", "S0", "--dtype", "f64"});
  EXPECT_EQ(r.code, 2);
  EXPECT_FALSE(holds(r.out, "✗")) << "which would say that it is wrong\n" << r.out;
  EXPECT_TRUE(holds(r.out, "it does not take this problem: is written for f32 only")) << r.out;
}

}  // namespace
}  // namespace convscope
