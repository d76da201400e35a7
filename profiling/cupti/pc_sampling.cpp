// PC sampling: the hardware looks at a warp of each multiprocessor every 2^n cycles and notes where it is and why it
// does not issue. Continuous mode: kernels run as they always do.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <functional>

#include "profiling/cupti/state.h"

namespace convscope {
namespace cupti {
namespace {

constexpr size_t hardware_buffer_bytes = size_t{128} << 20;  // of the GPU's memory; CUPTI's own choice is four times it
constexpr size_t scratch_bytes = size_t{4} << 20;
constexpr uint32_t worker_sleep_ms = 10;
constexpr size_t pcs_at_once = 4096;
constexpr double most_a_call = 1e6;  // samples: a longer kernel is looked at less often

// What CUPTI fills: records that point to counts, all of it ours.
struct Buffer {
  Buffer(size_t pcs, size_t reasons) : records(pcs), counts(pcs * reasons) {
    std::memset(records.data(), 0, pcs * sizeof records[0]);
    for (size_t i = 0; i < pcs; i++) {
      records[i].size = sizeof records[i];
      records[i].stallReason = counts.data() + i * reasons;
    }
    data.size = sizeof data;
    data.collectNumPcs = pcs;
    data.pPcData = records.data();
  }
  CUpti_PCSamplingData data{};
  std::vector<CUpti_PCSamplingPCData> records;
  std::vector<CUpti_PCSamplingStallReason> counts;
};

// A sampler of one context, from Enable to Disable. CUPTI wants Enable before every other call.
class Sampler {
 public:
  Sampler(const Library& library, CUcontext context) : l_(library), context_(context) {
    auto p = params<CUpti_PCSamplingEnableParams>(CUpti_PCSamplingEnableParamsSize);
    result = l_.cuptiPCSamplingEnable(&p);
    doing = "taking the GPU's sampler";
    enabled_ = result == CUPTI_SUCCESS;
    if (enabled_) ask_reasons();
    if (result == CUPTI_SUCCESS) configure();
  }
  ~Sampler() { disable(); }
  Sampler(const Sampler&) = delete;

  void raise_period(uint32_t exponent) {
    CUpti_PCSamplingConfigurationInfo info{};
    info.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD;
    info.attributeData.samplingPeriodData.samplingPeriod = std::min(exponent, 31u);
    if (set({&info, 1}) == CUPTI_SUCCESS) period = std::min(exponent, 31u);
  }

  bool start() {
    auto p = params<CUpti_PCSamplingStartParams>(CUpti_PCSamplingStartParamsSize);
    doing = "starting the sampler";
    return (result = l_.cuptiPCSamplingStart(&p)) == CUPTI_SUCCESS;
  }
  bool stop() {
    auto p = params<CUpti_PCSamplingStopParams>(CUpti_PCSamplingStopParamsSize);
    doing = "stopping the sampler";
    return (result = l_.cuptiPCSamplingStop(&p)) == CUPTI_SUCCESS;
  }
  // Takes what there is into `functions`.
  bool drain() {
    constexpr int most_times = 10000;
    doing = "reading the sampler";
    for (int i = 0; i < most_times; i++) {
      auto p = params<CUpti_PCSamplingGetDataParams>(CUpti_PCSamplingGetDataParamsSize);
      p.pcSamplingData = &mine_->data;
      result = l_.cuptiPCSamplingGetData(&p);
      if (result == CUPTI_ERROR_OUT_OF_MEMORY) full = true, result = CUPTI_SUCCESS;  // the hardware's buffer, not ours
      if (result != CUPTI_SUCCESS) return false;
      take(*mine_);
      if (!mine_->data.remainingNumPcs) break;
    }
    return true;
  }
  // Also takes what CUPTI still had.
  void disable() {
    if (!std::exchange(enabled_, false)) return;
    auto p = params<CUpti_PCSamplingDisableParams>(CUpti_PCSamplingDisableParamsSize);
    l_.cuptiPCSamplingDisable(&p);
    if (configured_) take(*configured_);
  }

  CUptiResult result = CUPTI_SUCCESS;
  std::string doing;
  std::vector<StallReason> reasons;  // by CUPTI's order
  uint32_t period = 0;               // exponent of two; 0: not told
  uint64_t samples = 0, total = 0, dropped = 0, unknown = 0;
  bool full = false;
  using Key = std::pair<uint64_t, std::string>;
  std::map<Key, std::map<uint64_t, PcInstruction>> functions;

 private:
  template <class T>
  T params(size_t size) const {
    T p{};
    p.size = size;
    p.ctx = context_;
    return p;
  }

