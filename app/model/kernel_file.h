// A kernel's file that a person opened, as far as it has come.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "app/model/error_lines.h"

namespace convscope {

struct OpenedFile {
  std::string text;    // that the engine was given last
  std::string device;  // for which its availability was asked
  bool compiling = false;
  uint64_t request = 0, serial = 0;             // its compilation; how many there were
  uint64_t texts = 0, compiled = 0;             // how many it has had; which of them the engine's kernel is of
  std::chrono::steady_clock::time_point since;  // when the newest came
  std::string trouble;  // why its newest text gave no kernel, in a line; the kernel of the text before it stays
  std::vector<ErrorLine> errors;  // of its newest text: the lines of the file that the compiler named
  double seconds = 0;             // that compiling took
  double waited = 0;              // from the newest text to what became of it, in seconds: what a person waits
  bool gone = false;              // it is not there any more
  bool ever = false;              // one of its texts gave a kernel
};

// The text with the launch line that its trouble says is lacking, above its first kernel; "": that is not its trouble.
std::string with_launch_line(const OpenedFile& file);

// Whether a kernel is a file's, or one of several in it.
inline bool is_of_file(const std::string& kernel, const std::string& path) {
  return kernel == path || kernel.starts_with(path + ":");
}

}  // namespace convscope
