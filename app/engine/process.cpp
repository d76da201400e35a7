#include "app/engine/process.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/base/error.h"

extern char** environ;

namespace convscope {

ChildProcess::ChildProcess(const std::vector<std::string>& command) {
  int in[2], out[2], err[2];
  auto fail = [](const std::string& what) { throw std::runtime_error(what + ": " + std::strerror(errno)); };
  if (pipe2(in, O_CLOEXEC) != 0) fail("no pipe");
  if (pipe2(out, O_CLOEXEC) != 0) close(in[0]), close(in[1]), fail("no pipe");
  if (pipe2(err, O_CLOEXEC) != 0) close(in[0]), close(in[1]), close(out[0]), close(out[1]), fail("no pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  posix_spawn_file_actions_adddup2(&actions, err[1], 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // Its own process group: Ctrl-C in a terminal reaches the client, which then decides. Signals at their defaults.
  sigset_t none, usual;
  sigemptyset(&none);
  sigemptyset(&usual);
  sigaddset(&usual, SIGPIPE);
  sigaddset(&usual, SIGINT);
  sigaddset(&usual, SIGUSR1);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::vector<char*> argv;
  for (const auto& s : command) argv.push_back(const_cast<char*>(s.c_str()));
  argv.push_back(nullptr);
  int error = posix_spawnp(&pid_, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(in[0]), close(out[1]), close(err[1]);
  to_ = in[1], from_ = out[0], log_ = err[0];
  if (error) {
    pid_ = -1;
    close(to_), close(from_), close(log_);
    to_ = from_ = log_ = -1;
    throw std::runtime_error("cannot start " + command[0] + ": " + std::strerror(error));
  }
}

ChildProcess::~ChildProcess() {
  if (pid_ > 0 && !ended_) {
    kill();
    wait();
  }
  for (int fd : {to_, from_, log_})
    if (fd >= 0) close(fd);
}

void ChildProcess::close_input() {
  if (to_ >= 0) close(to_);
  to_ = -1;
}

void ChildProcess::kill() {
  if (pid_ <= 0 || ended_) return;
  // Its group: the engine may be the child of a shell. The group is there as soon as posix_spawn has returned.
  if (::kill(-pid_, SIGKILL) != 0) ::kill(pid_, SIGKILL);
}

void ChildProcess::ask() {
  if (pid_ > 0 && !ended_) ::kill(-pid_, SIGUSR1);
}

bool ChildProcess::ended() {
  if (!ended_ && pid_ > 0) ended_ = waitpid(pid_, &status_, WNOHANG) == pid_;
  return ended_;
}

std::string ChildProcess::wait() {
  if (pid_ <= 0) return "";
  while (!ended_) {
    pid_t got = waitpid(pid_, &status_, 0);
    ended_ = got == pid_ || (got < 0 && errno != EINTR);
  }
  if (WIFSIGNALED(status_))
    return "signal " + std::to_string(WTERMSIG(status_)) + " (" + strsignal(WTERMSIG(status_)) + ")";
  int code = WIFEXITED(status_) ? WEXITSTATUS(status_) : 1;
  return code ? "exit code " + std::to_string(code) : "";
}

void open_standard_descriptors() {
  for (int fd = 0; fd <= 2; fd++)
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0) return;
}

std::vector<std::string> split_command(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  char quote = 0;
  bool any = false;
  for (char c : text) {
    if (quote) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '\'' || c == '"') {
      quote = c, any = true;
    } else if (c == ' ' || c == '\t') {
      if (any) words.push_back(std::move(word));
      word.clear(), any = false;
    } else {
      word += c, any = true;
    }
  }
  if (quote) throw InputError("engine", text, "has a quote that is not closed");
  if (any) words.push_back(word);
  if (words.empty()) throw InputError("engine", text, "must name a command");
  return words;
}

}  // namespace convscope
