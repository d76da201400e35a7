// Names whose headers are not included: what a kernel file from outside uses and its own compiler would not know, as
// the emulator's copy of PyTorch and CUDA is there whatever is included.
#pragma once
#include <string>

namespace convscope {

// Of names that are asked for by their header alone (seen with nvcc 13.0 and PyTorch 2.11: torch/extension.h brings
// none of CUDAContext.h, CUDAContext.h no CUDAGuard.h; __half comes with cuda_fp16.h, mma.h and others). A header that
// is not known here may bring anything: then nothing is said. cuda: without what is not CUDA, with its lines. python:
// it is from a Python file, where PyTorch's types come before it. Errors: CompileError.
void check_includes(const std::string& cuda, const std::string& file, bool python);

}  // namespace convscope
