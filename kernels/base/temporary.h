// Files and folders for a while: gone with their object. Those of a process that was killed are removed by the next one
// that makes some.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

namespace convscope {

class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view content = {});  // path() is "" when it could not be written
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }
  std::string read() const;

 private:
  std::string path_;
  int lock_ = -1;
};

class TemporaryFolder {
 public:
  TemporaryFolder();  // path() is "" when it could not be made
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int lock_ = -1;
};

// Removes what such objects of processes that are gone have left in a folder, and returns how many there were. What is
// no file or folder of this user's by its own name (a link, say) stays. The first object of a process does this, and
// each folder.
int remove_abandoned(const std::filesystem::path& folder);

// For a process that ends without destructors: removes all that there are of it. Nothing can be made from then on; who
// tries waits for the end.
void remove_temporary_for_good();

}  // namespace convscope
