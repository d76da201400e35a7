// The samplers of the fake CUPTI:
//   FAKE_CUPTI_PC=function:offset:reason:samples[,…]: what each range from Start to Stop finds; the reason as CUPTI's
//     without its prefix, so long_scoreboard_not_issued too. Two PCs at a time are handed over, the last only by
//     Disable.
//     Ranges before the first sampling make all samples those of unknown kernels.
//   FAKE_CUPTI_PC_DROPPED=n, FAKE_CUPTI_PC_FULL=1, FAKE_CUPTI_PC_CRC=n (of the records; cubins have 77),
//   FAKE_CUPTI_PM_WORK_US (how long the chip works in a timeline, 1000), FAKE_CUPTI_PM_OVERFLOW_BELOW=ns,
//   FAKE_CUPTI_PM_FITS=n metrics in a pass.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <cupti_pcsampling.h>
#include <cupti_pmsampling.h>
#include <map>
#include <vector>

#include "tests/fakes/fake_cupti.h"

using namespace convscope::fake_cupti;

namespace {

constexpr uint64_t cubin_crc = 77;
const char* const reason_names[] = {"long_scoreboard", "math_pipe_throttle", "selected", "not_selected", "wait"};
constexpr size_t plain_reasons = std::size(reason_names), all_reasons = 2 * plain_reasons;

std::string full_name(size_t index) {
  return std::string("smsp__pcsamp_warps_issue_stalled_") + reason_names[index % plain_reasons] +
         (index < plain_reasons ? "" : "_not_issued");
}

struct Pc {
  std::string function;
  uint64_t offset = 0;
  std::vector<std::pair<uint32_t, uint32_t>> reasons;
};

struct {
  bool enabled = false, configured = false, started = false;
  uint32_t period = 11;
  CUpti_PCSamplingData* kept = nullptr;  // the buffer that Disable fills
  std::vector<Pc> pending;
  std::vector<std::string> names;  // handed out, never freed
  size_t reasons_asked_for = 0;
} pc;
bool pc_before_ranges = false;

struct {
  bool enabled = false, started = false, ran = false;
  uint64_t interval_ns = 0;
  uint32_t most = 0;
  size_t decoded = 0, completed = 0, first = 0;  // of the samples: delivered so far; in the image; index of its first
} pm;

double number(const char* name, double otherwise) {
  auto set = variable(name);
  return set.empty() ? otherwise : std::atof(set.c_str());
}

std::vector<Pc> found() {
  std::map<std::pair<std::string, uint64_t>, Pc> all;
  std::string text = variable("FAKE_CUPTI_PC");
  if (text.empty())
    text =
        "direct_f32:256:long_scoreboard:60,direct_f32:256:long_scoreboard_not_issued:50,"
        "direct_f32:272:selected:30,direct_f32:512:wait:10";
  for (size_t at = 0; at < text.size();) {
    size_t comma = std::min(text.find(',', at), text.size());
    std::string item = text.substr(at, comma - at);
    at = comma + 1;
    size_t a = item.find(':'), b = item.find(':', a + 1), c = item.find(':', b + 1);
    if (c == std::string::npos) continue;
    std::string function = item.substr(0, a), reason = item.substr(b + 1, c - b - 1);
    uint64_t offset = std::strtoull(item.c_str() + a + 1, nullptr, 10);
    Pc& p = all[{function, offset}];
    p.function = function, p.offset = offset;
    for (size_t i = 0; i < all_reasons; i++)
      if (full_name(i) == "smsp__pcsamp_warps_issue_stalled_" + reason)
        p.reasons.emplace_back(100 + i, static_cast<uint32_t>(std::atoi(item.c_str() + c + 1)));
  }
  std::vector<Pc> list;
  for (auto& [key, p] : all) list.push_back(p);
  return list;
}

void hand_over(CUpti_PCSamplingData& to, size_t count) {
  to.totalNumPcs = std::min({count, pc.pending.size(), to.collectNumPcs});
  to.totalSamples = to.nonUsrKernelsTotalSamples = 0;
  if (!pc_before_ranges) {
    for (const Pc& p : pc.pending)
      for (auto [reason, n] : p.reasons)
        if (reason < 100 + plain_reasons) to.totalSamples += n, to.nonUsrKernelsTotalSamples += n;
    to.totalNumPcs = 0;
    pc.pending.clear();
    return;
  }
  for (size_t i = 0; i < to.totalNumPcs; i++) {
    CUpti_PCSamplingPCData& record = to.pPcData[i];
    if (record.size != sizeof record || !record.stallReason) std::abort();
    const Pc& p = pc.pending[i];
    record.cubinCrc = static_cast<uint64_t>(number("FAKE_CUPTI_PC_CRC", cubin_crc));
    record.pcOffset = p.offset;
    record.functionIndex = 1;
    record.functionName = strdup(p.function.c_str());
    record.stallReasonCount = std::min(p.reasons.size(), pc.reasons_asked_for);
    for (size_t k = 0; k < record.stallReasonCount; k++) {
      record.stallReason[k].pcSamplingStallReasonIndex = p.reasons[k].first;
      record.stallReason[k].samples = p.reasons[k].second;
      if (p.reasons[k].first < 100 + plain_reasons) to.totalSamples += p.reasons[k].second;
    }
  }
  pc.pending.erase(pc.pending.begin(), pc.pending.begin() + static_cast<long>(to.totalNumPcs));
}

size_t samples_of_a_timeline() {
  double work_ns = 1000 * number("FAKE_CUPTI_PM_WORK_US", 1000);
  return 10 + static_cast<size_t>(std::ceil(work_ns / static_cast<double>(pm.interval_ns)));
}

}  // namespace

