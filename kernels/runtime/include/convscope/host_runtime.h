// The CUDA runtime API as host code of kernel files from outside sees it (host_code.h): nothing is allocated or
// launched, memory and copies are noted down, the GPU is said to be an H200. Included by host_code.h alone.
#pragma once
#if !defined(__CUDACC__)
enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault
};
using cudaStream_t = void*;
enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInvalidDeviceFunction = 98,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorNotReady = 600,
  cudaErrorLaunchOutOfResources = 701,
  cudaErrorLaunchFailure = 719,
  cudaErrorNotSupported = 801,
  cudaErrorUnknown = 999
};
using cudaError = cudaError_t;
enum cudaFuncCache {
  cudaFuncCachePreferNone,
  cudaFuncCachePreferShared,
  cudaFuncCachePreferL1,
  cudaFuncCachePreferEqual
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize, cudaFuncAttributePreferredSharedMemoryCarveout };
struct cudaDeviceProp {
  int multiProcessorCount = 132, maxThreadsPerBlock = 1024, warpSize = 32, major = 9, minor = 0;
  size_t sharedMemPerBlock = 49152, sharedMemPerBlockOptin = 232448, sharedMemPerMultiprocessor = 233472;
};
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline cudaError_t cudaPeekAtLastError() { return cudaSuccess; }
inline cudaError_t cudaDeviceSynchronize() { return convscope::host::synchronize_all(), cudaSuccess; }
inline cudaError_t cudaSetDevice(int) { return cudaSuccess; }
inline const char* cudaGetErrorString(cudaError_t) { return "no error"; }
inline const char* cudaGetErrorName(cudaError_t) { return "cudaSuccess"; }
inline cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int) { return *p = {}, cudaSuccess; }
enum cudaDeviceAttr {
  cudaDevAttrMultiProcessorCount,
  cudaDevAttrMaxSharedMemoryPerBlockOptin,
  cudaDevAttrMaxSharedMemoryPerBlock,
  cudaDevAttrMaxThreadsPerBlock,
  cudaDevAttrWarpSize,
  cudaDevAttrComputeCapabilityMajor,
  cudaDevAttrComputeCapabilityMinor
};
inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr a, int) {
  const cudaDeviceProp p;
  const int all[] = {p.multiProcessorCount,
                     int(p.sharedMemPerBlockOptin),
                     int(p.sharedMemPerBlock),
                     p.maxThreadsPerBlock,
                     p.warpSize,
                     p.major,
                     p.minor};
  return *value = all[a], cudaSuccess;
}
template <class F>
cudaError_t cudaFuncSetAttribute(F f, cudaFuncAttribute a, int value) {
  if (a == cudaFuncAttributeMaxDynamicSharedMemorySize)
    convscope::host::allow_dynamic(reinterpret_cast<const void*>(f), value);
  return cudaSuccess;
}  // plans give what is asked for
template <class F>
cudaError_t cudaFuncSetCacheConfig(F, cudaFuncCache) {
  return cudaSuccess;
}
inline cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
inline cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return *free = *total = size_t{141} << 30, cudaSuccess;
}
template <class T>
cudaError_t cudaMalloc(T** p, size_t bytes) {
  convscope::host::synchronize_all();  // so does taking memory and giving it back
  return *p = reinterpret_cast<T*>(convscope::host::take(static_cast<int64_t>(bytes))), cudaSuccess;
}
template <class T>
cudaError_t cudaMallocAsync(T** p, size_t bytes, cudaStream_t) {
  return *p = reinterpret_cast<T*>(convscope::host::take(static_cast<int64_t>(bytes))), cudaSuccess;
}
inline cudaError_t cudaFreeAsync(void* p, cudaStream_t) {
  return convscope::host::give_back(reinterpret_cast<uint64_t>(p)), cudaSuccess;
}
inline cudaError_t cudaFree(void* p) { return p ? (cudaFreeAsync(p, nullptr), cudaDeviceSynchronize()) : cudaSuccess; }
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                                   cudaStream_t stream = nullptr) {
  return convscope::host::copy(reinterpret_cast<uint64_t>(to), reinterpret_cast<uint64_t>(from),
                               static_cast<int64_t>(bytes), kind == cudaMemcpyDeviceToDevice,
                               reinterpret_cast<uintptr_t>(stream)),
         cudaSuccess;
}
inline cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  cudaMemcpyAsync(to, from, bytes, kind);
  // The host waits, but for copies from device to device (CUDA Runtime API, "API synchronization behavior").
  if (kind != cudaMemcpyDeviceToDevice) convscope::host::synchronize(0);
  return cudaSuccess;
}

