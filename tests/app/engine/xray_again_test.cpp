// What is asked of an engine after the one before ended on a small problem, and what is looked at on the emulator where
// a GPU ended a launch.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "app/engine/xray_codec.h"
#include "kernels/problem/counts.h"

namespace convscope {
namespace {
using nlohmann::json;

TEST(XrayAgain, LeavesOutWhatEndedTheEngine) {
  XrayAgain again;
  json header = {{"type", "xray"}};
  again.put_into(header);
  EXPECT_FALSE(header.contains("left_out"));
  EXPECT_FALSE(again.after("died before it began")) << "nothing says where";
  again.heard(XrayAgain::begun(0));
  again.heard(XrayAgain::begun(3));
  EXPECT_TRUE(again.after("a division by zero"));
  again.put_into(header);
  const XrayLimits limits = xray_limits(header);
  ASSERT_EQ(limits.left_out.size(), 1u);
  EXPECT_EQ(limits.left_out.at(3), "on it the kernel ended the engine: a division by zero");
}

TEST(XrayAgain, EndsWhereItDoesNotHelp) {
  XrayAgain again;
  again.heard("not JSON"), again.heard(R"({"maps": -1})"), again.heard(R"({"maps": "two"})");
  EXPECT_FALSE(again.after("?"));
  again.heard(XrayAgain::begun(1));
  EXPECT_TRUE(again.after("once"));
  EXPECT_FALSE(again.after("on one that was left out"));
  again.heard(XrayAgain::begun(2));
  EXPECT_TRUE(again.after("twice"));
  again.heard(XrayAgain::begun(4));
  EXPECT_TRUE(again.after("a third time")) << "a later step, when two small problems have left out all";
  again.heard(XrayAgain::begun(5));
  EXPECT_FALSE(again.after("a fourth time"));
}

TEST(XrayAgain, LimitsOfAnyType) {
  const XrayLimits limits =
      xray_limits({{"limit_s", "soon"}, {"left_out", {1, "x", {{"place", -2}}, {{"place", 2}, {"why", 7}}}}});
  EXPECT_EQ(limits.seconds, XrayLimits{}.seconds);
  EXPECT_EQ(limits.left_out.size(), 1u);
  EXPECT_TRUE(limits.left_out.contains(2));
}

TEST(SeenByTheEmulator, APieceOfTheProblem) {
  ConvProblem p{.batch = 64, .in_channels = 128, .out_channels = 128, .kernel_size = 3, .length = 65536};
  const auto piece = piece_for_the_emulator(p);
  ASSERT_TRUE(piece);
  EXPECT_EQ(piece->in_channels, 128);
  EXPECT_LE(walked_products(*piece), 2e7);
  EXPECT_EQ(piece->length, 130);
  p.length = 5;
  EXPECT_EQ(piece_for_the_emulator(p)->length, 5);
  p.in_channels = p.out_channels = 4096;
  EXPECT_FALSE(piece_for_the_emulator(p));
}

TEST(SeenByTheEmulator, ItsWords) {
  EXPECT_TRUE(ended_by_a_gpu("crashed: kernel k failed: an illegal memory access (CUDA_ERROR_ILLEGAL_ADDRESS, 700)"));
  EXPECT_FALSE(ended_by_a_gpu("crashed: an address that is not there was used (signal 11)"));
  const ConvProblem p{.length = 16};
  auto cause = [&](const char* status, const char* sentence) {
    return cause_seen_by_the_emulator({{"verdict", {{"status", status}, {"sentence", sentence}}}}, p);
  };
  EXPECT_EQ(cause("right", "right: all"), "");
  EXPECT_EQ(cause("not-run", "not run: it takes no bias"), "");
  EXPECT_EQ(cause("wrong", "wrong: writes element 256 of part"),
            "writes element 256 of part (found by the emulator, on " + describe(p) + ")");
  EXPECT_EQ(cause("crashed", "a division by zero"),
            "a division by zero (found by the emulator, on " + describe(p) + ")");
  EXPECT_EQ(cause_seen_by_the_emulator(json::array(), p), "");
}

// Where there was no time to judge the asked problem as well, the verdict knows that it is right.
TEST(CauseWords, OfWhatIsRightByItsVerdict) {
  auto said = [](const char* sentence) {
    return cause_words({{"status", "wrong"}, {"sentence", sentence}}, true, {}).sentence;
  };
  const std::string sizes = "right with 32 input channels, wrong with 33", here = "right here, but not in general: ";
  EXPECT_EQ(said(sizes.c_str()), here + sizes);
  EXPECT_EQ(said("seen on other small problems: the dilation is missing"), here + "the dilation is missing");
  EXPECT_EQ(said("the dilation is missing"), "") << "which the verdict contradicts";
  EXPECT_EQ(cause_words({{"status", "wrong"}, {"sentence", sizes}}, false, {}).sentence, sizes);
}

}  // namespace
}  // namespace convscope
