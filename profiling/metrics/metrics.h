// The counters this project asks a GPU for, in sets, and the headline figures made of them, in plain words.
//
// A counter is known by our own name; what the hardware calls it depends on the chip (Metric::spellings, tried in
// turn). tests/profiling/metrics_names_test.cpp checks them for every chip that CUPTI's Host API knows.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace convscope {

struct Metric {
  const char* name;                    // "dram_read_bytes"
  std::vector<const char*> spellings;  // CUPTI's; the first that the chip has counts
  const char* unit;                    // "byte", "%", "ns", "1"
  bool optional = false;               // some chips do not have it at all
  bool if_free = false;                // left out where it would cost another pass
};

enum class CounterSet { live, speed_of_light, memory, stalls, arithmetic };
inline constexpr CounterSet all_counter_sets[] = {CounterSet::live, CounterSet::speed_of_light, CounterSet::memory,
                                                  CounterSet::stalls, CounterSet::arithmetic};

const char* name_of(CounterSet set);  // "live", "speed-of-light", …
const char* about(CounterSet set);    // "what the memory moved and what the caches held"
std::span<const Metric> metrics_of(CounterSet set);
// What the emulator's traces say and no set of counters has: spelled by nobody. They stand among the values of the set
// `memory`, marked emulated.
std::span<const Metric> emulated_metrics();
// By our name, of the sets or of the emulator; or null.
const Metric* find_metric(std::string_view name);

// Why warps of a stall metric wait, in plain words ("data from memory"), and what helps.
struct Stall {
  const char* name;   // of its metric: "stall_long_scoreboard"
  const char* words;  // "waiting for data from global or local memory"
  bool waiting;       // false: the warp was able to issue (selected, not selected)
};
std::span<const Stall> stalls();

// What was counted, by our names.
using Counters = std::map<std::string, double, std::less<>>;

// One of the twelve figures a person looks at first.
struct Headline {
  const char* name;     // "memory-busy"
  const char* title;    // "Memory busy"
  const char* formula;  // of our metrics' names, as shown
  const char* unit;
  const char* good;     // what good looks like, in words
  const char* meaning;  // one plain sentence
  CounterSet from;      // the cheapest set that has it
};

// What a headline needs to know besides counters.
struct Workload {
  double flops = 0;                 // exact, of taps that land
  double least_bytes = 0;           // that must move
  bool products_set_floor = false;  // not bytes: the memory need not be busy
};

// What is known of a set that was asked for beside its values.
struct AskedSet {
  CounterSet set = CounterSet::live;
  std::vector<std::string> not_here;  // our names of metrics that this chip does not have
  std::string gap;                    // why nothing of it was counted; "": it was
};

enum class Shade { unknown, good, fair, bad };
const char* name_of(Shade shade);

struct HeadlineValue {
  const Headline* headline = nullptr;
  std::optional<double> value;
  std::string missing;  // why there is none
  Shade shade = Shade::unknown;
};

std::span<const Headline> headlines();
// The counters that its formula names.
std::vector<const Metric*> counters_in(const Headline& headline);
// How good a headline's value is: unknown where neither more nor less of it is better by itself.
Shade shade_of(std::string_view headline, double value, const Counters& counters, const Workload& work);
// All twelve, in their order; those whose counters are not there say why: by `asked`, the chip does not have one, or
// the set could not be counted; else it is in a set that was not asked for.
std::vector<HeadlineValue> headline_values(const Counters& counters, const Workload& work,
                                           std::span<const AskedSet> asked = {});

}  // namespace convscope
