// Launches that are no <<<…>>> of a kernel's name, written as such ones: cudaLaunchKernel() with an array of pointers to
// the arguments, and a name that stands for one of two kernels.
//
//   void* args[] = {&x, &y};
//   cudaLaunchKernel((void*)k<3>, grid, block, args, 0, s)  →  (k<3><<<grid, block, 0, s>>>(x, y), cudaSuccess)
//   auto f = s == 1 ? k<1> : k<0>;
//   f<<<grid, block>>>(x)  →  ((s == 1) ? (k<1><<<grid, block>>>(x)) : (k<0><<<grid, block>>>(x)))
#pragma once
#include <string>

namespace convscope {

// The text with such launches written out, its lines as they were. What is not of these forms is left as it is.
std::string with_plain_launches(const std::string& text);

}  // namespace convscope
