// CUPTI's functions, opened at run time, and its errors in words. Only for the files of this folder.
#pragma once
#include <cupti.h>
#include <cupti_pcsampling.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <string>

#include "profiling/cupti/cupti.h"

namespace convscope::cupti {

// The functions this project calls, by their names in CUPTI's headers.
// clang-format off
#define CONVSCOPE_CUPTI_FUNCTIONS(F)                                                                                  \
  F(cuptiGetVersion) F(cuptiGetResultString) F(cuptiSubscribe_v2) F(cuptiUnsubscribe)                                 \
  F(cuptiActivityRegisterCallbacks) F(cuptiActivityEnable) F(cuptiActivityDisable) F(cuptiActivityFlushAll)           \
  F(cuptiActivityGetNextRecord) F(cuptiDeviceGetChipName)                                                             \
  F(cuptiProfilerInitialize) F(cuptiProfilerDeviceSupported) F(cuptiProfilerGetCounterAvailability)                   \
  F(cuptiProfilerHostInitialize) F(cuptiProfilerHostDeinitialize) F(cuptiProfilerHostGetSupportedChips)               \
  F(cuptiProfilerHostConfigAddMetrics) F(cuptiProfilerHostGetConfigImageSize) F(cuptiProfilerHostGetConfigImage)      \
  F(cuptiProfilerHostGetNumOfPasses) F(cuptiProfilerHostEvaluateToGpuValues)                                          \
  F(cuptiRangeProfilerEnable) F(cuptiRangeProfilerDisable) F(cuptiRangeProfilerGetCounterDataSize)                    \
  F(cuptiRangeProfilerCounterDataImageInitialize) F(cuptiRangeProfilerSetConfig) F(cuptiRangeProfilerStart)           \
  F(cuptiRangeProfilerStop) F(cuptiRangeProfilerPushRange) F(cuptiRangeProfilerPopRange)                              \
  F(cuptiRangeProfilerDecodeData)                                                                                     \
  F(cuptiPCSamplingEnable) F(cuptiPCSamplingDisable) F(cuptiPCSamplingStart) F(cuptiPCSamplingStop)                   \
  F(cuptiPCSamplingGetNumStallReasons) F(cuptiPCSamplingGetStallReasons) F(cuptiPCSamplingGetData)                    \
  F(cuptiPCSamplingSetConfigurationAttribute) F(cuptiPCSamplingGetConfigurationAttribute)                             \
  F(cuptiGetSassToSourceCorrelation) F(cuptiGetCubinCrc)                                                              \
  F(cuptiPmSamplingGetCounterAvailability) F(cuptiPmSamplingEnable) F(cuptiPmSamplingDisable)                         \
  F(cuptiPmSamplingSetConfig) F(cuptiPmSamplingStart) F(cuptiPmSamplingStop) F(cuptiPmSamplingDecodeData)             \
  F(cuptiPmSamplingGetCounterDataSize) F(cuptiPmSamplingCounterDataImageInitialize)                                   \
  F(cuptiPmSamplingGetCounterDataInfo) F(cuptiPmSamplingCounterDataGetSampleInfo)
// clang-format on

struct Library {
#define CONVSCOPE_MEMBER(name) decltype(&::name) name = nullptr;
  CONVSCOPE_CUPTI_FUNCTIONS(CONVSCOPE_MEMBER)
#undef CONVSCOPE_MEMBER
  void* handle = nullptr;
  std::string path, version;
  Gap missing;  // the library or its version
  Gap no_host;  // libnvperf_host.so, without which no counter can be had: timing goes on
};

Library open_library(const Cupti::Places& places);

// A failed call as a sentence with what to do. Known codes have their own; `doing` goes into all others.
Gap gap_of(const Library& library, CUptiResult result, const std::string& doing);

// CUPTI's parameter blocks begin with their size, and all else is zero.
template <class T>
T block(size_t size) {
  T p{};
  p.structSize = size;
  return p;
}
#define CONVSCOPE_BLOCK(name, type) auto name = block<type##_Params>(type##_Params_STRUCT_SIZE)

}  // namespace convscope::cupti
