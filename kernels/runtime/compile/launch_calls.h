// cudaLaunchKernel() with an array of pointers to the arguments, written as a launch of the kernel's name:
//
//   void* args[] = {&x, &y};
//   cudaLaunchKernel((void*)k<3>, grid, block, args, 0, s)
//   → ((void)args, k<3><<<grid, block, 0, s>>>(x, y), cudaSuccess)
//   cudaLaunchKernelEx(&config, k<3>, x, y)
//   → (k<3><<<(*(&config)).gridDim, (*(&config)).blockDim, …>>>(x, y), cudaSuccess)
#pragma once
#include <string>

namespace convscope {

// The text with such launches written out, its lines as they were. What is not of this form is left as it is.
std::string with_plain_launches(const std::string& text);

}  // namespace convscope
