// The README's pictures of the window are what the program draws today, or `./dev pictures` has been forgotten.
#include <gtest/gtest.h>

#include "tests/gui/picture.h"
#include "tests/gui/programs.h"
#include "tests/support.h"

namespace convscope::test {
namespace {

// Times differ from machine to machine, and with them a bar and some digits; what is drawn else does not.
constexpr double most_differing = 0.06;

class Readme : public testing::Test {
 protected:
  ScratchFolder scratch;
  std::string no_egl;

  PngPicture shoot(std::vector<std::string> options) {
    std::string file = scratch.path("window.png");
    std::vector<std::string> words = {
        "DISPLAY=", "WAYLAND_DISPLAY=", "CUDA_VISIBLE_DEVICES=", built("convscope"), "screenshot", file};
    words.insert(words.end(), options.begin(), options.end());
    Started s(scratch.path("."), words);
    int code = s.wait(110);
    if (code == 3)
      no_egl = s.err();
    else
      EXPECT_EQ(code, 0) << s.err();
    return code == 0 ? read_png(file) : PngPicture{};
  }
};

TEST_F(Readme, ItsPictureOfTheWindowIsOfToday) {
  PngPicture kept = read_png("assets/pictures/window-S4.png");
  PngPicture now = shoot({"--action", "next-failing"});
  if (!no_egl.empty()) GTEST_SKIP() << no_egl;
  ASSERT_EQ(now.width, kept.width);
  ASSERT_EQ(now.height, kept.height);
  EXPECT_LE(now.differing(kept), most_differing) << "refresh it with ./dev pictures";
}

TEST_F(Readme, ItsPictureOfTheLadderIsOfToday) {
  PngPicture kept = read_png("assets/pictures/ladder.png");
  PngPicture now = shoot({"--session", "h200-kernelbench-79", "--panel", "Ladder", "--size", "1100x800"});
  if (!no_egl.empty()) GTEST_SKIP() << no_egl;
  ASSERT_EQ(now.width, kept.width);
  ASSERT_EQ(now.height, kept.height);
  // All that it shows is recorded: the same on every machine but for the smoothing of letters.
  EXPECT_LE(now.differing(kept), 0.01) << "refresh it with ./dev pictures";
  PngPicture other = shoot({"--session", "h200-kernelbench-74", "--panel", "Ladder", "--size", "1100x800"});
  EXPECT_GT(other.differing(kept), 0.01);
}

TEST_F(Readme, ItsPictureOfASweepIsOfToday) {
  PngPicture kept = read_png("assets/pictures/sweep.png");
  PngPicture now = shoot({"--panel", "Sweep", "--size", "1100x620", "--action", "sweep"});
  if (!no_egl.empty()) GTEST_SKIP() << no_egl;
  ASSERT_EQ(now.width, kept.width);
  ASSERT_EQ(now.height, kept.height);
  // Predicted times and verdicts: the same on every machine without a GPU.
  EXPECT_LE(now.differing(kept), 0.01) << "refresh it with ./dev pictures";
  PngPicture other = shoot({"--panel", "Sweep", "--size", "1100x620"});
  EXPECT_GT(other.differing(kept), 0.01) << "without verdicts it is another";
}

TEST_F(Readme, AnotherWindowWouldBeSeen) {
  PngPicture kept = read_png("assets/pictures/window-S4.png");
  PngPicture other = shoot({"--action", "kernel-7"});
  if (!no_egl.empty()) GTEST_SKIP() << no_egl;
  EXPECT_GT(other.differing(kept), most_differing);
}

}  // namespace
}  // namespace convscope::test
