// Timing by events, as nvbench does it: warm-up, cold (L2 flushed) or hot samples, stop when the median is known.
#include <algorithm>
#include <chrono>
#include <cmath>

#include "kernels/runtime/cuda/cuda_device.h"
#include "kernels/runtime/cuda/driver.h"

namespace convscope::cuda {
namespace {

struct Event {
  Event() { check(driver().cuEventCreate(&event, CU_EVENT_DEFAULT), "making an event"); }
  ~Event() { driver().cuEventDestroy(event); }
  void record(CUstream s) { check(driver().cuEventRecord(event, s), "recording an event"); }
  CUevent event = nullptr;
};

}  // namespace

Timing CudaDevice::time_work(const std::function<void()>& work, bool cold, const TimingOptions& options,
                             Activity* activity) {
  const Driver& d = driver();
  using Clock = std::chrono::steady_clock;
  auto ms_since = [](Clock::time_point t) {
    return std::chrono::duration<double, std::milli>(Clock::now() - t).count();
  };
  Event begin, end;
  auto sample = [&](int calls) {
    begin.record(stream_);
    for (int i = 0; i < calls; i++) work();
    end.record(stream_);
    check(d.cuEventSynchronize(end.event), "timing");
    float ms = 0;
    check(d.cuEventElapsedTime(&ms, begin.event, end.event), "timing");
    return static_cast<double>(ms) / calls;
  };
  // Twice the L2, written: everything the kernel could find there is gone. The flush also keeps the GPU busy while the
  // host issues the next sample, so that launch gaps stay out of it.
  std::unique_ptr<DeviceMemory> flush;
  size_t flush_bytes = std::max<size_t>(2 * info_.l2_bytes, size_t{64} << 20);
  if (cold) flush = allocate(flush_bytes);

  auto warming = Clock::now();
  double warm;
  do warm = sample(1);
  while (ms_since(warming) < std::min(50.0, options.time_cap_ms / 10));
  // A hot sample shorter than 0.2 ms would measure the events: several calls share one pair.
  int calls = cold ? 1 : std::clamp(static_cast<int>(std::ceil(0.2 / std::max(warm, 1e-4))), 1, 200);

  Timing t;
  auto start = Clock::now();
  do {
    if (activity) {
      activity->check();
      activity->advance();
    }
    if (cold)
      check(d.cuMemsetD32Async(flush->address(), static_cast<uint32_t>(t.samples_ms.size()), flush_bytes / 4, stream_),
            "flushing L2");
    t.samples_ms.push_back(sample(calls));
  } while (!t.enough(options, ms_since(start)));
  return t;
}

}  // namespace convscope::cuda
