// Which file a dialog asks for: names, lists, and what is not taken.
#include "app/model/asked_path.h"

#include <cerrno>
#include <dirent.h>
#include <dlfcn.h>
#include <filesystem>
#include <gtest/gtest.h>

#include "app/model/lesson.h"
#include "tests/support.h"

namespace {
int entries_until_it_fails = -1;  // -1: it does not
}

// A disk that fails while a folder is read: in front of the system's own, for all of this program.
extern "C" dirent* readdir(DIR* folder) {
  static auto* const own = reinterpret_cast<dirent* (*)(DIR*)>(dlsym(RTLD_NEXT, "readdir"));
  if (entries_until_it_fails == 0) {
    errno = EIO;
    return nullptr;
  }
  if (entries_until_it_fails > 0) entries_until_it_fails--;
  return own(folder);
}

namespace convscope {
namespace {

class AskedPaths : public testing::Test {
 protected:
  void TearDown() override { entries_until_it_fails = -1; }
  std::string write(const std::string& name) const { return folder_.write(name, "x", 1); }
  std::vector<std::string> listed(PathFor what) const {
    std::vector<std::string> names;
    for (const auto& e : folder_entries(folder_.path(""), what)) names.push_back(e.name + (e.is_folder ? "/" : ""));
    return names;
  }
  AskedPath asked(PathFor what, const std::string& name, const std::string& kernel = "S4") const {
    return asked_path(what, folder_.path(name), kernel);
  }
  test::ScratchFolder folder_;
};

TEST_F(AskedPaths, ListsWhatIsMeant) {
  using Names = std::vector<std::string>;
  for (const char* name : {"z.convscope", "a.convscope", "a.png", "x.npy", "x.npz", "k.cu", "k.py", "text.txt",
                           ".convscope", ".hidden.png"})
    write(name);
  std::filesystem::create_directory(folder_.path("folder"));
  std::filesystem::create_directory(folder_.path(".git"));
  EXPECT_EQ(listed(PathFor::open), (Names{"folder/", "a.convscope", "k.cu", "k.py", "x.npy", "x.npz", "z.convscope"}));
  EXPECT_EQ(listed(PathFor::save), (Names{"folder/", "a.convscope", "z.convscope"}));
  EXPECT_EQ(listed(PathFor::picture), (Names{"folder/", "a.png"}));
  for (PathFor source : {PathFor::pytorch, PathFor::cuda, PathFor::copy})
    EXPECT_EQ(listed(source), (Names{"folder/", "k.cu", "k.py"}));
  EXPECT_TRUE(folder_entries(folder_.path("not there"), PathFor::open).empty());
  EXPECT_TRUE(folder_entries(folder_.path("a.png"), PathFor::open).empty());
}

TEST_F(AskedPaths, AFolderThatFailsHalfwayIsListedAsFar) {
  for (const char* name : {"a.png", "b.png", "c.png", "d.png", "e.png"}) write(name);
  EXPECT_EQ(listed(PathFor::picture).size(), 5u);
  const size_t lessons = shipped_lessons().size();
  ASSERT_GT(lessons, 1u);
  entries_until_it_fails = 4;  // with . and ..
  const size_t some = listed(PathFor::picture).size();
  EXPECT_TRUE(some >= 2 && some <= 4) << some;
  entries_until_it_fails = 3;
  EXPECT_LT(shipped_lessons().size(), lessons);
}

TEST_F(AskedPaths, BeginsWithAName) {
  EXPECT_EQ(first_path(PathFor::open, "/s/one.convscope", false, "S4"), "");
  EXPECT_EQ(first_path(PathFor::save, "", false, "S4"), "experiment.convscope");
  EXPECT_EQ(first_path(PathFor::save, "/s/one.convscope", false, "S4"), "/s/one.convscope");
  EXPECT_EQ(first_path(PathFor::save, "/s/h200.convscope", true, "S4"), "h200-session.convscope")
      << "not into the recording, nor beside it";
  EXPECT_EQ(first_path(PathFor::picture, "", false, "S4"), "convscope.png");
  EXPECT_EQ(first_path(PathFor::pytorch, "", false, "S4"), "model_new.py");
  EXPECT_EQ(first_path(PathFor::cuda, "", false, "S4"), "conv_transpose1d.cu");
  EXPECT_EQ(first_path(PathFor::copy, "", false, "tiled"), "my_tiled.cu");
  EXPECT_EQ(first_path(PathFor::copy, "", false, "/k/theirs.cu:gather"), "my_theirs.cu");
  EXPECT_EQ(first_path(PathFor::copy, "", false, "/k/model.py"), "my_model.py");
}

TEST_F(AskedPaths, GetsItsEnding) {
  struct Case {
    PathFor what;
    const char *typed, *path, *kernel;
  };
  for (const Case& c : {Case{PathFor::save, "four", "four.convscope", "S4"},
                        {PathFor::save, "four.json", "four.json", "S4"},
                        {PathFor::picture, "a", "a.png", "S4"},
                        {PathFor::pytorch, "a", "a.py", "S4"},
                        {PathFor::cuda, "a", "a.cu", "S4"},
                        {PathFor::cuda, "a.cuh", "a.cuh", "S4"},
                        {PathFor::copy, "a", "a.cu", "S4"},
                        {PathFor::copy, "a.txt", "a.txt.cu", "S4"},
                        {PathFor::copy, "a.cu", "a.cu.py", "model.py"}}) {
    const AskedPath got = asked(c.what, c.typed, c.kernel);
    EXPECT_EQ(got.path, folder_.path(c.path));
    EXPECT_TRUE(got.possible && !got.replaces);
    EXPECT_EQ(got.words, std::string(c.typed) == c.path ? "" : "Saved as " + std::string(c.path));
  }
}

TEST_F(AskedPaths, SaysWhatIsReplaced) {
  write("a.convscope");
  for (const char* typed : {"a", "a.convscope"}) {
    const AskedPath got = asked(PathFor::save, typed);
    EXPECT_EQ(got.path, folder_.path("a.convscope"));
    EXPECT_TRUE(got.possible && got.replaces);
  }
  EXPECT_FALSE(asked(PathFor::open, "a.convscope").replaces);
}

TEST_F(AskedPaths, WhatIsNotTaken) {
  write("a.convscope");
  std::filesystem::create_directory(folder_.path("folder"));
  std::filesystem::create_directory(folder_.path("b.png"));
  for (PathFor what : {PathFor::open, PathFor::save, PathFor::picture, PathFor::copy}) {
    EXPECT_FALSE(asked_path(what, "", "S4").possible);
    for (const char* folder : {"folder", "folder/"}) {
      EXPECT_FALSE(asked(what, folder).possible);
      EXPECT_EQ(asked(what, folder).words, "") << "its files are listed";
    }
  }
  EXPECT_TRUE(asked(PathFor::open, "a.convscope").possible);
  EXPECT_FALSE(asked(PathFor::open, "a").possible) << "what is opened gets no ending";
  EXPECT_EQ(asked(PathFor::open, "a").words, "There is no such file.");
  EXPECT_FALSE(asked(PathFor::save, "new folder/").possible);
  EXPECT_EQ(asked(PathFor::save, "new folder/").words, "There is no such folder.");
  EXPECT_FALSE(asked(PathFor::picture, "b").possible);
  EXPECT_EQ(asked(PathFor::picture, "b").words, "b.png is a folder.");
}

}  // namespace
}  // namespace convscope
