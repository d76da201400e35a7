// Temporary files and folders, and programs that are run: what is left when their object, or their process, is gone.
#include "kernels/base/temporary.h"

#include <atomic>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "kernels/base/run_program.h"
#include "tests/support.h"

namespace convscope {
namespace {

namespace fs = std::filesystem;

TEST(Temporary, IsGoneWithItsObject) {
  std::string file, folder;
  {
    TemporaryFile f("twelve bytes");
    TemporaryFolder d;
    file = f.path(), folder = d.path();
    EXPECT_EQ(f.read(), "twelve bytes");
    EXPECT_TRUE(fs::is_regular_file(file));
    std::ofstream(d.path() / "within") << "text";
    EXPECT_TRUE(fs::is_directory(folder));
    remove_abandoned(fs::path(file).parent_path());
    EXPECT_TRUE(fs::exists(file)) << "its object lives";
    EXPECT_TRUE(fs::exists(folder));
  }
  EXPECT_FALSE(fs::exists(file));
  EXPECT_FALSE(fs::exists(folder));
}

TEST(Temporary, WhatWasAbandonedIsRemovedAndNothingElse) {
  test::ScratchFolder scratch;
  auto make = [&](const std::string& name) {
    std::ofstream(scratch.path(name)) << "text";
    return scratch.path(name);
  };
  const auto file = make("convscope-123-AbCdEf");
  const std::string folder = scratch.path("convscope-kernel-123-AbCdEf");
  fs::create_directories(folder + "/deep/er");
  make("convscope-kernel-123-AbCdEf/deep/source.cu");
  // A process that lives holds a lock.
  const std::string held = scratch.path("convscope-kernel-123-held00");
  fs::create_directory(held);
  const int lock = open(held.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(flock(lock, LOCK_EX | LOCK_NB), 0);
  // Of other forms: a person's, the folder of a user's modules, another program's.
  std::vector<std::string> others{make("mine.cu"), make("convscope-AbCdEf"), make("convscope-kernel-AbCdEf"),
                                  make("convscope-123-AbCdEfG"), make("convscope--AbCdEf")};
  others.push_back(scratch.path("convscope-1000"));
  fs::create_directory(others.back());
  // A link, and what it leads to.
  fs::create_directory(scratch.path("target"));
  others.push_back(make("target/kept"));
  others.push_back(scratch.path("convscope-kernel-123-Linked"));
  fs::create_symlink(scratch.path("target"), others.back());

  EXPECT_EQ(remove_abandoned(scratch.path("")), 2);
  EXPECT_FALSE(fs::exists(file));
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_TRUE(fs::exists(held));
  for (const auto& other : others) EXPECT_TRUE(fs::exists(other)) << other;
  close(lock);
  EXPECT_EQ(remove_abandoned(scratch.path("")), 1) << "its process is gone";
  EXPECT_EQ(remove_abandoned(scratch.path("nowhere")), 0);
}

TEST(Temporary, EachFolderLooksForWhatWasAbandoned) {
  TemporaryFolder first;
  const auto abandoned = first.path().parent_path() / "convscope-kernel-123-Later0";
  fs::create_directory(abandoned);
  TemporaryFile file;
  TemporaryFolder second;
  EXPECT_FALSE(fs::exists(abandoned)) << "a process may be killed after the first was made";
}

// Another process may look for what was abandoned between the moment a folder is made and that in which it is locked.
TEST(Temporary, IsMadeWhileOthersLookForWhatWasAbandoned) {
  const fs::path place = TemporaryFolder().path().parent_path();
  std::atomic<bool> over{false};
  std::vector<std::thread> others;
  for (int i = 0; i < 3; i++)
    others.emplace_back([&] {
      while (!over) remove_abandoned(place);
    });
  int made = 0;
  constexpr int wanted = 1500;
  for (int i = 0; i < wanted; i++) {
    const TemporaryFolder folder;
    made += !folder.path().empty() && fs::exists(folder.path());
  }
  over = true;
  for (auto& t : others) t.join();
  EXPECT_EQ(made, wanted);
}

bool runs(int pid) {
  const std::string stat = test::text_of_process(pid, "stat");
  const size_t at = stat.rfind(") ");
  return at != stat.npos && stat[at + 2] != 'Z' && stat[at + 2] != 'X';
}

// A compiler's driver starts compilers: they end with it, whether it is late, cancelled, or ended before them.
TEST(RunProgram, WhatAProgramStartedEndsWithIt) {
  test::ScratchFolder scratch;
  const std::string file = scratch.path("pid");
  for (const char* way : {"late", "cancelled", "ended"}) {
    fs::remove(file);
    const bool ends = way == std::string("ended");
    const std::string script =
        "sleep 600 & echo $! > '" + file + ".new'; mv '" + file + ".new' '" + file + "'" + (ends ? "" : "; wait");
    Activity activity;
    std::thread cancels([&] {
      while (way == std::string("cancelled") && !fs::exists(file)) usleep(1000);
      if (way == std::string("cancelled")) activity.cancel();
    });
    try {
      const auto r = run_program("/bin/sh", {"-c", script}, way == std::string("late") ? 1 : 100, activity);
      EXPECT_EQ(r.late, way == std::string("late"));
      EXPECT_EQ(r.status, ends ? 0 : -1);
    } catch (const Cancelled&) {
      EXPECT_STREQ(way, "cancelled");
    }
    cancels.join();
    int pid = 0;
    std::ifstream(file) >> pid;
    ASSERT_GT(pid, 0) << way;
    for (int i = 0; i < 5000 && runs(pid); i++) usleep(1000);
    EXPECT_FALSE(runs(pid)) << way;
  }
}

TEST(RunProgram, LeavesNoDescriptorAndNoChild) {
  auto descriptors = [] {
    int n = 0;
    for ([[maybe_unused]] const auto& e : fs::directory_iterator("/proc/self/fd")) n++;
    return n;
  };
  Activity activity;
  run_program("/bin/true", {}, 10, activity);
  const int before = descriptors();
  for (int i = 0; i < 20; i++) {
    EXPECT_EQ(run_program("/bin/sh", {"-c", "exit 3"}, 10, activity).status, 3);
    EXPECT_FALSE(run_program("/nowhere/program", {}, 10, activity).started);
  }
  EXPECT_EQ(descriptors(), before);
}

}  // namespace
}  // namespace convscope
