// What a sweep goes along: how it is written, what is refused, and which problems it makes.
#include "kernels/problem/axis.h"

#include <gtest/gtest.h>

namespace convscope {
namespace {

std::vector<int64_t> values_of(const std::string& text) { return axis_from(text).values; }
using Values = std::vector<int64_t>;

TEST(Axis, IsEveryValueOrDoubledOrInSteps) {
  EXPECT_EQ(values_of("stride=1..4"), (Values{1, 2, 3, 4}));
  EXPECT_EQ(values_of("padding=0..2"), (Values{0, 1, 2}));
  EXPECT_EQ(values_of("length=1000..9000"), (Values{1000, 2000, 4000, 8000})) << "more than 32: doubled";
  EXPECT_EQ(values_of("length=1..33"), (Values{1, 2, 4, 8, 16, 32}));
  EXPECT_EQ(values_of("length=1..32").size(), 32u);
  EXPECT_EQ(values_of("kernel-size=3..25+11"), (Values{3, 14, 25}));
  EXPECT_EQ(values_of("in_channels=8..100*3"), (Values{8, 24, 72}));
  EXPECT_EQ(values_of("padding=0..100*10"), (Values{0, 1, 10, 100})) << "0 times anything stays 0";
  EXPECT_EQ(values_of("length= 9, 3 ,3..4"), (Values{3, 4, 9})) << "ascending, each once";
}

TEST(Axis, MayBeSeveralFields) {
  const Axis a = axis_from("in-channels,out_channels=2,4");
  EXPECT_EQ(a.name(), "in_channels, out_channels");
  ConvProblem base;
  base.kernel_size = 3;
  const auto at = a.at(base, 4);
  EXPECT_EQ(at.problem.in_channels, 4);
  EXPECT_EQ(at.problem.out_channels, 4);
  EXPECT_EQ(at.problem.kernel_size, 3);
  EXPECT_FALSE(at.wrong);
}

TEST(Axis, SaysWhichRuleItsProblemBreaks) {
  ConvProblem base;
  base.in_channels = base.out_channels = 4, base.kernel_size = 2, base.length = 5;
  EXPECT_FALSE(axis_from("groups=2").at(base, 2).wrong);
  const auto wrong = axis_from("groups=3").at(base, 3).wrong;
  ASSERT_TRUE(wrong);
  EXPECT_STREQ(wrong->what(), "groups 3 must divide in_channels = 4");
}

TEST(Axis, OutputPaddingGivesWay) {
  ConvProblem base;
  base.stride = 4, base.output_padding = 3, base.kernel_size = 2, base.length = 5;
  const auto at = axis_from("stride=1..4").at(base, 2);
  EXPECT_EQ(at.problem.output_padding, 1);
  EXPECT_EQ(at.note, "output_padding 3 → 1");
  EXPECT_FALSE(at.wrong);
  EXPECT_EQ(axis_from("stride=1..4").at(base, 4).note, "");
  // Where it is what is varied, it stays as it was asked for, and is refused.
  EXPECT_TRUE(axis_from("output_padding=4").at(base, 4).wrong);
}

TEST(Axis, RefusesWhatIsNone) {
  auto rule = [](const std::string& text) -> std::string {
    try {
      axis_from(text);
    } catch (const InputError& e) {
      EXPECT_EQ(e.field(), "over");
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(
      rule("stride"),
      "over stride must be FIELD=VALUES, as stride=1..8, length=1024..65536 or in-channels,out-channels=64..512*2");
  EXPECT_EQ(rule("strid=1"), "over strid is no parameter; did you mean stride?");
  EXPECT_EQ(rule("stride=3..1"), "over 3..1 must go upwards");
  EXPECT_EQ(rule("stride=1..9*1"), "over 1..9*1 must have a factor of 2 at least");
  EXPECT_EQ(rule("stride=1..9+0"), "over 1..9+0 must have a step of 1 at least");
  EXPECT_EQ(rule("length=1..100+1"),
            "over 1..100+1 would be more than 64 values; larger steps (A..B+STEP, A..B*FACTOR) make fewer");
  for (const char* no_number :
       {"stride=", "stride=x", "stride=1..", "stride=-1", "stride=1.5", "stride=99999999999999999999"})
    EXPECT_NE(rule(no_number).find("must be a whole number, A..B"), std::string::npos)
        << no_number << ": " << rule(no_number);
}

}  // namespace
}  // namespace convscope