// ---- memory that the file declares, by its name or, as C has it, by its address as const void*

inline cudaError_t cudaGetSymbolAddress(void** p, const void* symbol) {
  return *p = reinterpret_cast<void*>(convscope::host::address_of_variable(symbol)), cudaSuccess;
}
inline cudaError_t cudaGetSymbolSize(size_t* bytes, const void* symbol) {
  return *bytes = static_cast<size_t>(convscope::host::bytes_of_variable(symbol)), cudaSuccess;
}
inline cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t at = 0,
                                      cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
  void* to = nullptr;
  cudaGetSymbolAddress(&to, symbol);
  return cudaMemcpy(static_cast<char*>(to) + at, from, bytes, kind);
}
inline cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t at = 0,
                                        cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
  void* from = nullptr;
  cudaGetSymbolAddress(&from, symbol);
  return cudaMemcpy(to, static_cast<const char*>(from) + at, bytes, kind);
}
inline cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t bytes, size_t at,
                                           cudaMemcpyKind kind, cudaStream_t stream = nullptr) {
  void* to = nullptr;
  cudaGetSymbolAddress(&to, symbol);
  return cudaMemcpyAsync(static_cast<char*>(to) + at, from, bytes, kind, stream);
}
template <class T>
cudaError_t cudaGetSymbolAddress(void** p, const T& symbol) {
  return cudaGetSymbolAddress(p, static_cast<const void*>(&symbol));
}
template <class T>
cudaError_t cudaGetSymbolSize(size_t* bytes, const T& symbol) {
  return cudaGetSymbolSize(bytes, static_cast<const void*>(&symbol));
}
template <class T>
cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* from, size_t bytes, size_t at = 0,
                               cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
  return cudaMemcpyToSymbol(static_cast<const void*>(&symbol), from, bytes, at, kind);
}
template <class T>
cudaError_t cudaMemcpyToSymbolAsync(const T& symbol, const void* from, size_t bytes, size_t at = 0,
                                    cudaMemcpyKind kind = cudaMemcpyHostToDevice, cudaStream_t stream = nullptr) {
  return cudaMemcpyToSymbolAsync(static_cast<const void*>(&symbol), from, bytes, at, kind, stream);
}
template <class T>
cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, size_t bytes, size_t at = 0,
                                 cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
  return cudaMemcpyFromSymbol(to, static_cast<const void*>(&symbol), bytes, at, kind);
}

inline cudaError_t cudaMemsetAsync(void* p, int value, size_t bytes, cudaStream_t stream = nullptr) {
  if (value) convscope::host::refuse("its host code sets memory to ", value, "; only zero is noted down");
  return convscope::host::clear(reinterpret_cast<uint64_t>(p), static_cast<int64_t>(bytes),
                                reinterpret_cast<uintptr_t>(stream)),
         cudaSuccess;
}
inline cudaError_t cudaMemset(void* p, int value, size_t bytes) { return cudaMemsetAsync(p, value, bytes); }

// ---- cudaLaunchKernelEx, of which a launch is made (compile/launch_calls.h); attributes are not looked at

