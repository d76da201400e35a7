#include "profiling/nvml/conditions.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>

namespace convscope {
namespace {

std::optional<Range> range_of(std::vector<double> v) {
  if (v.empty()) return std::nullopt;
  std::sort(v.begin(), v.end());
  return Range{v.front(), v[v.size() / 2], v.back()};
}

}  // namespace

Conditions conditions_of(const std::vector<GpuReading>& all) {
  constexpr uint64_t idle = 0x1;
  // Before and after the work the GPU rests, at other clocks: that says nothing of the work.
  std::vector<GpuReading> readings;
  for (const auto& r : all)
    if (!(r.slower_because.value_or(0) & idle)) readings.push_back(r);
  if (readings.empty()) readings = all;
  Conditions c;
  c.readings = static_cast<int>(readings.size());
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
    GpuReading r = nvml_.read(gpu_);
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
