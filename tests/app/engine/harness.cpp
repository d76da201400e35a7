#include "tests/app/engine/harness.h"

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <dirent.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <mutex>
#include <signal.h>
#include <sstream>
#include <thread>
#include <unistd.h>

namespace convscope::test {
namespace fs = std::filesystem;

const double slowness = [] {
  double load = 0;
  if (getloadavg(&load, 1) != 1) load = 0;
  return (under_sanitizer ? 10 : 1) *
         std::clamp(1.5 * load / std::max(1u, std::thread::hardware_concurrency()), 1.0, 4.0);
}();

std::string program(const std::string& name) {
  static const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
  return std::string("'").append(folder / name).append("'");
}

std::string shell(const std::string& script) { return "sh -c \"" + script + "\""; }

std::string test_engine_with(const std::string& variables) { return "env " + variables + " " + test_engine(); }

json run_request(const std::string& kernel, const json& problem) {
  json p = {{"length", 64}};
  if (problem.is_object()) p.update(problem);
  return {{"type", "run"},        {"kernel", kernel},    {"problem", p},
          {"device", "emulator"}, {"references", false}, {"samples", 1}};
}

json explain_request(const std::string& kernel, const json& problem, const json& at) {
  json r = run_request(kernel, problem);
  r["type"] = "explain";
  r["at"] = at;
  return r;
}

Answer ask(EngineClient& client, const json& header, std::vector<std::byte> payload, double limit_s) {
  return client.request(header.dump(), std::move(payload), {}, limit_s);
}

std::string describe(const Answer& a) {
  const char* kinds[] = {"result", "error", "crashed", "hung"};
  return std::string(kinds[static_cast<int>(a.kind)]) + " '" + a.message + "' " + a.header.substr(0, 400);
}

json result_of(const Answer& answer) {
  EXPECT_EQ(answer.kind, Answer::Kind::result) << describe(answer);
  return answer.kind == Answer::Kind::result ? json::parse(answer.header) : json::object();
}

json result_of(EngineClient& client, const json& header) { return result_of(ask(client, header)); }

void expect_works(EngineClient& client) {
  json r = result_of(client, run_request("healthy"));
  ASSERT_TRUE(r.contains("verdict"));
  EXPECT_EQ(r["verdict"]["status"], "right") << r["verdict"].dump(1);
}

struct Collector::State {
  std::mutex mutex;
  std::condition_variable came;
  std::vector<Answer> answers;
};

std::shared_ptr<Collector::State> Collector::make() { return std::make_shared<State>(); }

Handlers Collector::handlers() {
  Handlers h;
  h.done = [state = state_](Answer a) {
    std::lock_guard lock(state->mutex);
    state->answers.push_back(std::move(a));
    state->came.notify_all();
  };
  return h;
}

bool Collector::wait(size_t n, double seconds) {
  std::unique_lock lock(state_->mutex);
  return state_->came.wait_for(lock, std::chrono::duration<double>(seconds),
                               [&] { return state_->answers.size() >= n; });
}

std::vector<Answer> Collector::answers() {
  std::lock_guard lock(state_->mutex);
  return state_->answers;
}

size_t Collector::count() { return answers().size(); }

bool wait_until(const std::function<bool()>& condition, double seconds) {
  for (Stopwatch watch; watch.seconds() < seconds;) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return condition();
}

size_t open_descriptors() {
  auto folder = fs::directory_iterator("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(folder), end(folder))) - 1;  // less the one that lists them
}

std::vector<pid_t> children() {
  std::vector<pid_t> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    auto name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const pid_t pid = std::stoi(name);
    std::string text = text_of_process(pid, "stat");
    auto end = text.rfind(')');  // of the program's name, which may hold anything
    if (end == std::string::npos) continue;
    std::istringstream rest(text.substr(end + 1));
    std::string state;
    pid_t parent = 0;
    if (rest >> state >> parent && parent == getpid()) found.push_back(pid);
  }
  std::sort(found.begin(), found.end());
  return found;
}

double resident_mib(pid_t pid) {
  std::istringstream in(text_of_process(pid ? pid : getpid(), "status"));
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("VmRSS:")) return std::stod(line.substr(6)) / 1024;
  return 0;
}

// A zombie is gone: it only waits to be reaped, by whoever is its parent now.
bool exists(pid_t pid) {
  std::string text = text_of_process(pid, "stat");
  auto end = text.rfind(')');
  return end != std::string::npos && text.compare(end, 3, ") Z") != 0;
}

NothingLeft::NothingLeft() : descriptors_(open_descriptors()), children_(children()) {}

NothingLeft::~NothingLeft() {
  EXPECT_EQ(open_descriptors(), descriptors_) << "descriptors are left open";
  EXPECT_EQ(children(), children_) << "processes are left behind";
}

}  // namespace convscope::test
