// A CUPTI that says what its environment tells it to, through CUPTI's own headers:
//   FAKE_CUPTI_VERSION, FAKE_CUPTI_HOLDER (who holds the slot), FAKE_CUPTI_FAIL=function:code[,function:code…],
//   FAKE_CUPTI_UNSUPPORTED=vgpu|vgpu-disabled|cc|sli|cmp|wsl|other, FAKE_CUPTI_PASSES, FAKE_CUPTI_LACKS=part of names,
//   FAKE_CUPTI_VALUES=metric:value[,…] (others are 1), FAKE_CUPTI_KERNELS=names of the kernels that "ran", one
//   beginning each 100 µs, FAKE_CUPTI_KERNEL_US (how long each takes: 50), FAKE_CUPTI_UNSUPPORTED_API=pc|pm; what it
//   samples: fake_cupti_sampling.cpp.
#include "tests/fakes/fake_cupti.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <cupti.h>
#include <cupti_pcsampling.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <string>
#include <vector>

namespace {
using namespace convscope::fake_cupti;

// "a:1,b:2"
std::string setting(const char* variable, const std::string& key) {
  const char* set = std::getenv(variable);
  std::string text = set ? std::string(",") + set + "," : "", begin = "," + key + ":";
  auto at = text.find(begin);
  if (at == std::string::npos) return "";
  at += begin.size();
  return text.substr(at, text.find(',', at) - at);
}
size_t passes_wanted() {
  auto n = variable("FAKE_CUPTI_PASSES");
  return n.empty() ? 1 : static_cast<size_t>(std::atoi(n.c_str()));
}

struct {
  size_t pass = 0;
  int ranges_open = 0, sessions = 0, enables = 0;
  bool ranges_seen = false;
  bool started = false, recording = false;
  CUpti_BuffersCallbackRequestFunc give = nullptr;
  CUpti_BuffersCallbackCompleteFunc take = nullptr;
} state;
std::vector<std::string> kernel_names;

struct FakeHost {
  CUpti_ProfilerType kind;
  size_t metrics = 0;
} last_configured;

}  // namespace

std::string convscope::fake_cupti::variable(const char* name) {
  const char* set = std::getenv(name);
  return set ? set : "";
}
CUptiResult convscope::fake_cupti::outcome(const char* function) {
  auto code = setting("FAKE_CUPTI_FAIL", function);
  return code.empty() ? CUPTI_SUCCESS : static_cast<CUptiResult>(std::atoi(code.c_str()));
}
bool convscope::fake_cupti::range_session() { return state.sessions > 0; }
bool convscope::fake_cupti::ranges_first() { return state.ranges_seen; }

// What the tests ask of it.
extern "C" __attribute__((visibility("default"))) int fake_cupti_sessions() { return state.sessions; }
extern "C" __attribute__((visibility("default"))) int fake_cupti_enables() { return state.enables; }
extern "C" __attribute__((visibility("default"))) bool fake_cupti_clean() {
  return !state.started && !state.ranges_open;
}

