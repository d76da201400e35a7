// The verb sweep: kernels over one parameter, each value judged, and what comes out of it.
#include <gtest/gtest.h>

#include "tests/app/cli/cli.h"

namespace convscope {
namespace {

using test::operator+;
using test::convscope_run;
using test::expect_refused;
using test::holds;
using test::json;
using test::Words;

const Words of_any_length = {"--in-channels", "4", "--out-channels", "8", "--kernel-size", "3", "--dilation", "2"};
const Words layer = of_any_length + Words{"--length", "40"};

TEST(SweepCli, ShowsWhereAKernelIsWrong) {
  auto r = convscope_run(Words{"sweep", "S4", "direct", "auto", "--over", "stride=1..3"} + layer);
  EXPECT_EQ(r.code, 1) << "S4 is wrong";
  EXPECT_EQ(r.err, "") << "no progress in a pipe";
  for (const char* said :
       {"stride 1 to 3 on 1 × 4→8, K 3, L 40", ", CPU emulator", "S4: wrong at stride 2 and 3, ", "; right at 1\n",
        "direct and auto: right at all 3 values of stride\n",
        "fastest: ", "times predicted by the planner's model for NVIDIA H200, weights packed before", "floor by "})
    EXPECT_TRUE(holds(r.out, said)) << said << "\n" << r.out;
  EXPECT_EQ(convscope_run(Words{"sweep", "direct", "--over", "stride=1..3"} + layer).code, 0);
}

TEST(SweepCli, TheDocument) {
  auto d = convscope_run(Words{"sweep", "S4", "auto", "--over", "stride=1..2", "--json"} + layer).document();
  EXPECT_EQ(d["fields"], json({"stride"}));
  EXPECT_EQ(d["kernels"], json({"S4", "auto"}));
  EXPECT_EQ(d["interrupted"], false);
  ASSERT_EQ(d["points"].size(), 2u);
  const json &one = d["points"][0], &two = d["points"][1];
  EXPECT_EQ(one["entries"][0]["verdict"]["status"], "right");
  EXPECT_EQ(two["entries"][0]["verdict"]["status"], "wrong");
  EXPECT_GT(two["entries"][0]["verdict"]["failing"], 0);
  EXPECT_EQ(two["entries"][0]["verdict"]["elements"], two["problem"]["out_length"].get<int64_t>() * 8);
  EXPECT_TRUE(two["entries"][0]["time"].is_null());
  EXPECT_NE(two["entries"][1]["ran"], "auto");
  EXPECT_EQ(two["entries"][1]["time"]["source"], "predicted");
  for (const char* of : {"noise", "cold"})
    EXPECT_TRUE(two["entries"][1]["time"][std::string(of) + "_reason"].is_string()) << two["entries"][1]["time"];
  EXPECT_GT(two["entries"][1]["time"]["median_ms"], two["floor_ms"]);
}

TEST(SweepCli, TimesOfItsOwn) {
  auto d = convscope_run(Words{"sweep", "direct", "onednn", "--over", "length=8,9", "--times", "measured", "--samples",
                               "3", "--json"} +
                         of_any_length)
               .document();
  const json& at = d["points"][1]["entries"];
  EXPECT_EQ(at[0]["time"]["source"], "emulated");
  EXPECT_GT(at[0]["time"]["median_ms"], 0);
  EXPECT_TRUE(at[0]["time"]["cold_ms"].is_null());
  EXPECT_EQ(at[0]["time"]["cold_reason"], "the emulator has no cache to be cold");
  EXPECT_TRUE(at[1]["verdict"].is_null()) << "a reference";
  EXPECT_TRUE(d["points"][1]["floor_ms"].is_null());
  d = convscope_run(Words{"sweep", "direct", "--over", "length=8", "--times", "none", "--verdicts", "none", "--json"} +
                    of_any_length)
          .document();
  EXPECT_TRUE(d["points"][0]["entries"][0]["time"].is_null());
  EXPECT_TRUE(d["points"][0]["entries"][0]["verdict"].is_null());
}

TEST(SweepCli, AKernelThatCrashesEndsOneValue) {
  auto r =
      convscope_run(test::with_test_engine(Words{"sweep", "wild_write", "direct", "--over", "stride=1..2"} + layer));
  EXPECT_EQ(r.code, 4) << r.out << r.err;
  EXPECT_TRUE(holds(r.out, "wild_write: crashed or hung at 1 and 2")) << r.out;
  EXPECT_TRUE(holds(r.out, "direct: right at all 2 values of stride")) << r.out;
}

TEST(SweepCli, Refuses) {
  expect_refused({"sweep", "S4", "--over", "strid=1..3"}, "over", "strid", "is no parameter; did you mean stride?");
  expect_refused({"sweep", "S4", "--over", "stride,stride=1..3"}, "over", "stride", "is named twice");
  expect_refused({"sweep", "S4", "--over", "stride=1..2", "--stride", "3"}, "stride", "3",
                 "is what --over varies: leave it out");
  expect_refused({"sweep", "S4", "--over", "groups=3", "--in-channels", "4"}, "over", "groups",
                 "makes no legal problem: groups 3 must divide in_channels = 4");
  expect_refused({"sweep", "S4", "--over", "stride=1..3", "--times", "soon"}, "times", "soon",
                 "must be auto, predicted, measured or none");
  expect_refused({"sweep", "S4", "--over", "stride=1..3", "--samples", "0"}, "samples", "0",
                 "must be between 1 and 100000");
  expect_refused({"sweep", "S4", "--over", "stride=1..3", "--format", "xml"}, "format", "xml",
                 "must be table, json or csv");
  expect_refused(
      {"sweep", "--over", "stride=1..3"}, "kernel", "",
      "is missing: for example `convscope sweep S4 direct --over stride=1..8 --preset kernelbench-79-small`");
  EXPECT_EQ(convscope_run({"sweep", "nothing", "--over", "stride=1..3"}).code, 2);
}

}  // namespace
}  // namespace convscope
