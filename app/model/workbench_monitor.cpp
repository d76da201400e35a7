// Measuring one kernel again and again (`live` of PROTOCOL.md): each answer asks for the next one.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/engine/frame.h"
#include "app/model/requests.h"
#include "app/model/workbench.h"

namespace convscope {
using nlohmann::json;

double Monitor::per_second() const {
  if (readings.size() < 2) return 0;
  const double last = readings.back().at_s;
  auto first = std::find_if(readings.begin(), readings.end(), [&](const auto& r) { return r.at_s >= last - 2; });
  if (first == readings.end() - 1) first--;
  return static_cast<double>(readings.end() - 1 - first) / std::max(last - first->at_s, 1e-9);
}

namespace {

double quantile(const std::deque<MonitorReading>& readings, double q) {
  std::vector<double> ms;
  for (const auto& r : readings) ms.push_back(r.ms);
  if (ms.empty()) return 0;
  const double place = q * static_cast<double>(ms.size() - 1);
  const auto below = static_cast<size_t>(place);
  std::sort(ms.begin(), ms.end());
  const double above = ms[std::min(below + 1, ms.size() - 1)];
  return ms[below] + (place - std::floor(place)) * (above - ms[below]);
}

}  // namespace

double Monitor::median_ms() const { return quantile(readings, 0.5); }

double Monitor::spread_pct() const {
  const double middle = median_ms();
  return middle > 0 ? 50 * (quantile(readings, 0.75) - quantile(readings, 0.25)) / middle : 0;
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

void Workbench::stop_measuring() {
  if (monitor_waits_) client_->cancel(monitor_id_);
  monitor_.on = false, monitor_waits_ = false;
  monitor_serial_++;
}

void Workbench::measure_once_more() {
  std::vector<std::byte> payload;
  json header = request_json(request_of(monitor_.document), payload);
  header["type"] = "live";
  monitor_waits_ = true;
  Handlers h = handlers([this, serial = monitor_serial_](Answer a) {
    if (a.kind == Answer::Kind::crashed || a.kind == Answer::Kind::hung) died(a.message);
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
  });
  monitor_id_ = client_->post_latest("live", header_text(header), std::move(payload), std::move(h));
}

void Workbench::take_reading(const json& answer) {
  const auto now = std::chrono::steady_clock::now();
  if (monitor_.calls == 0) monitor_began_ = now;
  MonitorReading reading{
      std::chrono::duration<double>(now - monitor_began_).count(), answer.at("ms").get<double>(), {}};
  if (auto it = answer.find("packed_ms"); it != answer.end() && it->is_number()) reading.packed_ms = it->get<double>();
  monitor_.calls++;
  monitor_.readings.push_back(reading);
  if (monitor_.readings.size() > Monitor::most_readings) monitor_.readings.pop_front();
  monitor_.source = answer.value("source", "");
  monitor_.packed_reason = answer.contains("packed_reason") && answer["packed_reason"].is_string()
                               ? answer["packed_reason"].get<std::string>()
                               : "";
  auto p = std::make_shared<Profile>(profile_from(answer, monitor_.document, false));
  if (p->kernel.empty()) p->kernel = monitor_.document.kernel;
  monitor_.latest = std::move(p);
}

}  // namespace convscope
