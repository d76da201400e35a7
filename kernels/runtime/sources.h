// The text of the built-in kernel files, carried by the program: what is shown is what was compiled.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace convscope {

struct KernelSource {
  std::string file;  // kernels/ladder/direct.cu
  std::string_view text;
};
const std::vector<KernelSource>& kernel_sources();

// The same of a text that is carried by nobody (a kernel from outside).
std::vector<KernelSource> with_headers(const KernelSource& first);
// A file and the headers of this project that it includes, directly or not, in the order in which they come first;
// empty when the program does not carry it.
std::vector<KernelSource> with_headers(const std::string& file);

// A path as a compiler noted it, by the name of the file carried here; as it is when there is none.
inline std::string carried_name(const std::string& path) {
  for (const auto& s : kernel_sources())
    if (path == s.file || path.ends_with("/" + s.file)) return s.file;
  return path;
}

}  // namespace convscope
