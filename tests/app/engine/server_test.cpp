// The engine by its protocol alone, byte for byte: greeting, answers, refusals, and its end.
#include <csignal>
#include <cstring>
#include <gtest/gtest.h>
#include <optional>
#include <poll.h>
#include <unistd.h>

#include "app/engine/frame.h"
#include "app/engine/process.h"
#include "kernels/problem/tensor.h"
#include "tests/app/engine/harness.h"

namespace convscope {
namespace {

using nlohmann::json;

class RawEngine {
 public:
  explicit RawEngine(const std::string& command = test::test_engine()) : process_(split_command(command)) {}

  void write_bytes(const std::string& s) {
    for (size_t at = 0; at < s.size();) {
      ssize_t n = ::write(process_.to(), s.data() + at, s.size() - at);
      if (n <= 0) return;  // it has closed its end
      at += static_cast<size_t>(n);
    }
  }
  void send(const json& header, const std::string& payload = "") {
    std::string text = header.dump();
    write_bytes(frame_prefix(text.size(), payload.size()) + text + payload);
  }
  // What comes on its stdout; nothing at its end, or when nothing comes for long.
  std::string read_some(double seconds = 20 * test::slowness) {
    pollfd p{process_.from(), POLLIN, 0};
    if (poll(&p, 1, static_cast<int>(seconds * 1000)) <= 0) return "";
    std::string s(65536, '\0');
    ssize_t n = ::read(process_.from(), s.data(), s.size());
    s.resize(n > 0 ? static_cast<size_t>(n) : 0);
    return s;
  }
  // Reads marker and hello.
  json greeting() {
    std::string start;
    const std::string marker = hello_marker;
    while (start.size() < marker.size()) {
      auto more = read_some();
      if (more.empty()) return nullptr;
      start += more;
    }
    EXPECT_EQ(start.substr(0, marker.size()), marker);
    parser_.feed(std::as_bytes(std::span(start)).subspan(marker.size()));
    auto hello = frame();
    return hello ? json::parse(hello->header) : json();
  }
  std::optional<Frame> frame() {
    for (;;) {
      if (auto f = parser_.next()) return f;
      auto more = read_some();
      if (more.empty()) return std::nullopt;
      parser_.feed(std::as_bytes(std::span(more)));
    }
  }
  // The next answer that is no progress.
  json answer(std::vector<std::byte>* payload = nullptr) {
    while (auto f = frame()) {
      json j = json::parse(f->header);
      if (j["type"] == "progress") continue;
      if (payload) *payload = std::move(f->payload);
      return j;
    }
    return nullptr;
  }
  std::string log() {
    std::string all, part(4096, '\0');
    for (ssize_t n; (n = ::read(process_.log(), part.data(), part.size())) > 0;)
      all.append(part, 0, static_cast<size_t>(n));
    return all;
  }
  bool ends(double seconds = 10 * test::slowness) {
    return test::wait_until([&] { return process_.ended(); }, seconds);
  }
  ChildProcess& process() { return process_; }

