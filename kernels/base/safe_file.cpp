#include "kernels/base/safe_file.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <stdexcept>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace convscope {
namespace fs = std::filesystem;
namespace {

// Which of this process's descriptors a name under /dev/fd or /proc/self/fd means, else -1. Such a name leads to a file
// that a shell may have opened (convscope … > FILE): it is that descriptor which is meant, at its place in the file.
int own_descriptor(const fs::path& file) {
  const std::string name = file.filename().string();
  if (name.empty() || name.size() > 6 ||
      !std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c) != 0; }))
    return -1;
  std::error_code error;
  const fs::path own = fs::canonical("/proc/self/fd", error);
  if (own.empty() || fs::canonical(file.parent_path(), error) != own) return -1;
  return std::stoi(name);
}

// Where links lead, step by step: the last step may name what is not there yet, and one may name a descriptor.
fs::path followed(fs::path file) {
  constexpr int most = 40;  // links, as the system follows them
  for (int i = 0; i < most && own_descriptor(file) < 0; i++) {
    std::error_code error;
    const fs::path next = fs::read_symlink(file, error);
    if (error) break;
    file = file.parent_path() / next;
  }
  return file;
}

// A new file beside, of a name that nobody has; what is there is another process's or a person's.
int open_beside(const fs::path& target, std::string& name) {
  constexpr int most = 1000;
  constexpr size_t longest = 200;  // of 255 bytes, so that the rest fits
  const std::string begin = (target.parent_path() / target.filename().string().substr(0, longest)).string() + ".part" +
                            std::to_string(getpid()) + "-";
  for (int n = 0; n < most; n++) {
    const std::string tried = begin + std::to_string(n);
    const int descriptor = open(tried.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0) name = tried;
    if (descriptor >= 0 || errno != EEXIST) return descriptor;
  }
  return -1;
}

// As the file is that it replaces.
bool made_like(int descriptor, const struct stat& old) {
  struct stat now {};
  if (fstat(descriptor, &now) != 0) return false;
  if ((now.st_uid != old.st_uid || now.st_gid != old.st_gid) && fchown(descriptor, old.st_uid, old.st_gid) != 0) {
    // Who may not give files away keeps it.
  }
  return fchmod(descriptor, old.st_mode & 0777) == 0;
}

}  // namespace

SafeFile::SafeFile(std::string file, Disk disk) : file_(std::move(file)), disk_(disk) {
  const fs::path target = followed(file_);
  if (const int own = own_descriptor(target); own >= 0) {
    descriptor_ = fcntl(own, F_DUPFD_CLOEXEC, 0);
    if (descriptor_ < 0) refuse(errno);
    return;
  }
  struct stat old {};
  const bool there = stat(file_.c_str(), &old) == 0;
  if (!there && errno != ENOENT) refuse(errno);
  if (there && !S_ISREG(old.st_mode)) {
    descriptor_ = open(file_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor_ < 0) refuse(errno);
    return;
  }
  if (there && faccessat(AT_FDCWD, file_.c_str(), W_OK, AT_EACCESS) != 0) refuse(errno);
  target_ = target.string();
  descriptor_ = open_beside(target, beside_);
  if (descriptor_ < 0 || (there && !made_like(descriptor_, old))) refuse(errno);
}

SafeFile::~SafeFile() { give_up(); }

void SafeFile::write(std::string_view bytes) {
  if (descriptor_ < 0) refuse(EBADF);
  while (!bytes.empty()) {
    const ssize_t n = ::write(descriptor_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) refuse(n < 0 ? errno : ENOSPC);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

void SafeFile::finish() {
  if (descriptor_ < 0) refuse(EBADF);
  const bool direct = beside_.empty();
  // EINVAL: a file system that knows no waiting.
  if (!direct && disk_ == Disk::wait && fsync(descriptor_) != 0 && errno != EINVAL) refuse(errno);
  if (close(std::exchange(descriptor_, -1)) != 0) refuse(errno);  // some disks say only here that they are full
  if (!direct && rename(beside_.c_str(), target_.c_str()) != 0) refuse(errno);
  beside_.clear();
}

void SafeFile::give_up() {
  if (descriptor_ >= 0) close(std::exchange(descriptor_, -1));
  if (!beside_.empty()) unlink(std::exchange(beside_, "").c_str());
}

void SafeFile::refuse(int error) {
  give_up();
  throw std::runtime_error(file_ + " cannot be written: " + std::strerror(error));
}

void write_file_safely(const std::string& file, std::string_view bytes, Disk disk) {
  SafeFile out(file, disk);
  out.write(bytes);
  out.finish();
}

}  // namespace convscope
