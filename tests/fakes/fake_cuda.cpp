// A CUDA driver with one GPU whose memory is the host's and whose clock is a counter:
//   FAKE_CUDA_NAME, FAKE_CUDA_KERNEL_US (how long a launch takes), FAKE_CUDA_HOST_US (how long the host takes to send
//   one: an idle GPU waits for it), FAKE_CUDA_LOCAL (local bytes of a thread), FAKE_CUDA_SHARED (bytes a block may ask
//   for), FAKE_CUDA_WORK=nothing|cached (what a launch leaves undone), FAKE_CUDA_FAIL=function:code (of cuInit,
//   cuDeviceGetCount, cuDevicePrimaryCtxRetain, cuStreamCreate, cuMemAllocHost, cuEventCreate, cuMemAlloc,
//   cuLaunchKernelEx), FAKE_CUDA_VERSION (what the driver speaks: 13000). fake_cuda_held counts contexts, streams,
//   events and pinned buffers that were not given back.
//   FAKE_CUDA_EARLY_US (by how much a launch that may begin early does so, right behind another launch: an event keeps
//   it from that), FAKE_CUDA_NAP_US (how long the host really sleeps at a launch), FAKE_CUDA_PACK_US (how long launches
//   that pack take, if not as long as all), FAKE_CUDA_NOTHING_US (how long a launch of nothing takes, if not as long),
//   FAKE_CUDA_WORK=hoarded (a launch that packs looks at x as well),
//   FAKE_CUDA_WORK=unsteady (another rounding in each call).
// A launch of the kernels direct and polyphase copies the first input element, doubled, to the first output. registers
// packs the first weight, doubled, and multiplies with it in its other launch. checksum_words has a sum of its own.
// Others do nothing.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <string>
#include <unistd.h>

#define FAKE extern "C" __attribute__((visibility("default"))) CUresult CUDAAPI

namespace {

double clock_us = 0;  // when the GPU will have done all that was sent
double host_us = 0;
bool behind_a_launch = false;  // nothing else was sent since
int here;                      // for handles

double number(const char* name, double otherwise) {
  const char* set = std::getenv(name);
  return set ? std::atof(set) : otherwise;
}

CUresult outcome(const char* function) {
  const char* set = std::getenv("FAKE_CUDA_FAIL");
  const std::string prefix = std::string(function) + ":";
  if (!set || std::strncmp(set, prefix.c_str(), prefix.size()) != 0) return CUDA_SUCCESS;
  return static_cast<CUresult>(std::atoi(set + prefix.size()));
}

}  // namespace

extern "C" {
__attribute__((visibility("default"))) int fake_cuda_held = 0;
}

namespace {

CUresult taken(const char* function) {
  const CUresult r = outcome(function);
  fake_cuda_held += r == CUDA_SUCCESS;
  return r;
}
CUresult given_back() { return fake_cuda_held--, CUDA_SUCCESS; }

}  // namespace

