// Engines that are none: what the client says of them, and that nothing of them is left.
#include <ctime>
#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <mutex>
#include <thread>

#include "app/engine/frame.h"
#include "app/engine/stillness.h"
#include "tests/app/engine/harness.h"

namespace convscope {
namespace {

using nlohmann::json;

std::string frame(const std::string& header, const std::string& payload = "") {
  return frame_prefix(header.size(), payload.size()) + header + payload;
}

const std::string good_hello = frame("{\"type\":\"hello\",\"protocol\":1,\"version\":\"x\",\"pid\":1}");

class StrangeEngine : public testing::Test {
 protected:
  // What a request is answered with by an engine that runs this script.
  Answer ask_shell(const std::string& script, EngineOptions options = {}) {
    options.command = test::shell(script);
    EngineClient client(std::move(options));
    return test::ask(client, {{"type", "info"}});
  }
  // … that writes these bytes after its marker, and then waits.
  Answer ask_bytes(const std::string& bytes, EngineOptions options = {}) {
    folder_.write("answer", (hello_marker + bytes).data(), sizeof hello_marker - 1 + bytes.size());
    return ask_shell("cat '" + folder_.path("answer") + "'; exec sleep 100", std::move(options));
  }
  std::string unusable(const Answer& a, bool before_hello = true) {
    std::string message = before_hello ? missing(a) : a.message;
    if (!before_hello) {
      EXPECT_EQ(a.kind, Answer::Kind::crashed) << test::describe(a);
    }
    const std::string begin = "the engine cannot be used: ";
    return message.starts_with(begin) ? message.substr(begin.size()) : "NOT UNUSABLE: " + message;
  }
  // There is no engine at all: what is said of that, without how to get one.
  std::string missing(const Answer& a) {
    json e = a.kind == Answer::Kind::error ? json::parse(a.header) : json::object();
    EXPECT_EQ(e.value("code", ""), "missing") << test::describe(a);
    EXPECT_EQ(e.value("exit_code", 0), 3);
    EXPECT_EQ(e.value("message", ""), a.message);
    auto how = a.message.find("; its command must start `convscope engine`");
    EXPECT_NE(how, std::string::npos) << a.message;
    return a.message.substr(0, how);
  }

