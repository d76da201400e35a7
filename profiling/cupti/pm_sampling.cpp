// PM sampling: the chip's counters, read by the hardware at equal intervals while something runs.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <functional>

#include "profiling/cupti/state.h"
#include "profiling/metrics/lanes.h"

namespace convscope {
namespace cupti {
namespace {

constexpr size_t hardware_buffer_bytes = size_t{64} << 20;
constexpr uint32_t samples_at_once = 4096;  // of one decoding
constexpr int most_doublings = 5;           // of the interval

struct Chosen {
  std::vector<const LaneMetric*> lanes;
  std::vector<const char*> names;
  std::vector<uint8_t> config;
  std::vector<std::string> not_here;
  Gap gap;
};

// The lanes that this chip has, and of them as many as fit one pass: sampling knows no second one.
Chosen choose(const Library& l, const std::string& chip, const std::vector<uint8_t>& availability) {
  constexpr auto kind = CUPTI_PROFILER_TYPE_PM_SAMPLING;
  Chosen out;
  for (const auto& m : lane_metrics()) {
    const char* name = nullptr;
    for (const char* spelling : m.spellings) {
      Host probe(l, chip, availability, kind);
      if (probe.result != CUPTI_SUCCESS) {
        out.gap = gap_of(l, probe.result, "preparing the timeline's counters");
        return out;
      }
      if (!name && probe.add({spelling}) == CUPTI_SUCCESS) name = spelling;
    }
    if (name)
      out.lanes.push_back(&m), out.names.push_back(name);
    else
      out.not_here.emplace_back(m.name);
  }
  for (; !out.names.empty(); out.lanes.pop_back(), out.names.pop_back()) {
    Host host(l, chip, availability, kind);
    CUptiResult r = host.result;
    size_t passes = 0;
    if (r == CUPTI_SUCCESS) r = host.add(out.names);
    if (r == CUPTI_SUCCESS) r = host.config(out.config);
    if (r == CUPTI_SUCCESS) r = host.passes(out.config, passes);
    if (r != CUPTI_SUCCESS) {
      out.gap = gap_of(l, r, "preparing the timeline's counters");
      return out;
    }
    if (passes == 1) return out;
    out.not_here.emplace_back(out.lanes.back()->name);
  }
  out.gap = {"not-on-this-chip", chip + " has none of the timeline's counters, or not in one pass",
             "nothing can be done: counters of whole kernels may be there"};
  return out;
}

struct Point {
  uint64_t start_ns = 0, end_ns = 0;
  std::vector<double> values;
};

// The device's counters, from Enable to Disable, set up for one interval.
class Session {
 public:
  Session(const Library& library, int device, const std::string& chip, const Chosen& chosen, uint64_t interval_ns)
      : l_(library), chosen_(chosen) {
    CONVSCOPE_BLOCK(enable, CUpti_PmSampling_Enable);
    enable.deviceIndex = static_cast<size_t>(device);
    doing = "taking the GPU's counters";
    if ((result = l_.cuptiPmSamplingEnable(&enable)) != CUPTI_SUCCESS) return;
    sampler_ = enable.pPmSamplingObject;
    doing = "setting up the timeline's counters";
    CONVSCOPE_BLOCK(config, CUpti_PmSampling_SetConfig);
    config.pPmSamplingObject = sampler_;
    config.configSize = chosen.config.size();
    config.pConfig = chosen.config.data();
    config.hardwareBufferSize = hardware_buffer_bytes;
    // A clock in nanoseconds came with GA10x; before, intervals are cycles of a clock of about 1 GHz.
    bool cycles = chip == "GA100" || chip.starts_with("TU");
    config.triggerMode =
        cycles ? CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL : CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL;
    config.samplingInterval = interval_ns;
    config.hwBufferAppendMode = CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST;
    if ((result = l_.cuptiPmSamplingSetConfig(&config)) != CUPTI_SUCCESS) return;
    CONVSCOPE_BLOCK(size, CUpti_PmSampling_GetCounterDataSize);
    size.pPmSamplingObject = sampler_;
    size.pMetricNames = const_cast<const char**>(chosen.names.data());
    size.numMetrics = chosen.names.size();
    size.maxSamples = samples_at_once;
    if ((result = l_.cuptiPmSamplingGetCounterDataSize(&size)) != CUPTI_SUCCESS) return;
    data_.assign(size.counterDataSize, 0);
    clear();
  }
  ~Session() {
    if (!sampler_) return;
    if (started_) stop();
    CONVSCOPE_BLOCK(p, CUpti_PmSampling_Disable);
    p.pPmSamplingObject = sampler_;
    l_.cuptiPmSamplingDisable(&p);
  }
  Session(const Session&) = delete;

