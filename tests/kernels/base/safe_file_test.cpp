// A file is the old one or the new one, whatever goes wrong; and what stands there stays what it is.
#include "kernels/base/safe_file.h"

#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "tests/support.h"

namespace convscope {
namespace {

class SafeWriting : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    return folder_.write(name, text.data(), text.size());
  }
  size_t files() const {
    namespace fs = std::filesystem;
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_.path("")), fs::directory_iterator()));
  }
  static mode_t mode_of(const std::string& file) {
    struct stat now {};
    return stat(file.c_str(), &now) == 0 ? now.st_mode & 07777 : 0;
  }

  test::ScratchFolder folder_;
};

TEST_F(SafeWriting, NewAndReplaced) {
  const std::string file = folder_.path("a.txt");
  for (const std::string text : {"first", "", "the third\n"}) {
    write_file_safely(file, text);
    EXPECT_EQ(test::text_file(file), text);
    EXPECT_EQ(files(), 1u) << "nothing is left beside it";
  }
}

// As when the disk is full.
TEST_F(SafeWriting, AWriteThatFailsHalfwayLeavesTheOld) {
  const std::string file = write("a.txt", "the old text");
  std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit was {};
  getrlimit(RLIMIT_FSIZE, &was);
  struct rlimit small = was;
  small.rlim_cur = 1000;
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string said = test::error_of<std::runtime_error>([&] { write_file_safely(file, std::string(5000, 'n')); });
  setrlimit(RLIMIT_FSIZE, &was);
  EXPECT_EQ(said, file + " cannot be written: File too large");
  EXPECT_EQ(test::text_file(file), "the old text");
  EXPECT_EQ(files(), 1u);
  write_file_safely(file, std::string(5000, 'n'));
  EXPECT_EQ(test::text_file(file), std::string(5000, 'n'));
}

TEST_F(SafeWriting, WhatIsGivenUpLeavesNothing) {
  const std::string file = write("a.txt", "old");
  {
    SafeFile out(file);
    out.write("half of it");
    EXPECT_EQ(files(), 2u);
    EXPECT_EQ(test::text_file(file), "old");
  }
  EXPECT_EQ(test::text_file(file), "old");
  EXPECT_EQ(files(), 1u);
}

// A person's own FILE.part, and what a process of the same number left when it was killed.
TEST_F(SafeWriting, WhatLiesBesideIsNotTouched) {
  const std::string file = write("a.txt", "old"), person = write("a.txt.part", "a person's"),
                    killed = write("a.txt.part" + std::to_string(getpid()) + "-0", "half");
  write_file_safely(file, "new");
  EXPECT_EQ(test::text_file(file), "new");
  EXPECT_EQ(test::text_file(person), "a person's");
  EXPECT_EQ(test::text_file(killed), "half");
  EXPECT_EQ(files(), 3u);
}

TEST_F(SafeWriting, TwoAtOnceAreEachWhole) {
  const std::string file = folder_.path("a.txt");
  SafeFile one(file), other(file);
  one.write("one"), other.write("the other");
  one.finish();
  EXPECT_EQ(test::text_file(file), "one");
  other.finish();
  EXPECT_EQ(test::text_file(file), "the other");
  EXPECT_EQ(files(), 1u);
}

TEST_F(SafeWriting, ANameAsLongAsItMayBe) {
  const std::string file = folder_.path(std::string(255, 'n'));
  write_file_safely(file, "text");
  EXPECT_EQ(test::text_file(file), "text");
  EXPECT_EQ(files(), 1u);
}

TEST_F(SafeWriting, KeepsTheMode) {
  const std::string file = write("run.sh", "old");
  for (mode_t mode : {0700u, 0640u, 0666u}) {
    chmod(file.c_str(), mode);
    write_file_safely(file, "new");
    EXPECT_EQ(mode_of(file), mode);
  }
}

// Root may write everything: then this is one who is not root.
TEST_F(SafeWriting, WhatMayNotBeWrittenIsNotReplaced) {
  const std::string file = write("a.txt", "old");
  chmod(folder_.path("").c_str(), 0777);
  chmod(file.c_str(), 0444);
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(2);
    try {
      write_file_safely(file, "new");
    } catch (const std::runtime_error&) {
      _exit(0);
    }
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(test::text_file(file), "old");
  EXPECT_EQ(files(), 1u);
}