void convscope::fake_cupti::forget_samples() {
  if (sampling()) std::abort();
  pc_before_ranges = false;
}
bool convscope::fake_cupti::sampling() { return pc.enabled || pm.enabled; }

// Five points of rest, the first and the last of the work half idle.
double convscope::fake_cupti::lane_value(const std::string& metric, size_t index, double usual) {
  size_t at = pm.first + index, all = samples_of_a_timeline();
  if (at < 5 || at + 5 >= all) return metric.starts_with("sm__warps") ? std::nan("") : 0;
  bool active = metric.starts_with("sm__cycles_active");
  return (active ? 90 : usual) * (at == 5 ? 0.5 : 1);
}

FAKE cuptiPCSamplingEnable(CUpti_PCSamplingEnableParams* p) {
  if (auto r = outcome("cuptiPCSamplingEnable"); r != CUPTI_SUCCESS) return r;
  if (p->size != CUpti_PCSamplingEnableParamsSize || !p->ctx || pc.enabled) return CUPTI_ERROR_INVALID_PARAMETER;
  if (range_session() || pm.enabled) return CUPTI_ERROR_HARDWARE_BUSY;
  pc = {};
  pc.enabled = true;
  pc_before_ranges |= !ranges_first();
  return CUPTI_SUCCESS;
}
FAKE cuptiPCSamplingDisable(CUpti_PCSamplingDisableParams*) {
  if (!pc.enabled) return CUPTI_ERROR_INVALID_OPERATION;
  if (pc.kept) hand_over(*pc.kept, pc.pending.size());
  pc.enabled = false;
  return CUPTI_SUCCESS;
}
FAKE cuptiPCSamplingGetNumStallReasons(CUpti_PCSamplingGetNumStallReasonsParams* p) {
  if (!pc.enabled) return CUPTI_ERROR_INVALID_OPERATION;
  *p->numStallReasons = all_reasons;
  return outcome("cuptiPCSamplingGetNumStallReasons");
}
FAKE cuptiPCSamplingGetStallReasons(CUpti_PCSamplingGetStallReasonsParams* p) {
  if (!pc.enabled || p->numStallReasons != all_reasons) return CUPTI_ERROR_INVALID_OPERATION;
  for (size_t i = 0; i < all_reasons; i++) {
    p->stallReasonIndex[i] = static_cast<uint32_t>(100 + i);
    std::strncpy(p->stallReasons[i], full_name(i).c_str(), CUPTI_STALL_REASON_STRING_SIZE - 1);
  }
  return CUPTI_SUCCESS;
}
FAKE cuptiPCSamplingSetConfigurationAttribute(CUpti_PCSamplingConfigurationInfoParams* p) {
  if (!pc.enabled) return CUPTI_ERROR_INVALID_OPERATION;
  for (size_t i = 0; i < p->numAttributes; i++) {
    const auto& a = p->pPCSamplingConfigurationInfo[i];
    if (a.attributeType == CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD)
      pc.period = a.attributeData.samplingPeriodData.samplingPeriod;
    if (a.attributeType == CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER)
      pc.kept = static_cast<CUpti_PCSamplingData*>(a.attributeData.samplingDataBufferData.samplingDataBuffer);
    if (a.attributeType == CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_STALL_REASON)
      pc.reasons_asked_for = a.attributeData.stallReasonData.stallReasonCount;
  }
  pc.configured = true;
  return outcome("cuptiPCSamplingSetConfigurationAttribute");
}
FAKE cuptiPCSamplingGetConfigurationAttribute(CUpti_PCSamplingConfigurationInfoParams* p) {
  if (!pc.enabled) return CUPTI_ERROR_INVALID_OPERATION;
  p->pPCSamplingConfigurationInfo[0].attributeData.samplingPeriodData.samplingPeriod = pc.period;
  return CUPTI_SUCCESS;
}
FAKE cuptiPCSamplingStart(CUpti_PCSamplingStartParams*) {
  if (!pc.configured || pc.started) return CUPTI_ERROR_INVALID_OPERATION;
  if (auto r = outcome("cuptiPCSamplingStart"); r != CUPTI_SUCCESS) return r;
  pc.started = true;
  return CUPTI_SUCCESS;
}
FAKE cuptiPCSamplingStop(CUpti_PCSamplingStopParams*) {
  if (!pc.started) return CUPTI_ERROR_INVALID_OPERATION;
  pc.started = false;
  if (variable("FAKE_CUPTI_PC") != "none")
    for (auto& p : found()) pc.pending.push_back(p);
  return outcome("cuptiPCSamplingStop");
}
FAKE cuptiPCSamplingGetData(CUpti_PCSamplingGetDataParams* p) {
  if (!pc.configured || pc.started) return CUPTI_ERROR_INVALID_OPERATION;
  if (auto r = outcome("cuptiPCSamplingGetData"); r != CUPTI_SUCCESS) return r;
  auto& to = *static_cast<CUpti_PCSamplingData*>(p->pcSamplingData);
  if (!variable("FAKE_CUPTI_PC_FULL").empty()) {
    to.totalNumPcs = to.remainingNumPcs = 0;
    to.hardwareBufferFull = 1;
    pc.pending.clear();
    return CUPTI_ERROR_OUT_OF_MEMORY;
  }
  size_t ready = pc.pending.empty() ? 0 : pc.pending.size() - 1;  // the last waits for Disable
  hand_over(to, std::min<size_t>(2, ready));
  to.remainingNumPcs = pc_before_ranges ? ready - to.totalNumPcs : 0;
  to.droppedSamples = static_cast<uint64_t>(number("FAKE_CUPTI_PC_DROPPED", 0));
  to.totalSamples += to.droppedSamples;
  return CUPTI_SUCCESS;
}
FAKE cuptiGetCubinCrc(CUpti_GetCubinCrcParams* p) {
  p->cubinCrc = cubin_crc;
  return outcome("cuptiGetCubinCrc");
}
// Line 10 is the first instruction's, and each has the next.
FAKE cuptiGetSassToSourceCorrelation(CUpti_GetSassToSourceCorrelationParams* p) {
  if (auto r = outcome("cuptiGetSassToSourceCorrelation"); r != CUPTI_SUCCESS) return r;
  std::string function = p->functionName;
  p->fileName = strdup((function.substr(0, function.find('_')) + ".cu").c_str());
  p->dirName = strdup("/src/kernels/ladder");
  p->lineNumber = static_cast<uint32_t>(10 + p->pcOffset / 16);
  return CUPTI_SUCCESS;
}

