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

}  // namespace convscope