  bool start() {
    CONVSCOPE_BLOCK(p, CUpti_PmSampling_Start);
    p.pPmSamplingObject = sampler_;
    doing = "starting the timeline";
    result = l_.cuptiPmSamplingStart(&p);
    started_ = result == CUPTI_SUCCESS;
    return started_;
  }
  bool stop() {
    CONVSCOPE_BLOCK(p, CUpti_PmSampling_Stop);
    p.pPmSamplingObject = sampler_;
    doing = "stopping the timeline";
    started_ = false;
    return (result = l_.cuptiPmSamplingStop(&p)) == CUPTI_SUCCESS;
  }
  // All that was sampled, by time.
  bool read(Host& host, std::vector<Point>& points) {
    constexpr int most_times = 1000;
    doing = "reading the timeline";
    for (int i = 0; i < most_times; i++) {
      CONVSCOPE_BLOCK(decode, CUpti_PmSampling_DecodeData);
      decode.pPmSamplingObject = sampler_;
      decode.pCounterDataImage = data_.data();
      decode.counterDataImageSize = data_.size();
      result = l_.cuptiPmSamplingDecodeData(&decode);
      overflow |= decode.overflow != 0 || result == CUPTI_ERROR_OUT_OF_MEMORY;
      if (overflow) result = CUPTI_SUCCESS;
      if (result != CUPTI_SUCCESS || overflow) return false;
      CONVSCOPE_BLOCK(info, CUpti_PmSampling_GetCounterDataInfo);
      info.pCounterDataImage = data_.data();
      info.counterDataImageSize = data_.size();
      if ((result = l_.cuptiPmSamplingGetCounterDataInfo(&info)) != CUPTI_SUCCESS) return false;
      for (size_t at = 0; at < info.numCompletedSamples; at++)
        if (!read_one(host, at, points)) return false;
      if (info.numCompletedSamples) clear();
      if (result != CUPTI_SUCCESS) return false;
      if (decode.decodeStopReason == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS) break;
    }
    std::sort(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.start_ns < b.start_ns; });
    return true;
  }

  CUptiResult result = CUPTI_SUCCESS;
  std::string doing;
  bool overflow = false;

 private:
  void clear() {
    CONVSCOPE_BLOCK(p, CUpti_PmSampling_CounterDataImage_Initialize);
    p.pPmSamplingObject = sampler_;
    p.counterDataSize = data_.size();
    p.pCounterData = data_.data();
    result = l_.cuptiPmSamplingCounterDataImageInitialize(&p);
  }
  bool read_one(Host& host, size_t index, std::vector<Point>& points) {
    CONVSCOPE_BLOCK(info, CUpti_PmSampling_CounterData_GetSampleInfo);
    info.pPmSamplingObject = sampler_;
    info.pCounterDataImage = data_.data();
    info.counterDataImageSize = data_.size();
    info.sampleIndex = index;
    if ((result = l_.cuptiPmSamplingCounterDataGetSampleInfo(&info)) != CUPTI_SUCCESS) return false;
    Point p{info.startTimestamp, info.endTimestamp, {}};
    if ((result = host.evaluate(data_, chosen_.names, p.values, index)) != CUPTI_SUCCESS) return false;
    // Of a chip at rest some shares are 0 of 0.
    for (double& v : p.values)
      if (!std::isfinite(v)) v = 0;
    if (p.end_ns > p.start_ns) points.push_back(std::move(p));
    return true;
  }

