#include "tests/gui/programs.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <spawn.h>
#include <sstream>
#include <stdexcept>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "tests/support.h"

extern char** environ;

namespace convscope::test {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

bool is_variable(const std::string& word) {
  size_t equals = word.find('=');
  return equals != std::string::npos && equals > 0 &&
         std::all_of(word.begin(), word.begin() + static_cast<long>(equals),
                     [](char c) { return std::isupper(static_cast<unsigned char>(c)) || c == '_'; });
}

}  // namespace

std::string built(const std::string& name) {
  std::error_code error;
  return (std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / name).string();
}

bool on_path(const std::string& program) {
  std::stringstream path(std::getenv("PATH") ? std::getenv("PATH") : "");
  for (std::string folder; std::getline(path, folder, ':');)
    if (access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  return false;
}

Started::Started(const std::string& folder, std::vector<std::string> words) {
  static std::atomic<int> count{0};
  std::string number = std::to_string(++count);
  out_ = folder + "/out-" + number, err_ = folder + "/err-" + number;
  std::vector<std::string> variables;
  for (char** v = environ; *v; v++) variables.push_back(*v);
  while (!words.empty() && is_variable(words.front())) {
    std::string name = words.front().substr(0, words.front().find('=') + 1);
    std::erase_if(variables, [&](const std::string& v) { return v.starts_with(name); });
    if (words.front() != name) variables.push_back(words.front());
    words.erase(words.begin());
  }
  std::vector<char*> argv, env;
  for (auto& w : words) argv.push_back(w.data());
  for (auto& v : variables) env.push_back(v.data());
  argv.push_back(nullptr), env.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, err_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  int error = posix_spawnp(&pid_, argv[0], &actions, nullptr, argv.data(), env.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error) throw std::runtime_error(words[0] + " cannot be started: " + std::strerror(error));
}

Started::~Started() {
  if (ended()) return;
  signal(SIGKILL);
  wait(10);
}

bool Started::ended() {
  if (code_ >= 0) return true;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return false;
  code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return true;
}

int Started::wait(double seconds) {
  auto start = std::chrono::steady_clock::now();
  while (!ended()) {
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > seconds * program_slowness)
      return -1;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return code_;
}

void Started::signal(int number) const {
  if (code_ < 0) kill(pid_, number);
}

std::string Started::out() const { return text_of(out_); }
std::string Started::err() const { return text_of(err_); }

size_t lines_of(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) + (!text.empty() && text.back() != '\n');
}

// Processor time of a process so far, in seconds.
double cpu_seconds(pid_t pid) {
  std::string text = text_of_process(pid, "stat");
  std::istringstream rest(text.substr(text.rfind(')') + 1));
  std::string word;
  double ticks = 0;
  for (int i = 3; i <= 15 && rest >> word; i++)
    if (i == 14 || i == 15) ticks += std::stod(word);
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> found;
  std::error_code error;
  for (const auto& e : std::filesystem::directory_iterator("/proc", error)) {
    std::string name = e.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const pid_t pid = std::stoi(name);
    std::string text = text_of_process(pid, "stat");
    if (text.empty()) continue;
    std::istringstream rest(text.substr(text.rfind(')') + 1));
    char state;
    pid_t of = 0;
    if (rest >> state >> of && of == parent && state != 'Z') found.push_back(pid);
  }
  return found;
}

}  // namespace convscope::test
