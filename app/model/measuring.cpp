#include "app/model/measuring.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/model/kernel_file.h"
#include "app/model/requests.h"
#include "kernels/runtime/timing.h"

namespace convscope {
using nlohmann::json;

void Measuring::measure(const char* type, const Document& document, const json& more,
                        std::function<void(const json&)> took) {
  if (runs_.running()) return;
  give_way();
  uint64_t serial = ++serial_;
  waits_ = true;
  trouble_.clear();
  link_.measures();
  Meanwhile meanwhile;
  meanwhile.progress = [this, serial](const Progress& p) {
    if (serial == serial_ && !runs_.running()) link_.shows(p);
  };
  auto done = [this, serial, took](Answer a) {
    link_.see_death(a);
    if (serial != serial_) return;
    waits_ = false;
    if (!runs_.running()) link_.forget_phase();
    if (a.kind == Answer::Kind::result)
      took(json::parse(a.header));
    else if (!refusal_of(a).cancelled)
      trouble_ = trouble_of(a);
  };
  id_ = link_.post("profile", type, document, more, std::move(done), std::move(meanwhile));
}

void Measuring::want_profile(const Document& document, bool full) {
  measure("profile", document, {{"set", full ? "full" : "live"}}, [this, document, full](const json& answer) {
    constexpr size_t most_in_trail = 12;
    trail_.push_back(std::make_shared<Profile>(profile_from(answer, document, full)));
    if (trail_.size() > most_in_trail) trail_.erase(trail_.begin());
  });
}

void Measuring::want_comparison(const Document& document, const std::string& with) {
  measure("bench", document, {{"kernels", {document.kernel, with}}, {"against", with}},
          [this, document, with](const json& answer) {
            comparison_ = std::make_shared<KernelComparison>(comparison_from(answer, document, with));
          });
}

void Measuring::stop() {
  if (waits_) link_.cancel(id_), serial_++, waits_ = false;
}

const Profile* Measuring::profile_of(const Document& document) const {
  for (auto p = trail_.rbegin(); p != trail_.rend(); ++p)
    if (!needs_run((*p)->document, document)) return p->get();
  return nullptr;
}

void Measuring::forget_file(const std::string& path) {
  std::erase_if(trail_, [&](const auto& p) { return is_of_file(p->document.kernel, path); });
  if (comparison_ && is_of_file(comparison_->document.kernel, path)) comparison_.reset();
  if (is_of_file(monitor_.document.kernel, path)) forget_readings();
}

// ---- again and again (`live` of PROTOCOL.md): each answer asks for the next one ------------------------------------

double Monitor::per_second() const {
  if (readings.size() < 2) return 0;
  const double last = readings.back().at_s;
  auto first = std::find_if(readings.begin(), readings.end(), [&](const auto& r) { return r.at_s >= last - 2; });
  if (first == readings.end() - 1) first--;
  return static_cast<double>(readings.end() - 1 - first) / std::max(last - first->at_s, 1e-9);
}

void Monitor::add(const MonitorReading& reading) {
  calls++;
  readings.push_back(reading);
  if (readings.size() > most_readings) readings.pop_front();
  Timing kept;
  for (const auto& r : readings) kept.samples_ms.push_back(r.ms);
  median_ms = kept.median_ms(), spread_pct = kept.noise_pct();
}

void Measuring::keep_on(const Document& document) {
  if (!monitor_.on || needs_run(monitor_.document, document)) {
    monitor_ = {};
    monitor_.on = true, monitor_.document = document;
    monitor_serial_++;
    monitor_waits_ = false;
  }
  if (!monitor_waits_ && !runs_.running() && !waits_) measure_once_more();
}

// Whoever is served before it does not wait for the call in hand.
void Measuring::give_way() {
  if (monitor_waits_) link_.cancel(monitor_id_);
}

void Measuring::stop_monitor() {
  give_way();
  monitor_.on = false, monitor_waits_ = false;
  monitor_serial_++;
}

// They are of another text of its kernel; it goes on at the next frame.
void Measuring::forget_readings() {
  give_way();
  Monitor anew;
  anew.document = monitor_.document, anew.on = monitor_.on;
  monitor_ = std::move(anew);
  monitor_serial_++;
  monitor_waits_ = false;
}

void Measuring::measure_once_more() {
  monitor_waits_ = true;
  auto done = [this, serial = monitor_serial_](Answer a) {
    link_.see_death(a);
    if (serial != monitor_serial_) return;
    monitor_waits_ = false;
    if (a.kind != Answer::Kind::result) {
      // One that was cancelled goes on when nobody else is served.
      const Refusal r = a.kind == Answer::Kind::error ? refusal_of(a) : Refusal{a.message, false, 4};
      if (!r.cancelled) monitor_.on = false, monitor_.trouble = r.text;
      return;
    }
    take_reading(json::parse(a.header));
    if (!runs_.running() && !waits_) measure_once_more();
  };
  monitor_id_ = link_.post("live", "live", monitor_.document, json::object(), std::move(done));
}

void Measuring::take_reading(const json& answer) {
  const auto now = std::chrono::steady_clock::now();
  if (monitor_.calls == 0) monitor_began_ = now;
  MonitorReading reading{
      std::chrono::duration<double>(now - monitor_began_).count(), answer.at("ms").get<double>(), {}};
  if (auto it = answer.find("packed_ms"); it != answer.end() && it->is_number()) reading.packed_ms = it->get<double>();
  monitor_.add(reading);
  monitor_.source = answer.value("source", "");
  monitor_.packed_reason = answer.contains("packed_reason") && answer["packed_reason"].is_string()
                               ? answer["packed_reason"].get<std::string>()
                               : "";
  monitor_.packed_source = answer.contains("packed_source") && answer["packed_source"].is_string()
                               ? answer["packed_source"].get<std::string>()
                               : "";
  auto p = std::make_shared<Profile>(profile_from(answer, monitor_.document, false));
  if (p->kernel.empty()) p->kernel = monitor_.document.kernel;
  monitor_.latest = std::move(p);
}

}  // namespace convscope