FAKE cuptiGetVersion(uint32_t* version) {
  auto v = variable("FAKE_CUPTI_VERSION");
  *version = v.empty() ? CUPTI_API_VERSION : static_cast<uint32_t>(std::atoi(v.c_str()));
  return CUPTI_SUCCESS;
}
FAKE cuptiGetResultString(CUptiResult, const char** text) {
  *text = "CUPTI_ERROR_OF_THE_FAKE";
  return CUPTI_SUCCESS;
}
FAKE cuptiSubscribe_v2(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc, void*, CUpti_SubscriberParams* p) {
  auto holder = variable("FAKE_CUPTI_HOLDER");
  if (!holder.empty()) {
    std::strncpy(p->oldSubscriberName, holder.c_str(), p->oldSubscriberSize);
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  *handle = reinterpret_cast<CUpti_SubscriberHandle>(&state);
  return outcome("cuptiSubscribe_v2");
}
FAKE cuptiUnsubscribe(CUpti_SubscriberHandle) { return CUPTI_SUCCESS; }
// A process that has not counted yet.
extern "C" __attribute__((visibility("default"))) int fake_cupti_forget() {
  state.ranges_seen = false;
  forget_samples();
  return 0;
}

FAKE cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc give, CUpti_BuffersCallbackCompleteFunc take) {
  state.give = give, state.take = take;
  return outcome("cuptiActivityRegisterCallbacks");
}
FAKE cuptiActivityEnable(CUpti_ActivityKind) {
  if (!state.give) return CUPTI_ERROR_INVALID_OPERATION;  // not registered, or detached since
  state.recording = true;
  return outcome("cuptiActivityEnable");
}
FAKE cuptiActivityDisable(CUpti_ActivityKind) {
  state.recording = false;
  return CUPTI_SUCCESS;
}
FAKE cuptiActivityFlushAll(uint32_t) {
  static bool second = false;  // the first of a section only empties what was there
  second = !second;
  auto names = variable("FAKE_CUPTI_KERNELS");
  if (!state.recording || second || names.empty()) return CUPTI_SUCCESS;
  kernel_names.clear();
  for (size_t at = 0; at <= names.size();) {
    size_t comma = std::min(names.find(',', at), names.size());
    kernel_names.push_back(names.substr(at, comma - at));
    at = comma + 1;
  }
  uint8_t* buffer = nullptr;
  size_t size = 0, most = 0;
  state.give(&buffer, &size, &most);
  auto* k = reinterpret_cast<CUpti_ActivityKernel10*>(buffer);
  const auto us = variable("FAKE_CUPTI_KERNEL_US");
  const auto lasts_ns = us.empty() ? uint64_t{50000} : static_cast<uint64_t>(1e3 * std::atof(us.c_str()));
  for (size_t i = 0; i < kernel_names.size(); i++) {
    std::memset(&k[i], 0, sizeof k[i]);
    k[i].kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    k[i].name = kernel_names[i].c_str();
    // The last comes first in the buffer, as from several streams.
    k[i].start = 1000000 - 100000 * i, k[i].end = k[i].start + lasts_ns;
    k[i].gridX = 7, k[i].gridY = k[i].gridZ = 1, k[i].blockX = 128, k[i].blockY = k[i].blockZ = 1;
    k[i].registersPerThread = 40, k[i].staticSharedMemory = 1024, k[i].dynamicSharedMemory = 64;
    k[i].localMemoryPerThread = 16;
  }
  state.take(nullptr, 0, buffer, size, kernel_names.size() * sizeof *k);
  return CUPTI_SUCCESS;
}
FAKE cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, CUpti_Activity** record) {
  auto* next = *record ? reinterpret_cast<uint8_t*>(*record) + sizeof(CUpti_ActivityKernel10) : buffer;
  if (next >= buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}

FAKE cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params* p) {
  p->pChipName = "GH100";
  return CUPTI_SUCCESS;
}
FAKE cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params*) { return outcome("cuptiProfilerInitialize"); }
FAKE cuptiProfilerDeviceSupported(CUpti_Profiler_DeviceSupported_Params* p) {
  constexpr auto yes = CUPTI_PROFILER_CONFIGURATION_SUPPORTED, no = CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED;
  auto what = variable("FAKE_CUPTI_UNSUPPORTED"), api = variable("FAKE_CUPTI_UNSUPPORTED_API");
  if ((api == "pc" && p->api == CUPTI_PROFILER_PC_SAMPLING) || (api == "pm" && p->api == CUPTI_PROFILER_PM_SAMPLING))
    what = "other";
  p->isSupported = what.empty() ? yes : no;
  p->architecture = what == "other" ? no : yes;
  p->vGpu = what == "vgpu" ? no : what == "vgpu-disabled" ? CUPTI_PROFILER_CONFIGURATION_DISABLED : yes;
  p->confidentialCompute = what == "cc" ? no : yes;
  p->sli = what == "sli" ? no : yes;
  p->cmp = what == "cmp" ? no : yes;
  p->wsl = what == "wsl" ? no : yes;
  return outcome("cuptiProfilerDeviceSupported");
}
FAKE cuptiProfilerGetCounterAvailability(CUpti_Profiler_GetCounterAvailability_Params* p) {
  p->counterAvailabilityImageSize = 16;
  return outcome("cuptiProfilerGetCounterAvailability");
}

