// Kernel files with host code of their own: a function that launches kernels with <<<…>>>, as PyTorch extensions have
// it, in a .cu file or in a string of a Python file. The function itself is called for a problem, with tensors that
// have no values, and what it launches is the kernel's plan (convscope/host_code.h). It is found by its launches, its
// parameters by their usual names; where these do not tell, a comment does:
//
//   // convscope: call conv_transpose1d_cuda args=x,w,b,s,p,op,d,g supports=groups==1
//
// Texts keep their lines.
#pragma once
#include <set>
#include <string>
#include <string_view>

namespace convscope {

// Whether a text launches kernels itself.
bool has_host_code(std::string_view text);

// What stands before a text for its compilers: our header in the place of PyTorch's where it has host code, and those
// of the standard library that PyTorch's bring along and it uses by name. Else "".
std::string includes_before(std::string_view cuda);

// The CUDA source of a file: of Python what cuda_of_python() gives, without a main().
std::string cuda_source(const std::string& text, const std::string& name);

// kernel<<<grid, block, …>>> as the host compiler is given it: convscope::host::Launching<kernel>(grid, block, …).
// bounded: kernels that have a constant of their __launch_bounds__ (launch_bounds.h).
std::string with_noted_launches(const std::string& text, const std::set<std::string>& bounded = {});

// C++ that registers a kernel whose plan is what the host code launches. `original`: the text as the file has it (a
// Python file names its functions). Errors: InputError, with the line that would do.
std::string registration_of_host_code(const std::string& text, const std::string& original, const std::string& name);

}  // namespace convscope