  const Library& l_;
  const Chosen& chosen_;
  CUpti_PmSampling_Object* sampler_ = nullptr;
  std::vector<uint8_t> data_;
  bool started_ = false;
};

// Points in which multiprocessors had work. The lane says of each point for which share of it.
std::vector<double> activity_of(const Chosen& chosen, const std::vector<Point>& points) {
  std::vector<double> share(points.size(), 0);
  for (size_t lane = 0; lane < chosen.lanes.size(); lane++) {
    bool best = std::string_view(chosen.lanes[lane]->name) == "sm_active";
    if (!best && lane) continue;  // without it, the first lane is as good as any
    double most = 0;
    for (const auto& p : points) most = std::max(most, p.values[lane]);
    for (size_t i = 0; i < points.size(); i++) share[i] = most > 0 ? points[i].values[lane] / most : 0;
    if (best) break;
  }
  return share;
}

// Where in the points the work lies: CUPTI's records tell its length, and the counters where it begins (the two need
// not have the same clock).
bool place(Timeline& t, const Chosen& chosen, const std::vector<Point>& points,
           const std::vector<KernelRecord>& kernels) {
  constexpr double at_work = 0.02;  // of the most
  std::vector<double> share = activity_of(chosen, points);
  size_t first = 0, last = points.size();
  while (first < points.size() && share[first] < at_work) first++;
  while (last > first && share[last - 1] < at_work) last--;
  if (first == last) return false;
  // The first point is partly idle: what its neighbour does is what it does once it has begun.
  auto length = [&](size_t i) { return static_cast<double>(points[i].end_ns - points[i].start_ns); };
  auto part = [&](size_t i, size_t neighbour) {
    return share[neighbour] > 0 ? std::min(1.0, share[i] / share[neighbour]) : 1.0;
  };
  double begin = static_cast<double>(points[first].end_ns) - length(first) * part(first, std::min(first + 1, last - 1));
  double end = static_cast<double>(points[last - 1].start_ns) +
               length(last - 1) * part(last - 1, last - 1 > first ? last - 2 : first);
  t.work_us = std::max(0.0, end - begin) / 1e3;
  if (kernels.size() >= static_cast<size_t>(t.calls)) {
    uint64_t origin = kernels.front().start_ns, over = origin;
    for (const auto& k : kernels) {
      t.launches.push_back(
          {k.name, static_cast<double>(k.start_ns - origin) / 1e3, static_cast<double>(k.end_ns - origin) / 1e3});
      over = std::max(over, k.end_ns);
    }
    t.work_us = static_cast<double>(over - origin) / 1e3;
  }
  // A few points of rest on either side.
  constexpr size_t around = 3;
  size_t from = first > around ? first - around : 0;
  for (const auto* lane : chosen.lanes) t.lanes.push_back({lane->name, lane->title, lane->unit, lane->about, {}});
  for (size_t i = from; i < std::min(points.size(), last + around); i++) {
    const Point& p = points[i];
    t.start_us.push_back((static_cast<double>(p.start_ns) - begin) / 1e3);
    t.end_us.push_back((static_cast<double>(p.end_ns) - begin) / 1e3);
    for (size_t lane = 0; lane < chosen.lanes.size(); lane++) {
      double v = p.values[lane];
      if (chosen.lanes[lane]->sectors_to_gbs) v = 32 * v / static_cast<double>(p.end_ns - p.start_ns);
      t.lanes[lane].values.push_back(v);
    }
  }
  return true;
}

Gap availability_of(const Library& l, int device, std::vector<uint8_t>& image) {
  CONVSCOPE_BLOCK(p, CUpti_PmSampling_GetCounterAvailability);
  p.deviceIndex = static_cast<size_t>(device);
  auto r = l.cuptiPmSamplingGetCounterAvailability(&p);
  if (r == CUPTI_SUCCESS) {
    image.assign(p.counterAvailabilityImageSize, 0);
    p.pCounterAvailabilityImage = image.data();
    r = l.cuptiPmSamplingGetCounterAvailability(&p);
  }
  return r == CUPTI_SUCCESS ? Gap{} : gap_of(l, r, "asking which counters a timeline can have");
}

}  // namespace
}  // namespace cupti

