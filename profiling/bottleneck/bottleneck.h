// One sentence that says what limits a kernel on a problem, with the numbers it rests on and what to try next.
//
// Rules look at figures that are there; a rule whose figures are missing does not fire. The first that fires is the
// sentence, in the order of bottleneck.cpp: what explains other symptoms comes before them.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profiling/metrics/metrics.h"

namespace convscope {

struct BottleneckFacts {
  std::optional<double> ms;           // of one call, measured on a GPU
  std::optional<double> host_ms;      // of one call, seen from the host
  double flops = 0, least_bytes = 0;  // exact
  std::optional<double> floor_ms;
  bool floor_by_bytes = false;
  std::optional<int> multiprocessors;
  std::optional<int64_t> blocks;                 // of the launch that takes longest
  std::optional<int> blocks_per_multiprocessor;  // theoretical occupancy
  std::optional<double> theoretical_occupancy;   // %
  std::string occupancy_limit;                   // in words
  std::optional<int64_t> local_bytes;            // of a thread
  std::optional<int> registers;
  std::vector<std::string> reached;  // kernels of the ladder that this one is, or is past: they are no advice
  std::string counters_missing;      // why there are none
  Counters counters;
  int element_bytes = 4;  // of the problem's type: so many sectors a load take neighbouring elements
  // What each line of the source asks of memory, where that was counted.
  struct Line {
    std::string place;  // "tiled.cu:84"
    double loads = 0, load_sectors = 0, store_sectors = 0;
    std::optional<double> load_used_bytes = {};
  };
  std::vector<Line> lines;
  bool emulated = false;
};

struct Bottleneck {
  std::string rule;      // "memory-bound", …; "unknown" when none fired
  std::string sentence;  // what, with its numbers
  std::string next;      // what to try
  std::string rung;      // the kernel of the ladder that does it; "" when none does
  std::string text() const { return next.empty() ? sentence : sentence + "; next: " + next; }
};

Bottleneck find_bottleneck(const BottleneckFacts& facts);

// A line of BottleneckFacts from what was counted of it, by the names of line_counters().
BottleneckFacts::Line bottleneck_line(const std::string& file, int line, const Counters& values);

// Every rule's name, in their order: for tests and for the documentation.
std::vector<std::string> bottleneck_rules();

}  // namespace convscope
