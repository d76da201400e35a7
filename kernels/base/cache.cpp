#include "kernels/base/cache.h"

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <sys/file.h>
#include <unistd.h>

#include "kernels/base/safe_file.h"

namespace convscope {
namespace fs = std::filesystem;

std::string cache_folder() {
  const char *own = std::getenv("CONVSCOPE_CACHE"), *xdg = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  std::error_code error;
  // Absolute, since compilers run in folders of their own.
  if (own && *own) return fs::absolute(own, error).string();
  // A relative one is to be ignored (XDG Base Directory Specification).
  if (xdg && fs::path(xdg).is_absolute()) return (fs::path(xdg) / "convscope").string();
  if (home && *home) return (fs::path(home) / ".cache" / "convscope").string();
  return "";
}

std::string cache_file(std::string name) {
  std::string folder = cache_folder();
  if (folder.empty()) return "";
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-') c = '_';
  return (fs::path(folder) / name).string();
}

std::string cached_text(const std::string& file, size_t most) {
  std::ifstream in(file);
  std::string text(most, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(in.gcount()));
  return text;
}

void cache_text(const std::string& file, const std::string& text) {
  if (file.empty()) return;
  std::error_code error;
  fs::create_directories(fs::path(file).parent_path(), error);
  try {
    write_file_safely(file, text, Disk::later);
  } catch (const std::runtime_error&) {  // as if it were not there
  }
}

// A file beside, since the one that is meant is replaced.
CacheLock::CacheLock(const std::string& file) : descriptor_(-1) {
  if (file.empty()) return;
  std::error_code error;
  fs::create_directories(fs::path(file).parent_path(), error);
  descriptor_ = open((file + ".lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644);
  if (descriptor_ < 0) return;
  while (flock(descriptor_, LOCK_EX) != 0 && errno == EINTR) {
  }
}

CacheLock::~CacheLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace convscope
