// extern __shared__ float tile[]; as the host's compiler is given it.
#pragma once
#include <string>

namespace convscope {

// CUDA source in which such a declaration inside a function is the emulator's (CONVSCOPE_DYNAMIC_SHARED), and one
// outside of all stands at the head of each function that uses its name, unless a parameter has it: what is meant
// depends on the thread. Keeps the lines.
std::string with_dynamic_shared(const std::string& cuda);

}  // namespace convscope
