// What it takes to hold a counter or a headline of one kernel against that of another: its title, which way is better,
// and how far apart two runs of one and the same kernel are.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "profiling/metrics/metrics.h"

namespace convscope {

inline constexpr double unknown_spread = -1;
inline constexpr double most_spread = 0.09;  // of those that were measured: bank conflicts of kernels that wait

enum class Better {
  lower,
  higher,
  higher_by_bytes,  // higher where bytes set the floor: a kernel that arithmetic limits need not use the memory
  neither,          // says what a kernel does, not how well
};

// Where a figure stands in a table of many.
enum class FigureGroup { time, limits, memory, issue, waiting, launch, conditions };
const char* title_of(FigureGroup group);  // "What limits"

struct Figure {
  const char* name;   // of a headline ("memory-busy"), a metric ("dram_read_bytes") or one of the emulator's
  const char* title;  // "DRAM bytes read"
  FigureGroup group;
  Better better;
  // The relative difference that two runs of one kernel may have on a GPU; 0: none; unknown_spread: nobody has measured
  // it, so that a difference alone says nothing. Measured on an H200 against ncu (tests/bench/results/h200-profile.md,
  // "Against ncu"). Emulated figures have none.
  double spread;
  double enough = 0;  // beyond it more (of Better::lower: less) is not better any more; 0: there is no such value
  const char* about = "";
};

// By the name of a headline or a metric; null for an unknown one.
const Figure* find_figure(std::string_view name);
std::span<const Figure> figures();

// Of the source of counted figures: whether only some blocks were traced, and all others taken to be like them.
bool is_estimate(std::string_view source);
// Of such a source the part of a figure that it may be off by, as far as the number of traced blocks says: one over its
// root. 0 of what was counted in full.
double estimate_error(std::string_view source);
// The headline that shows this metric as it is, put right where it has to be; "" where none does.
std::string_view headline_showing(std::string_view metric);

// Bytes that came from the GPU's memory and went there; nothing where either was not counted.
std::optional<double> dram_bytes(const Counters& c);

// Of the bytes of `sectors` sectors those that threads asked for, in percent; nothing of no sectors.
std::optional<double> used_of_sectors(double used_bytes, double sectors);

// A range of counters is longer than the kernels in it (by some 60 µs on an H200), so shares of elapsed time are too
// small by that. The same counters, as of the kernels alone: `kernel_ms`, by their records. Without it, as they are.
Counters of_kernels_alone(Counters counted, const std::optional<double>& kernel_ms);

}  // namespace convscope