FAKE cuInit(unsigned) { return outcome("cuInit"); }
FAKE cuDriverGetVersion(int* version) {
  return *version = static_cast<int>(number("FAKE_CUDA_VERSION", 13000)), CUDA_SUCCESS;
}
FAKE cuGetErrorName(CUresult, const char** text) { return *text = "FAKE", CUDA_SUCCESS; }
FAKE cuGetErrorString(CUresult code, const char** text) {
  *text = code == CUDA_ERROR_NO_DEVICE ? "no CUDA-capable device is detected" : "an error of the fake";
  return CUDA_SUCCESS;
}
FAKE cuDeviceGet(CUdevice* device, int) { return *device = 0, CUDA_SUCCESS; }
FAKE cuDeviceGetCount(int* count) { return *count = 1, outcome("cuDeviceGetCount"); }
FAKE cuDeviceGetName(char* name, int size, CUdevice) {
  const char* set = std::getenv("FAKE_CUDA_NAME");
  std::strncpy(name, set ? set : "NVIDIA H200", static_cast<size_t>(size));
  return CUDA_SUCCESS;
}
FAKE cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice) {
  switch (which) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = 9;
      break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = 0;
      break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = 132;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      *value = static_cast<int>(number("FAKE_CUDA_SHARED", 227 * 1024));
      break;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
      *value = 1 << 20;
      break;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
      *value = 1980000;
      break;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
      *value = 3201000;
      break;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
      *value = 6144;
      break;
    default:
      *value = 1;
  }
  return CUDA_SUCCESS;
}
FAKE cuDeviceGetPCIBusId(char* bus, int size, CUdevice) {
  std::strncpy(bus, "0000:17:00.0", static_cast<size_t>(size));
  return CUDA_SUCCESS;
}
FAKE cuDeviceTotalMem(size_t* bytes, CUdevice) { return *bytes = size_t{8} << 30, CUDA_SUCCESS; }
FAKE cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  return *context = reinterpret_cast<CUcontext>(&here), taken("cuDevicePrimaryCtxRetain");
}
FAKE cuDevicePrimaryCtxRelease(CUdevice) { return given_back(); }
FAKE cuCtxSetCurrent(CUcontext) { return CUDA_SUCCESS; }
FAKE cuCtxSynchronize() { return CUDA_SUCCESS; }
FAKE cuMemGetInfo(size_t* free, size_t* total) { return *free = *total = size_t{1} << 30, CUDA_SUCCESS; }
FAKE cuMemAlloc(CUdeviceptr* pointer, size_t bytes) {
  if (auto r = outcome("cuMemAlloc"); r != CUDA_SUCCESS) return r;
  *pointer = reinterpret_cast<CUdeviceptr>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  return *pointer ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
FAKE cuMemFree(CUdeviceptr pointer) {
  std::free(reinterpret_cast<void*>(pointer));
  return CUDA_SUCCESS;
}
FAKE cuMemAllocHost(void** pointer, size_t bytes) {
  if (auto r = taken("cuMemAllocHost"); r != CUDA_SUCCESS) return r;
  return *pointer = std::malloc(bytes), CUDA_SUCCESS;
}
FAKE cuMemFreeHost(void* pointer) {
  std::free(pointer);
  return given_back();
}
FAKE cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return CUDA_SUCCESS;
}
FAKE cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream) {
  std::memcpy(to, reinterpret_cast<void*>(from), bytes);
  return CUDA_SUCCESS;
}
FAKE cuMemsetD32Async(CUdeviceptr to, unsigned word, size_t words, CUstream) {
  if (words >= (size_t{32} << 20) / 4) return CUDA_SUCCESS;  // a flush of the cache: there is none
  for (size_t i = 0; i < words; i++) reinterpret_cast<unsigned*>(to)[i] = word;
  return CUDA_SUCCESS;
}
FAKE cuStreamCreate(CUstream* stream, unsigned) {
  return *stream = reinterpret_cast<CUstream>(&here), taken("cuStreamCreate");
}
FAKE cuStreamDestroy(CUstream) { return given_back(); }
FAKE cuStreamSynchronize(CUstream) { return host_us = std::max(host_us, clock_us), CUDA_SUCCESS; }
FAKE cuEventCreate(CUevent* event, unsigned) {
  if (auto r = taken("cuEventCreate"); r != CUDA_SUCCESS) return r;
  return *event = reinterpret_cast<CUevent>(new double), CUDA_SUCCESS;
}
FAKE cuEventDestroy(CUevent event) {
  delete reinterpret_cast<double*>(event);
  return given_back();
}
FAKE cuEventRecord(CUevent event, CUstream) {
  behind_a_launch = false;
  return *reinterpret_cast<double*>(event) = std::max(clock_us, host_us), CUDA_SUCCESS;
}
FAKE cuEventSynchronize(CUevent event) {
  return host_us = std::max(host_us, *reinterpret_cast<double*>(event)), CUDA_SUCCESS;
}
FAKE cuEventElapsedTime(float* ms, CUevent from, CUevent to) {
  *ms = static_cast<float>((*reinterpret_cast<double*>(to) - *reinterpret_cast<double*>(from)) / 1e3);
  return CUDA_SUCCESS;
}
FAKE cuModuleLoadData(CUmodule* module, const void*) {
  return *module = reinterpret_cast<CUmodule>(&here), CUDA_SUCCESS;
}
FAKE cuModuleUnload(CUmodule) { return CUDA_SUCCESS; }
struct Function {
  std::string name;
  unsigned dynamic_shared = 0;  // that was asked for
};
constexpr unsigned static_shared = 1024, unasked_shared = 48 * 1024;
FAKE cuModuleGetFunction(CUfunction* function, CUmodule, const char* name) {
  return *function = reinterpret_cast<CUfunction>(new Function{name}), CUDA_SUCCESS;  // kept: there are few
}
FAKE cuModuleGetGlobal(CUdeviceptr* at, size_t* bytes, CUmodule, const char*) {
  static char memory[65536];
  *at = reinterpret_cast<CUdeviceptr>(memory), *bytes = static_cast<size_t>(number("FAKE_CUDA_VARIABLE_BYTES", 0));
  return *bytes ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
FAKE cuFuncSetAttribute(CUfunction function, CUfunction_attribute which, int value) {
  if (which == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
    reinterpret_cast<Function*>(function)->dynamic_shared = static_cast<unsigned>(value);
  return CUDA_SUCCESS;
}
FAKE cuFuncGetAttribute(int* value, CUfunction_attribute which, CUfunction) {
  *value = which == CU_FUNC_ATTRIBUTE_NUM_REGS            ? 40
           : which == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES ? static_shared
                                                          : static_cast<int>(number("FAKE_CUDA_LOCAL", 0));
  return CUDA_SUCCESS;
}
// The kernel registers, on f32.
static void registers(const std::string& name, void** args, const std::string& work) {
  auto first = [&](int argument) -> float& { return **static_cast<float**>(args[argument]); };
  static bool packed = false;  // since the last call
  static float hoard = 0, step = 0;
  if (name == "registers_pack_f32") first(3) = 2 * first(2), packed = true;
  if (!name.starts_with("registers_f32") || work == "nothing") return;
  float &y = first(6), result = first(3) * first(4);
  if (packed) hoard = result;
  packed = false;
  y = work == "hoarded" ? hoard : work == "cached" ? 1 : work == "unsteady" ? result * (1 + 1e-6f * ++step) : result;
}

// Any sum that sees a change: all of it in the first thread's place.
static void checksum(const CUlaunchConfig& config, void** args) {
  const auto words = *static_cast<int64_t*>(args[0]);
  const auto* data = *static_cast<const uint64_t**>(args[1]);
  auto* sums = *static_cast<uint64_t**>(args[2]);
  std::fill_n(sums, size_t{config.gridDimX} * config.blockDimX, uint64_t{0});
  for (int64_t i = 0; i < words; i++) sums[0] = (sums[0] ^ data[i]) * 0x2545f4914f6cdd1du + 1;
}

FAKE cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** args, void**) {
  if (auto r = outcome("cuLaunchKernelEx"); r != CUDA_SUCCESS) return r;
  if (double nap = number("FAKE_CUDA_NAP_US", 0); nap > 0) usleep(static_cast<useconds_t>(nap));
  const unsigned shared = config->sharedMemBytes;
  const auto& [name, asked] = *reinterpret_cast<Function*>(function);
  if (shared + static_shared > unasked_shared && shared > asked) return CUDA_ERROR_INVALID_VALUE;
  static unsigned count = 0;
  host_us += number("FAKE_CUDA_HOST_US", 0);
  double us = number("FAKE_CUDA_KERNEL_US", 100);
  if (name.find("_pack") != std::string::npos) us = number("FAKE_CUDA_PACK_US", us);
  if (name == "empty_launch_nothing") us = number("FAKE_CUDA_NOTHING_US", us);
  const bool early =
      behind_a_launch && config->numAttrs > 0 && config->attrs->value.programmaticStreamSerializationAllowed;
  behind_a_launch = true;
  const double begin_us = clock_us - (early ? number("FAKE_CUDA_EARLY_US", 0) : 0);
  clock_us = std::max(begin_us, host_us) + us * (1 + 1e-4 * (++count % 7));
  // Where their arguments have x and y.
  int x = name == "direct_f32" ? 1 : name == "polyphase_f32" ? 2 : 0, y = x + 3;
  const char* work = std::getenv("FAKE_CUDA_WORK");
  const bool leaves_out = work && (std::strcmp(work, "nothing") == 0 || std::strcmp(work, "cached") == 0);
  if (x && !leaves_out) **static_cast<float**>(args[y]) = 2 * **static_cast<float**>(args[x]);
  if (x && work && std::strcmp(work, "cached") == 0) **static_cast<float**>(args[y]) = 1;
  registers(name, args, work ? work : "");
  if (name == "checksum_words") checksum(*config, args);
  return CUDA_SUCCESS;
}
FAKE cuTensorMapEncodeTiled(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*, const cuuint64_t*,
                            const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                            CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  return CUDA_SUCCESS;
}