  test::NothingLeft nothing_left_;
  test::ScratchFolder folder_;
};

TEST_F(StrangeEngine, PrintsJunk) {
  EXPECT_EQ(unusable(ask_shell("yes junk")), "it does not greet like a convscope engine");
  EXPECT_EQ(unusable(ask_shell("head -c 300000 /dev/urandom; exec sleep 100")),
            "it does not greet like a convscope engine");
}

TEST_F(StrangeEngine, PrintsJunkAndEnds) { EXPECT_EQ(missing(ask_shell("echo hello")), "the engine ended"); }

TEST_F(StrangeEngine, EndsAtOnceWithAMessage) {
  EXPECT_EQ(missing(ask_shell("echo first >&2; echo no licence for this machine >&2; exit 7")),
            "the engine ended with exit code 7: no licence for this machine");
  EXPECT_EQ(missing(ask_shell("printf 'without a line end' >&2; exit 1")),
            "the engine ended with exit code 1: without a line end");
  // As from a machine that has no convscope.
  EXPECT_TRUE(missing(ask_shell("no-such-program engine")).starts_with("the engine ended with exit code 127: "));
}

// Killed before it greets: that is no matter of its command.
TEST_F(StrangeEngine, IsKilledBeforeItGreets) {
  auto a = ask_shell("kill -KILL $$");
  EXPECT_EQ(a.kind, Answer::Kind::crashed) << test::describe(a);
  EXPECT_EQ(a.message, "the engine ended with signal 9 (Killed)");
}

TEST_F(StrangeEngine, DoesNotExist) {
  EngineClient client({.command = "/no/such/engine engine"});
  for (int i = 0; i < 3; i++) {
    auto a = test::ask(client, {{"type", "info"}});
    EXPECT_EQ(missing(a), "cannot start /no/such/engine: No such file or directory");
  }
  EXPECT_EQ(client.starts(), 0);
}

TEST_F(StrangeEngine, PrintsABannerFirst) {
  std::string banner = "echo Welcome to box; echo; echo CONVSCOPE-ENGINE is what you will see; printf 'no line end';";
  EngineClient client({.command = test::shell(banner + " exec " + test::test_engine())});
  test::expect_works(client);
  EXPECT_EQ(client.starts(), 1);
  // As much as a login may print, in small pieces, with the engine as a child of the shell.
  EngineClient long_winded(
      {.command = test::shell("for i in 1 2 3 4 5 6 7 8 9; do head -c 7000 /dev/zero; done; " + test::test_engine())});
  test::expect_works(long_winded);
}

TEST_F(StrangeEngine, ABannerHasALimit) {
  EXPECT_EQ(unusable(ask_shell("head -c 70000 /dev/zero; exec " + test::test_engine())),
            "it does not greet like a convscope engine");
}

TEST_F(StrangeEngine, NeverGreets) {
  test::Stopwatch watch;
  EXPECT_EQ(unusable(ask_shell("exec sleep 100", {.start_timeout_s = 0.4})), "it did not greet within 0.4 s");
  EXPECT_GT(watch.seconds(), 0.35);
  EXPECT_LT(watch.seconds(), 5 * test::slowness);
}

TEST_F(StrangeEngine, SpeaksAnotherVersion) {
  auto hello = [&](const std::string& protocol) {
    return unusable(ask_bytes(frame("{\"type\":\"hello\",\"protocol\":" + protocol + "}")));
  };
  EXPECT_EQ(hello("2"), "it speaks protocol 2, this program speaks 1");
  EXPECT_EQ(hello("\"1\""), "it speaks protocol \"1\", this program speaks 1");
  EXPECT_EQ(hello("null"), "it speaks protocol null, this program speaks 1");
  EXPECT_EQ(unusable(ask_bytes(frame("{\"type\":\"hello\"}"))), "it speaks protocol null, this program speaks 1");
}

TEST_F(StrangeEngine, GreetsAndThenTalksNonsense) {
  auto after_hello = [&](const std::string& bytes) { return unusable(ask_bytes(good_hello + bytes), false); };
  EXPECT_EQ(unusable(ask_bytes("HTTP/1.1 200 OK")), "the stream holds something that is no frame");
  EXPECT_EQ(unusable(ask_bytes(frame("{\"type\":\"result\",\"id\":1}"))), "it does not greet like a convscope engine");
  EXPECT_EQ(unusable(ask_bytes(frame("{}"))), "it does not greet like a convscope engine");
  EXPECT_EQ(unusable(ask_bytes(frame("[]"))), "a frame's header is no JSON object");
  EXPECT_EQ(after_hello("garbage"), "the stream holds something that is no frame");
  EXPECT_EQ(after_hello(frame_prefix(0, 0)), "a frame's header length is impossible");
  EXPECT_EQ(after_hello(frame_prefix(2, ~uint64_t{0})), "a frame's payload length is impossible");
  EXPECT_EQ(after_hello(frame_prefix(2, most_payload_bytes)), "a frame's payload does not fit into memory");
  EXPECT_EQ(after_hello(frame("nonsense")), "a frame's header is no JSON object");
  const std::string field = "it sent an answer with a field missing, or of the wrong type";
  EXPECT_EQ(after_hello(frame("{}")), field);
  EXPECT_EQ(after_hello(frame("{\"type\":\"result\"}")), field);
  EXPECT_EQ(after_hello(frame("{\"type\":7,\"id\":1}")), field);
  EXPECT_EQ(after_hello(frame("{\"type\":\"result\",\"id\":-1}")), "it sent an answer without an id");
  EXPECT_EQ(after_hello(frame("{\"type\":\"surprise\",\"id\":1}")), "it sent an answer of unknown type");
  for (const char* part :
       {"\"phase\":7", "\"beat\":\"x\"", "\"patience_s\":[]", "\"still_s\":[]", "\"done\":null", "\"total\":{}"})
    EXPECT_EQ(after_hello(frame(std::string("{\"type\":\"progress\",\"id\":1,") + part + "}")), field) << part;
}

TEST_F(StrangeEngine, AnswersWhatNobodyAsked) {
  std::string other = frame("{\"type\":\"result\",\"id\":99}", "payload") + frame("{\"type\":\"progress\",\"id\":98}") +
                      frame("{\"type\":\"error\",\"id\":0}") + frame("{\"type\":\"partial\",\"id\":97}");
  // All that is passed over, and the answer that was asked for is found behind it.
  auto a = ask_bytes(good_hello + other + frame("{\"type\":\"result\",\"id\":1,\"x\":5}", "abc"));
  EXPECT_EQ(test::result_of(a)["x"], 5);
  EXPECT_EQ(a.payload.size(), 3u);
}

TEST_F(StrangeEngine, GreetsAndFallsSilent) {
  test::Stopwatch watch;
  auto a = ask_bytes(good_hello, {.silence_s = 0.4});
  EXPECT_EQ(a.kind, Answer::Kind::hung);
  EXPECT_EQ(a.message, "the engine has given no sign of life for 0.4 s");
  EXPECT_LT(watch.seconds(), 5 * test::slowness);
}

// An engine counts its stillness itself, of the time that it had a processor; this side's clock has the last word.
TEST_F(StrangeEngine, HangsByItsOwnCount) {
  auto still = [&](double still_s, double patience_s) {
    test::Stopwatch watch;
    auto a = ask_bytes(good_hello + frame(fmt::format("{{\"type\":\"progress\",\"id\":1,\"beat\":1,\"still_s\":{},"
                                                      "\"patience_s\":{}}}",
                                                      still_s, patience_s)));
    EXPECT_EQ(a.kind, Answer::Kind::hung);
    EXPECT_EQ(a.message, fmt::format("nothing has finished for {} s", patience_s));
    return watch.seconds();
  };
  EXPECT_LT(still(60.5, 60), 5 * test::slowness);
  const double patience_s = 0.2;
  EXPECT_GE(still(0, patience_s), patience_s / Stillness::least_share);
}

TEST_F(StrangeEngine, HalfAFrame) {
  std::string answer = frame("{\"type\":\"result\",\"id\":1}", "payload");
  for (size_t cut : {size_t{1}, size_t{10}, frame_prefix_bytes, frame_prefix_bytes + 5, answer.size() - 1}) {
    std::string half = hello_marker + good_hello + answer.substr(0, cut);
    folder_.write("half", half.data(), half.size());
    auto a = ask_shell("cat '" + folder_.path("half") + "'");
    EXPECT_EQ(a.kind, Answer::Kind::crashed) << cut;
    EXPECT_EQ(a.message, "the engine ended") << cut;
    a = ask_bytes(good_hello + answer.substr(0, cut), {.silence_s = 0.3});
    EXPECT_EQ(a.kind, Answer::Kind::hung) << cut << test::describe(a);
  }
}

// Whatever the first engine did, the next request meets one that works.
TEST_F(StrangeEngine, TheNextRequestIsRight) {
  const std::string begun = frame("{\"type\":\"progress\",\"id\":1,\"beat\":1,\"patience_s\":60}");
  const std::string bytes[] = {
      "garbage",
      hello_marker + std::string("garbage"),
      hello_marker + frame("{\"type\":\"hello\",\"protocol\":2}"),
      hello_marker + good_hello + "garbage",
      hello_marker + good_hello + begun + "garbage",
      hello_marker + good_hello + frame_prefix(2, most_payload_bytes + 1),
      hello_marker + good_hello + begun + frame_prefix(2, most_payload_bytes),
      hello_marker + good_hello + frame("{}"),
      hello_marker + good_hello + begun,
      hello_marker + good_hello + begun + frame("{\"type\":\"result\",\"id\":1}", "payload").substr(0, 30),
      "",
  };
  const std::string ends[] = {"exit 0", "exit 3", "kill -KILL $$"};
  int n = 0;
  auto next_is_right = [&](const std::string& b, const std::string& then) {
    std::string number = std::to_string(n++), mark = folder_.path("started" + number);
    folder_.write("bytes" + number, b.data(), b.size());
    std::string first = "cat '" + folder_.path("bytes" + number) + "'; " + then;
    EngineClient client({.command = test::shell("if mkdir '" + mark + "' 2>/dev/null; then " + first + "; else exec " +
                                                test::test_engine() + "; fi")});
    auto a = test::ask(client, {{"type", "info"}}, {}, 0.5);  // counted from its greeting
    EXPECT_NE(a.kind, Answer::Kind::result) << number;
    EXPECT_EQ(client.starts(), 1) << number;
    test::expect_works(client);
    EXPECT_EQ(client.starts(), 2) << number;
  };
  for (const auto& b : bytes) {
    next_is_right(b, ends[static_cast<size_t>(n % 3)]);
    // One that never greets is another test's, since it takes as long as that is waited for.
    if (b.starts_with(hello_marker)) next_is_right(b, "exec sleep 100");
  }
}

TEST_F(StrangeEngine, ItComesIntoBeingLater) {
  std::string place = folder_.path("engine");
  EngineClient client({.command = "'" + place + "'"});
  missing(test::ask(client, {{"type", "info"}}));
  std::string script = "#!/bin/sh\nexec " + test::test_engine() + "\n";
  folder_.write("engine", script.data(), script.size());
  missing(test::ask(client, {{"type", "info"}}));  // it may not be started
  std::filesystem::permissions(place, std::filesystem::perms::owner_all);
  test::expect_works(client);
}

TEST_F(StrangeEngine, ClosesItsOutputAndLingers) {
  auto a = ask_shell("exec 1>&-; exec sleep 100");
  EXPECT_EQ(a.kind, Answer::Kind::crashed);
  EXPECT_EQ(a.message, "the engine ended with signal 9 (Killed)");
}

TEST_F(StrangeEngine, ClosesItsLog) {
  EngineClient client({.command = test::shell("exec " + test::test_engine() + " 2>&-")});
  test::expect_works(client);
  // A closed log must not keep the client's thread busy.
  auto spent = [] {
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  double before = spent();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_LT(spent() - before, 0.15);
}

TEST_F(StrangeEngine, LogsWithoutEnd) {
  EngineClient client({.command = test::shell("yes noise >&2 & exec " + test::test_engine())});
  test::expect_works(client);
}

TEST_F(StrangeEngine, LogIsPassedOnLineByLine) {
  EngineClient client(
      {.command = test::shell("echo one >&2; printf 'two\\n\\nfour' >&2; exec " + test::test_engine() + " 2>&-")});
  std::mutex mutex;
  std::vector<std::string> lines;
  client.on_log([&](const std::string& line) {
    std::lock_guard lock(mutex);
    lines.push_back(line);
  });
  test::expect_works(client);
  std::lock_guard lock(mutex);
  ASSERT_GE(lines.size(), 3u);
  EXPECT_EQ(lines[0], "one");
  EXPECT_EQ(lines[1], "two");
  EXPECT_EQ(lines[2], "");
}

TEST_F(StrangeEngine, RequestsThatAreNoneAreRefusedBeforeTheyAreSent) {
  EngineClient client({.command = test::test_engine()});
  auto said = [&](const std::string& header) {
    return test::error_of<InputError>([&] { client.post(header, {}, {}); });
  };
  EXPECT_EQ(said(""), "request a frame's header is no JSON object");
  EXPECT_EQ(said("[1]"), "request a frame's header is no JSON object");
  EXPECT_EQ(said("{\"a\":" + std::string(100, '[') + std::string(100, ']') + "}"),
            "request a frame's header is nested too deep");
  EXPECT_EQ(said("{\"a\":\"" + std::string(most_header_bytes, 'x') + "\"}").substr(0, 8), "request ");
  EXPECT_EQ(client.starts(), 0);
}

}  // namespace
}  // namespace convscope
