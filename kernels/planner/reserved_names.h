// Names that an exported C function cannot have: the compiler, or a header that the file includes, has them already.
#pragma once
#include <string_view>

namespace convscope {

// Of C++20, of C, and the operators that are words.
bool is_keyword(std::string_view name);
// A function, a type or a macro of the C library or of CUDA's headers.
bool is_library_name(std::string_view name);

}  // namespace convscope
