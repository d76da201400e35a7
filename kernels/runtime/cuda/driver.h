// The CUDA driver, opened at run time: the program starts on machines that have none.
#pragma once
#include <cuda.h>
#include <string>

namespace convscope::cuda {

// The functions this project calls, by their names in cuda.h. Parameters and meaning: CUDA Driver API reference.
// clang-format off
#define CONVSCOPE_DRIVER_FUNCTIONS(F)                                                                      \
  F(cuInit) F(cuDriverGetVersion) F(cuGetErrorName) F(cuGetErrorString) F(cuDeviceGet) F(cuDeviceGetCount) \
  F(cuDeviceGetName) F(cuDeviceGetAttribute) F(cuDeviceGetPCIBusId) F(cuDeviceTotalMem)                    \
  F(cuDevicePrimaryCtxRetain) F(cuDevicePrimaryCtxRelease) F(cuCtxSetCurrent) F(cuCtxSynchronize)          \
  F(cuMemGetInfo) F(cuMemAlloc) F(cuMemFree) F(cuMemAllocHost) F(cuMemFreeHost) F(cuMemcpyHtoDAsync)       \
  F(cuMemcpyDtoHAsync) F(cuMemsetD32Async) F(cuStreamCreate) F(cuStreamDestroy) F(cuStreamSynchronize)     \
  F(cuEventCreate) F(cuEventDestroy) F(cuEventRecord) F(cuEventSynchronize) F(cuEventElapsedTime)          \
  F(cuModuleLoadData) F(cuModuleUnload) F(cuModuleGetFunction) F(cuFuncSetAttribute) F(cuFuncGetAttribute) \
  F(cuLaunchKernelEx) F(cuTensorMapEncodeTiled) F(cuModuleGetGlobal)
// clang-format on

struct Driver {
#define CONVSCOPE_MEMBER(name) decltype(&::name) name = nullptr;
  CONVSCOPE_DRIVER_FUNCTIONS(CONVSCOPE_MEMBER)
#undef CONVSCOPE_MEMBER
};

// The driver, initialised. Errors: MissingError with what to install.
const Driver& driver();

// Turns a failed call into a sentence. Calls that leave the context unusable throw a poisoned DeviceError.
void check(CUresult result, const std::string& doing);

}  // namespace convscope::cuda
