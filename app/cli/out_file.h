// A file that an option names (kernels/base/safe_file.h): that it cannot be written is said as of any other input.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/safe_file.h"

namespace convscope {

class OutFile {
 public:
  // The words of the command line. A file that one of them names is read, or may be: where another one names it as what
  // is to be written (--out with the recording or the kernel's file), it would be lost.
  static void know(std::vector<std::string> words);

  // `field`: the option that named it, for messages. Errors, here and below: InputError when it cannot be written.
  OutFile(std::string field, const std::filesystem::path& file, Disk disk = Disk::wait);
  OutFile(const OutFile&) = delete;
  void write(std::string_view bytes);
  void finish();  // gives it its name; without, nothing has happened
  [[noreturn]] void refuse() const;

 private:
  std::string field_, file_;
  std::optional<SafeFile> out_;
};

}  // namespace convscope
