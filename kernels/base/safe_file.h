// The one way to write a file: under another name beside it until it is whole, so that whoever reads it, and whoever is
// stopped half-way, has the old bytes or the new ones.
//
// What stands there stays what it is. A link stays and what it leads to is replaced; a file keeps its mode and, where
// the system allows it, its owner; one that may not be written is not replaced. What is no regular file (/dev/null, a
// FIFO, a terminal) is written to directly, and so is what this process has open (/dev/stdout, /dev/fd/63).
#pragma once
#include <string>
#include <string_view>

namespace convscope {

// Whether a crash of the machine may lose it. What can be made again is not worth waiting for the disk.
enum class Disk { wait, later };

class SafeFile {
 public:
  // Errors, here and below: std::runtime_error with the system's reason; what stood there is as it was.
  explicit SafeFile(std::string file, Disk disk = Disk::wait);
  ~SafeFile();  // without finish() nothing has happened, but for what went into something that is no regular file
  SafeFile(const SafeFile&) = delete;
  void write(std::string_view bytes);
  void finish();  // gives it its name

 private:
  [[noreturn]] void refuse(int error);
  void give_up();

  std::string file_;
  Disk disk_;
  int descriptor_ = -1;
  std::string beside_, target_;  // empty where it is written to directly
};

// All of it at once.
void write_file_safely(const std::string& file, std::string_view bytes, Disk disk = Disk::wait);

}  // namespace convscope