TEST_F(SafeWriting, ALinkStays) {
  namespace fs = std::filesystem;
  fs::create_directory(folder_.path("deep"));
  const std::string file = write("deep/a.txt", "old"), link = folder_.path("link"), far = folder_.path("far");
  fs::create_symlink("deep/a.txt", link);  // relative to where it lies
  fs::create_symlink(link, far);
  write_file_safely(far, "new");
  EXPECT_EQ(test::text_file(file), "new");
  EXPECT_TRUE(fs::is_symlink(link) && fs::is_symlink(far));
  // One that leads to what is not there yet, and one that leads nowhere.
  fs::create_symlink("deep/b.txt", folder_.path("new"));
  write_file_safely(folder_.path("new"), "b");
  EXPECT_EQ(test::text_file(folder_.path("deep/b.txt")), "b");
  EXPECT_TRUE(fs::is_symlink(folder_.path("new")));
  fs::create_symlink("round", folder_.path("round"));
  EXPECT_THROW(write_file_safely(folder_.path("round"), "x"), std::runtime_error);
  EXPECT_TRUE(fs::is_symlink(folder_.path("round")));
  EXPECT_EQ(files(), 5u) << "a folder and four links";
}

// Through links in a folder of the test's own, so that a program that replaces them breaks nothing of the machine's.
TEST_F(SafeWriting, DevicesAreWrittenTo) {
  namespace fs = std::filesystem;
  const std::string null = folder_.path("null"), full = folder_.path("full");
  fs::create_symlink("/dev/null", null);
  fs::create_symlink("/dev/full", full);
  write_file_safely(null, "text");
  EXPECT_TRUE(fs::is_symlink(null) && fs::is_character_file(null));
  EXPECT_EQ(test::error_of<std::runtime_error>([&] { write_file_safely(full, "text"); }),
            full + " cannot be written: No space left on device");
  EXPECT_TRUE(fs::is_symlink(full) && fs::is_character_file(full));
  EXPECT_EQ(files(), 2u);
}

TEST_F(SafeWriting, AFifoIsWrittenTo) {
  const std::string fifo = folder_.path("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] {
    std::ifstream in(fifo);
    std::getline(in, got);
  });
  write_file_safely(fifo, "through it");
  reader.join();  // who replaces the FIFO leaves it waiting for ever
  EXPECT_EQ(got, "through it");
  EXPECT_TRUE(std::filesystem::is_fifo(fifo));
  EXPECT_EQ(files(), 1u);
}

// As /dev/stdout and a shell's >(…) are: names of what is open already, here a file with something in it.
TEST_F(SafeWriting, WhatIsOpenIsWrittenToAtItsPlace) {
  const std::string file = folder_.path("out.txt"), link = folder_.path("stdout");
  const int open_file = open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(open_file, 0);
  ASSERT_EQ(::write(open_file, "before ", 7), 7);
  std::filesystem::create_symlink("/proc/self/fd/" + std::to_string(open_file), link);
  write_file_safely(link, "text ");
  write_file_safely("/dev/fd/" + std::to_string(open_file), "and more ");
  ASSERT_EQ(::write(open_file, "after", 5), 5) << "it is the descriptor itself, which stays open";
  close(open_file);
  EXPECT_EQ(test::text_file(file), "before text and more after");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(files(), 2u);
  EXPECT_THROW(write_file_safely(link, "text"), std::runtime_error) << "closed";
}

TEST_F(SafeWriting, AFolderIsNotReplaced) {
  std::filesystem::create_directory(folder_.path("folder"));
  EXPECT_THROW(write_file_safely(folder_.path("folder"), "x"), std::runtime_error);
  EXPECT_THROW(write_file_safely(folder_.path("not/there"), "x"), std::runtime_error);
  EXPECT_TRUE(std::filesystem::is_directory(folder_.path("folder")));
  EXPECT_EQ(files(), 1u);
}

}  // namespace
}  // namespace convscope
