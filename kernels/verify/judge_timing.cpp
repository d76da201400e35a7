// The judge's times, and what they rest on.
#include <algorithm>

#include "kernels/problem/counts.h"
#include "kernels/problem/host_memory.h"
#include "kernels/reference/empty_launch.h"
#include "kernels/runtime/registry.h"
#include "kernels/verify/judge_run.h"

namespace convscope {

void Judge::Run::time_it() {
  activity_.check();
  TimingOptions o;
  if (device_.is_emulator()) o = {.min_samples = 3, .max_samples = 25, .time_cap_ms = 150, .target_error = 0.02};
  if (r_.spec.samples > 0) o.min_samples = o.max_samples = r_.spec.samples;
  activity_.phase("timing");
  if (plan_.launches().empty()) {
    r_.timing_missing = "the kernel launched nothing";
    return;
  }
  // What stands where a call faults: of a kernel that counts its launches, say.
  r_.packed = {.packs = plan_.packs_weights(), .missing = no_packed_times(plan_, device_)};
  if (r_.packed.missing.empty()) r_.packed.missing = "the kernel crashed while it was timed";
  // A run of seconds on the emulator, whose times say nothing of a GPU: nobody waits for three more of them.
  constexpr double long_ms = 1000;
  if (device_.is_emulator() && r_.spec.samples <= 0 && ran_ms_.size() >= 3 &&
      *std::min_element(ran_ms_.begin(), ran_ms_.end()) > long_ms) {
    r_.hot.emulated = true, r_.hot.samples_ms = ran_ms_;
    r_.floor_from = "no GPU: a floor of emulated time would mean nothing";
    return;
  }
  try {
    if (!survives([&] {
          r_.hot = device_.time(kernel_, plan_, at_, false, o, &activity_);
          if (!device_.is_emulator()) r_.cold = device_.time(kernel_, plan_, at_, true, o, &activity_);
          r_.packed = packed_times(device_, kernel_, plan_, at_, o, &activity_);
        }))
      return;
  } catch (const OwnMemoryError&) {
    throw;  // the engine ends with it
  } catch (const InputError& e) {
    // What empties the cache is not part of what a run is known to need. The verdict does not hang on it.
    r_.timing_missing = (r_.hot.empty() ? "not timed: " : "not timed cold: ") + std::string(e.what());
    r_.packed = {.packs = r_.packed.packs, .missing = r_.packed.packs ? r_.timing_missing : r_.packed.missing};
    if (r_.hot.empty()) return;
  }
  constexpr double short_ms = 0.02;
  if (!device_.is_emulator() && r_.hot.median_ms() < short_ms) {
    r_.launch = device_.time(find_internal_kernel("empty_launch"), empty_launch_plan(), {}, false, o, &activity_);
    // Where the host is slow both are the host's time, and the one says nothing of the other.
    if (r_.launch.min_ms() > r_.hot.median_ms()) r_.launch = {};
  }

  const DeviceInfo& d = device_.info();
  if (d.memory_bandwidth_gbs <= 0) {
    r_.floor_from = "no GPU: a floor of emulated time would mean nothing";
    return;
  }
  double by_bytes = static_cast<double>(least_bytes(p_)) / (d.memory_bandwidth_gbs * 1e6);
  double rate = d.fma_gflops * (p_.dtype == DType::f64 ? 0.5 : 1);
  // Tensor cores, whose rate the driver does not tell, sum f16 and bf16 in f32 as well: no floor by operations there.
  bool without_tensor_cores = r_.spec.accuracy == Accuracy::strict && !is_half(p_.dtype);
  double by_flops = without_tensor_cores && rate > 0 ? flops(p_) / (rate * 1e6) : 0;
  r_.floor_ms = std::max(by_bytes, by_flops);
  r_.floor_from = by_flops > by_bytes ? "flops" : "bytes";
}

// Results are judged from the whole plan; what packs more than weights has no packed times. No part of the timing: who
// watches the clocks then is not to see fills and checksums.
void Judge::Run::check_packed_calls() {
  if (!r_.packed.missing.empty() || r_.packed.hot.empty()) return;
  const TimingOptions once{.min_samples = 1, .max_samples = 1, .time_cap_ms = 0, .target_error = 1};
  const Plan packed = plan_.without_packing();
  auto call = [&](const Plan& plan) { return [&] { device_.time(kernel_, plan, at_, false, once, &activity_); }; };
  std::string odd = "the kernel crashed when its packed calls were checked";
  if (survives([&] { odd = packed_calls_look_honest(*x_, *y_, p_.dtype, call(plan_), call(packed), &activity_); }))
    x_->write(r_.inputs->x.data(), r_.inputs->x.size_bytes(), &activity_);
  if (!odd.empty()) r_.packed = {.packs = true, .missing = odd};
}

}  // namespace convscope
