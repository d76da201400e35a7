// What the tests of engine, client and command line share: the programs beside them, requests, and what is left behind.
#pragma once
#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <sys/types.h>
#include <vector>

#include "app/engine/client.h"
#include "tests/support.h"

namespace convscope::test {

using nlohmann::json;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool under_sanitizer = true;
#else
inline constexpr bool under_sanitizer = false;
#endif
// Why a test in which kernels end the engine is left out under one.
inline constexpr const char* ends_without_words = "a sanitizer has the signals: the engine ends without its last words";
// What upper bounds of time are multiplied by: for a sanitizer, and for a machine that has more to do than it has
// cores.
extern const double slowness;

// A program of the build, beside the running test; quoted, as a word of a command.
std::string program(const std::string& name);
inline std::string test_engine() { return program("test_engine"); }
// The test engine with variables before it: "CONVSCOPE_PATIENCE_S=1".
std::string test_engine_with(const std::string& variables);
// A shell as the engine's command. The script has no double quotes.
std::string shell(const std::string& script);

// A request to run a kernel on a problem of 1 × 1→1, K 1, L `length` unless `problem` says otherwise; no references.
json run_request(const std::string& kernel, const json& problem = json::object());
json explain_request(const std::string& kernel, const json& problem, const json& at);

// Asks and waits; a request that a healthy engine answers.
Answer ask(EngineClient& client, const json& header, std::vector<std::byte> payload = {}, double limit_s = 0);
// The header of an answer that must be a result; else a test failure and an empty object.
json result_of(const Answer& answer);
json result_of(EngineClient& client, const json& header);
// Runs the healthy kernel and expects the verdict `right`: the client is in order.
void expect_works(EngineClient& client);
std::string describe(const Answer& answer);

// Answers of posted requests, collected. Thread-safe.
class Collector {
 public:
  Handlers handlers();
  // Waits for n answers in all; false when they did not come in time.
  bool wait(size_t n, double seconds = 20 * slowness);
  std::vector<Answer> answers();
  size_t count();

 private:
  struct State;
  std::shared_ptr<State> state_ = make();
  static std::shared_ptr<State> make();
};

bool wait_until(const std::function<bool()>& condition, double seconds = 10 * slowness);

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Of this process: open descriptors, children that live or wait to be reaped, resident memory.
size_t open_descriptors();
std::vector<pid_t> children();
double resident_mib(pid_t pid = 0);
bool exists(pid_t pid);

// Checks when it goes that descriptors and children are as many as when it came.
class NothingLeft {
 public:
  NothingLeft();
  ~NothingLeft();

 private:
  size_t descriptors_;
  std::vector<pid_t> children_;
};

}  // namespace convscope::test