using namespace cupti;

Timeline Cupti::sample_timeline(void* native, int device, const TimelineOptions& options,
                                const std::function<void(int)>& work, Activity* activity) {
  State& s = *state_;
  const Library& l = s.library;
  Timeline out;
  out.gap = counters_gap(native, device);
  if (!out.gap) out.gap = supported(l, device, CUPTI_PROFILER_PM_SAMPLING, "timelines (PM sampling)");
  if (!out.gap && options.call_ms > options.time_cap_ms)
    out.gap = {"too-long",
               fmt::format("a call takes {:.2g} s, and at most {:.2g} s are sampled", options.call_ms / 1e3,
                           options.time_cap_ms / 1e3),
               "try a smaller problem"};
  if (out.gap) return out;
  auto begin = std::chrono::steady_clock::now();
  release();  // ranges and samples share the hardware
  if (activity) activity->phase("sampling a timeline");
  std::vector<uint8_t> availability;
  out.gap = availability_of(l, device, availability);
  if (out.gap) return out;
  std::string chip = s.context(native, device).chip;
  Chosen chosen = choose(l, chip, availability);
  out.not_here = chosen.not_here;
  out.gap = chosen.gap;
  if (out.gap) return out;
  Host host(l, chip, availability, CUPTI_PROFILER_TYPE_PM_SAMPLING);
  if (host.result == CUPTI_SUCCESS) host.result = host.add(chosen.names);
  std::vector<uint8_t> same_config;  // what it evaluates must be what it configured
  if (host.result == CUPTI_SUCCESS) host.result = host.config(same_config);
  if (host.result != CUPTI_SUCCESS) {
    out.gap = gap_of(l, host.result, "preparing the timeline's counters");
    return out;
  }
  out.calls = timeline_calls(options);
  uint64_t interval_ns = timeline_interval_ns(options.call_ms * 1e3 * out.calls);
  for (;; interval_ns *= 2, out.longer++) {
    if (activity) activity->check();
    out.interval_us = static_cast<double>(interval_ns) / 1e3;
    Session session(l, device, chip, chosen, interval_ns);
    std::vector<Point> points;
    std::vector<KernelRecord> kernels;
    if (session.result == CUPTI_SUCCESS && session.start()) {
      Gap no_records;  // then the counters alone say where it began
      kernels = trace([&] { work(out.calls); }, no_records);
      if (activity) activity->advance();
      if (session.stop()) session.read(host, points);
    }
    if (session.result != CUPTI_SUCCESS) {
      out.gap = gap_of(l, session.result, session.doing);
      break;
    }
    if (session.overflow) {
      if (out.longer < most_doublings) continue;
      out.gap = {
          "overflow",
          fmt::format("the buffer of the chip's samples overflowed, even with one in {:.0f} µs", out.interval_us),
          "try a smaller problem"};
      break;
    }
    if (!place(out, chosen, points, kernels))
      out.gap = {"no-samples",
                 fmt::format("no sample of {} saw the chip at work: one in {:.0f} µs is too few for it", points.size(),
                             out.interval_us),
                 "try a larger problem"};
    break;
  }
  out.spent_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  return out;
}

}  // namespace convscope
