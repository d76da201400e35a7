// An NVML that says what its environment tells it to: FAKE_NVML_FAIL=function:code, FAKE_NVML_THROTTLE=bits,
// FAKE_NVML_CLOCK=MHz, FAKE_NVML_SERIES=MHz:bits[,MHz:bits…] (of one look after the other, the last one for all
// others).
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

int failing(const char* function) {
  const char* set = std::getenv("FAKE_NVML_FAIL");
  std::string prefix = std::string(function) + ":";
  return set && std::strncmp(set, prefix.c_str(), prefix.size()) == 0 ? std::atoi(set + prefix.size()) : 0;
}
unsigned number(const char* name, unsigned otherwise) {
  const char* set = std::getenv(name);
  return set ? static_cast<unsigned>(std::strtoul(set, nullptr, 0)) : otherwise;
}

struct Look {
  unsigned mhz = 0;
  unsigned long long bits = 0;
};
// Of the look in hand; a look begins with the multiprocessors' clock.
bool in_series(Look& look, bool begins) {
  static size_t looks = 0;
  const char* set = std::getenv("FAKE_NVML_SERIES");
  if (!set || !*set) return false;
  looks += begins;
  const std::string all = set;
  size_t at = 0;
  for (size_t i = 1; i < looks && all.find(',', at) != std::string::npos; i++) at = all.find(',', at) + 1;
  char* end = nullptr;
  look.mhz = static_cast<unsigned>(std::strtoul(all.c_str() + at, &end, 10));
  look.bits = *end == ':' ? std::strtoull(end + 1, nullptr, 0) : 0;
  return true;
}

}  // namespace

#define FAKE extern "C" __attribute__((visibility("default")))

FAKE int nvmlInit_v2() { return failing("nvmlInit_v2"); }
FAKE int nvmlShutdown() { return 0; }
FAKE const char* nvmlErrorString(int code) { return code == 9 ? "Driver Not Loaded" : "Some Error"; }
FAKE int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  std::strncpy(text, "580.1.2", size);
  return 0;
}
FAKE int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** device) {
  static int here;
  *device = &here;
  return std::strcmp(bus, "0000:17:00.0") == 0 ? failing("nvmlDeviceGetHandleByPciBusId_v2") : 6;
}
FAKE int nvmlDeviceGetClockInfo(void*, int type, unsigned* mhz) {
  *mhz = type == 1 ? number("FAKE_NVML_CLOCK", 1980) : 3201;
  if (Look look; type == 1 && in_series(look, true)) *mhz = look.mhz;
  return failing("nvmlDeviceGetClockInfo");
}
FAKE int nvmlDeviceGetMaxClockInfo(void*, int type, unsigned* mhz) {
  *mhz = type == 1 ? 1980 : 3201;
  return 0;
}
FAKE int nvmlDeviceGetTemperature(void*, int, unsigned* degrees) {
  *degrees = 41;
  return 0;
}
FAKE int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = 321500;
  return failing("nvmlDeviceGetPowerUsage");
}
FAKE int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) {
  *milliwatts = 700000;
  return 0;
}
FAKE int nvmlDeviceGetCurrentClocksEventReasons(void*, unsigned long long* bits) {
  *bits = number("FAKE_NVML_THROTTLE", 0);
  if (Look look; in_series(look, false)) *bits = look.bits;
  return 0;
}
FAKE int nvmlDeviceGetMigMode(void*, unsigned* now, unsigned* next) {
  *now = *next = number("FAKE_NVML_MIG", 0);
  return 0;
}