  void ask_reasons() {
    doing = "asking for the stall reasons";
    size_t count = 0;
    auto n = params<CUpti_PCSamplingGetNumStallReasonsParams>(CUpti_PCSamplingGetNumStallReasonsParamsSize);
    n.numStallReasons = &count;
    if ((result = l_.cuptiPCSamplingGetNumStallReasons(&n)) != CUPTI_SUCCESS) return;
    indices_.assign(count, 0);
    std::vector<char> text(count * CUPTI_STALL_REASON_STRING_SIZE, 0);
    std::vector<char*> names(count);
    for (size_t i = 0; i < count; i++) names[i] = text.data() + i * CUPTI_STALL_REASON_STRING_SIZE;
    auto p = params<CUpti_PCSamplingGetStallReasonsParams>(CUpti_PCSamplingGetStallReasonsParamsSize);
    p.numStallReasons = count;
    p.stallReasonIndex = indices_.data();
    p.stallReasons = names.data();
    if ((result = l_.cuptiPCSamplingGetStallReasons(&p)) != CUPTI_SUCCESS) return;
    for (size_t i = 0; i < count; i++) {
      reasons.push_back(stall_reason(names[i]));
      by_index_[indices_[i]] = i;
    }
  }

  void configure() {
    doing = "setting up the sampler";
    mine_ = std::make_unique<Buffer>(pcs_at_once, indices_.size());
    configured_ = std::make_unique<Buffer>(pcs_at_once, indices_.size());
    std::vector<CUpti_PCSamplingConfigurationInfo> all;
    auto add = [&](CUpti_PCSamplingConfigurationAttributeType type) -> auto& {
      all.emplace_back();
      all.back().attributeType = type;
      return all.back().attributeData;
    };
    add(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE).collectionModeData.collectionMode =
        CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS;
    auto& stalls = add(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_STALL_REASON).stallReasonData;
    stalls.stallReasonCount = indices_.size();
    stalls.pStallReasonIndex = indices_.data();
    add(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_HARDWARE_BUFFER_SIZE).hardwareBufferSizeData.hardwareBufferSize =
        hardware_buffer_bytes;
    add(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SCRATCH_BUFFER_SIZE).scratchBufferSizeData.scratchBufferSize =
        scratch_bytes;
    add(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_WORKER_THREAD_PERIODIC_SLEEP_SPAN)
        .workerThreadPeriodicSleepSpanData.workerThreadPeriodicSleepSpan = worker_sleep_ms;
    add(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_OUTPUT_DATA_FORMAT).outputDataFormatData.outputDataFormat =
        CUPTI_PC_SAMPLING_OUTPUT_DATA_FORMAT_PARSED;
    add(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER).samplingDataBufferData.samplingDataBuffer =
        &configured_->data;
    add(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_ENABLE_START_STOP_CONTROL)
        .enableStartStopControlData.enableStartStopControl = 1;
    if ((result = set(all)) != CUPTI_SUCCESS) return;
    CUpti_PCSamplingConfigurationInfo asked{};
    asked.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD;
    auto p = params<CUpti_PCSamplingConfigurationInfoParams>(CUpti_PCSamplingConfigurationInfoParamsSize);
    p.numAttributes = 1;
    p.pPCSamplingConfigurationInfo = &asked;
    if (l_.cuptiPCSamplingGetConfigurationAttribute(&p) == CUPTI_SUCCESS)
      period = asked.attributeData.samplingPeriodData.samplingPeriod;
  }

  CUptiResult set(std::span<CUpti_PCSamplingConfigurationInfo> all) {
    auto p = params<CUpti_PCSamplingConfigurationInfoParams>(CUpti_PCSamplingConfigurationInfoParamsSize);
    p.numAttributes = all.size();
    p.pPCSamplingConfigurationInfo = all.data();
    return l_.cuptiPCSamplingSetConfigurationAttribute(&p);
  }

  void take(Buffer& b) {
    total += b.data.totalSamples, dropped += b.data.droppedSamples;
    unknown += b.data.nonUsrKernelsTotalSamples;
    full |= b.data.hardwareBufferFull != 0;
    size_t count = std::min<size_t>(b.data.totalNumPcs, b.records.size());
    for (size_t i = 0; i < count; i++) {
      const auto& record = b.records[i];
      // Packed: copied before use. The name may be shared between records, so it is not freed.
      const uint64_t crc = record.cubinCrc, offset = record.pcOffset;
      const char* name = record.functionName;
      PcInstruction& at = functions[{crc, name ? name : "?"}][offset];
      at.offset = offset;
      for (size_t k = 0; k < std::min<size_t>(record.stallReasonCount, indices_.size()); k++) {
        const uint32_t index = record.stallReason[k].pcSamplingStallReasonIndex, n = record.stallReason[k].samples;
        auto known = by_index_.find(index);
        if (!n || known == by_index_.end()) continue;
        const StallReason& r = reasons[known->second];
        if (r.name.empty()) continue;
        (r.not_issued ? at.not_issued : at.reasons)[r.name] += n;
        if (!r.not_issued) at.samples += n, samples += n;
      }
    }
    b.data.totalNumPcs = b.data.remainingNumPcs = 0;
    b.data.totalSamples = b.data.droppedSamples = b.data.nonUsrKernelsTotalSamples = 0;
    b.data.hardwareBufferFull = 0;
  }

