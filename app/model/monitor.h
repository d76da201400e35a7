// A kernel that is measured again and again: the time of each call, and what was counted in the last one.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "app/model/profile.h"

namespace convscope {

struct MonitorReading {
  double at_s = 0;                  // since the first
  double ms = 0;                    // of one call
  std::optional<double> packed_ms;  // of it, which packed, without the launches that did (PROTOCOL.md, `live`)
};

struct Monitor {
  static constexpr size_t most_readings = 600;

  Document document;
  bool on = false;
  std::string trouble;  // why it is off when nobody asked for that
  std::deque<MonitorReading> readings;
  uint64_t calls = 0;                     // all of them
  std::string source;                     // recorded, measured, emulated
  std::string packed_reason;              // why there is no packed_ms
  std::string packed_source;              // where it is from
  std::shared_ptr<const Profile> latest;  // headlines, counters and sentence of the last call; null: none yet

  // Readings of the last two seconds before the last one, a second; 0: one alone.
  double per_second() const;
  // Of what is kept: the middle, and half the distance of the quartiles over it, in percent (Timing).
  double median_ms = 0, spread_pct = 0;

  // One more, in place of the oldest when there are most_readings.
  void add(const MonitorReading& reading);
};

}  // namespace convscope
