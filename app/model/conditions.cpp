#include "app/model/conditions.h"

#include <algorithm>
#include <cmath>

#include "app/engine/json_fields.h"
#include "app/engine/profile_codec.h"

namespace convscope {
using nlohmann::json;
using namespace json_fields;
namespace {

constexpr size_t most_readings = 10000;

std::optional<double> finite_number(const json& j, const char* field) {
  auto v = number(j, field);
  return v && std::isfinite(*v) ? v : std::nullopt;
}

std::optional<ReadingRange> range_of(const json& j, const char* field) {
  const json& r = part(j, field);
  auto least = finite_number(r, "least"), median = finite_number(r, "median"), most = finite_number(r, "most");
  if (!least || !median || !most || *least > *most) return std::nullopt;
  return ReadingRange{*least, *median, *most};
}

std::vector<std::string> words_of(const json& j, const char* field) {
  std::vector<std::string> all;
  for (const auto& w : part(j, field))
    if (w.is_string()) all.push_back(w.get<std::string>());
  return all;
}

}  // namespace

GpuConditions conditions_from(const json& j) {
  GpuConditions c;
  c.sm_mhz = range_of(j, "sm_mhz"), c.memory_mhz = range_of(j, "memory_mhz");
  c.temperature_c = range_of(j, "temperature_c"), c.power_w = range_of(j, "power_w");
  c.max_sm_mhz = finite_number(j, "max_sm_mhz"), c.max_memory_mhz = finite_number(j, "max_memory_mhz");
  c.power_limit_w = finite_number(j, "power_limit_w"), c.throttled_fraction = finite_number(j, "throttled_fraction");
  c.readings_for_one = static_cast<int>(std::clamp<int64_t>(whole(j, "readings_for_one").value_or(1), 1, 1 << 30));
  c.slower_because = words_of(j, "slower_because"), c.warnings = words_of(j, "warnings");
  c.reason = text(j, "reason"), c.source = text(j, "source");
  c.line = conditions_line(j);
  for (const auto& r : part(j, "over_time")) {
    auto t_ms = r.is_object() ? finite_number(r, "t_ms") : std::nullopt;
    if (!t_ms || (!c.over_time.empty() && *t_ms < c.over_time.back().t_ms)) continue;
    if (c.over_time.size() >= most_readings) break;
    auto is = [&](const char* field) {
      auto it = r.find(field);
      return it != r.end() && *it == true;
    };
    c.over_time.push_back({*t_ms, finite_number(r, "sm_mhz"), finite_number(r, "memory_mhz"),
                           finite_number(r, "temperature_c"), finite_number(r, "power_w"), words_of(r, "reasons"),
                           is("throttled"), is("idle")});
  }
  return c;
}

}  // namespace convscope
