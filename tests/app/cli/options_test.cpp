// Options: what a verb makes use of is what it offers, and what it is given has an effect or is refused.
#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/app/cli/cli.h"

namespace convscope {
namespace {

using test::operator+;
using test::convscope_run;
using test::expect_refused;
using test::holds;
using test::json;
using test::Words;

TEST(Options, WithoutEffectAreNotOffered) {
  const std::pair<Words, std::vector<std::string>> verbs[] = {
      {{"check", "direct"}, {"--input", "--weight", "--bias-values", "--samples", "--tolerance"}},
      {{"explain", "direct", "--at", "0,0,0"}, {"--samples", "--tolerance"}},
      {{"xray", "direct"}, {"--samples", "--tolerance"}},
      {{"export", "direct"}, {"--samples", "--input", "--seed", "--tolerance"}},
      {{"profile", "direct"}, {"--tolerance"}},
      {{"bench", "direct"}, {"--tolerance"}},
      {{"sweep", "direct", "--over", "stride=1..2"}, {"--tolerance"}},
      {{"list", "kernels"}, {"--trust"}},
      {{"info"}, {"--trust"}}};
  for (const auto& [words, options] : verbs) {
    const std::string help = convscope_run({"help", words[0]}).out;
    for (const auto& option : options) {
      EXPECT_FALSE(holds(help, "  " + option + " ")) << words[0] << " " << option;
      expect_refused(words + Words{option, "1"}, "option", option,
                     "is none of `" + words[0] + "`: see `convscope help " + words[0] + "`");
    }
  }
  // interface.md has them with every problem: taken, and of no effect on what makes its own inputs.
  EXPECT_FALSE(holds(convscope_run({"help", "xray"}).out, "  --input "));
  EXPECT_EQ(convscope_run({"xray", "direct", "--input", "ones", "--length", "20"}).code, 0);
}

TEST(Options, EmptyValuesAreRefused) {
  for (const char* option : {"preset", "seed", "samples", "timeout", "tolerance", "save", "engine", "device", "dtype",
                             "input", "accuracy", "recording"}) {
    expect_refused({"run", "direct", std::string("--") + option, ""}, option, "", "must not be empty");
    expect_refused({"run", "direct", std::string("--") + option + "=", "3"}, option, "", "must not be empty");
  }
  expect_refused({"check", "direct", "--cases", ""}, "cases", "", "must not be empty");
  expect_refused({"export", "direct", "--function", ""}, "function", "", "must not be empty");
}

TEST(Options, FlagsTakeNoValue) {
  for (const char* value : {"7", "yes", "false"})
    expect_refused({"run", "direct", std::string("--bias=") + value}, "bias", value,
                   "is one value too many: --bias stands alone");
  auto r = convscope_run({"run", "direct", "--json=yes"});
  EXPECT_EQ(r.code, 2);
  EXPECT_EQ(r.err, "convscope: json yes is one value too many: --json stands alone\n");
}

TEST(Options, TimeoutsAndDevicesOfVerbsThatRunNothing) {
  expect_refused({"list", "presets", "--timeout", "soon"}, "timeout", "soon", "must be a number");
  expect_refused({"info", "--device", "nosuch"}, "device", "nosuch", "must be auto, emulator, cuda or cuda:N");
  EXPECT_EQ(convscope_run({"info", "--device", "emulator"}).code, 0);
}

TEST(Options, HelpSaysWhatNoughtMeans) {
  const std::string out = convscope_run({"help", "record"}).out;
  EXPECT_TRUE(holds(out, "0: no limit")) << out;
  EXPECT_TRUE(holds(out, "seconds, more than 0,")) << out;
}

// ---- files ----------------------------------------------------------------------------------------------------------

TEST(Options, AFolderIsNoFileToWrite) {
  test::ScratchFolder folder;
  for (const Words& verb :
       {Words{"record", folder.path("."), "direct"}, Words{"export", "direct", "--out", folder.path(".")},
        Words{"bench", "direct", "tiled", "--out", folder.path(".")}})
    expect_refused(verb, "out", folder.path("."), "is a folder: a file is needed");
}

// What is wrong with the file is said, and not that a display lacks.
TEST(Options, TheWindowsFileIsLookedAtFirst) {
  test::ScratchFolder folder;
  auto said = [](const std::string& file) {
    auto r = convscope_run({file});
    EXPECT_EQ(r.code, 2) << r.err;
    return r.err;
  };
  EXPECT_EQ(said("nosuch.cu"), "convscope: kernel nosuch.cu is no file that is there\n");
  EXPECT_EQ(said("nosuch.npy"), "convscope: file nosuch.npy is no file that is there\n");
  const std::string broken = folder.write("broken.convscope", "{", 1), other = folder.write("other.convscope", "{}", 2);
  EXPECT_TRUE(said(broken).starts_with("convscope: session " + broken + " "));
  EXPECT_EQ(said(other), "convscope: session " + other + " is no convscope session\n");
  EXPECT_EQ(convscope_run({"assets/kernels/gather.cu"}).code, 3) << "there is no display";
}

// ---- screenshot -----------------------------------------------------------------------------------------------------

bool has_window() {
  auto r = convscope_run({"screenshot", "/tmp/x.png", "--theme", "loud"});
  return !holds(r.err, "this build has no window");
}

TEST(Screenshot, RefusesBeforeItDraws) {
  expect_refused({"screenshot", "/proc/self/x.png"}, "out", "/proc/self/x.png", "cannot be written");
  expect_refused({"screenshot", "x.jpg"}, "out", "x.jpg", "must end in .png: it becomes a PNG file");
  test::ScratchFolder folder;
  const std::string out = folder.path("x.png");
  expect_refused({"screenshot", out, "--timeout", "abc"}, "timeout", "abc", "must be a number");
  expect_refused({"screenshot", out, "--timeout", "0"}, "timeout", "0", "must be greater than 0 seconds");
  expect_refused({"screenshot", out, "--scale", "big"}, "scale", "big", "must be a number");
  expect_refused({"screenshot", out, "--scale", "3.0"}, "scale", "3.0", "must be 0.75 to 2");
  EXPECT_FALSE(std::filesystem::exists(out));
}

// A kernel's file is code, and a picture runs it.
TEST(Screenshot, OfAFileThatIsNotTrusted) {
  test::ScratchFolder folder;
  const std::string out = folder.path("x.png");
  expect_refused({"screenshot", out, "--session", "assets/kernels/gather.cu"}, "kernel", "assets/kernels/gather.cu",
                 "is code from outside that would run with your rights: look through it, then add --trust");
  expect_refused({"screenshot", out, "--session", "nosuch.py"}, "kernel", "nosuch.py", "is no file that is there");
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(Screenshot, AHalfPictureIsNoSuccess) {
  if (!has_window()) GTEST_SKIP() << "this build has no window";
  test::ScratchFolder folder;
  const Words verb = {"screenshot", folder.path("x.png"), "--timeout", "0.001"};
  auto r = convscope_run(verb);
  if (r.code == 3) GTEST_SKIP() << r.err;
  EXPECT_EQ(r.code, 1);
  EXPECT_TRUE(r.err.starts_with("convscope: the picture was not complete after ")) << r.err;
  EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  r = convscope_run(verb + Words{"--json"});
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.document()["complete"], false);
}

// What the other program refuses has the same form.
TEST(Screenshot, EveryExitHasADocument) {
  if (!has_window()) GTEST_SKIP() << "this build has no window";
  test::ScratchFolder folder;
  const std::string out = folder.path("x.png"), broken = folder.write("a b.convscope", "{}", 2);
  expect_refused({"screenshot", out, "--theme", "loud"}, "theme", "loud", "must be dark or light");
  expect_refused({"screenshot", out, "--size", "1"}, "size", "1",
                 "must be WIDTHxHEIGHT in pixels, from 200x150 to 8192x8192");
  auto r = convscope_run({"screenshot", out, "--action", "nothing at all", "--json"});
  EXPECT_EQ(r.code, 2);
  EXPECT_EQ(r.document()["error"]["field"], "action");
  EXPECT_EQ(r.document()["error"]["value"], "nothing at all");
  r = convscope_run({"screenshot", out, "--session", broken, "--json"});
  EXPECT_NE(r.code, 0);
  EXPECT_TRUE(r.document()["error"]["rule"].is_string()) << "refused, or nothing to draw with: " << r.err;
}

// ---- where compiled kernels are kept --------------------------------------------------------------------------------

// Compilers run in folders of their own: a name that counts from the working folder means another place there.
TEST(Cache, OfARelativeName) {
  test::ScratchFolder folder;
  const std::filesystem::path cache = test::own_cache(folder);
  const std::string run = "cd '" + folder.path(".") + "'; convscope run '" +
                          test::project_file("assets/kernels/gather.cu") + "' --trust --length 20";
  auto r = test::convscope_shell(run, {"CONVSCOPE_CACHE=" + cache.filename().string()});
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_TRUE(holds(r.out, "right: ")) << r.out;
  // The XDG specification has relative values ignored.
  r = test::convscope_shell(run, {"CONVSCOPE_CACHE=", "XDG_CACHE_HOME=here", "HOME=" + folder.path("home")});
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_TRUE(std::filesystem::exists(folder.path("home/.cache/convscope/kernels")));
  EXPECT_FALSE(std::filesystem::exists(folder.path("here")));
}

TEST(Cache, WithoutAHomeKernelsRunAllTheSame) {
  test::ScratchFolder folder;
  const Words nowhere = {"CONVSCOPE_CACHE=", "XDG_CACHE_HOME=", "HOME=/proc/nowhere", "TMPDIR=" + folder.path(".")};
  const Words run = {"run", "assets/kernels/gather.cu", "--trust", "--length", "20"};
  auto r = convscope_run(run, nowhere);
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_TRUE(holds(r.err, "/proc/nowhere/.cache/convscope/kernels cannot be created: compiled kernels are kept in "))
      << r.err;
  const auto kept = std::filesystem::path(folder.path(".")) / ("convscope-" + std::to_string(geteuid()));
  for (const auto& made : {kept, kept / "kernels"})
    EXPECT_EQ(std::filesystem::status(made).permissions() & std::filesystem::perms::all,
              std::filesystem::perms::owner_all)
        << made;
  // Somebody else's folder of that name is not taken.
  std::filesystem::permissions(kept, std::filesystem::perms::group_write, std::filesystem::perm_options::add);
  r = convscope_run(run, nowhere);
  EXPECT_EQ(r.code, 3) << r.out;
  EXPECT_TRUE(holds(r.err, " is no folder of this user's alone")) << r.err;
  // One that was named is not replaced by another.
  r = convscope_run(run, {"CONVSCOPE_CACHE=/proc/nowhere"});
  EXPECT_EQ(r.code, 3) << r.out;
  EXPECT_TRUE(holds(r.err, "/proc/nowhere/kernels cannot be created or written")) << r.err;
}

}  // namespace
}  // namespace convscope
