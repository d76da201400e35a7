// A file that an option names (kernels/base/safe_file.h): that it cannot be written is said as of any other input.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/base/safe_file.h"

namespace convscope {

class OutFile {
 public:
  // `field`: the option that named it, for messages. Errors, here and below: InputError when it cannot be written, or
  // is what the command reads (words.h).
  OutFile(std::string field, const std::filesystem::path& file, Disk disk = Disk::wait);
  OutFile(const OutFile&) = delete;
  void write(std::string_view bytes);
  void finish();  // gives it its name; without, nothing has happened
  [[noreturn]] void refuse() const;

 private:
  std::string field_, file_;
  std::optional<SafeFile> out_;
};

// Another text in the place of a kernel file's, unless it has been changed since it was `before`. Errors: InputError.
void write_into_kernel(const std::string& file, const std::string& before, const std::string& after);

}  // namespace convscope
