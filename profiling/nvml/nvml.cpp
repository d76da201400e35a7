#include "profiling/nvml/nvml.h"

#include <cstdlib>
#include <dlfcn.h>
#include <fmt/format.h>

namespace convscope {
namespace {

// The parts of NVML's interface used here, by its documentation (NVML API Reference Guide): its header is not needed.
using Device = struct nvmlDevice_st*;
using Result = int;
constexpr Result success = 0, no_permission = 4, not_found = 6, driver_not_loaded = 9, version_mismatch = 18;
constexpr int clock_sm = 1, clock_memory = 2, sensor_gpu = 0;

struct Reason {
  uint64_t bit;
  const char* words;
  bool protects;
};
// NVML API Reference Guide, "NvmlClocksEventReasons".
constexpr Reason reasons[] = {
    {0x1, "idle", false},
    {0x2, "clocks set by hand", false},
    {0x4, "power limit", true},
    {0x8, "hardware slowdown", true},
    {0x10, "boost synchronised with other GPUs", false},
    {0x20, "too hot (software)", true},
    {0x40, "too hot (hardware)", true},
    {0x80, "external power brake", true},
    {0x100, "display clock setting", false},
};

}  // namespace

std::vector<std::string> slower_because_words(uint64_t bits) {
  std::vector<std::string> words;
  for (const auto& r : reasons)
    if (bits & r.bit) words.emplace_back(r.words), bits &= ~r.bit;
  if (bits) words.push_back(fmt::format("unknown reason {:#x}", bits));
  return words;
}

bool is_idle(uint64_t bits) { return bits & 0x1; }

bool is_throttled(uint64_t bits) {
  for (const auto& r : reasons)
    if (r.protects && (bits & r.bit)) return true;
  return false;
}

struct Nvml::Functions {
  Result (*init)();
  Result (*shutdown)();
  const char* (*error)(Result);
  Result (*driver_version)(char*, unsigned);
  Result (*by_bus)(const char*, Device*);
  Result (*clock)(Device, int, unsigned*);
  Result (*max_clock)(Device, int, unsigned*);
  Result (*temperature)(Device, int, unsigned*);
  Result (*power)(Device, unsigned*);
  Result (*power_limit)(Device, unsigned*);
  Result (*slower_because)(Device, unsigned long long*);
  Result (*mig)(Device, unsigned*, unsigned*);
};

const Nvml& Nvml::shared() {
  static const Nvml nvml([] {
    const char* named = std::getenv("CONVSCOPE_LIBNVML");
    return std::string(named && *named ? named : "libnvidia-ml.so.1");
  }());
  return nvml;
}

Nvml::Nvml(const std::string& library) : f_(std::make_unique<Functions>()) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    missing_ = {"no-nvml",
                fmt::format("clocks, temperature and power are unknown: NVML ({}) cannot be opened", library),
                "it comes with the NVIDIA driver (in a container: the utility capability of the NVIDIA runtime)"};
    return;
  }
  auto load = [&](auto& function, const char* name, bool needed = true) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(handle, name));
    if (!function && needed && !missing_)
      missing_ = {"old-nvml",
                  fmt::format("clocks, temperature and power are unknown: NVML ({}) lacks {}", library, name),
                  "install driver 580 or later"};
  };
  load(f_->init, "nvmlInit_v2");
  load(f_->shutdown, "nvmlShutdown");
  load(f_->error, "nvmlErrorString");
  load(f_->driver_version, "nvmlSystemGetDriverVersion");
  load(f_->by_bus, "nvmlDeviceGetHandleByPciBusId_v2");
  load(f_->clock, "nvmlDeviceGetClockInfo");
  load(f_->max_clock, "nvmlDeviceGetMaxClockInfo");
  load(f_->temperature, "nvmlDeviceGetTemperature");
  load(f_->power, "nvmlDeviceGetPowerUsage");
  load(f_->power_limit, "nvmlDeviceGetEnforcedPowerLimit", false);
  // The older name of the same.
  load(f_->slower_because, "nvmlDeviceGetCurrentClocksEventReasons", false);
  if (!f_->slower_because) load(f_->slower_because, "nvmlDeviceGetCurrentClocksThrottleReasons", false);
  load(f_->mig, "nvmlDeviceGetMigMode", false);
  if (missing_) return;

  if (Result r = f_->init(); r != success) {
    std::string how = r == driver_not_loaded  ? "load the NVIDIA kernel module (nvidia-smi says the same)"
                      : r == version_mismatch ? "the driver was updated while it ran: restart the machine"
                      : r == no_permission ? "this user may not open /dev/nvidiactl: add it to the group that owns it"
                                           : "see what nvidia-smi says";
    missing_ = {"nvml-fails",
                fmt::format("clocks, temperature and power are unknown: NVML does not start ({})", f_->error(r)), how};
    return;
  }
  started_ = true;
  char version[96] = {};
  if (f_->driver_version(version, sizeof version) == success) driver_version_ = version;
}

Nvml::~Nvml() {
  if (started_) f_->shutdown();
}

uint64_t Nvml::find(const std::string& pci_bus, Gap& why) const {
  why = missing_;
  if (why) return 0;
  Device d = nullptr;
  Result r = f_->by_bus(pci_bus.c_str(), &d);
  if (r == success) return reinterpret_cast<uint64_t>(d);
  why = {
      "nvml-no-gpu",
      fmt::format("clocks, temperature and power are unknown: NVML has no GPU {} ({})", pci_bus, f_->error(r)),
      r == not_found ? "the GPU is passed through in part: read its clocks on the host" : "see what nvidia-smi says"};
  return 0;
}

GpuReading Nvml::read(uint64_t gpu) const {
  GpuReading reading;
  if (missing_ || !gpu) return reading;
  auto d = reinterpret_cast<Device>(gpu);
  unsigned v = 0;
  if (f_->clock(d, clock_sm, &v) == success) reading.sm_mhz = static_cast<int>(v);
  if (f_->clock(d, clock_memory, &v) == success) reading.memory_mhz = static_cast<int>(v);
  if (f_->temperature(d, sensor_gpu, &v) == success) reading.temperature_c = static_cast<int>(v);
  if (f_->power(d, &v) == success) reading.power_w = v / 1000.0;  // milliwatts
  unsigned long long bits = 0;
  if (f_->slower_because && f_->slower_because(d, &bits) == success) reading.slower_because = bits;
  return reading;
}

GpuLimits Nvml::limits(uint64_t gpu) const {
  GpuLimits limits;
  if (missing_ || !gpu) return limits;
  auto d = reinterpret_cast<Device>(gpu);
  unsigned v = 0, pending = 0;
  if (f_->max_clock(d, clock_sm, &v) == success) limits.max_sm_mhz = static_cast<int>(v);
  if (f_->max_clock(d, clock_memory, &v) == success) limits.max_memory_mhz = static_cast<int>(v);
  if (f_->power_limit && f_->power_limit(d, &v) == success) limits.power_limit_w = v / 1000.0;
  if (f_->mig && f_->mig(d, &v, &pending) == success) limits.mig = v == 1;
  return limits;
}

}  // namespace convscope
