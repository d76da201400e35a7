// What nvcc refuses of device code and the host's compiler takes (CUDA C++ Programming Guide, "C++ Language Support"),
// as far as it can be told from a text. What a condition of the preprocessor, a macro or a template may make of it is
// taken.
#pragma once
#include <string>

namespace convscope {

// Whether device code may call constexpr functions of the host: PyTorch builds its extensions, and those of Python
// files, with --expt-relaxed-constexpr; of others a comment with that word says so.
bool relaxes_constexpr(const std::string& cuda, const std::string& file);

// Functions of the host that are called, exceptions, containers of the standard library, initial values of shared
// memory and two types of one dynamic shared array. cuda: without what is not CUDA, with its lines. one_unit:
// false where it is several texts that are compiled each by itself: names of one are not the other's. Errors:
// CompileError.
void check_device_code(const std::string& cuda, const std::string& file, bool one_unit);

// Arrays whose size is not known, of which g++ warned (-Wvla). Errors: CompileError.
void check_array_sizes(const std::string& printed, const std::string& cuda, const std::string& file);

}  // namespace convscope
