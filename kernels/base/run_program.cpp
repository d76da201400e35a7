#include "kernels/base/run_program.h"

#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <spawn.h>
#include <sstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

extern char** environ;

namespace convscope {

TemporaryFile::TemporaryFile(std::string_view content) {
  std::error_code error;
  auto folder = std::filesystem::temp_directory_path(error);
  std::string name = ((error ? std::filesystem::path("/tmp") : folder) / "convscope-XXXXXX").string();
  int fd = mkostemp(name.data(), O_CLOEXEC);
  if (fd < 0) return;
  path_ = name;
  while (!content.empty()) {
    ssize_t n = write(fd, content.data(), content.size());
    if (n <= 0) break;
    content.remove_prefix(static_cast<size_t>(n));
  }
  close(fd);
  if (content.empty()) return;
  unlink(path_.c_str());
  path_.clear();
}

TemporaryFile::~TemporaryFile() {
  if (!path_.empty()) unlink(path_.c_str());
}

std::string TemporaryFile::read() const {
  std::ifstream in(path_, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

ProgramResult run_program(const std::string& path, const std::vector<std::string>& arguments, double seconds,
                          Activity& activity) {
  ProgramResult r;
  // Files, not pipes: nothing has to be read while it runs, and nothing can fill up.
  TemporaryFile out, err;
  if (out.path().empty() || err.path().empty()) return r;
  std::vector<char*> argv{const_cast<char*>(path.c_str())};
  for (const auto& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, out.path().c_str(), O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&files, 2, err.path().c_str(), O_WRONLY, 0);
  pid_t child = 0;
  r.started = posix_spawn(&child, path.c_str(), &files, nullptr, argv.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&files);
  if (!r.started) return r;
  auto begin = std::chrono::steady_clock::now();
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    r.late = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > seconds;
    if (r.late || activity.cancelled()) {
      kill(child, SIGKILL);
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

}  // namespace convscope
