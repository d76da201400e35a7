// Hardware counters by the Range Profiler: a user range around a piece of work, which is run again for each pass.
#include <chrono>
#include <fmt/format.h>
#include <functional>
#include <utility>

#include "profiling/cupti/state.h"

namespace convscope {
namespace cupti {
namespace {

constexpr size_t most_passes = 256;  // a set that takes more is a fault of the library

size_t passes_of(const Library& l, const std::vector<uint8_t>& config, CUptiResult& r) {
  CONVSCOPE_BLOCK(p, CUpti_Profiler_Host_GetNumOfPasses);
  p.configImageSize = config.size();
  p.pConfigImage = const_cast<uint8_t*>(config.data());
  r = l.cuptiProfilerHostGetNumOfPasses(&p);
  return r == CUPTI_SUCCESS ? p.numOfPasses : 0;
}

// The names of a set that this chip has, one by one: a name that it lacks spoils all that are added with it.
void choose_names(const Library& l, const std::string& chip, const std::vector<uint8_t>& availability, CounterSet set,
                  bool with_free, Prepared& out) {
  for (const auto& m : metrics_of(set)) {
    if (m.if_free && !with_free) continue;
    bool found = false;
    for (const char* spelling : m.spellings) {
      Host probe(l, chip, availability);
      if (probe.result != CUPTI_SUCCESS) {
        out.gap = gap_of(l, probe.result, "preparing counters for " + chip);
        return;
      }
      if (probe.add({spelling}) != CUPTI_SUCCESS) continue;
      out.ours.push_back(m.name);
      out.theirs.push_back(spelling);
      found = true;
      break;
    }
    if (!found) out.not_here.emplace_back(m.name);
  }
}

}  // namespace

Host::Host(const Library& library, const std::string& chip, const std::vector<uint8_t>& availability,
           CUpti_ProfilerType kind)
    : l_(library) {
  CONVSCOPE_BLOCK(p, CUpti_Profiler_Host_Initialize);
  p.profilerType = kind;
  p.pChipName = chip.c_str();
  p.pCounterAvailabilityImage = availability.empty() ? nullptr : availability.data();
  result = l_.cuptiProfilerHostInitialize(&p);
  host_ = p.pHostObject;
}

Host::~Host() {
  if (result != CUPTI_SUCCESS) return;
  CONVSCOPE_BLOCK(p, CUpti_Profiler_Host_Deinitialize);
  p.pHostObject = host_;
  l_.cuptiProfilerHostDeinitialize(&p);
}

CUptiResult Host::add(const std::vector<const char*>& metrics) {
  CONVSCOPE_BLOCK(p, CUpti_Profiler_Host_ConfigAddMetrics);
  p.pHostObject = host_;
  p.ppMetricNames = const_cast<const char**>(metrics.data());
  p.numMetrics = metrics.size();
  return l_.cuptiProfilerHostConfigAddMetrics(&p);
}

CUptiResult Host::config(std::vector<uint8_t>& image) {
  CONVSCOPE_BLOCK(size, CUpti_Profiler_Host_GetConfigImageSize);
  size.pHostObject = host_;
  if (auto r = l_.cuptiProfilerHostGetConfigImageSize(&size); r != CUPTI_SUCCESS) return r;
  image.assign(size.configImageSize, 0);
  CONVSCOPE_BLOCK(p, CUpti_Profiler_Host_GetConfigImage);
  p.pHostObject = host_;
  p.configImageSize = image.size();
  p.pConfigImage = image.data();
  return l_.cuptiProfilerHostGetConfigImage(&p);
}

CUptiResult Host::passes(const std::vector<uint8_t>& config, size_t& passes) {
  CUptiResult r = CUPTI_SUCCESS;
  passes = passes_of(l_, config, r);
  return r;
}

CUptiResult Host::evaluate(const std::vector<uint8_t>& data, const std::vector<const char*>& metrics,
                           std::vector<double>& values, size_t index) {
  values.assign(metrics.size(), 0);
  CONVSCOPE_BLOCK(p, CUpti_Profiler_Host_EvaluateToGpuValues);
  p.pHostObject = host_;
  p.pCounterDataImage = data.data();
  p.counterDataImageSize = data.size();
  p.rangeIndex = index;
  p.ppMetricNames = const_cast<const char**>(metrics.data());
  p.numMetrics = metrics.size();
  p.pMetricValues = values.data();
  return l_.cuptiProfilerHostEvaluateToGpuValues(&p);
}

Prepared prepare(const Library& l, const std::string& chip, const std::vector<uint8_t>& availability, CounterSet set) {
  bool has_free = false;
  for (const auto& m : metrics_of(set)) has_free |= m.if_free;
  Prepared out;
  for (bool with_free : {true, false}) {
    out = {};
    choose_names(l, chip, availability, set, with_free, out);
    if (out.gap) return out;
    if (out.theirs.empty()) {
      out.gap = {"not-on-this-chip", fmt::format("{} has none of the counters of the set {}", chip, name_of(set)),
                 "nothing can be done: other sets may be there"};
      return out;
    }
    Host host(l, chip, availability);
    CUptiResult r = host.result;
    if (r == CUPTI_SUCCESS) r = host.add(out.theirs);
    if (r == CUPTI_SUCCESS) r = host.config(out.config);
    if (r == CUPTI_SUCCESS) out.passes = passes_of(l, out.config, r);
    if (r != CUPTI_SUCCESS) {
      out.gap = gap_of(l, r, fmt::format("preparing the counters of the set {}", name_of(set)));
      return out;
    }
    if (out.passes <= 1 || !has_free) break;
  }
  return out;
}

RangeSession::RangeSession(const Library& library, CUcontext context, const Prepared& prepared)
    : l_(library), prepared_(prepared) {
  CONVSCOPE_BLOCK(enable, CUpti_RangeProfiler_Enable);
  enable.ctx = context;
  CUptiResult r = l_.cuptiRangeProfilerEnable(&enable);
  if (r == CUPTI_SUCCESS) {
    profiler_ = enable.pRangeProfilerObject;
    CONVSCOPE_BLOCK(size, CUpti_RangeProfiler_GetCounterDataSize);
    size.pRangeProfilerObject = profiler_;
    size.pMetricNames = const_cast<const char**>(prepared_.theirs.data());
    size.numMetrics = prepared_.theirs.size();
    size.maxNumOfRanges = 1;
    size.maxNumRangeTreeNodes = 1;
    r = l_.cuptiRangeProfilerGetCounterDataSize(&size);
    if (r == CUPTI_SUCCESS) data_.assign(size.counterDataSize, 0);
  }
  if (r != CUPTI_SUCCESS) {
    gap = gap_of(l_, r, "taking the GPU's counters");
    broken = true;
  }
}

RangeSession::~RangeSession() {
  if (!profiler_) return;
  CONVSCOPE_BLOCK(p, CUpti_RangeProfiler_Disable);
  p.pRangeProfilerObject = profiler_;
  l_.cuptiRangeProfilerDisable(&p);
}

// A clean image of the counters' data, then the configuration: before each collection.
CUptiResult RangeSession::configure() {
  CONVSCOPE_BLOCK(image, CUpti_RangeProfiler_CounterDataImage_Initialize);
  image.pRangeProfilerObject = profiler_;
  image.counterDataSize = data_.size();
  image.pCounterData = data_.data();
  if (auto r = l_.cuptiRangeProfilerCounterDataImageInitialize(&image); r != CUPTI_SUCCESS) return r;
  CONVSCOPE_BLOCK(p, CUpti_RangeProfiler_SetConfig);
  p.pRangeProfilerObject = profiler_;
  p.configSize = prepared_.config.size();
  p.pConfig = prepared_.config.data();
  p.counterDataImageSize = data_.size();
  p.pCounterDataImage = data_.data();
  p.range = CUPTI_UserRange;
  p.replayMode = CUPTI_UserReplay;
  p.maxRangesPerPass = 1;
  p.numNestingLevels = 1;
  p.minNestingLevel = 1;
  p.passIndex = 0;
  p.targetNestingLevel = 1;
  return l_.cuptiRangeProfilerSetConfig(&p);
}

void RangeSession::one_pass(const std::function<void()>& work, CUptiResult& r, bool& all_done) {
  CONVSCOPE_BLOCK(start, CUpti_RangeProfiler_Start);
  start.pRangeProfilerObject = profiler_;
  if ((r = l_.cuptiRangeProfilerStart(&start)) != CUPTI_SUCCESS) return;
  CONVSCOPE_BLOCK(push, CUpti_RangeProfiler_PushRange);
  push.pRangeProfilerObject = profiler_;
  push.pRangeName = "work";
  CONVSCOPE_BLOCK(pop, CUpti_RangeProfiler_PopRange);
  pop.pRangeProfilerObject = profiler_;
  CONVSCOPE_BLOCK(stop, CUpti_RangeProfiler_Stop);
  stop.pRangeProfilerObject = profiler_;
  if ((r = l_.cuptiRangeProfilerPushRange(&push)) == CUPTI_SUCCESS) {
    try {
      work();
    } catch (...) {
      l_.cuptiRangeProfilerPopRange(&pop);
      l_.cuptiRangeProfilerStop(&stop);
      broken = true;
      throw;
    }
    r = l_.cuptiRangeProfilerPopRange(&pop);
  }
  CUptiResult stopped = l_.cuptiRangeProfilerStop(&stop);
  if (r == CUPTI_SUCCESS) r = stopped;
  all_done = stop.isAllPassSubmitted;
}

Gap RangeSession::collect(const std::function<void()>& work, Activity* activity, size_t& passes) {
  passes = 0;
  CUptiResult r = configure();
  const char* doing = "setting up the GPU's counters";
  if (r == CUPTI_SUCCESS) {
    doing = "counting";
    for (bool done = false; !done && r == CUPTI_SUCCESS;) {
      if (activity && activity->cancelled()) {
        broken = true;  // passes are missing: the next collection begins anew
        throw Cancelled();
      }
      if (passes++ > most_passes) {
        broken = true;
        return {"cupti-fails", "counting did not come to an end", "try again; restart the program if it stays so"};
      }
      one_pass(work, r, done);
      if (activity) activity->advance();
    }
  }
  if (r == CUPTI_SUCCESS) {
    doing = "reading what was counted";
    CONVSCOPE_BLOCK(decode, CUpti_RangeProfiler_DecodeData);
    decode.pRangeProfilerObject = profiler_;
    r = l_.cuptiRangeProfilerDecodeData(&decode);
  }
  if (r == CUPTI_SUCCESS) return {};
  broken = true;
  return gap_of(l_, r, doing);
}

}  // namespace cupti

using namespace cupti;

// ---- what may be counted in a context ------------------------------------------------------------------------------

// Does the device have what `api` asks for? `what`: "hardware counters".
Gap cupti::supported(const Library& l, int device, CUpti_Profiler_API api, const std::string& what) {
  CONVSCOPE_BLOCK(supported, CUpti_Profiler_DeviceSupported);
  supported.cuDevice = device;  // a CUdevice is its number
  supported.api = api;
  if (auto r = l.cuptiProfilerDeviceSupported(&supported); r != CUPTI_SUCCESS)
    return gap_of(l, r, "asking whether this GPU has " + what);
  if (supported.isSupported == CUPTI_PROFILER_CONFIGURATION_SUPPORTED) return {};
  auto no = [](CUpti_Profiler_Support_Level s) {
    return s == CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED || s == CUPTI_PROFILER_CONFIGURATION_DISABLED;
  };
  CUptiResult why = no(supported.vGpu)                  ? supported.vGpu == CUPTI_PROFILER_CONFIGURATION_DISABLED
                                                              ? CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES
                                                              : CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED
                    : no(supported.confidentialCompute) ? CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED
                    : no(supported.sli)                 ? CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED
                    : no(supported.cmp)                 ? CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED
                    : no(supported.wsl)                 ? CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED
                                                        : CUPTI_ERROR_NOT_SUPPORTED;
  return gap_of(l, why, "asking whether this GPU has " + what);
}

namespace {

Gap ask_context(const Library& l, CUcontext context, int device, std::string& chip,
                std::vector<uint8_t>& availability) {
  CONVSCOPE_BLOCK(initialize, CUpti_Profiler_Initialize);
  if (auto r = l.cuptiProfilerInitialize(&initialize); r != CUPTI_SUCCESS)
    return gap_of(l, r, "starting CUPTI's profiler");
  if (Gap gap = supported(l, device, CUPTI_PROFILER_RANGE_PROFILING, "counters")) return gap;
  CONVSCOPE_BLOCK(name, CUpti_Device_GetChipName);
  name.deviceIndex = static_cast<size_t>(device);
  if (auto r = l.cuptiDeviceGetChipName(&name); r != CUPTI_SUCCESS) return gap_of(l, r, "asking for the chip's name");
  chip = name.pChipName;
  CONVSCOPE_BLOCK(counters, CUpti_Profiler_GetCounterAvailability);
  counters.ctx = context;
  auto r = l.cuptiProfilerGetCounterAvailability(&counters);
  if (r == CUPTI_SUCCESS) {
    availability.assign(counters.counterAvailabilityImageSize, 0);
    counters.pCounterAvailabilityImage = availability.data();
    r = l.cuptiProfilerGetCounterAvailability(&counters);
  }
  return r == CUPTI_SUCCESS ? Gap{} : gap_of(l, r, "asking which counters there are");
}

}  // namespace

Cupti::State::Context& Cupti::State::context(void* native, int device) {
  auto [it, fresh] = contexts.try_emplace(native);
  Context& c = it->second;
  // Another program may let go of the counters: that is asked again, what does not change is not.
  if (!fresh && c.gap.code != "busy" && c.gap.code != "not-permitted") return c;
  c.gap = missing ? missing : library.no_host;
  if (!c.gap) c.gap = ask_context(library, static_cast<CUcontext>(native), device, c.chip, c.availability);
  return c;
}

Gap Cupti::counters_gap(void* context, int device) {
  return context ? state_->context(context, device).gap
                 : Gap{"no-gpu", "hardware counters are a GPU's, and none is used", "run with --device cuda"};
}

std::string Cupti::chip(void* context, int device) { return context ? state_->context(context, device).chip : ""; }

CounterReading Cupti::count(void* native, int device, CounterSet set, const std::function<void()>& work,
                            Activity* activity) {
  State& s = *state_;
  CounterReading out;
  out.set = set;
  out.gap = counters_gap(native, device);
  if (out.gap) return out;
  auto begin = std::chrono::steady_clock::now();
  auto& c = s.context(native, device);
  auto& prepared = c.prepared[set];
  auto& host = c.hosts[set];
  if (!prepared) prepared = std::make_unique<Prepared>(prepare(s.library, c.chip, c.availability, set));
  out.not_here = prepared->not_here;
  out.gap = prepared->gap;
  if (out.gap) return out;
  if (activity) activity->phase(fmt::format("counting: {}", name_of(set)), prepared->passes);
  if (!host) {
    host = std::make_unique<Host>(s.library, c.chip, c.availability);
    if (host->result == CUPTI_SUCCESS) host->result = host->add(prepared->theirs);
    std::vector<uint8_t> same_config;  // what it evaluates must be what it configured
    if (host->result == CUPTI_SUCCESS) host->result = host->config(same_config);
  }
  if (host->result != CUPTI_SUCCESS) {
    out.gap = gap_of(s.library, host->result, "preparing counters");
    host.reset();
    return out;
  }
  if (!s.session || s.session->broken || s.session_of != std::pair(native, set)) {
    s.session.reset();  // before the next one takes the hardware
    s.session = std::make_unique<RangeSession>(s.library, static_cast<CUcontext>(native), *prepared);
    s.session_of = {native, set};
  }
  out.gap = s.session->gap;
  if (!out.gap) out.gap = s.session->collect(work, activity, out.passes);
  if (!out.gap) {
    std::vector<double> values;
    auto r = host->evaluate(s.session->data(), prepared->theirs, values);
    if (r != CUPTI_SUCCESS)
      out.gap = gap_of(s.library, r, "working out what was counted");
    else
      for (size_t i = 0; i < values.size(); i++) out.values[prepared->ours[i]] = values[i];
  }
  if (s.session->broken) s.session.reset();
  out.spent_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  return out;
}

void Cupti::release() { state_->session.reset(); }

void Cupti::forget(void* context) {
  if (state_->session_of.first == context) state_->session.reset();
  state_->contexts.erase(context);
}

std::vector<std::string> Cupti::chips() {
  const Library& l = state_->library;
  if (l.missing || l.no_host) return {};
  CONVSCOPE_BLOCK(p, CUpti_Profiler_Host_GetSupportedChips);
  if (l.cuptiProfilerHostGetSupportedChips(&p) != CUPTI_SUCCESS) return {};
  return {p.ppChipNames, p.ppChipNames + p.numChips};
}

size_t Cupti::passes(const std::string& chip, CounterSet set, std::vector<std::string>& not_here, Gap& gap) {
  const Library& l = state_->library;
  gap = l.missing ? l.missing : l.no_host;
  if (gap) return 0;
  Prepared p = prepare(l, chip, {}, set);
  not_here = p.not_here;
  gap = p.gap;
  return p.passes;
}

}  // namespace convscope
