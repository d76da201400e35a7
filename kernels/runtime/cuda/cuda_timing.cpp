// Timing by events, as nvbench does it: warm-up, cold (L2 flushed) or hot samples, stop when the median is known.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>

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
  struct {
    Event begin, end;
  } events[2];
  auto queue = [&](int slot, int calls) {
    events[slot].begin.record(stream_);
    for (int i = 0; i < calls; i++) work();
    events[slot].end.record(stream_);
  };
  auto wait = [&](int slot, int calls) {
    check(d.cuEventSynchronize(events[slot].end.event), "timing");
    float ms = 0;
    check(d.cuEventElapsedTime(&ms, events[slot].begin.event, events[slot].end.event), "timing");
    return static_cast<double>(ms) / calls;
  };
  // Twice the L2, written: everything the kernel could find there is gone. The flush also keeps the GPU busy while the
  // host queues the sample, so that the way of a launch to the GPU stays out of it.
  std::unique_ptr<DeviceMemory> flush;
  size_t flush_bytes = std::max<size_t>(2 * info_.l2_bytes, size_t{64} << 20);
  if (cold) flush = allocate(flush_bytes);

  auto warming = Clock::now();
  double warm;
  do queue(0, 1), warm = wait(0, 1);
  while (ms_since(warming) < std::min(50.0, options.time_cap_ms / 10));
  // A hot sample shorter than 0.2 ms would measure the events: several calls share one pair.
  int calls = cold ? 1 : std::clamp(static_cast<int>(std::ceil(0.2 / std::max(warm, 1e-4))), 1, 200);

  auto next = [&](int i) {
    if (cold)
      check(d.cuMemsetD32Async(flush->address(), static_cast<uint32_t>(i), flush_bytes / 4, stream_), "flushing L2");
    queue(i % 2, calls);
  };
  // A hot sample would begin with an idle GPU that waits for the first launch: each is queued before the one ahead of
  // it is waited for, and the first behind a call that is not timed. Beside a long run the wait is nothing.
  bool ahead = warm < 2;
  if (ahead && !cold) work();

  Timing t;
  auto start = Clock::now();
  for (int i = 0;; i++) {
    if (activity) {
      activity->check();
      activity->advance();
    }
    if (i == 0 || !ahead) next(i);
    if (ahead && i + 1 < options.max_samples) next(i + 1);
    t.samples_ms.push_back(wait(i % 2, calls));
    if (t.enough(options, ms_since(start))) break;
  }
  return t;
}

}  // namespace convscope::cuda
