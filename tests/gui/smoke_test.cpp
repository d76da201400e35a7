// What `convscope screenshot` leaves behind and answers, with no display.
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

#include "tests/gui/picture.h"
#include "tests/gui/programs.h"
#include "tests/support.h"

namespace convscope::test {
namespace {

constexpr const char* panels[] = {"Problem", "Kernels", "Maps",   "Lines",     "Error statistics", "Explain",
                                  "Source",  "Verdict", "Timing", "Occupancy", "Devices",          "Log"};

class Smoke : public testing::Test {
 protected:
  ScratchFolder scratch;
  std::string session = write("small.convscope", R"({"type": "convscope-session", "version": 1, "kernel": "S4",
    "problem": {"in_channels": 4, "out_channels": 6, "kernel_size": 3, "length": 64, "stride": 2, "padding": 1, "dilation": 2},
    "view": {"selected": [2, 64]}})");

  std::string write(const std::string& name, const std::string& text) {
    return scratch.write(name, text.data(), text.size());
  }

  struct Outcome {
    int code;
    std::string out, err;
  };
  Outcome run(std::vector<std::string> words, std::vector<std::string> variables = {}) {
    variables.insert(variables.begin(), {"DISPLAY=", "WAYLAND_DISPLAY=", "CUDA_VISIBLE_DEVICES="});
    words.insert(words.begin(), built("convscope"));
    words.insert(words.begin(), variables.begin(), variables.end());
    Started s(scratch.path("."), words);
    int code = s.wait(110);
    return {code, s.out(), s.err()};
  }
  // A picture of a session; skips where nothing can draw.
  PngPicture shoot(std::vector<std::string> options, std::string name = "shot.png") {
    std::string file = scratch.path(name);
    options.insert(options.begin(), {"screenshot", file});
    Outcome o = run(options);
    if (o.code == 3) {
      no_egl = o.err;
      return {};
    }
    EXPECT_EQ(o.code, 0) << o.err;
    EXPECT_EQ(o.err, "");
    EXPECT_EQ(o.out, "");
    return read_png(file);
  }
  std::string no_egl;
};

#define SKIP_WITHOUT_EGL() \
  if (!no_egl.empty()) GTEST_SKIP() << no_egl

TEST_F(Smoke, VersionIsOneLine) {
  Outcome o = run({"--version"});
  EXPECT_EQ(o.code, 0);
  EXPECT_TRUE(o.out.starts_with("convscope ")) << o.out;
  EXPECT_EQ(lines_of(o.out), 1u);
  EXPECT_EQ(o.err, "");
}

TEST_F(Smoke, TheWholeWindow) {
  PngPicture p = shoot({"--session", session});
  SKIP_WITHOUT_EGL();
  EXPECT_EQ(p.width, 1600);
  EXPECT_EQ(p.height, 1000);
  EXPECT_GT(p.colours(), 500u);
  EXPECT_FALSE(p.blank());
}

// What a person sees first, and that it is the same each time.
TEST_F(Smoke, TheFirstSight) {
  PngPicture p = shoot({});
  SKIP_WITHOUT_EGL();
  EXPECT_GT(p.colours(), 500u);
  EXPECT_LT(p.largest_share(), 0.9);
}

TEST_F(Smoke, SizeThemeAndScale) {
  PngPicture dark = shoot({"--session", session, "--size", "900x700"}, "dark.png");
  SKIP_WITHOUT_EGL();
  PngPicture light = shoot({"--session", session, "--size", "900x700", "--theme", "light"}, "light.png");
  PngPicture large = shoot({"--session", session, "--size", "900x700", "--scale", "1.5"}, "large.png");
  EXPECT_EQ(dark.width, 900);
  EXPECT_EQ(dark.height, 700);
  EXPECT_LT(dark.mean_lightness(), 0.35);
  EXPECT_GT(light.mean_lightness(), 0.65);
  EXPECT_FALSE(light.blank());
  EXPECT_GT(large.differing(dark), 0.05);
}

TEST_F(Smoke, AnActionChangesThePicture) {
  PngPicture before = shoot({"--session", session, "--panel", "Maps", "--size", "900x600"}, "before.png");
  SKIP_WITHOUT_EGL();
  PngPicture after =
      shoot({"--session", session, "--panel", "Maps", "--size", "900x600", "--action", "next-failing"}, "after.png");
  EXPECT_GT(after.differing(before), 0.05);
}

// Its session may be a recording that comes with the program, by its name as for other verbs.
TEST_F(Smoke, ARecordingByItsName) {
  PngPicture p = shoot({"--session", "h200-kernelbench-79", "--panel", "Timing", "--size", "900x600"});
  SKIP_WITHOUT_EGL();
  EXPECT_FALSE(p.blank());
}

class SmokePanel : public Smoke, public testing::WithParamInterface<const char*> {};

TEST_P(SmokePanel, AloneIsNotBlank) {
  PngPicture p = shoot({"--session", session, "--panel", GetParam(), "--size", "800x600"});
  SKIP_WITHOUT_EGL();
  EXPECT_EQ(p.width, 800);
  EXPECT_EQ(p.height, 600);
  EXPECT_FALSE(p.blank()) << p.colours() << " colours, " << p.largest_share() << " of one";
}
INSTANTIATE_TEST_SUITE_P(All, SmokePanel, testing::ValuesIn(panels), [](const auto& info) {
  std::string name = info.param;
  std::erase(name, ' ');
  return name;
});

// The checker itself: a picture with nothing on it must not pass for one.
TEST_F(Smoke, ABlankPictureIsSeenAsBlank) {
  PngPicture p{800, 600, std::vector<uint32_t>(800 * 600, 0x202428)};
  write_png(scratch.path("blank.png"), p);
  EXPECT_TRUE(read_png(scratch.path("blank.png")).blank());
  for (int x = 0; x < 800; x++)
    p.pixels[static_cast<size_t>(x)] = 0xffffff, p.pixels[static_cast<size_t>(599 * 800 + x)] = 0x808080;
  write_png(scratch.path("frame.png"), p);
  EXPECT_TRUE(read_png(scratch.path("frame.png")).blank());
  for (size_t i = 0; i < 800 * 100; i++) p.pixels[i] = static_cast<uint32_t>(i * 7);
  write_png(scratch.path("full.png"), p);
  EXPECT_FALSE(read_png(scratch.path("full.png")).blank());
}

TEST_F(Smoke, WhatIsRefusedIsOneLine) {
  struct Case {
    std::vector<std::string> words;
    std::vector<std::string> says;
  };
  std::string broken = write("broken.convscope", "{"), file = scratch.path("never.png");
  const Case cases[] = {
      {{"--size", "1600"}, {"size", "1600", "WIDTHxHEIGHT"}},
      {{"--size", "20x20"}, {"size", "20x20", "from 200x150"}},
      {{"--size", "99999x99999"}, {"size", "to 8192x8192"}},
      {{"--size", "800x600x3"}, {"size"}},
      {{"--panel", "Mapps"}, {"panel", "Mapps", "Maps"}},
      {{"--session", scratch.path("not-there.convscope")}, {"not-there.convscope", "cannot be opened"}},
      {{"--session", "h200-kernelbench-7"}, {"session h200-kernelbench-7", "did you mean h200-kernelbench-7"}},
      {{"--session", broken}, {"broken.convscope", "is no convscope session"}},
      {{"--theme", "purple"}, {"theme purple", "must be dark or light"}},
      {{"--scale", "9"}, {"scale 9", "must be 0.75 to 2"}},
      {{"--timeout", "-3"}, {"timeout -3", "must be greater than 0 seconds"}},
      {{"--action", "next-failling"}, {"action next-failling", "did you mean next-failing?"}},
  };
  for (const auto& c : cases) {
    std::vector<std::string> words = {"screenshot", file};
    words.insert(words.end(), c.words.begin(), c.words.end());
    Outcome o = run(words);
    if (o.code == 3) GTEST_SKIP() << o.err;
    std::string what = c.words[0] + " " + c.words[1] + ": " + o.err;
    EXPECT_EQ(o.code, 2) << what;
    EXPECT_EQ(lines_of(o.err), 1u) << what;
    for (const auto& s : c.says) EXPECT_NE(o.err.find(s), std::string::npos) << what << " does not say " << s;
    EXPECT_FALSE(std::filesystem::exists(file)) << what;
  }
}

TEST_F(Smoke, APictureIsAPngByItsName) {
  Outcome o = run({"screenshot", scratch.path("shot.jpg"), "--session", session});
  if (o.code == 3) GTEST_SKIP() << o.err;
  EXPECT_EQ(o.code, 2) << o.err;
  EXPECT_NE(o.err.find("must end in .png"), std::string::npos) << o.err;
  EXPECT_FALSE(std::filesystem::exists(scratch.path("shot.jpg")));
}

TEST_F(Smoke, AFolderThatIsNotThereIsSaid) {
  Outcome o = run({"screenshot", scratch.path("no-folder") + "/shot.png", "--session", session, "--panel", "Problem"});
  if (o.code == 3) GTEST_SKIP() << o.err;
  EXPECT_NE(o.code, 0);
  EXPECT_EQ(lines_of(o.err), 1u) << o.err;
  EXPECT_NE(o.err.find("no-folder"), std::string::npos) << o.err;
}

TEST_F(Smoke, AnEngineThatDoesNotStartStillGivesAPicture) {
  std::string file = scratch.path("no-engine.png");
  Outcome o = run({"screenshot", file, "--session", session, "--engine", "false", "--timeout", "20"});
  if (o.code == 3 && o.err.find("OpenGL") != std::string::npos) GTEST_SKIP() << o.err;
  EXPECT_EQ(o.code, 0) << o.err;
  ASSERT_TRUE(std::filesystem::exists(file)) << o.err;
  EXPECT_FALSE(read_png(file).blank());
}

// Without a graphics library, or with one that offers no context: one sentence that says what to install.
TEST_F(Smoke, WithoutEglItSaysWhatIsMissing) {
  write("libEGL.so.1", "this is no library");
  for (const std::string& variable :
       {"LD_LIBRARY_PATH=" + scratch.path(""), std::string("__EGL_VENDOR_LIBRARY_FILENAMES=/nowhere")}) {
    Outcome o = run({"screenshot", scratch.path("never.png"), "--session", session}, {variable});
    EXPECT_EQ(o.code, 3) << variable << ": " << o.err;
    EXPECT_EQ(lines_of(o.err), 1u) << o.err;
    EXPECT_NE(o.err.find("EGL"), std::string::npos) << o.err;
    EXPECT_NE(o.err.find("nstall"), std::string::npos) << o.err;
    EXPECT_FALSE(std::filesystem::exists(scratch.path("never.png")));
  }
}

TEST_F(Smoke, WithoutADisplayTheWindowSaysWhatElseThereIs) {
  Outcome o = run({});
  EXPECT_EQ(o.code, 3);
  EXPECT_EQ(lines_of(o.err), 1u) << o.err;
  EXPECT_NE(o.err.find("convscope demo"), std::string::npos) << o.err;
}

}  // namespace
}  // namespace convscope::test
