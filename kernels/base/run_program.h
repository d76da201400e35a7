// Runs a small program and takes what it prints.
#pragma once
#include <string>
#include <vector>

#include "kernels/base/activity.h"

namespace convscope {

struct ProgramResult {
  bool started = false, late = false;  // late: it was ended after `seconds`
  int status = -1;                     // its exit code
  std::string out, err;
};
// Without a shell. Its stdin is empty. Errors: Cancelled (the program is ended first).
ProgramResult run_program(const std::string& path, const std::vector<std::string>& arguments, double seconds,
                          Activity& activity);

// A file that is gone with the object.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view content = {});  // path() is "" when it could not be written
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }
  std::string read() const;

 private:
  std::string path_;
};

}  // namespace convscope
