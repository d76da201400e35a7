#include "kernels/base/temporary.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace convscope {
namespace fs = std::filesystem;
namespace {

// What this process has made. Leaked: its threads may still run while the process ends.
struct Made {
  std::mutex mutex;
  std::set<std::string> paths;
};
Made& made() {
  static auto* m = new Made;
  return *m;
}

fs::path temporary_place() {
  std::error_code error;
  auto folder = fs::temp_directory_path(error);
  return error ? fs::path("/tmp") : folder;
}

// Makes it and holds a lock on it, which the kernel gives back however this process ends: so who looks for what was
// abandoned need not ask whether a process lives, whose number another may have by now, or which is one of another
// container that shares the folder. The number in the name is for people. -1, and no path: it cannot be made.
int make(bool folder, std::string& path) {
  // Each time a folder is made, which is seldom: the locks of a process that has just been killed may still be held.
  static std::once_flag first;
  if (folder)
    remove_abandoned(temporary_place());
  else
    std::call_once(first, [] { remove_abandoned(temporary_place()); });
  auto& m = made();
  std::lock_guard lock(m.mutex);
  constexpr int most_tries = 50;
  for (int tries = 0; tries < most_tries; tries++) {
    std::string name =
        (temporary_place() / fmt::format("convscope-{}{}-XXXXXX", folder ? "kernel-" : "", getpid())).string();
    int fd = -1;
    if (!folder)
      fd = mkostemp(name.data(), O_CLOEXEC);
    else if (mkdtemp(name.data()) && (fd = open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) {
      // Another process may have met it before it was locked, here and below, and taken it for an abandoned one.
      if (errno == ENOENT) continue;
      rmdir(name.c_str());
    }
    if (fd < 0) return -1;
    flock(fd, LOCK_EX);
    if (access(name.c_str(), F_OK) == 0) {
      m.paths.insert(name);
      path = name;
      return fd;
    }
    close(fd);
  }
  return -1;
}

void remove(const std::string& path, int fd) {
  if (path.empty()) return;
  std::error_code error;
  fs::remove_all(path, error);
  auto& m = made();
  std::lock_guard lock(m.mutex);
  m.paths.erase(path);
  close(fd);
}

// convscope-123-AbCdEf, convscope-kernel-123-AbCdEf.
bool has_our_form(std::string_view name) {
  for (std::string_view begin : {"convscope-kernel-", "convscope-"}) {
    if (!name.starts_with(begin)) continue;
    const std::string_view rest = name.substr(begin.size());
    const size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
    return digits > 0 && rest.size() == digits + 7 && rest[digits] == '-';
  }
  return false;
}

}  // namespace

TemporaryFile::TemporaryFile(std::string_view content) {
  lock_ = make(false, path_);
  while (lock_ >= 0 && !content.empty()) {
    ssize_t n = write(lock_, content.data(), content.size());
    if (n <= 0) break;
    content.remove_prefix(static_cast<size_t>(n));
  }
  if (lock_ < 0 || content.empty()) return;
  remove(path_, lock_);
  path_.clear();
}

TemporaryFile::~TemporaryFile() { remove(path_, lock_); }

std::string TemporaryFile::read() const {
  std::ifstream in(path_, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

TemporaryFolder::TemporaryFolder() {
  std::string path;
  lock_ = make(true, path);
  path_ = path;
}

TemporaryFolder::~TemporaryFolder() { remove(path_.string(), lock_); }

int remove_abandoned(const fs::path& folder) {
  int removed = 0;
  std::error_code error;
  std::set<fs::path> candidates;
  for (auto it = fs::directory_iterator(folder, error); !error && it != fs::directory_iterator(); it.increment(error))
    if (has_our_form(it->path().filename().string())) candidates.insert(it->path());
  for (const auto& path : candidates) {
    const int fd = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) continue;
    struct stat own {};
    if (fstat(fd, &own) == 0 && own.st_uid == geteuid() && (S_ISREG(own.st_mode) || S_ISDIR(own.st_mode)) &&
        flock(fd, LOCK_EX | LOCK_NB) == 0)
      removed += fs::remove_all(path, error) > 0 && !error;
    close(fd);
  }
  return removed;
}

void remove_temporary_for_good() {
  auto& m = made();
  m.mutex.lock();  // and never given back
  // What a compiler that has just been killed was writing may come while its folder is emptied.
  for (int tries = 0; tries < 50 && !m.paths.empty(); tries++) {
    if (tries) usleep(10'000);
    std::erase_if(m.paths, [](const std::string& path) {
      std::error_code error;
      fs::remove_all(path, error);
      return access(path.c_str(), F_OK) != 0;
    });
  }
}

}  // namespace convscope
