#include "profiling/nvml/conditions.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

namespace convscope {
namespace {

std::optional<Range> range_of(std::vector<double> v) {
  if (v.empty()) return std::nullopt;
  std::sort(v.begin(), v.end());
  return Range{v.front(), v[v.size() / 2], v.back()};
}

}  // namespace

std::vector<GpuReading> thinned(const std::vector<GpuReading>& all, size_t most) {
  const size_t each = (all.size() + most - 1) / most;
  if (each <= 1) return all;
  auto clock = [](const GpuReading& r) { return r.sm_mhz.value_or(std::numeric_limits<int>::max()); };
  auto rests = [](const GpuReading& r) { return is_idle(r.slower_because.value_or(0)); };
  std::vector<GpuReading> kept;
  for (size_t first = 0; first < all.size(); first += each) {
    const size_t end = std::min(all.size(), first + each);
    // A resting GPU's clock is low, and says nothing of the work beside it.
    size_t begin = first;
    while (begin < end && rests(all[begin])) begin++;
    const bool all_rest = begin == end;
    if (all_rest) begin = first;
    GpuReading one = all[begin];
    uint64_t reasons = 0;
    bool told = false;
    for (size_t i = begin; i < end; i++) {
      if (rests(all[i]) != all_rest) continue;
      if (clock(all[i]) < clock(one)) one = all[i];
      told |= all[i].slower_because.has_value();
      reasons |= all[i].slower_because.value_or(0);
    }
    if (told) one.slower_because = reasons;
    kept.push_back(one);
  }
  return kept;
}

Conditions conditions_of(const std::vector<GpuReading>& all) {
  // Before and after the work the GPU rests, at other clocks: that says nothing of the work.
  std::vector<GpuReading> readings;
  for (const auto& r : all)
    if (!is_idle(r.slower_because.value_or(0))) readings.push_back(r);
  if (readings.empty()) readings = all;
  Conditions c;
  c.readings = static_cast<int>(readings.size());
  c.over_time = thinned(all, most_kept_readings);
  c.readings_for_one = std::max(1, static_cast<int>((all.size() + most_kept_readings - 1) / most_kept_readings));
  std::vector<double> sm, memory, temperature, power;
  int told = 0, throttled = 0;
  for (const auto& r : readings) {
    if (r.sm_mhz) sm.push_back(*r.sm_mhz);
    if (r.memory_mhz) memory.push_back(*r.memory_mhz);
    if (r.temperature_c) temperature.push_back(*r.temperature_c);
    if (r.power_w) power.push_back(*r.power_w);
    if (r.slower_because) {
      told++;
      throttled += is_throttled(*r.slower_because);
      c.slower_because |= *r.slower_because;
    }
  }
  c.sm_mhz = range_of(sm), c.memory_mhz = range_of(memory);
  c.temperature_c = range_of(temperature), c.power_w = range_of(power);
  if (told) c.throttled = static_cast<double>(throttled) / told;
  return c;
}

std::string Conditions::warning() const {
  constexpr double steady = 0.03;  // clocks that move less than this are one clock
  std::string text;
  if (throttled.value_or(0) > 0) {
    std::string why;
    for (const auto& r : reasons()) why += (why.empty() ? "" : ", ") + r;
    text = fmt::format("the GPU slowed itself down in {:.0f} % of the readings ({})", 100 * *throttled, why);
  }
  if (sm_mhz && sm_mhz->least < (1 - steady) * sm_mhz->most)
    text += fmt::format("{}its clock moved between {:.0f} and {:.0f} MHz", text.empty() ? "" : "; ", sm_mhz->least,
                        sm_mhz->most);
  return text;
}

std::string Conditions::shared_with() const {
  if (!limits.mig) return "";
  return "this GPU is split into instances (MIG): clocks and power are those of the whole card, and what runs on its "
         "other instances can lower them";
}

std::vector<std::string> Conditions::reasons() const {
  std::vector<std::string> list;
  for (uint64_t bit = 1; bit; bit <<= 1)
    if ((slower_because & bit) && is_throttled(bit))
      for (auto& w : slower_because_words(bit)) list.push_back(w);
  return list;
}

ConditionsWatch::ConditionsWatch(const std::string& pci_bus, const Nvml& nvml) : nvml_(nvml) {
  if (pci_bus.empty()) {
    missing_ = {"no-gpu", "clocks, temperature and power are a GPU's, and none is used", ""};
    return;
  }
  gpu_ = nvml_.find(pci_bus, missing_);
  if (!missing_) thread_ = std::thread([this] { watch(); });
}

ConditionsWatch::~ConditionsWatch() {
  if (thread_.joinable()) finish();
}

void ConditionsWatch::watch() {
  std::unique_lock lock(mutex_);
  do {
    lock.unlock();
    double t_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin_).count();
    GpuReading r = nvml_.read(gpu_);
    r.t_ms = t_ms;
    lock.lock();
    readings_.push_back(r);
  } while (!wake_.wait_for(lock, std::chrono::milliseconds(20), [this] { return stop_; }));
}

Conditions ConditionsWatch::finish() {
  if (thread_.joinable()) {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }
  Conditions c = conditions_of(readings_);
  c.missing = missing_;
  if (gpu_) c.limits = nvml_.limits(gpu_);
  c.driver_version = nvml_.driver_version();
  return c;
}

}  // namespace convscope
