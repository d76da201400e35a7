// What the chip did while something ran: PM sampling, a row of values at equal intervals.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "profiling/base/gap.h"

namespace convscope {

// One quantity over time: a value for each point of the timeline.
struct Lane {
  std::string name;   // ours: "dram_busy"
  std::string title;  // "Memory busy"
  std::string unit;   // "%", "GB/s", "instruction/cycle"
  std::string about;  // what it says, in a few words
  std::vector<double> values;
};
struct LaneSummary {
  double least = 0, mean = 0, most = 0;
  size_t points = 0;
};

// A kernel while the lanes were taken, on their clock.
struct TimelineLaunch {
  std::string name;
  double start_us = 0, end_us = 0;
};

struct Timeline {
  // Of each point, microseconds from the begin of the first kernel; a few points before and after are the idle chip's.
  std::vector<double> start_us, end_us;
  std::vector<Lane> lanes;
  std::vector<TimelineLaunch> launches;  // empty: no records came
  double work_us = 0;                    // from the begin of the first kernel to the end of the last
  double interval_us = 0;                // as it was asked for
  int calls = 0;                         // more than 1: back to back, since one is short
  int longer = 0;                        // how often the interval was doubled because the hardware's buffer overflowed
  std::vector<std::string> not_here;     // lanes this chip does not have, or that did not fit its one pass
  double spent_ms = 0;                   // host time
  Gap gap;                               // why there is nothing

  // Over the points that lie wholly within a kernel, or within the work where no kernels are known; with none of those,
  // over all that touch it. What lies between kernels is no part of it.
  LaneSummary summary(const Lane& lane) const;
  // Of the work, in which at least one kernel ran; all of it where no kernels are known.
  double kernels_us() const;
};

// Rows on which spans can be drawn without one over the other: each, in the order of their begins, on the first row
// that is free by then. Of each span its row, from 0. A kernel that is launched early begins before the one ahead has
// ended.
struct TimeSpan {
  double begin = 0, end = 0;  // of one unit; a span that ends where another begins does not overlap it
};
std::vector<size_t> rows_of(const std::vector<TimeSpan>& spans);

struct TimelineOptions {
  double call_ms = 0;         // of a call
  double shortest_us = 100;   // a shorter call is repeated, until all take about a millisecond
  double time_cap_ms = 2000;  // a longer call is not sampled
};
int timeline_calls(const TimelineOptions& options);

// The interval for work of so many microseconds: 20 µs where that gives enough points, never more than a thousand of
// them. Nanoseconds.
uint64_t timeline_interval_ns(double work_us);

}  // namespace convscope
