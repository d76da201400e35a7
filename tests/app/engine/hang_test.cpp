// Kernels that never come to an end: the engine is taken for hung, and ended, in time and not before.
#include <csignal>
#include <gtest/gtest.h>
#include <thread>

#include "app/engine/stillness.h"
#include "tests/app/engine/harness.h"

namespace convscope {
namespace {

using nlohmann::json;

// Long enough for a busy machine, short enough for a test.
const double patience = test::under_sanitizer ? 4 : 1;

EngineOptions impatient() {
  char text[64];
  std::snprintf(text, sizeof text, "CONVSCOPE_PATIENCE_S=%g", patience);
  return {.command = test::test_engine_with(text)};
}

std::string no_block_for(const std::string& kernel) {
  return std::string("nothing has finished for ") + (test::under_sanitizer ? "4" : "1") + " s while running " + kernel;
}

// Where the faulty kernels stand; under a sanitizer, whose handlers are its own, an engine does not say it.
std::string standing(const std::string& words, const std::string& kernel) {
  if (test::under_sanitizer) return "";
  EXPECT_EQ(words.rfind(": kernel run_" + kernel + ", block (", 0), 0u) << words;
  EXPECT_NE(words.find("), at tests/app/engine/faulty.cu:"), std::string::npos) << words;
  return words;
}

class Hang : public testing::Test {
 protected:
  test::NothingLeft nothing_left_;
};

TEST_F(Hang, NoBlockFinishes) {
  EngineClient client(impatient());
  for (const char* kernel : {"loop_for_ever", "all_loop_for_ever"}) {
    test::Stopwatch watch;
    auto a = test::ask(client, test::run_request(kernel));
    EXPECT_EQ(a.kind, Answer::Kind::hung) << test::describe(a);
    ASSERT_TRUE(a.message.starts_with(no_block_for(kernel))) << a.message;
    std::string where = a.message.substr(no_block_for(kernel).size());
    EXPECT_EQ(where, standing(where, kernel));
    if (!test::under_sanitizer && kernel == std::string("loop_for_ever")) {
      EXPECT_EQ(where.find(": kernel run_loop_for_ever, block (2, 0, 0), thread (5, 0, 0), at "), 0u) << where;
    }
    EXPECT_GE(watch.seconds(), patience);
    EXPECT_LT(watch.seconds(), patience / Stillness::least_share + 3 * test::slowness);
    test::expect_works(client);
  }
  EXPECT_EQ(client.starts(), 3);
}

TEST_F(Hang, PrintingIsNoSignOfLife) {
  EngineClient client(impatient());
  auto a = test::ask(client, test::run_request("print_for_ever"));
  EXPECT_EQ(a.kind, Answer::Kind::hung) << test::describe(a);
  EXPECT_TRUE(a.message.starts_with(no_block_for("print_for_ever"))) << a.message;
  test::expect_works(client);
}

// The negative control: longer than the patience in all, but a block finishes now and then.
TEST_F(Hang, SlowIsNotHung) {
  EngineClient client(impatient());
  test::Stopwatch watch;
  json r = test::result_of(client,
                           test::run_request("slow", {{"length", 16}, {"dilation", 60 * static_cast<int>(patience)}}));
  EXPECT_GT(watch.seconds(), 1.5 * patience);
  EXPECT_EQ(r["verdict"]["status"], "right");
  EXPECT_EQ(client.starts(), 1);
}

TEST_F(Hang, ExplainToo) {
  EngineClient client(impatient());
  auto a = test::ask(client, test::explain_request("loop_for_ever", {}, {0, 0, 0}));
  EXPECT_EQ(a.kind, Answer::Kind::hung) << test::describe(a);
  test::expect_works(client);
}

// It names several kernels, and each of them may be the one.
TEST_F(Hang, BenchToo) {
  EngineClient client(impatient());
  json request = test::run_request("healthy");
  request.erase("kernel");
  request["type"] = "bench", request["kernels"] = json::array({"healthy", "loop_for_ever"});
  auto a = test::ask(client, request, {}, 30 * test::slowness);
  EXPECT_EQ(a.kind, Answer::Kind::hung) << test::describe(a);
  EXPECT_TRUE(a.message.starts_with(no_block_for("loop_for_ever"))) << a.message;
  test::expect_works(client);
}

TEST_F(Hang, LimitOfARequest) {
  EngineClient client({.command = test::test_engine()});
  test::expect_works(client);
  test::Stopwatch watch;
  auto a = test::ask(client, test::run_request("loop_for_ever"), {}, 0.5);
  EXPECT_EQ(a.kind, Answer::Kind::hung) << test::describe(a);
  const std::string late = "no answer within the 0.5 s it was given while running loop_for_ever";
  ASSERT_TRUE(a.message.starts_with(late)) << a.message;
  EXPECT_EQ(a.message.substr(late.size()), standing(a.message.substr(late.size()), "loop_for_ever"));
  EXPECT_GE(watch.seconds(), 0.5);
  EXPECT_LT(watch.seconds(), 2 * test::slowness);
  test::expect_works(client);
  // Blocks that finish do not stretch a limit.
  a = test::ask(client, test::run_request("slow", {{"length", 4000}, {"dilation", 10}}), {}, 0.5);
  EXPECT_EQ(a.kind, Answer::Kind::hung) << test::describe(a);
  test::expect_works(client);
  a = test::ask(client, test::run_request("healthy"), {}, 20 * test::slowness);
  EXPECT_EQ(a.kind, Answer::Kind::result) << "a limit that is kept";
  EXPECT_EQ(client.starts(), 3);
}

TEST_F(Hang, TheLimitDoesNotRunWhileOthersDo) {
  EngineClient client({.command = test::test_engine()});
  test::Collector first, second;
  client.post(test::run_request("slow", {{"length", 100}, {"dilation", 10}}).dump(), {}, first.handlers());
  client.post(test::run_request("healthy").dump(), {}, second.handlers(), 1 * test::slowness);
  ASSERT_TRUE(first.wait(1, 60 * test::slowness) && second.wait(1, 60 * test::slowness));
  test::result_of(first.answers()[0]);
  test::result_of(second.answers()[0]);
  EXPECT_EQ(client.starts(), 1);
}

TEST_F(Hang, OthersAreAskedOfTheNextEngine) {
  EngineClient client(impatient());
  test::Collector hung, others;
  client.post(test::run_request("loop_for_ever").dump(), {}, hung.handlers());
  for (int i = 0; i < 3; i++) client.post(test::run_request("healthy").dump(), {}, others.handlers());
  ASSERT_TRUE(hung.wait(1, patience + 20) && others.wait(3));
  EXPECT_EQ(hung.answers()[0].kind, Answer::Kind::hung);
  for (const auto& a : others.answers()) EXPECT_EQ(test::result_of(a)["verdict"]["status"], "right");
  EXPECT_EQ(client.starts(), 2);
}

// Not the kernel but the whole engine stands still, or the machine at the other end has gone.
TEST_F(Hang, AStoppedEngine) {
  auto options = impatient();
  options.silence_s = patience;
  EngineClient client(options);
  test::expect_works(client);
  kill(client.pid(), SIGSTOP);
  auto a = test::ask(client, test::run_request("healthy"));
  EXPECT_EQ(a.kind, Answer::Kind::hung) << test::describe(a);
  test::expect_works(client);
  EXPECT_EQ(client.starts(), 2);
}

}  // namespace
}  // namespace convscope
