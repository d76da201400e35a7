// Kernels that kill their engine (faulty.cu): the client says of what, and the next request works.
#include <csignal>
#include <gtest/gtest.h>

#include "tests/app/engine/harness.h"

namespace convscope {
namespace {

using nlohmann::json;

std::string line_of(const std::string& mark) {
  return "tests/app/engine/faulty.cu:" +
         std::to_string(test::line_of("tests/app/engine/faulty.cu", "// FAULT " + mark));
}

// Where the faulty kernels fail, and where in the source.
std::string place(const std::string& kernel, const std::string& mark = "") {
  return "kernel run_" + kernel + ", block (2, 0, 0), thread (5, 0, 0)" + (mark.empty() ? "" : ", at " + line_of(mark));
}

class Crash : public testing::Test {
 protected:
  // Runs the kernel, which must kill its engine, and gives what the client says; then the client must work.
  std::string crash(const std::string& kernel, const json& problem = json::object()) {
    int before = client_.starts();
    auto a = test::ask(client_, test::run_request(kernel, problem));
    EXPECT_EQ(a.kind, Answer::Kind::crashed) << test::describe(a);
    test::expect_works(client_);
    EXPECT_EQ(client_.starts(), std::max(before, 1) + 1);
    return a.message;
  }

  test::NothingLeft nothing_left_;
  EngineClient client_{EngineOptions{.command = test::test_engine()}};
};

// Under a sanitizer it is the sanitizer's report that ends the engine, in its own words: the client still names the
// phase.
#define EXPECT_CRASH(kernel, words)                                            \
  if (test::under_sanitizer) {                                                 \
    EXPECT_NE(crash(kernel).find("the engine ended with"), std::string::npos); \
  } else {                                                                     \
    EXPECT_EQ(crash(kernel), words);                                           \
  }

TEST_F(Crash, WildWrite) {
  EXPECT_CRASH("wild_write",
               "an address that is not there was used (signal 11, address 0x10), " + place("wild_write", "wild_write"));
}

TEST_F(Crash, WildRead) {
  EXPECT_CRASH("wild_read", "an address that is not there was used (signal 11, address 0x123450), " +
                                place("wild_read", "wild_read"));
}

TEST_F(Crash, AddressThatCannotBe) {
  EXPECT_CRASH("wild_nowhere",
               "an address that is not there was used (signal 11), " + place("wild_nowhere", "wild_nowhere"));
}

TEST_F(Crash, SixteenBytesThatAreNotAligned) {
  EXPECT_CRASH("misaligned_four", "16 bytes were moved at an address that is no multiple of 16 (signal 11), " +
                                      place("misaligned_four", "misaligned_four"));
}

TEST_F(Crash, StackOverflow) {
  EXPECT_CRASH("stack_overflow", "the stack overflowed (signal 11), " + place("stack_overflow", "stack_overflow"));
}

TEST_F(Crash, DivisionByZero) {
  EXPECT_CRASH("divide_by_zero", "a division by zero, or one whose result does not fit (signal 8), " +
                                     place("divide_by_zero", "divide_by_zero"));
}

TEST_F(Crash, IllegalInstruction) {
  EXPECT_CRASH("illegal", "an illegal instruction (signal 4), " + place("illegal", "illegal"));
}

TEST_F(Crash, Abort) {
  EXPECT_CRASH("call_abort", "the kernel called abort (signal 6), " + place("call_abort", "call_abort"));
}

// The fault is the library's instruction, and the caller's line.
TEST_F(Crash, InALibrary) {
  EXPECT_CRASH("wild_copy",
               "an address that is not there was used (signal 11, address 0x30), " + place("wild_copy", "wild_copy"));
}

TEST_F(Crash, LeavesTheProcess) {
  EXPECT_EQ(crash("leave"), "the engine ended with exit code 9 while it worked on leave");
}

TEST_F(Crash, IsKilled) {
  EXPECT_EQ(crash("killed"), "the engine ended with signal 9 (Killed) while it worked on killed");
}

TEST_F(Crash, OneAfterTheOther) {
  for (int i = 0; i < 3; i++)
    for (const char* kernel : {"wild_write", "leave", "killed"}) crash(kernel);
}

// A kernel that throws is the verdict's business, not the engine's end.
TEST_F(Crash, Throws) {
  auto sentence = [&](const std::string& kernel) {
    json r = test::result_of(client_, test::run_request(kernel));
    EXPECT_EQ(r["verdict"]["status"], "crashed");
    EXPECT_EQ(r["verdict"]["exit_code"], 4);
    EXPECT_EQ(r["error"]["failing"], nullptr) << "what was not compared has no figures";
    return r["verdict"]["sentence"].get<std::string>();
  };
  const std::string where = "block (2, 0, 0), thread (5, 0, 0)";
  EXPECT_EQ(sentence("throw_words"),
            "crashed: kernel run_throw_words threw an exception in " + where + ": planted in a kernel");
  EXPECT_EQ(sentence("throw_bytes"), "crashed: kernel run_throw_bytes threw an exception in " + where +
                                         ": not UTF-8: \xef\xbf\xbd\xef\xbf\xbd.");
  EXPECT_EQ(sentence("throw_number"),
            "crashed: kernel run_throw_number threw something that is no exception in " + where);
  test::expect_works(client_);
  EXPECT_EQ(client_.starts(), 1);
}

TEST_F(Crash, PrintsALotWithoutHarm) {
  std::vector<std::string> log;
  client_.on_log([&](const std::string& line) { log.push_back(line); });
  json r = test::result_of(client_, test::run_request("print_a_lot", {{"length", 640}}));
  EXPECT_EQ(r["verdict"]["status"], "right") << r["verdict"].dump();
  test::expect_works(client_);
  client_.on_log({});
  EXPECT_EQ(client_.starts(), 1);
  size_t words = 0;
  for (const auto& line : log) words += line.find("a kernel's own words") != std::string::npos;
  EXPECT_GT(words, 40u * 640) << "they went to the log";
}

TEST_F(Crash, ClosesDescriptors) {
  json r = test::result_of(client_, test::run_request("close_descriptors"));
  EXPECT_EQ(r["verdict"]["status"], "right") << "the protocol is out of its reach: " << r["verdict"].dump();
  test::expect_works(client_);
  // Also what dies after that is noticed, though it has no log to say it in.
  auto a = test::ask(client_, test::run_request("wild_write"));
  EXPECT_EQ(a.kind, Answer::Kind::crashed);
  EXPECT_NE(a.message.find("the engine ended with"), std::string::npos) << a.message;
  test::expect_works(client_);
}

// ---- memory without end: the engine runs into a limit, and the machine does not notice ----------------------------

class OutOfMemory : public testing::Test {
 protected:
  void SetUp() override {
    if (test::under_sanitizer) GTEST_SKIP() << "sanitizers bring their own allocator and need room of their own";
  }
  test::NothingLeft nothing_left_;
  // A gigabyte stands for all there is: the machine's own limit is set the same way (Server.ItsMemoryIsLimited…).
  EngineClient client_{EngineOptions{.command = test::shell("ulimit -d 1000000; exec " + test::test_engine())}};
};

TEST_F(OutOfMemory, NewThrows) {
  json r = test::result_of(client_, test::run_request("allocate_without_end"));
  EXPECT_EQ(r["verdict"]["status"], "crashed");
  EXPECT_EQ(r["verdict"]["sentence"],
            "crashed: kernel run_allocate_without_end threw an exception in block (2, 0, 0), thread (5, 0, 0): "
            "std::bad_alloc");
  // What it took is not given back: the next run may find enough, or too little, which is said. Either way its engine
  // ends, and another one takes what follows.
  auto a = test::ask(client_, test::run_request("wild_write"));
  std::string said = test::describe(a);
  EXPECT_TRUE(said.find("address") != std::string::npos || said.find("reached its own limit") != std::string::npos)
      << said;
  test::expect_works(client_);
}

// An engine at its own limit is of no use to anybody: it says so and ends. What the machine has not at all is no reason
// to end.
TEST_F(OutOfMemory, AtItsOwnLimitTheEngineEnds) {
  auto asked = [&](int64_t batch, int64_t length) {
    json request = test::run_request("healthy");
    request["problem"] = {{"batch", batch}, {"length", length}};
    return test::ask(client_, request);
  };
  auto a = asked(1, int64_t{400} << 20);  // 1.6 GB
  ASSERT_EQ(a.kind, Answer::Kind::error);
  EXPECT_NE(test::describe(a).find("reached its own limit"), std::string::npos) << test::describe(a);
  EXPECT_TRUE(json::parse(a.header).value("engine_ends", false)) << a.header;
  test::expect_works(client_);
  a = asked(32, int64_t{1} << 30);  // 137 GB
  ASSERT_EQ(a.kind, Answer::Kind::error);
  EXPECT_EQ(test::describe(a).find("its own limit"), std::string::npos) << test::describe(a);
  EXPECT_FALSE(json::parse(a.header).value("engine_ends", false)) << a.header;
  test::expect_works(client_);
}

TEST_F(OutOfMemory, MallocIsNotChecked) {
  auto a = test::ask(client_, test::run_request("malloc_without_end"));
  EXPECT_EQ(a.kind, Answer::Kind::crashed);
  EXPECT_EQ(a.message,
            "an address that is not there was used (signal 11, address 0x0), " + place("malloc_without_end", "use"));
  test::expect_works(client_);
}

// ---- others beside the one that crashes ---------------------------------------------------------------------------

TEST_F(Crash, OthersAreAskedOfTheNextEngine) {
  test::Collector before, culprit, after, light;
  client_.post(test::run_request("slow", {{"length", 20}, {"dilation", 5}}).dump(), {}, before.handlers());
  client_.post(test::run_request("wild_write").dump(), {}, culprit.handlers());
  for (int i = 0; i < 5; i++)
    client_.post(test::run_request("healthy", {{"length", 30 + i}}).dump(), {}, after.handlers());
  ASSERT_TRUE(before.wait(1) && culprit.wait(1) && after.wait(5));
  test::result_of(before.answers()[0]);
  EXPECT_EQ(culprit.answers()[0].kind, Answer::Kind::crashed);
  for (const auto& a : after.answers()) EXPECT_EQ(test::result_of(a)["verdict"]["status"], "right");
  EXPECT_EQ(client_.starts(), 2);
}

TEST_F(Crash, EachCulpritIsNamedForItself) {
  std::vector<test::Collector> all(4);
  const char* kernels[] = {"leave", "killed", "leave", "killed"};
  for (size_t i = 0; i < 4; i++) client_.post(test::run_request(kernels[i]).dump(), {}, all[i].handlers());
  for (size_t i = 0; i < 4; i++) {
    ASSERT_TRUE(all[i].wait(1));
    auto a = all[i].answers()[0];
    EXPECT_EQ(a.kind, Answer::Kind::crashed);
    EXPECT_TRUE(a.message.ends_with(std::string("while it worked on ") + kernels[i])) << a.message;
  }
  test::expect_works(client_);
}

TEST_F(Crash, KeptResultsAreGoneWithTheEngine) {
  std::string key = test::result_of(client_, test::run_request("healthy"))["result"];
  crash("leave");
  auto a = test::ask(client_, {{"type", "numbers"}, {"result", key}, {"window", {0, 1, 0, 1}}});
  // crash() has run the healthy kernel again: the key names the same numbers, so it may be used.
  EXPECT_EQ(a.kind, Answer::Kind::result) << test::describe(a);
  test::ask(client_, test::run_request("leave"));
  a = test::ask(client_, {{"type", "numbers"}, {"result", key}, {"window", {0, 1, 0, 1}}});
  EXPECT_EQ(a.kind, Answer::Kind::error) << test::describe(a);
  EXPECT_EQ(json::parse(a.header)["rule"], "is not kept any more: run it again");
}

// An idle engine that dies is noticed, and replaced when it is needed.
TEST_F(Crash, WhileIdle) {
  test::expect_works(client_);
  pid_t pid = client_.pid();
  kill(pid, SIGKILL);
  EXPECT_TRUE(test::wait_until([&] { return client_.pid() == 0; }));
  EXPECT_FALSE(test::exists(pid));
  test::expect_works(client_);
  EXPECT_EQ(client_.starts(), 2);
}

// … or is asked something before its end is known.
TEST_F(Crash, WhileIdleAndAskedAtOnce) {
  test::expect_works(client_);
  for (int i = 0; i < 20; i++) {
    kill(client_.pid(), SIGKILL);
    test::expect_works(client_);
  }
  EXPECT_EQ(client_.starts(), 21);
}

}  // namespace
}  // namespace convscope
