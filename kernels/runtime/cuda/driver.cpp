#include "kernels/runtime/cuda/driver.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <mutex>
#include <optional>

#include "kernels/base/error.h"

namespace convscope::cuda {
namespace {

// cuda.h renames functions to their current version (cuMemAlloc is cuMemAlloc_v2): the text after expansion is the
// symbol.
#define CONVSCOPE_TEXT_(x) #x
#define CONVSCOPE_TEXT(x) CONVSCOPE_TEXT_(x)

struct Opened {
  Driver functions;
  std::string missing, how;
};

Opened open() {
  Opened o;
  const char* name = std::getenv("CONVSCOPE_LIBCUDA");
  void* library = dlopen(name ? name : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    o.missing = "no NVIDIA driver (libcuda.so.1 cannot be opened)";
    o.how = "install the driver for your GPU, or use --device emulator";
    return o;
  }
#define CONVSCOPE_LOAD(function)                                                                            \
  o.functions.function = reinterpret_cast<decltype(&::function)>(dlsym(library, CONVSCOPE_TEXT(function))); \
  if (!o.functions.function && o.missing.empty()) {                                                         \
    o.missing = std::string("the NVIDIA driver is too old: it lacks ") + CONVSCOPE_TEXT(function);          \
    o.how = "install driver 580 or later";                                                                  \
  }
  CONVSCOPE_DRIVER_FUNCTIONS(CONVSCOPE_LOAD)
#undef CONVSCOPE_LOAD
  if (!o.missing.empty()) return o;
  if (CUresult r = o.functions.cuInit(0); r != CUDA_SUCCESS) {
    const char* text = nullptr;
    o.functions.cuGetErrorString(r, &text);
    o.missing = fmt::format("the NVIDIA driver does not start: {}", text ? text : "unknown error");
    o.how = r == CUDA_ERROR_NO_DEVICE
                ? "no GPU is visible: check nvidia-smi and CUDA_VISIBLE_DEVICES, or use --device emulator"
                : "check nvidia-smi, or use --device emulator";
    return o;
  }
  // Device code of a later major version of CUDA is refused module by module, in words that help nobody ("CUDA
  // Compatibility": within one major version each driver takes what another's toolkit has made).
  constexpr int needed = CUDA_VERSION / 1000;
  int version = 0;
  if (o.functions.cuDriverGetVersion(&version) == CUDA_SUCCESS && version / 1000 < needed) {
    o.missing = fmt::format("the NVIDIA driver is too old: it is for CUDA {}.{}, and this program for CUDA {}",
                            version / 1000, version % 1000 / 10, needed);
    o.how = needed == 13 ? "install driver 580 or later, or use --device emulator"
                         : fmt::format("install a driver for CUDA {}, or use --device emulator", needed);
  }
  return o;
}

const Opened& opened() {
  static const Opened o = open();
  return o;
}

// After these the context, and with it the process, cannot use the GPU any more (CUDA Driver API, CUresult).
bool poisons(CUresult r) {
  switch (r) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
      return true;
    default:
      return false;
  }
}

}  // namespace

const Driver& driver() {
  if (!opened().missing.empty()) throw MissingError(opened().missing, opened().how);
  return opened().functions;
}

void check(CUresult result, const std::string& doing) {
  if (result == CUDA_SUCCESS) return;
  const char *name = nullptr, *text = nullptr;
  driver().cuGetErrorName(result, &name);
  driver().cuGetErrorString(result, &text);
  throw DeviceError(fmt::format("{} failed: {} ({}, {})", doing, text ? text : "unknown error", name ? name : "?",
                                static_cast<int>(result)),
                    poisons(result));
}

}  // namespace convscope::cuda
