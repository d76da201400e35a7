// What all tests share: the project's files, golden arrays, and the words of errors.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/problem/tensor.h"

namespace convscope::test {

// A file of the project by its place in it ("tests/data/x.npy"), wherever the test was started.
std::string project_file(std::string_view place);
std::vector<std::byte> file_bytes(const std::string& path);
std::string text_file(const std::string& path);
// All files of a folder of the project whose names begin and end so, sorted.
std::vector<std::string> project_files(std::string_view folder, std::string_view begin, std::string_view end);

// An array of a golden archive in tests/data. Throws InputError when there is none of this name.
HostTensor golden(const std::string& archive, const std::string& array);
bool has_array(const std::string& archive, const std::string& array);
// The whole numbers that an archive keeps as "params".
std::vector<int64_t> golden_params(const std::string& archive);

// The number of the line of a project file that holds `mark`; the mark must stand on exactly one line.
int line_of(std::string_view place, std::string_view mark);
std::string text_of_line(std::string_view place, int line);

// Whether tests do all that they can (./dev test --long), and not the part that takes no time.
bool long_run();

inline bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// What the error of type E thrown by f says; "" when f throws none. Anything else thrown goes on.
template <class E, class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "";
}

// The text of /proc/PID/`file`, or "" when the process is gone. It may go while it is read: then reading fails (ESRCH),
// and a stream's iterator would throw.
std::string text_of_process(int pid, const std::string& file);

// Opens a module that is built beside the tests, for as long as the program runs: "", or why it cannot be.
std::string open_module(const char* name);

// A fresh folder for a test's files, removed with the object.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  std::string write(const std::string& name, const void* data, size_t bytes) const;
  std::string path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// A cache in a test's folder: what is made of kernel files is the test's own, and only the precompiled headers are
// those of all tests.
std::string own_cache(const ScratchFolder& folder);

}  // namespace convscope::test
