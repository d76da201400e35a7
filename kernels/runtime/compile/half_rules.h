// CUDA's operators and conversions of 16-bit numbers that PyTorch switches off for all extensions
// (torch.utils.cpp_extension, COMMON_NVCC_FLAGS): what uses them compiles by nvcc alone, and not where it is loaded.
#pragma once
#include <string>

namespace convscope {

// Whether PyTorch compiles what a Python file holds.
bool is_built_by_pytorch(const std::string& text, const std::string& name);

// The argument by which g++ warns of them, and the one by which it does not.
inline constexpr const char* warn_of_switched_off = "-Wdeprecated-declarations";
inline constexpr const char* pass_switched_off = "-Wno-deprecated-declarations";

// printed: by g++, of the file `file` with this text, which may take the definition back (extra_cuda_cflags). Without
// these warnings. Errors: CompileError, with the line of the first use.
std::string check_switched_off(const std::string& printed, const std::string& text, const std::string& file);

}  // namespace convscope
