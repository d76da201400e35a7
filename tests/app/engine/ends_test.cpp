// An engine whose answer says that it ends with it: nobody is to blame, and the next request meets a fresh one.
#include <atomic>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <thread>

#include "app/engine/frame.h"
#include "tests/app/engine/harness.h"

namespace convscope {
namespace {

using nlohmann::json;

class EngineEnds : public testing::Test {
 protected:
  static std::string fake(const std::string& arguments) {
    return test::program("fake_engine").append(" ").append(arguments);
  }
  // The first engine of a client is a fake, those after it are real.
  std::string fake_first(const std::string& arguments) {
    return test::shell("if mkdir '" + folder_.path("started") + "' 2>/dev/null; then exec " + fake(arguments) +
                       "; else exec " + test::test_engine() + "; fi");
  }

  test::NothingLeft nothing_left_;
  test::ScratchFolder folder_;
};

TEST_F(EngineEnds, TheNextRequestMeetsAFreshOne) {
  for (const char* mode : {"leave", "linger", "slow"})
    for (const char* kind : {"result", "error"}) {
      EngineClient client({.command = fake(std::string(mode) + " 1 " + kind)});
      std::set<int> seen;
      for (int i = 1; i <= 20; i++) {
        auto a = test::ask(client, {{"type", "info"}});
        ASSERT_EQ(a.kind, std::string(kind) == "error" ? Answer::Kind::error : Answer::Kind::result)
            << mode << ": " << test::describe(a);
        EXPECT_TRUE(seen.insert(json::parse(a.header)["pid"].get<int>()).second) << "one that said it ends was asked";
        EXPECT_EQ(client.starts(), i);
      }
    }
}

TEST_F(EngineEnds, AlsoForWhatIsPostedFromWithinDone) {
  for (const char* mode : {"leave", "linger", "slow"}) {
    EngineClient client({.command = fake(std::string(mode) + " 1 error")});
    test::Collector last;
    std::atomic<int> errors{0};
    std::function<void(Answer)> again = [&](Answer a) {
      errors += a.kind == Answer::Kind::error;
      if (errors < 20)
        client.post("{\"type\":\"info\"}", {}, {.done = again});
      else
        client.post("{\"type\":\"info\"}", {}, last.handlers());
    };
    client.post("{\"type\":\"info\"}", {}, {.done = again});
    ASSERT_TRUE(last.wait(1)) << mode;
    EXPECT_EQ(errors, 20) << mode;
    EXPECT_EQ(last.answers()[0].kind, Answer::Kind::error) << mode << ": " << test::describe(last.answers()[0]);
    EXPECT_EQ(client.starts(), 21) << mode;
  }
}

TEST_F(EngineEnds, WhatItHadNotAnsweredIsForTheNext) {
  for (const char* mode : {"leave 2", "linger 2", "slow 2"}) {
    EngineClient client({.command = fake(mode)});
    test::Collector all;
    constexpr size_t asked = 21;
    for (size_t i = 0; i < asked; i++) client.post("{\"type\":\"info\"}", {}, all.handlers());
    ASSERT_TRUE(all.wait(asked)) << mode;
    std::map<int, int> answers;
    for (const auto& a : all.answers()) answers[test::result_of(a).value("pid", 0)]++;
    for (auto [pid, times] : answers) EXPECT_LE(times, 2) << mode;
    EXPECT_EQ(client.starts(), 11) << mode;
  }
}

TEST_F(EngineEnds, TheNextOneComputesRight) {
  EngineClient client({.command = fake_first("slow 1 error")});
  test::Collector first, others;
  client.post("{\"type\":\"info\"}", {}, first.handlers());
  for (int i = 0; i < 3; i++)
    client.post(test::run_request("healthy", {{"length", 50 + i}}).dump(), {}, others.handlers());
  ASSERT_TRUE(first.wait(1) && others.wait(3));
  EXPECT_EQ(first.answers()[0].kind, Answer::Kind::error);
  for (const auto& a : others.answers()) EXPECT_EQ(test::result_of(a)["verdict"]["status"], "right");
  test::expect_works(client);
  EXPECT_EQ(client.starts(), 2);
}

// What is cancelled while it waits for the next engine is answered as cancelled, and not asked of it.
TEST_F(EngineEnds, CancelledInBetween) {
  EngineClient client({.command = fake_first("linger 1")});
  test::Collector cancelled;
  uint64_t id = 0;
  std::atomic<bool> posted{false};
  Handlers first;
  first.done = [&](Answer) {
    while (!posted) std::this_thread::yield();
    client.cancel(id);
  };
  client.post("{\"type\":\"info\"}", {}, std::move(first));
  id = client.post(test::run_request("loop_for_ever").dump(), {}, cancelled.handlers());
  posted = true;
  ASSERT_TRUE(cancelled.wait(1));
  EXPECT_EQ(json::parse(cancelled.answers()[0].header)["code"], "cancelled");
  test::expect_works(client);
}

// The real one: a lost context ends it, with an answer before that.
TEST_F(EngineEnds, ALostDevice) {
  EngineClient client({.command = test::test_engine()});
  test::expect_works(client);
  for (int i = 1; i <= 5; i++) {
    test::Collector lost, next;
    client.post(test::run_request("lose_device").dump(), {}, lost.handlers());
    client.post(test::run_request("healthy").dump(), {}, next.handlers());
    ASSERT_TRUE(lost.wait(1) && next.wait(1));
    auto a = lost.answers()[0];
    ASSERT_EQ(a.kind, Answer::Kind::error) << test::describe(a);
    json e = json::parse(a.header);
    EXPECT_EQ(e["code"], "crashed");
    EXPECT_EQ(e["exit_code"], 4);
    EXPECT_EQ(e["message"], "the context is lost: planted");
    EXPECT_EQ(e["engine_ends"], true);
    EXPECT_EQ(test::result_of(next.answers()[0])["verdict"]["status"], "right");
    EXPECT_EQ(client.starts(), i + 1);
  }
}

}  // namespace
}  // namespace convscope
