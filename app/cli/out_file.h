// A file under another name until it is whole, so that a program that is stopped leaves no half of one.
#pragma once
#include <filesystem>
#include <fstream>
#include <string>

namespace convscope {

class OutFile {
 public:
  // `field`: the option that named it, for messages. Errors: InputError when it cannot be written.
  OutFile(std::string field, const std::filesystem::path& file);
  ~OutFile();
  OutFile(const OutFile&) = delete;
  void finish();  // gives it its name
  [[noreturn]] void refuse() const;

 private:
  std::string field_;
  std::filesystem::path file_, part_;

 public:
  std::ofstream out;
};

}  // namespace convscope
