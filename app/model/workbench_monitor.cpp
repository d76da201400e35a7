// Measuring one kernel again and again (`live` of PROTOCOL.md): each answer asks for the next one.
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "app/engine/frame.h"
#include "app/model/requests.h"
#include "app/model/workbench.h"
#include "kernels/runtime/timing.h"

namespace convscope {
using nlohmann::json;

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

void Workbench::keep_measuring(const Document& document) {
  if (!monitor_.on || needs_run(monitor_.document, document)) {
    monitor_ = {};
    monitor_.on = true, monitor_.document = document;
    monitor_serial_++;
    monitor_waits_ = false;
  }
  if (!monitor_waits_ && !running_ && !profiling_) measure_once_more();
}

// Whoever is served before it does not wait for the call in hand: it is cancelled, and asked for again afterwards.
void Workbench::make_way() {
  if (monitor_waits_) link_.cancel(monitor_id_);
}

void Workbench::stop_measuring() {
  make_way();
  monitor_.on = false, monitor_waits_ = false;
  monitor_serial_++;
}

// They are of another text of its kernel; it goes on at the next frame.
void Workbench::forget_readings() {
  make_way();
  Monitor anew;
  anew.document = monitor_.document, anew.on = monitor_.on;
  monitor_ = std::move(anew);
  monitor_serial_++;
  monitor_waits_ = false;
}

void Workbench::measure_once_more() {
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
    if (!running_ && !profiling_) measure_once_more();
  };
  monitor_id_ = link_.post("live", "live", monitor_.document, json::object(), std::move(done));
}

void Workbench::take_reading(const json& answer) {
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