 private:
  ChildProcess process_;
  FrameParser parser_;
};

// Before each test: a pipe whose reader has gone is an error and not the end of the tests.
class Server : public testing::Test {
 protected:
  Server() { std::signal(SIGPIPE, SIG_IGN); }
  test::NothingLeft nothing_left_;
};

TEST_F(Server, Greets) {
  RawEngine e;
  json hello = e.greeting();
  EXPECT_EQ(hello["type"], "hello");
  EXPECT_EQ(hello["protocol"], protocol_version);
  EXPECT_EQ(hello["version"], CONVSCOPE_VERSION);
  EXPECT_EQ(hello["pid"], e.process().pid());
}

TEST_F(Server, AnswersCarryTheRequestsId) {
  RawEngine e;
  e.greeting();
  e.send({{"type", "list"}, {"id", 7}, {"what", "presets"}});
  json a = e.answer();
  EXPECT_EQ(a["type"], "result");
  EXPECT_EQ(a["id"], 7);
  EXPECT_GT(a["presets"].size(), 5u);
  e.send({{"type", "no-such-thing"}, {"id", 8}});
  a = e.answer();
  EXPECT_EQ(a["type"], "error");
  EXPECT_EQ(a["id"], 8);
  EXPECT_EQ(a["code"], "bad-input");
  EXPECT_EQ(a["field"], "type");
  EXPECT_EQ(a["value"], "no-such-thing");
  EXPECT_EQ(a["exit_code"], 2);
}

TEST_F(Server, BytesMayDribbleIn) {
  RawEngine e;
  e.greeting();
  std::string header = json{{"type", "list"}, {"id", 1}, {"what", "devices"}}.dump();
  for (char c : frame_prefix(header.size(), 0) + header) e.write_bytes(std::string(1, c));
  EXPECT_EQ(e.answer()["type"], "result");
}

TEST_F(Server, RequestsInOneWriteAreAllAnswered) {
  RawEngine e;
  e.greeting();
  std::string stream;
  for (int id = 1; id <= 200; id++) {
    std::string header = json{{"type", "find"}, {"id", id}, {"result", "none"}, {"from", {0, 0}}}.dump();
    stream += frame_prefix(header.size(), 0) + header;
  }
  e.write_bytes(stream);
  for (int id = 1; id <= 200; id++) {
    json a = e.answer();
    ASSERT_EQ(a["id"], id);
    ASSERT_EQ(a["field"], "result");
  }
}

TEST_F(Server, ProgressComesBeforeWorkAndSaysHowLongToWait) {
  RawEngine e;
  e.greeting();
  json request = test::run_request("slow", {{"length", 40}, {"dilation", 20}});
  request["id"] = 5;
  e.send(request);
  auto f = e.frame();
  ASSERT_TRUE(f);
  json first = json::parse(f->header);
  EXPECT_EQ(first["type"], "progress");
  EXPECT_EQ(first["id"], 5);
  bool running = false;
  uint64_t beat = first["beat"];
  while ((f = e.frame())) {
    json j = json::parse(f->header);
    if (j["type"] != "progress") break;
    EXPECT_GE(j["beat"], beat);
    beat = j["beat"];
    bool now = j["phase"] == "running slow";
    running |= now;
    EXPECT_EQ(j["patience_s"], now || j["phase"] == "timing slow" ? 10.0 : 600.0) << j;
    if (now) {
      EXPECT_EQ(j["total"], 40);
    }
  }
  EXPECT_TRUE(running);
}

TEST_F(Server, PatienceIsReadFromTheEnvironment) {
  RawEngine e(test::test_engine_with("CONVSCOPE_PATIENCE_S=123"));
  e.greeting();
  json request = test::run_request("slow", {{"length", 40}, {"dilation", 20}});
  request["id"] = 1;
  e.send(request);
  bool seen = false;
  while (auto f = e.frame()) {
    json j = json::parse(f->header);
    if (j["type"] != "progress") break;
    if (j["phase"] == "running slow") seen |= j["patience_s"] == 123.0;
  }
  EXPECT_TRUE(seen);
}

// Every way to break the stream: the engine says why in its log, closes, and ends with code 1.
TEST_F(Server, ABrokenStreamEndsIt) {
  auto frame = [](const std::string& header) { return frame_prefix(header.size(), 0) + header; };
  std::string deep = "{\"id\":1,\"type\":\"info\",\"x\":" + std::string(100000, '[') + std::string(100000, ']') + "}";
  const std::pair<std::string, std::string> cases[] = {
      {"GET / HTTP/1.1\r\n\r\n", "the stream holds something that is no frame"},
      {frame_prefix(0, 0), "a frame's header length is impossible"},
      {frame_prefix(most_header_bytes + 1, 0), "a frame's header length is impossible"},
      {frame_prefix(2, most_payload_bytes + 1) + "{}", "a frame's payload length is impossible"},
      {frame_prefix(2, most_payload_bytes) + "{}", "a frame's payload does not fit into memory"},
      {frame("[]"), "a frame's header is no JSON object"},
      {frame("{\"id\":1"), "a frame's header is no JSON object"},
      {frame(deep), "a frame's header is nested too deep"},
      {frame("{}"), "a request without type or id"},
      {frame("{\"id\":1}"), "a request without type or id"},
      {frame("{\"type\":\"info\"}"), "a request without type or id"},
      {frame("{\"type\":\"info\",\"id\":-1}"), "a request without type or id"},
      {frame("{\"type\":\"info\",\"id\":\"1\"}"), "a request without type or id"},
      {frame("{\"type\":3,\"id\":1}"), "a request without type or id"},
  };
  for (const auto& [bytes, why] : cases) {
    RawEngine e;
    e.greeting();
    e.write_bytes(bytes);
    ASSERT_TRUE(e.ends()) << why;
    EXPECT_EQ(e.process().wait(), "exit code 1") << why;
    EXPECT_EQ(e.log(), "engine: " + why + "; closing\n");
  }
}

TEST_F(Server, EndsWhenItsInputDoes) {
  {
    RawEngine e;
    e.greeting();
    e.process().close_input();
    ASSERT_TRUE(e.ends());
    EXPECT_EQ(e.process().wait(), "");
  }
  for (const char* kernel : {"slow", "loop_for_ever"}) {  // also in the middle of work
    RawEngine e;
    e.greeting();
    json request = test::run_request(kernel, {{"length", 5000}, {"dilation", 10}});
    request["id"] = 1;
    e.send(request);
    while (auto f = e.frame())
      if (json::parse(f->header)["phase"] == std::string("running ") + kernel) break;
    e.process().close_input();
    ASSERT_TRUE(e.ends()) << kernel;
    EXPECT_EQ(e.process().wait(), "") << kernel;
  }
}

// Its answers find no reader: it ends, though its input is open.
TEST_F(Server, EndsWhenNobodyListens) {
  RawEngine e(test::shell(test::test_engine() + " | true"));
  EXPECT_TRUE(test::wait_until([&] {
    e.send({{"type", "list"}, {"id", 1}, {"what", "presets"}});
    return e.process().ended();
  }));
}

TEST_F(Server, WaitingRequestsAreCancelledAtOnce) {
  RawEngine e;
  e.greeting();
  json slow = test::run_request("slow", {{"length", 3000}, {"dilation", 10}});
  slow["id"] = 1;
  e.send(slow);
  for (int id = 2; id <= 4; id++) {
    slow["id"] = id;
    e.send(slow);
  }
  test::Stopwatch watch;
  for (int id : {3, 4, 2}) {
    e.send({{"type", "cancel"}, {"id", 100 + id}, {"target", id}});
    json a = e.answer();
    EXPECT_EQ(a["id"], id);
    EXPECT_EQ(a["code"], "cancelled");
    EXPECT_EQ(a["exit_code"], 130);
  }
  e.send({{"type", "cancel"}, {"id", 200}, {"target", 1}});
  json a = e.answer();
  EXPECT_EQ(a["id"], 1);
  EXPECT_EQ(a["code"], "cancelled");
  EXPECT_LT(watch.seconds(), 5 * test::slowness) << "the first alone takes 30 s";
  // Targets that are not there, or are no ids, change nothing.
  for (json target : {json(1), json(99), json(-1), json("x"), json(nullptr), json::array({1})})
    e.send({{"type", "cancel"}, {"id", 300}, {"target", target}});
  e.send({{"type", "list"}, {"id", 301}, {"what", "presets"}});
  EXPECT_EQ(e.answer()["id"], 301);
}

// Nothing that is opened later may take stderr's place: a kernel's words would go there.
TEST_F(Server, StandsWithoutALog) {
  RawEngine e(test::shell("exec " + test::test_engine() + " 2>&-"));
  EXPECT_EQ(e.greeting()["type"], "hello");
  json request = test::run_request("print_a_lot");
  request["id"] = 1;
  e.send(request);
  EXPECT_EQ(e.answer()["type"], "partial");
  EXPECT_EQ(e.answer()["verdict"]["status"], "right");
}

TEST_F(Server, ItsMemoryIsLimitedToWhatThereIs) {
  if (test::under_sanitizer) GTEST_SKIP() << "sanitizers reserve address space freely";
  RawEngine e;
  e.greeting();
  auto limit = [&](const char* column) {
    auto bytes = test::file_bytes("/proc/" + std::to_string(e.process().pid()) + "/limits");
    std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    auto at = text.find(column);
    return text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_NE(limit("Max data size").find("unlimited"), std::string::npos) << "not before it is needed";
  EXPECT_NE(limit("Max core file size").find(" 0 "), std::string::npos) << limit("Max core file size");
  json request = test::run_request("healthy");
  request["id"] = 1;
  e.send(request);
  EXPECT_EQ(e.answer()["type"], "partial");
  EXPECT_EQ(e.answer()["type"], "result");
  auto line = limit("Max data size");
  auto soft = std::strtoull(line.c_str() + std::strlen("Max data size"), nullptr, 10);
  EXPECT_GT(soft, uint64_t{256} << 20) << line;
  EXPECT_LT(soft, available_host_memory() + (uint64_t{2} << 30)) << line;
}

}  // namespace
}  // namespace convscope
