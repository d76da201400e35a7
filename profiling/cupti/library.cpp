#include "profiling/cupti/library.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <link.h>

namespace convscope::cupti {
namespace {

constexpr const char* soname = "libcupti.so.13";
constexpr const char* host_name = "libnvperf_host.so";

std::string path_of(void* handle) {
  link_map* map = nullptr;
  return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name ? map->l_name : "";
}

// libcupti opens libnvperf_host.so by its bare name when counters are first asked for, which finds it only where the
// loader looks anyway. Once it is loaded, the name is enough: so it is opened first, from where libcupti came.
bool open_host(const std::string& library_path, bool by_name) {
  auto folder = std::filesystem::path(library_path).parent_path();
  if (dlopen((folder / host_name).c_str(), RTLD_NOW | RTLD_GLOBAL)) return true;
  return by_name && dlopen(host_name, RTLD_NOW | RTLD_GLOBAL);
}

}  // namespace

Library open_library(const Cupti::Places& places) {
  Library l;
  std::vector<std::string> names;
  if (!places.named.empty()) {
    names = {places.named};
  } else {
    for (const auto& folder : places.folders) names.push_back((std::filesystem::path(folder) / soname).string());
    if (places.by_name) names.emplace_back(soname);
  }
  for (const auto& name : names)
    if ((l.handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL))) break;
  if (!l.handle) {
    l.missing = {
        "no-cupti",
        fmt::format("no kernel records and no hardware counters: CUPTI ({}) cannot be opened",
                    places.named.empty() ? soname : places.named),
        "install CUPTI of the CUDA Toolkit 13 (NVIDIA's package cuda-cupti-13-0), or name its libcupti.so.13 in "
        "CONVSCOPE_LIBCUPTI; times are still measured with CUDA events"};
    return l;
  }
  l.path = path_of(l.handle);
#define CONVSCOPE_LOAD(function)                                                                    \
  l.function = reinterpret_cast<decltype(&::function)>(dlsym(l.handle, #function));                 \
  if (!l.function && !l.missing)                                                                    \
    l.missing = {"cupti-version", fmt::format("{} is no CUPTI 13: it lacks {}", l.path, #function), \
                 "install CUPTI of the CUDA Toolkit 13, or name it in CONVSCOPE_LIBCUPTI"};
  CONVSCOPE_CUPTI_FUNCTIONS(CONVSCOPE_LOAD)
#undef CONVSCOPE_LOAD
  if (l.missing) return l;
  uint32_t version = 0;
  l.cuptiGetVersion(&version);
  l.version = fmt::format("CUPTI {}", version);
  // Its records have the newest layout that it knows; an older one has others than these headers. A newer one of the
  // same major version only adds fields at their end.
  constexpr uint32_t major = CUPTI_API_VERSION / 10000;
  if (version < CUPTI_API_VERSION || version / 10000 != major)
    l.missing = {"cupti-version",
                 fmt::format("{} is version {}, and this build needs {} or a later one of CUDA {}", l.path, version,
                             CUPTI_API_VERSION, major),
                 "install CUPTI of that toolkit, or name it in CONVSCOPE_LIBCUPTI; times are still measured with CUDA "
                 "events"};
  else if (!open_host(l.path, places.by_name))
    l.no_host = {
        "no-nvperf", fmt::format("hardware counters are off: {} is not beside {}", host_name, l.path),
        "install the whole of CUPTI (cuda-cupti-13-0 has it); kernel times and launch facts are still recorded"};
  return l;
}

Gap gap_of(const Library& l, CUptiResult result, const std::string& doing) {
  constexpr const char* remains = "; times, launch facts and computed figures remain";
  auto gap = [&](const char* code, const std::string& what, const std::string& how) {
    return Gap{code, what, how + remains};
  };
  switch (result) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
      return gap(
          "not-permitted", "hardware counters are not permitted to this user",
          "an administrator opens them with `options nvidia NVreg_RestrictProfilingToAdminUsers=0` in "
          "/etc/modprobe.d, a rebuilt initramfs and a restart; a container needs --cap-add=SYS_ADMIN (with driver "
          "565 or later PERFMON is enough)");
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return gap("not-permitted", "hardware counters are not permitted in this virtual machine",
                 "the host's administrator allows profiling for the vGPU (plugin parameter enable_profiling=1)");
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
      return gap("vgpu", "this virtual GPU has no hardware counters", "use a GPU that is passed through whole");
    case CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED:
      return gap("mig", "hardware counters do not work on a part of a GPU (MIG)",
                 "profile on a whole GPU (nvidia-smi -mig 0, by an administrator)");
    case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
      return gap("confidential", "hardware counters are off while the GPU is in confidential computing mode",
                 "profile on a GPU that is not");
    case CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED:
      return gap("cmp", "this kind of GPU (for mining) has no hardware counters", "use another GPU");
    case CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED:
      return gap("sli", "hardware counters do not work while GPUs are joined by SLI", "switch SLI off");
    case CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED:
      return gap("wsl", "hardware counters do not work on this GPU under WSL", "profile under Linux itself");
    case CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_WITH_MPS:
      return gap("mps", "hardware counters do not work under MPS",
                 "profile outside of MPS (quit nvidia-cuda-mps-control)");
    case CUPTI_ERROR_HARDWARE_BUSY:
      return gap("busy", "the GPU's counters are in use by another program",
                 "end it (ncu, nsys, DCGM: `dcgmi profile --pause`) and try again");
    case CUPTI_ERROR_DISABLED:
      return gap("disabled", "CUPTI is disabled in this process", "another tool has taken it over: start without it");
    case CUPTI_ERROR_NOT_SUPPORTED:
      return gap("not-supported", "this GPU, or its mode, has no hardware counters for CUPTI",
                 "a GPU of compute capability 7.5 or later has, outside of MPS, MIG and SLI");
    case CUPTI_ERROR_NOT_INITIALIZED:
      return gap("no-nvperf", fmt::format("hardware counters are off: CUPTI cannot find {}", host_name),
                 "install the whole of CUPTI, with that library beside it");
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      return gap("taken", "another tool holds CUPTI in this process", "start without it");
    default:
      break;
  }
  const char* text = nullptr;
  if (l.cuptiGetResultString) l.cuptiGetResultString(result, &text);
  return gap("cupti-fails",
             fmt::format("{} failed: {} ({})", doing, text ? text : "unknown error", static_cast<int>(result)),
             "try again; restart the program if it stays so");
}

}  // namespace convscope::cupti
