// The user's cache: small text files of what can be found out again. What cannot be read or written there is as if it
// were not there; nothing here throws.
#pragma once
#include <cstddef>
#include <string>

namespace convscope {

// $CONVSCOPE_CACHE, else $XDG_CACHE_HOME/convscope, else ~/.cache/convscope; "" when there is none. An absolute path:
// $CONVSCOPE_CACHE may be relative to the working folder.
std::string cache_folder();
// A file in it; letters, digits, dots and hyphens of the name stay, all else becomes an underscore. "" without a
// folder.
std::string cache_file(std::string name);

// Its first `most` bytes; "" when it cannot be read.
std::string cached_text(const std::string& file, size_t most);
// Written beside and renamed: a reader sees the old text or the new one, never half of one. Makes the folder.
void cache_text(const std::string& file, const std::string& text);

// Whoever reads a file, changes it and writes it again holds this meanwhile, so that no other process's change is lost.
// Waits for others; the system lets go of it when a process ends. Where the folder has no locks it holds nothing.
class CacheLock {
 public:
  explicit CacheLock(const std::string& file);
  ~CacheLock();
  CacheLock(const CacheLock&) = delete;

 private:
  int descriptor_;
};

}  // namespace convscope
