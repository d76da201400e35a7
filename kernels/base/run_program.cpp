#include "kernels/base/run_program.h"

#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <mutex>
#include <set>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

extern char** environ;

namespace convscope {
namespace {

// Leaked: threads may still run while the process ends.
struct Running {
  std::mutex mutex;
  std::set<pid_t> groups;
};
Running& running() {
  static auto* r = new Running;
  return *r;
}

struct Files {
  Files() { posix_spawn_file_actions_init(&actions); }
  ~Files() { posix_spawn_file_actions_destroy(&actions); }
  Files(const Files&) = delete;
  posix_spawn_file_actions_t actions;
};

// The process group of a program: a compiler's driver starts compilers, which would outlive it. Its leader is a shell
// that waits for the end of a pipe which only this process holds open. The kernel closes that however this process
// ends, also by SIGKILL, and then the shell ends the group, itself among it. (PR_SET_PDEATHSIG would reach the driver
// alone; one group with this process would leave nothing to kill when a compilation is cancelled.)
class Group {
 public:
  Group() {
    lock_.lock();
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    Files files;
    posix_spawn_file_actions_adddup2(&files.actions, ends[0], 0);
    for (int fd : {1, 2}) posix_spawn_file_actions_addopen(&files.actions, fd, "/dev/null", O_WRONLY, 0);
    char shell[] = "sh", command[] = "-c", script[] = "read line; kill -9 0";
    char* argv[] = {shell, command, script, nullptr};
    if (spawn("/bin/sh", files, argv, leader_)) running().groups.insert(leader_);
    close(ends[0]);
    held_ = ends[1];
  }
  ~Group() {
    end();
    if (!lock_.owns_lock()) lock_.lock();
    running().groups.erase(id());
    if (leader_) waitpid(leader_, nullptr, 0);  // last: its number is the group's
    if (held_ >= 0) close(held_);
  }
  Group(const Group&) = delete;

  // The program's process, or 0.
  pid_t start(const std::string& path, const Files& files, char* const* argv) {
    if (spawn(path.c_str(), files, argv, program_)) running().groups.insert(id());
    lock_.unlock();
    return program_;
  }
  void end() const {
    if (id()) kill(-id(), SIGKILL);
  }

 private:
  // Without a leader (no shell) the program is one.
  pid_t id() const { return leader_ ? leader_ : program_; }

  bool spawn(const char* path, const Files& files, char* const* argv, pid_t& pid) const {
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setpgroup(&attributes, leader_);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    pid_t child = 0;
    const bool started = posix_spawn(&child, path, &files.actions, &attributes, argv, environ) == 0;
    posix_spawnattr_destroy(&attributes);
    if (started) pid = child;
    return started;
  }

  std::unique_lock<std::mutex> lock_{running().mutex, std::defer_lock};  // while it is made, and while it goes
  pid_t leader_ = 0, program_ = 0;
  int held_ = -1;
};

}  // namespace

ProgramResult run_program(const std::string& path, const std::vector<std::string>& arguments, double seconds,
                          Activity& activity) {
  ProgramResult r;
  // Files, not pipes: nothing has to be read while it runs, and nothing can fill up.
  TemporaryFile out, err;
  if (out.path().empty() || err.path().empty()) return r;
  std::vector<char*> argv{const_cast<char*>(path.c_str())};
  for (const auto& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  Files files;
  posix_spawn_file_actions_addopen(&files.actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files.actions, 1, out.path().c_str(), O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&files.actions, 2, err.path().c_str(), O_WRONLY, 0);
  Group group;
  const pid_t child = group.start(path, files, argv.data());
  r.started = child != 0;
  if (!r.started) return r;
  auto begin = std::chrono::steady_clock::now();
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    r.late = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > seconds;
    if (r.late || activity.cancelled()) {
      group.end();
      waitpid(child, &status, 0);
      activity.check();
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (WIFEXITED(status)) r.status = WEXITSTATUS(status);
  r.out = out.read(), r.err = err.read();
  return r;
}

void end_programs_for_good() {
  auto& r = running();
  r.mutex.lock();  // and never given back
  for (pid_t group : r.groups) kill(-group, SIGKILL);
}

}  // namespace convscope