  const Library& l_;
  CUcontext context_;
  bool enabled_ = false;
  std::vector<uint32_t> indices_;
  std::map<uint32_t, size_t> by_index_;
  std::unique_ptr<Buffer> mine_, configured_;
};

using Clock = std::chrono::steady_clock;
double ms_since(Clock::time_point t) { return std::chrono::duration<double, std::milli>(Clock::now() - t).count(); }

// A kernel of a second would fill the buffer: then a warp is looked at less often.
void suit_period(Sampler& s, const SamplingOptions& o) {
  if (!s.period || o.call_ms <= 0 || o.clock_mhz <= 0 || o.multiprocessors <= 0) return;
  double expected = o.call_ms * 1e3 * o.clock_mhz * o.multiprocessors / std::exp2(s.period);
  if (expected > most_a_call)
    s.raise_period(s.period + static_cast<uint32_t>(std::ceil(std::log2(expected / most_a_call))));
}

// Calls `work` between Start and Stop until there are enough samples.
void collect(Sampler& s, const SamplingOptions& o, const std::function<void()>& work, Activity* activity, int& calls) {
  auto begin = Clock::now();
  for (int more = 1; more > 0;) {
    if (!s.start()) return;
    int done = 0;
    try {
      do {
        if (activity) activity->check();
        work();
        if (activity) activity->advance();
        done++;
      } while (done < more && ms_since(begin) < o.time_cap_ms);
    } catch (...) {
      s.stop();
      throw;
    }
    calls += done;
    if (!s.stop() || !s.drain()) return;
    if (s.samples >= o.enough || ms_since(begin) >= o.time_cap_ms || s.full) return;
    double each = static_cast<double>(s.samples) / calls;
    constexpr double most_calls = 2000;
    more = static_cast<int>(
        std::min(most_calls, each > 0 ? std::ceil(static_cast<double>(o.enough - s.samples) / each) : 4.0 * calls));
  }
}

void add_places(const Library& l, PcFunction& f, const SamplingOptions& o) {
  std::string_view cubin;
  for (size_t i = 0; i < o.cubins.size(); i++)
    if (crc_of(l, o.cubins[i]) == f.cubin_crc) cubin = o.cubins[i], f.cubin = i;
  if (cubin.empty()) {
    f.no_lines = "its device code is not this program's, so its lines are not known";
    return;
  }
  std::vector<uint64_t> offsets;
  for (const auto& i : f.instructions) offsets.push_back(i.offset);
  Gap gap;
  auto places = places_of(l, cubin, f.name, offsets, gap);
  f.no_lines = gap.sentence();
  for (size_t i = 0; i < places.size(); i++) f.instructions[i].at = places[i];
}

}  // namespace
}  // namespace cupti

using namespace cupti;

PcSamples Cupti::sample_pcs(void* native, int device, const SamplingOptions& options, const std::function<void()>& work,
                            Activity* activity) {
  State& s = *state_;
  PcSamples out;
  out.gap = counters_gap(native, device);
  if (!out.gap) out.gap = supported(s.library, device, CUPTI_PROFILER_PC_SAMPLING, "PC sampling");
  if (out.gap) return out;
  if (activity) activity->phase("sampling where warps are");
  release();  // ranges and samples share the hardware
  auto begin = Clock::now();
  Sampler sampler(s.library, static_cast<CUcontext>(native));
  if (sampler.result == CUPTI_SUCCESS) {
    suit_period(sampler, options);
    collect(sampler, options, work, activity, out.calls);
  }
  out.gap = sampler.result == CUPTI_SUCCESS ? Gap{} : gap_of(s.library, sampler.result, sampler.doing);
  sampler.disable();
  if (out.gap) return out;
  for (auto& [key, instructions] : sampler.functions) {
    PcFunction f;
    f.cubin_crc = key.first, f.name = key.second;
    for (auto& [offset, i] : instructions) {
      f.samples += i.samples;
      f.instructions.push_back(std::move(i));
    }
    add_places(s.library, f, options);
    out.functions.push_back(std::move(f));
  }
  std::stable_sort(out.functions.begin(), out.functions.end(),
                   [](const PcFunction& a, const PcFunction& b) { return a.samples > b.samples; });
  for (const auto& r : sampler.reasons)
    if (!r.not_issued && !r.name.empty()) out.reasons.push_back(r);
  out.samples = sampler.samples, out.unknown = sampler.unknown, out.total = sampler.total,
  out.dropped = sampler.dropped;
  out.period_cycles = sampler.period ? uint64_t{1} << sampler.period : 0;
  out.buffer_full = sampler.full;
  out.spent_ms = ms_since(begin);
  if (!out.samples && out.unknown)
    out.gap = {"unknown-code",
               fmt::format("CUPTI cannot tell which kernel its {} samples are of: counters were taken before in this "
                           "process",
                           out.unknown),
               "sample in a process that has counted nothing yet"};
  else if (!out.samples)
    out.gap = sampler.full
                  ? Gap{"overflow", "the sampler's buffer overflowed before anything could be read",
                        "try a smaller problem, whose kernel runs for less time"}
                  : Gap{"no-samples",
                        fmt::format("the sampler saw no warp in {} call{}", out.calls, out.calls == 1 ? "" : "s"),
                        "try a larger problem, whose kernel runs for longer"};
  return out;
}

}  // namespace convscope