FAKE cuptiPmSamplingGetCounterAvailability(CUpti_PmSampling_GetCounterAvailability_Params* p) {
  p->counterAvailabilityImageSize = 16;
  return outcome("cuptiPmSamplingGetCounterAvailability");
}
FAKE cuptiPmSamplingEnable(CUpti_PmSampling_Enable_Params* p) {
  if (auto r = outcome("cuptiPmSamplingEnable"); r != CUPTI_SUCCESS) return r;
  if (range_session() || sampling()) return CUPTI_ERROR_HARDWARE_BUSY;
  pm = {};
  pm.enabled = true;
  p->pPmSamplingObject = reinterpret_cast<CUpti_PmSampling_Object*>(&pm);
  return CUPTI_SUCCESS;
}
FAKE cuptiPmSamplingDisable(CUpti_PmSampling_Disable_Params*) {
  pm.enabled = false;
  return CUPTI_SUCCESS;
}
FAKE cuptiPmSamplingSetConfig(CUpti_PmSampling_SetConfig_Params* p) {
  pm.interval_ns = p->samplingInterval;
  return pm.interval_ns ? outcome("cuptiPmSamplingSetConfig") : CUPTI_ERROR_INVALID_PARAMETER;
}
FAKE cuptiPmSamplingGetCounterDataSize(CUpti_PmSampling_GetCounterDataSize_Params* p) {
  pm.most = p->maxSamples;
  p->counterDataSize = 64;
  return CUPTI_SUCCESS;
}
FAKE cuptiPmSamplingCounterDataImageInitialize(CUpti_PmSampling_CounterDataImage_Initialize_Params*) {
  pm.completed = 0;
  return CUPTI_SUCCESS;
}
FAKE cuptiPmSamplingStart(CUpti_PmSampling_Start_Params*) {
  if (!pm.enabled || !pm.interval_ns || pm.started) return CUPTI_ERROR_INVALID_OPERATION;
  pm.started = true;
  return outcome("cuptiPmSamplingStart");
}
FAKE cuptiPmSamplingStop(CUpti_PmSampling_Stop_Params*) {
  if (!pm.started) return CUPTI_ERROR_INVALID_OPERATION;
  pm.started = false, pm.ran = true;
  return outcome("cuptiPmSamplingStop");
}
FAKE cuptiPmSamplingDecodeData(CUpti_PmSampling_DecodeData_Params* p) {
  if (!pm.ran || pm.completed) return CUPTI_ERROR_INVALID_OPERATION;  // a full image must be cleared first
  size_t all = samples_of_a_timeline();
  p->overflow = static_cast<double>(pm.interval_ns) < number("FAKE_CUPTI_PM_OVERFLOW_BELOW", 0);
  pm.first = pm.decoded;
  pm.completed = std::min<size_t>({16, pm.most, all - pm.decoded});
  pm.decoded += pm.completed;
  p->decodeStopReason = pm.decoded == all ? CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS
                                          : CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL;
  return outcome("cuptiPmSamplingDecodeData");
}
FAKE cuptiPmSamplingGetCounterDataInfo(CUpti_PmSampling_GetCounterDataInfo_Params* p) {
  p->numTotalSamples = pm.most;
  p->numPopulatedSamples = p->numCompletedSamples = pm.completed;
  return CUPTI_SUCCESS;
}
FAKE cuptiPmSamplingCounterDataGetSampleInfo(CUpti_PmSampling_CounterData_GetSampleInfo_Params* p) {
  constexpr uint64_t origin = 5000000000;
  p->startTimestamp = origin + (pm.first + p->sampleIndex) * pm.interval_ns;
  p->endTimestamp = p->startTimestamp + pm.interval_ns;
  return CUPTI_SUCCESS;
}
