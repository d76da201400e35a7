// PTX that kernels say in asm(): loads and stores, copies that are waited for later, matrices for the tensor cores and
// their products, and what is needed around them, written as what the emulator has (convscope/ptx.h).
#pragma once
#include <string>

namespace convscope {

// The text with such statements in other words, its lines as they were; one of which an instruction is not known stays.
std::string with_plain_ptx(const std::string& text);

}  // namespace convscope