FAKE cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params* p) {
  p->pHostObject = reinterpret_cast<CUpti_Profiler_Host_Object*>(new FakeHost{p->profilerType});
  return outcome("cuptiProfilerHostInitialize");
}
FAKE cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params* p) {
  delete reinterpret_cast<FakeHost*>(p->pHostObject);
  return CUPTI_SUCCESS;
}
FAKE cuptiProfilerHostGetSupportedChips(CUpti_Profiler_Host_GetSupportedChips_Params* p) {
  static const char* const chips[] = {"GH100", "GA100"};
  p->numChips = 2;
  p->ppChipNames = const_cast<const char* const*>(chips);
  return CUPTI_SUCCESS;
}
FAKE cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params* p) {
  auto lacks = variable("FAKE_CUPTI_LACKS");
  for (size_t i = 0; i < p->numMetrics; i++)
    if (!lacks.empty() && std::strstr(p->ppMetricNames[i], lacks.c_str())) return CUPTI_ERROR_INVALID_PARAMETER;
  reinterpret_cast<FakeHost*>(p->pHostObject)->metrics += p->numMetrics;
  return outcome("cuptiProfilerHostConfigAddMetrics");
}
FAKE cuptiProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params* p) {
  p->configImageSize = 8;
  return CUPTI_SUCCESS;
}
FAKE cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params* p) {
  last_configured = *reinterpret_cast<FakeHost*>(p->pHostObject);
  return CUPTI_SUCCESS;
}
FAKE cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params* p) {
  auto fits = variable("FAKE_CUPTI_PM_FITS");
  p->numOfPasses = last_configured.kind != CUPTI_PROFILER_TYPE_PM_SAMPLING ? passes_wanted()
                   : !fits.empty() && last_configured.metrics > static_cast<size_t>(std::atoi(fits.c_str())) ? 2
                                                                                                             : 1;
  return CUPTI_SUCCESS;
}
FAKE cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params* p) {
  for (size_t i = 0; i < p->numMetrics; i++) {
    auto v = setting("FAKE_CUPTI_VALUES", p->ppMetricNames[i]);
    p->pMetricValues[i] = v.empty() ? 1 : std::atof(v.c_str());
    if (reinterpret_cast<FakeHost*>(p->pHostObject)->kind == CUPTI_PROFILER_TYPE_PM_SAMPLING)
      p->pMetricValues[i] = lane_value(p->ppMetricNames[i], p->rangeIndex, p->pMetricValues[i]);
  }
  return outcome("cuptiProfilerHostEvaluateToGpuValues");
}

FAKE cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params* p) {
  if (auto r = outcome("cuptiRangeProfilerEnable"); r != CUPTI_SUCCESS) return r;
  if (state.sessions) return CUPTI_ERROR_INVALID_OPERATION;  // one at a time
  if (sampling()) return CUPTI_ERROR_HARDWARE_BUSY;
  state.sessions++;
  state.ranges_seen = true;
  state.enables++;
  state.pass = 0;
  p->pRangeProfilerObject = reinterpret_cast<CUpti_RangeProfiler_Object*>(&state);
  return CUPTI_SUCCESS;
}
FAKE cuptiRangeProfilerDisable(CUpti_RangeProfiler_Disable_Params*) {
  state.sessions--;
  return CUPTI_SUCCESS;
}
FAKE cuptiRangeProfilerGetCounterDataSize(CUpti_RangeProfiler_GetCounterDataSize_Params* p) {
  p->counterDataSize = 64;
  return CUPTI_SUCCESS;
}
FAKE cuptiRangeProfilerCounterDataImageInitialize(CUpti_RangeProfiler_CounterDataImage_Initialize_Params*) {
  return CUPTI_SUCCESS;
}
FAKE cuptiRangeProfilerSetConfig(CUpti_RangeProfiler_SetConfig_Params* p) {
  state.pass = 0;
  return p->range == CUPTI_UserRange && p->replayMode == CUPTI_UserReplay ? outcome("cuptiRangeProfilerSetConfig")
                                                                          : CUPTI_ERROR_INVALID_PARAMETER;
}
FAKE cuptiRangeProfilerStart(CUpti_RangeProfiler_Start_Params*) {
  if (state.started) return CUPTI_ERROR_INVALID_OPERATION;
  state.started = true;
  return outcome("cuptiRangeProfilerStart");
}
FAKE cuptiRangeProfilerPushRange(CUpti_RangeProfiler_PushRange_Params*) {
  state.ranges_open++;
  return CUPTI_SUCCESS;
}
FAKE cuptiRangeProfilerPopRange(CUpti_RangeProfiler_PopRange_Params*) {
  state.ranges_open--;
  return CUPTI_SUCCESS;
}
FAKE cuptiRangeProfilerStop(CUpti_RangeProfiler_Stop_Params* p) {
  if (!state.started || state.ranges_open) return CUPTI_ERROR_INVALID_OPERATION;
  state.started = false;
  p->isAllPassSubmitted = ++state.pass >= passes_wanted();
  return outcome("cuptiRangeProfilerStop");
}
FAKE cuptiRangeProfilerDecodeData(CUpti_RangeProfiler_DecodeData_Params*) {
  return outcome("cuptiRangeProfilerDecodeData");
}
