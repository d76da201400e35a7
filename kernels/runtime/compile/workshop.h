// Where kernel files from outside are compiled, and where what was made of them is kept.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/activity.h"
#include "kernels/base/temporary.h"

namespace convscope {

// A folder for one compilation, gone with the object: the public headers in include/, the ladder's and the program's at
// their own places, in stubs/ empty headers of the names that files include for nvcc's sake, and in host/ those of
// PyTorch's names. Errors: MissingError.
class Workshop {
 public:
  Workshop();
  const std::filesystem::path& path() const { return folder_.path(); }
  void write(const char* file, std::string_view text) const;

  // Runs a compiler in the folder, where it says everything in English. Returns what it printed. `name` is the file
  // that messages are about. Errors: CompileError, MissingError, Cancelled.
  std::string compile(const std::string& compiler, const std::vector<std::string>& arguments, const std::string& name,
                      Activity& activity) const;

  // Copies a file out of the folder. Beside and renamed: another process never opens half of one. Errors: MissingError.
  void put(const char* from, const std::filesystem::path& to) const;

 private:
  TemporaryFolder folder_;
};

// Of what was made: two FNV-1a hashes (Fowler, Noll & Vo) from different beginnings, 128 bits, so that no other text
// has them by chance.
class Fingerprint {
 public:
  void add(std::string_view text);
  void add(const std::vector<std::string>& texts);
  void add_headers();                             // those of the folder
  void add_compiler(const std::string& program);  // its name and when it was installed
  std::string text() const;

 private:
  uint64_t a_ = 0xcbf29ce484222325u, b_ = 0x84222325cbf29ce4u;
};

// In the user's cache, a folder of this user's alone: what lies there is run. Errors: MissingError.
std::filesystem::path modules_folder();
// The files that were kept longest unused go.
void thin_out(const std::filesystem::path& folder);
// This one was used now.
std::string read_whole(const std::filesystem::path& file);
void touch(const std::filesystem::path& file);

// The program in the environment's variable (and nothing else, when it is set), else the first of `names` in the
// folders of PATH and then `folders`; "" when there is none. Errors: MissingError when the variable names no program.
std::string find_program(const char* variable, const std::vector<std::string>& names,
                         const std::vector<std::string>& folders);

// Of what a compiler printed (g++, nvcc or ptxas): the first error as one line, "mine.cu:12: 'foo' was not declared in
// this scope".
std::string first_error(const std::string& printed, const std::string& name);

}  // namespace convscope
