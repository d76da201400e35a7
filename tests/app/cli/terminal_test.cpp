// On a terminal long work shows a progress bar, in a pipe it shows none.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include "tests/app/cli/cli.h"

namespace convscope {
namespace {

using test::Words;

// `blocks` blocks of 20 ms, on a few workers, several times over.
Words work(int blocks) {
  return test::with_test_engine(
      {"run", "slow", "--length", std::to_string(blocks), "--dilation", "20", "--samples", "1"});
}

// A terminal: what is written to `name` is read from it.
class Terminal {
 public:
  Terminal() : fd_(posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK)) {
    if (fd_ < 0 || grantpt(fd_) != 0 || unlockpt(fd_) != 0) return;
    name = ptsname(fd_);
    keep_ = open(name.c_str(), O_RDWR | O_NOCTTY);  // else reading fails as soon as the program closes it
  }
  ~Terminal() {
    close(keep_);
    close(fd_);
  }
  std::string text() {
    char part[4096];
    for (ssize_t n; (n = read(fd_, part, sizeof part)) > 0;) all_.append(part, static_cast<size_t>(n));
    return all_;
  }
  std::string name;

 private:
  int fd_, keep_ = -1;
  std::string all_;
};

TEST(ProgressBar, IsDrawnOnATerminal) {
  Terminal terminal;
  if (terminal.name.empty()) GTEST_SKIP() << "no pseudo-terminals here";
  Words words = work(24);
  std::string script = "convscope";
  for (const auto& w : words)
    script += w.find(' ') == std::string::npos && w.find('\'') == std::string::npos ? " " + w : " \"" + w + "\"";
  auto r = test::convscope_shell(script + " 2> '" + terminal.name + "'");
  EXPECT_EQ(r.code, 0);
  std::string text = terminal.text();
  EXPECT_NE(text.find("run slow: "), std::string::npos) << text;
  EXPECT_NE(text.find("Ctrl-C stops"), std::string::npos) << text;
  EXPECT_NE(text.find(" %"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("\r\033[K")) << "nothing of it stays: " << text;
}

TEST(ProgressBar, IsNotDrawnInAPipe) {
  auto r = test::convscope_run(work(24));
  EXPECT_EQ(r.code, 0);
  EXPECT_GT(r.seconds, 0.5) << "long enough for a bar";
  EXPECT_EQ(r.err, "");
}

}  // namespace
}  // namespace convscope
