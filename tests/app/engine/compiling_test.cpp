// Engines that end while a kernel file is compiled: their compilers end with them, and their folders do not stay.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <sys/stat.h>

#include "app/engine/frame.h"
#include "app/engine/kernel_file.h"
#include "app/engine/process.h"
#include "tests/app/engine/harness.h"

namespace convscope {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class Compiling : public testing::Test {
 protected:
  // A compiler that starts another program, as drivers do, and waits for it: for ever.
  Compiling() {
    fs::create_directory(temporary_);
    const std::string script = folder_.path("compiler");
    std::ofstream(script)
        << "#!/bin/sh\ncase \"$*\" in *'-fsyntax-only /dev/null') exit 0;; esac\nsleep 600 &\necho $! >> '"
        << folder_.path("pids") << "'\nwait\n";
    chmod(script.c_str(), 0755);
  }
  std::string engine() const {
    return test::test_engine_with("CONVSCOPE_CXX=" + folder_.path("compiler") +
                                  " CONVSCOPE_CACHE=" + folder_.path("cache") + " TMPDIR=" + temporary_);
  }
  static json request() { return json::parse(kernel_file_request("mine.cu", "emulator")); }
  static std::string text() { return test::text_file(test::project_file("assets/kernels/gather.cu")); }

  std::set<pid_t> started() const {
    std::set<pid_t> all;
    std::ifstream in(folder_.path("pids"));
    for (pid_t pid; in >> pid;) all.insert(pid);
    return all;
  }
  bool compiles() const {
    return test::wait_until([&] { return !started().empty(); });
  }
  bool all_end() const {
    return test::wait_until([&] {
      for (pid_t pid : started())
        if (test::exists(pid)) return false;
      return true;
    });
  }
  std::set<std::string> left() const {
    std::set<std::string> names;
    for (const auto& e : fs::directory_iterator(temporary_)) names.insert(e.path().filename());
    return names;
  }

  test::NothingLeft nothing_left_;
  test::ScratchFolder folder_;
  std::string temporary_ = folder_.path("temporary");
};

TEST_F(Compiling, ACancelEndsWhatTheCompilerStarted) {
  EngineClient client({.command = engine()});
  test::Collector all;
  const uint64_t id = client.post(request().dump(), as_payload(text()), all.handlers());
  ASSERT_TRUE(compiles());
  client.cancel(id);
  ASSERT_TRUE(all.wait(1));
  EXPECT_EQ(json::parse(all.answers()[0].header).value("code", ""), "cancelled");
  EXPECT_TRUE(all_end());
  EXPECT_EQ(client.starts(), 1);
  EXPECT_EQ(left(), std::set<std::string>()) << "nothing that was made for it stays";
}

TEST_F(Compiling, AKilledEngineLeavesNoCompilerAndTheNextOneRemovesItsFolder) {
  EngineClient client({.command = engine()});
  test::Collector killed, next;
  client.post(request().dump(), as_payload(text()), killed.handlers());
  ASSERT_TRUE(compiles());
  const auto before = left();
  EXPECT_FALSE(before.empty());
  kill(client.pid(), SIGKILL);  // it alone: no group is ended by this
  ASSERT_TRUE(killed.wait(1));
  EXPECT_EQ(killed.answers()[0].kind, Answer::Kind::crashed) << test::describe(killed.answers()[0]);
  EXPECT_TRUE(all_end());
  // A folder of its own says that the next one compiles. Numbers in the file do not: several compilers are started at
  // once, and one that was just starting when its engine was killed may still write its own. What the kernel of the
  // system has not yet closed goes with the folder after that.
  const auto none_of_before = [&] {
    const auto now = left();
    return std::none_of(now.begin(), now.end(), [&](const auto& name) { return before.contains(name); });
  };
  const auto own_folder = [&] {
    const auto now = left();
    return std::any_of(now.begin(), now.end(), [&](const auto& name) {
      return name.starts_with("convscope-kernel-") && !before.contains(name);
    });
  };
  for (size_t tries = 1; tries <= 3; tries++) {
    const uint64_t id = client.post(request().dump(), as_payload(text()), next.handlers());
    ASSERT_TRUE(test::wait_until(own_folder));
    client.cancel(id);
    ASSERT_TRUE(next.wait(tries));
    if (none_of_before()) break;
  }
  EXPECT_TRUE(none_of_before()) << testing::PrintToString(left());
  EXPECT_EQ(client.starts(), 2);
  EXPECT_TRUE(all_end()) << "also those that were starting";
}

TEST_F(Compiling, TheEndOfStdinEndsItAll) {
  ChildProcess process(split_command(engine()));
  json asked = request();
  asked["id"] = 1;
  const std::string header = asked.dump(), bytes = frame_prefix(header.size(), text().size()) + header + text();
  ASSERT_EQ(write(process.to(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  ASSERT_TRUE(compiles());
  process.close_input();
  EXPECT_EQ(process.wait(), "");
  EXPECT_TRUE(all_end());
  EXPECT_EQ(left(), std::set<std::string>());
}

}  // namespace
}  // namespace convscope