enum cudaLaunchAttributeID {
  cudaLaunchAttributeIgnore = 0,
  cudaLaunchAttributeCooperative = 2,
  cudaLaunchAttributeClusterDimension = 4,
  cudaLaunchAttributeProgrammaticStreamSerialization = 6,
  cudaLaunchAttributePriority = 8
};
struct cudaLaunchAttributeValue {
  int cooperative = 0, programmaticStreamSerializationAllowed = 0, priority = 0;
  struct {
    unsigned x = 1, y = 1, z = 1;
  } clusterDim;
};
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id{};
  cudaLaunchAttributeValue val{};
};
namespace convscope::host {
struct LaunchShape : ::dim3 {  // of numbers as well
  constexpr LaunchShape(unsigned nx = 1, unsigned ny = 1, unsigned nz = 1) : ::dim3{nx, ny, nz} {}
  constexpr LaunchShape(const ::dim3& d) : ::dim3(d) {}
};
}  // namespace convscope::host
struct cudaLaunchConfig_t {
  convscope::host::LaunchShape gridDim, blockDim;
  size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
  cudaLaunchAttribute* attrs = nullptr;
  unsigned numAttrs = 0;
};

// ---- streams and events: what they order is noted down. Nothing has run, so no time has passed.

using cudaEvent_t = struct CUevent_st*;
enum : unsigned { cudaEventDefault = 0, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2 };
inline cudaError_t cudaEventCreate(cudaEvent_t* e) {
  return *e = reinterpret_cast<cudaEvent_t>(convscope::host::new_event()), cudaSuccess;
}
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned) { return cudaEventCreate(e); }
inline cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t stream = nullptr) {
  return convscope::host::record_event(reinterpret_cast<uintptr_t>(e), reinterpret_cast<uintptr_t>(stream)),
         cudaSuccess;
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t e) {
  return convscope::host::synchronize_event(reinterpret_cast<uintptr_t>(e)), cudaSuccess;
}
inline cudaError_t cudaEventQuery(cudaEvent_t e) { return cudaEventSynchronize(e); }  // who asks waits until it is so
inline cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t, cudaEvent_t) { return *ms = 0, cudaSuccess; }

enum : unsigned { cudaStreamDefault = 0, cudaStreamNonBlocking = 1 };
#define cudaStreamLegacy (reinterpret_cast<cudaStream_t>(uintptr_t{1}))
#define cudaStreamPerThread (reinterpret_cast<cudaStream_t>(uintptr_t{2}))
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned flags) {
  return *s = reinterpret_cast<cudaStream_t>(convscope::host::new_stream(flags != cudaStreamNonBlocking)), cudaSuccess;
}
inline cudaError_t cudaStreamCreate(cudaStream_t* s) { return cudaStreamCreateWithFlags(s, cudaStreamDefault); }
inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t* s, unsigned flags, int) {
  return cudaStreamCreateWithFlags(s, flags);
}
inline cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t e, unsigned = 0) {
  return convscope::host::wait_for_event(reinterpret_cast<uintptr_t>(stream), reinterpret_cast<uintptr_t>(e)),
         cudaSuccess;
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return convscope::host::synchronize(reinterpret_cast<uintptr_t>(stream)), cudaSuccess;
}
inline cudaError_t cudaStreamQuery(cudaStream_t stream) { return cudaStreamSynchronize(stream); }
inline cudaError_t cudaGetDeviceCount(int* n) { return *n = 1, cudaSuccess; }

// ---- occupancy: what threads alone allow. Registers and shared memory are the device code's, which is not made here.

template <class F>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, F, int threads, size_t shared) {
  constexpr int most_threads = 2048, most_blocks = 32;
  *blocks = threads < 1 || threads > 1024 ? 0 : min(most_blocks, most_threads / ((threads + 31) / 32 * 32));
  if (shared) *blocks = min(*blocks, static_cast<int>(cudaDeviceProp().sharedMemPerMultiprocessor / (shared + 1024)));
  return cudaSuccess;
}
template <class F>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, F f, int threads, size_t shared,
                                                                   unsigned) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, f, threads, shared);
}
template <class F>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* grid, int* block, F f, size_t shared = 0, int limit = 0) {
  *block = limit > 0 ? min(limit, 1024) : 1024;
  int blocks = 0;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, *block, shared);
  *grid = cudaDeviceProp().multiProcessorCount * blocks;
  return cudaSuccess;
}
#endif
