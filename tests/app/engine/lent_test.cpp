// What a client lends its engines, a kernel's file: which text of it an engine has that is started after another.
#include <atomic>
#include <csignal>
#include <gtest/gtest.h>

#include "app/engine/kernel_file.h"
#include "tests/app/engine/harness.h"

namespace convscope {
namespace {

using nlohmann::json;

class Lent : public testing::Test {
 protected:
  // The sample with one text in the place of another.
  static std::string sample(const std::string& from = "", const std::string& to = "") {
    std::string text = test::text_file(test::project_file("assets/kernels/gather.cu"));
    if (!from.empty()) {
      EXPECT_NE(text.find(from), text.npos);
      text.replace(text.find(from), from.size(), to);
    }
    return text;
  }
  static std::string broken() { return sample("y[id] = sum;", "y[id] = summe;"); }
  static std::string wrong() { return sample("y[id] = sum;", "y[id] = sum + 1;"); }

  void lend(const std::string& text, test::Collector& answers) {
    client_.lend("mine.cu", kernel_file_request("mine.cu", "emulator"), as_payload(text), answers.handlers());
  }
  Answer lend(const std::string& text) {
    return client_.request(kernel_file_request("mine.cu", "emulator"), as_payload(text), {}, 0, {}, "mine.cu");
  }
  std::string status() {
    const json r = test::result_of(client_, test::run_request("mine.cu"));
    return r.is_object() && r.contains("verdict") ? r["verdict"].value("status", "") : "";
  }
  void kill_engine() { kill(client_.pid(), SIGKILL); }

  test::ScratchFolder folder_;
  EngineClient client_{{.command = test::test_engine_with("CONVSCOPE_CACHE=" + test::own_cache(folder_))}};
};

TEST_F(Lent, TheNextEngineHasTheTextThatWasTakenLast) {
  ASSERT_EQ(lend(sample()).kind, Answer::Kind::result);
  EXPECT_EQ(lend(broken()).kind, Answer::Kind::error);
  EXPECT_EQ(status(), "right") << "this engine has it";
  for (int i = 2; i <= 3; i++) {
    kill_engine();
    EXPECT_EQ(status(), "right") << "so have others after it";
    EXPECT_EQ(client_.starts(), i);
  }
  ASSERT_EQ(lend(wrong()).kind, Answer::Kind::result);
  kill_engine();
  EXPECT_EQ(status(), "wrong") << "the newest that was taken";
}

// The engine dies at something else before it comes to the new text, which no engine takes.
TEST_F(Lent, ATextThatStillWaitedDoesNotPushOutTheOneBefore) {
  ASSERT_EQ(lend(sample()).kind, Answer::Kind::result);
  test::Collector dead, waited, after;
  std::atomic<bool> begun{false};
  Handlers loops = dead.handlers();
  loops.progress = [&](const Progress&) { begun = true; };
  client_.post(test::run_request("loop_for_ever").dump(), {}, std::move(loops));
  lend(broken(), waited);
  client_.post(test::run_request("mine.cu").dump(), {}, after.handlers());
  ASSERT_TRUE(test::wait_until([&] { return begun.load(); }));
  kill_engine();
  ASSERT_TRUE(dead.wait(1) && waited.wait(1, 60 * test::slowness) && after.wait(1, 60 * test::slowness));
  EXPECT_EQ(dead.answers()[0].kind, Answer::Kind::crashed) << test::describe(dead.answers()[0]);
  EXPECT_EQ(waited.answers()[0].kind, Answer::Kind::error) << test::describe(waited.answers()[0]);
  EXPECT_EQ(test::result_of(after.answers()[0])["verdict"]["status"], "right");
  kill_engine();
  EXPECT_EQ(status(), "right");
}

// What the kept counters and times are of: the file's text, not its name.
TEST_F(Lent, ANewTextIsWhatIsMeasured) {
  json live = test::run_request("mine.cu");
  live["type"] = "live";
  ASSERT_EQ(lend(sample()).kind, Answer::Kind::result);
  for (int i = 0; i < 2; i++) test::result_of(client_, live);
  ASSERT_EQ(lend(sample("y[id] = sum;", "assert(sum != sum);\n  y[id] = sum;")).kind, Answer::Kind::result);
  const Answer a = test::ask(client_, live);
  EXPECT_EQ(a.kind, Answer::Kind::error) << "the text before is measured still";
  EXPECT_TRUE(test::holds(a.header, "sum != sum")) << test::describe(a);
}

}  // namespace
}  // namespace convscope
