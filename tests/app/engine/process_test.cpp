// Child processes: how they start, end, and are ended; and how a command line is split.
#include "app/engine/process.h"

#include <csignal>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/base/error.h"
#include "tests/app/engine/harness.h"

namespace convscope {
namespace {

using Words = std::vector<std::string>;

std::string all_of(int fd) {
  std::string all, part(4096, '\0');
  for (ssize_t n; (n = read(fd, part.data(), part.size())) > 0;) all.append(part, 0, static_cast<size_t>(n));
  return all;
}

TEST(SplitCommand, LikeAShell) {
  EXPECT_EQ(split_command("engine"), (Words{"engine"}));
  EXPECT_EQ(split_command("  ssh\tbox   convscope engine "), (Words{"ssh", "box", "convscope", "engine"}));
  EXPECT_EQ(split_command("sh -c 'echo a; exec b \"c d\"'"), (Words{"sh", "-c", "echo a; exec b \"c d\""}));
  EXPECT_EQ(split_command("\"/a path/convscope\" engine"), (Words{"/a path/convscope", "engine"}));
  EXPECT_EQ(split_command("a'b c'd \"\" ''"), (Words{"ab cd", "", ""}));
  auto said = [](const std::string& s) { return test::error_of<InputError>([&] { split_command(s); }); };
  EXPECT_EQ(said(""), "engine must name a command");
  EXPECT_EQ(said(" \t "), "engine  \t  must name a command");
  EXPECT_EQ(said("a 'b"), "engine a 'b has a quote that is not closed");
  EXPECT_EQ(said("a \"b'"), "engine a \"b' has a quote that is not closed");
}

TEST(ChildProcess, HasThreePipes) {
  test::NothingLeft nothing_left;
  ChildProcess p({"sh", "-c", "read x; echo got $x; echo said >&2"});
  ASSERT_EQ(write(p.to(), "this\n", 5), 5);
  EXPECT_EQ(all_of(p.from()), "got this\n");
  EXPECT_EQ(all_of(p.log()), "said\n");
  EXPECT_EQ(p.wait(), "");
}

TEST(ChildProcess, SaysHowItEnded) {
  test::NothingLeft nothing_left;
  EXPECT_EQ(ChildProcess({"true"}).wait(), "");
  EXPECT_EQ(ChildProcess({"sh", "-c", "exit 3"}).wait(), "exit code 3");
  EXPECT_EQ(ChildProcess({"sh", "-c", "kill -SEGV $$"}).wait(), "signal 11 (Segmentation fault)");
  EXPECT_EQ(ChildProcess({"sh", "-c", "kill -KILL $$"}).wait(), "signal 9 (Killed)");
  ChildProcess p({"sleep", "100"});
  EXPECT_FALSE(p.ended());
  p.kill();
  EXPECT_EQ(p.wait(), "signal 9 (Killed)");
  EXPECT_TRUE(p.ended());
  EXPECT_EQ(p.wait(), "signal 9 (Killed)") << "it can be asked again";
  p.kill();  // of nothing
}

TEST(ChildProcess, CannotBeStarted) {
  test::NothingLeft nothing_left;
  EXPECT_EQ(test::error_of<std::runtime_error>([] { ChildProcess p({"/no/such/program"}); }),
            "cannot start /no/such/program: No such file or directory");
  EXPECT_EQ(test::error_of<std::runtime_error>([] { ChildProcess p({"/tmp"}); }),
            "cannot start /tmp: Permission denied");
}

TEST(ChildProcess, EndsWithTheObject) {
  test::NothingLeft nothing_left;
  pid_t pid = 0;
  {
    ChildProcess p({"sleep", "100"});
    pid = p.pid();
    EXPECT_TRUE(test::exists(pid));
  }
  EXPECT_FALSE(test::exists(pid));
}

// The engine may be the child of a shell, or of a wrapper that does not pass signals on.
TEST(ChildProcess, IsKilledWithItsChildren) {
  test::NothingLeft nothing_left;
  pid_t grandchild = 0;
  {
    ChildProcess p({"sh", "-c", "sleep 100 & echo $!; wait"});
    std::string text(32, '\0');
    ASSERT_GT(read(p.from(), text.data(), text.size()), 0);
    grandchild = std::stoi(text);
    ASSERT_TRUE(test::exists(grandchild));
  }
  EXPECT_TRUE(test::wait_until([&] { return !test::exists(grandchild); }));
}

// Another child's pipe that is inherited would keep that child's stdin open for ever.
TEST(ChildProcess, InheritsNoPipesOfOthers) {
  ChildProcess cat({"cat"});
  ChildProcess later({"sleep", "100"});
  cat.close_input();
  EXPECT_TRUE(test::wait_until([&] { return cat.ended(); }));
}

// Signals blocked or ignored here are not blocked or ignored there.
TEST(ChildProcess, StartsWithDefaultSignals) {
  std::signal(SIGPIPE, SIG_IGN);
  auto old = std::signal(SIGINT, SIG_IGN);
  sigset_t block, before;
  sigemptyset(&block);
  sigaddset(&block, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &block, &before);
  ChildProcess p({"sh", "-c", "grep -E 'Sig(Blk|Ign)' /proc/self/status"});
  std::string status = all_of(p.from());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  std::signal(SIGINT, old);
  auto set = [&](const std::string& name) {
    return std::stoull(status.substr(status.find(name) + name.size()), nullptr, 16);
  };
  EXPECT_EQ(set("SigBlk:"), 0u) << status;
  EXPECT_EQ(set("SigIgn:") & (1u << (SIGPIPE - 1) | 1u << (SIGINT - 1)), 0u) << status;
}

TEST(StandardDescriptors, AreOpenedWhereTheyAreMissing) {
  // In a child, since this process needs its own.
  pid_t pid = fork();
  if (pid == 0) {
    close(0), close(1), close(2);
    open_standard_descriptors();
    int next = dup(0);
    _exit(next == 3 || next > 3 ? 0 : 1);
  }
  int status = 1;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace convscope
