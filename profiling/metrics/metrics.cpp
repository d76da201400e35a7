#include "profiling/metrics/metrics.h"

#include <algorithm>
#include <cmath>

namespace convscope {
namespace {

// clang-format off
// One pass on every chip from Ampere on (two on Turing): it can be had at every launch.
const Metric live[] = {
    {"duration", {"gpu__time_duration.sum"}, "ns"},
    {"occupancy", {"sm__warps_active.avg.pct_of_peak_sustained_active"}, "%"},
    {"dram_busy", {"dram__throughput.avg.pct_of_peak_sustained_elapsed"}, "%", true},  // GB20B shares its memory with a CPU
    {"l2_sectors", {"lts__t_sectors.sum"}, "sector"},
    {"issue_busy", {"smsp__issue_active.avg.pct_of_peak_sustained_active"}, "%"},
    {"sm_cycles_active", {"sm__cycles_active.avg"}, "cycle"},
    {"sm_cycles_elapsed", {"sm__cycles_elapsed.max"}, "cycle"},
    {"dram_read_bytes", {"dram__bytes_read.sum", "dram__bytes_op_read.sum"}, "byte", true, true},  // not on Turing
    {"dram_write_bytes", {"dram__bytes_write.sum", "dram__bytes_op_write.sum"}, "byte", true, true},
};

const Metric speed_of_light[] = {
    {"sm_busy", {"sm__throughput.avg.pct_of_peak_sustained_elapsed"}, "%"},
    {"l1_busy", {"l1tex__throughput.avg.pct_of_peak_sustained_active"}, "%"},
    {"l2_busy", {"lts__throughput.avg.pct_of_peak_sustained_elapsed"}, "%"},
};

const Metric memory[] = {
    {"dram_read_bytes", {"dram__bytes_read.sum", "dram__bytes_op_read.sum"}, "byte", true},
    {"dram_write_bytes", {"dram__bytes_write.sum", "dram__bytes_op_write.sum"}, "byte", true},
    {"l2_hit_rate", {"lts__t_sector_hit_rate.pct"}, "%"},
    {"l1_hit_rate", {"l1tex__t_sector_hit_rate.pct"}, "%"},
    {"load_sectors", {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"}, "sector"},
    {"load_requests", {"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"}, "request"},
    {"store_sectors", {"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"}, "sector"},
    {"store_requests", {"l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"}, "request"},
    {"shared_wavefronts", {"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"}, "wavefront"},
    {"shared_conflicts", {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"}, "wavefront"},
};

const Metric arithmetic[] = {
    {"fma_pipe_busy", {"sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active"}, "%"},
    {"tensor_pipe_busy", {"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
                          "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active"}, "%", true},
    {"instructions", {"smsp__inst_executed.sum"}, "instruction"},
    {"threads_per_instruction", {"smsp__thread_inst_executed_per_inst_executed.ratio"}, "thread"},
    {"ffma_threads", {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"}, "instruction"},
    {"fadd_threads", {"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum"}, "instruction"},
    {"fmul_threads", {"smsp__sass_thread_inst_executed_op_fmul_pred_on.sum"}, "instruction"},
};

// Of loads and stores to global memory and of accesses to shared memory, by warps' instructions.
const Metric emulated[] = {
    {"load_bytes", {}, "byte"},            // that threads asked for
    {"load_used_bytes", {}, "byte"},       // different ones among them
    {"load_efficiency", {}, "%"},          // bytes used, of those of the sectors that were touched
    {"load_lanes", {}, "thread"},          // that took part, of all requests together
    {"lanes_per_load", {}, "thread"},      // of a request: 32 when no thread stands aside
    {"store_bytes", {}, "byte"},
    {"store_used_bytes", {}, "byte"},
    {"store_efficiency", {}, "%"},
    {"store_lanes", {}, "thread"},
    {"lanes_per_store", {}, "thread"},
    {"shared_requests", {}, "request"},
    {"shared_lanes", {}, "thread"},
    {"lanes_per_shared_request", {}, "thread"},
};

#define STALL(name, optional) \
  {"stall_" name, {"smsp__average_warps_issue_stalled_" name "_per_issue_active.ratio"}, "warp", optional}
const Metric stall_metrics[] = {
    STALL("barrier", false), STALL("branch_resolving", false), STALL("dispatch_stall", false), STALL("drain", false),
    STALL("gmma", true), STALL("imc_miss", true), STALL("lg_throttle", false), STALL("long_scoreboard", false),
    STALL("math_pipe_throttle", false), STALL("membar", false), STALL("mio_throttle", false), STALL("misc", false),
    STALL("no_instruction", false), STALL("not_selected", false), STALL("selected", false),
    STALL("short_scoreboard", false), STALL("sleeping", false), STALL("tex_throttle", false), STALL("wait", false),
};
#undef STALL

// What each means: CUPTI User's Guide, "Warp stall reasons"; Nsight Compute Profiling Guide, "Warp Scheduler States".
const Stall stall_list[] = {
    {"stall_barrier", "waiting for other warps of the block at a barrier", true},
    {"stall_branch_resolving", "waiting for a branch to be worked out", true},
    {"stall_dispatch_stall", "held back by the dispatcher", true},
    {"stall_drain", "waiting after its end for its stores to leave", true},
    {"stall_gmma", "waiting for the tensor cores' warp groups", true},
    {"stall_imc_miss", "waiting for a constant that is not cached", true},
    {"stall_lg_throttle", "waiting for room in the queue of global memory accesses", true},
    {"stall_long_scoreboard", "waiting for data from global or local memory", true},
    {"stall_math_pipe_throttle", "waiting for an arithmetic unit that is busy", true},
    {"stall_membar", "waiting for a memory fence", true},
    {"stall_mio_throttle", "waiting for room in the queue of shared memory accesses", true},
    {"stall_misc", "waiting for another reason of the hardware", true},
    {"stall_no_instruction", "waiting for its next instruction to be fetched", true},
    {"stall_not_selected", "ready, while another warp was chosen", false},
    {"stall_selected", "issuing", false},
    {"stall_short_scoreboard", "waiting for data from shared memory", true},
    {"stall_sleeping", "asleep by its own wish", true},
    {"stall_tex_throttle", "waiting for room in the texture queue", true},
    {"stall_wait", "waiting for its last instruction's fixed latency", true},
};

const Headline headline_list[] = {
    {"duration", "Kernel time", "duration", "ms", "near the floor of the problem",
     "how long the GPU worked on it, by its own clock", CounterSet::live},
    {"memory-busy", "Memory busy", "dram_busy", "%", "above 80 % when bytes set the floor",
     "how much of the memory's bandwidth was used", CounterSet::live},
    {"bytes-moved", "Bytes moved / least bytes", "(dram_read_bytes + dram_write_bytes) / least_bytes", "1",
     "near 1; above 2 the same data comes from memory again",
     "how often each byte crossed the memory's bus, against once", CounterSet::memory},
    {"l2-traffic", "L2 traffic / least bytes", "32 * l2_sectors / least_bytes", "1", "below 4; below 1.2 where the L2 cache is more than 70 % busy",
     "how often the data went through the L2 cache, against once", CounterSet::live},
    {"l2-hits", "L2 hits", "l2_hit_rate", "%", "high where data is used again",
     "sectors that were found in the L2 cache", CounterSet::memory},
    {"l1-hits", "L1 hits", "l1_hit_rate", "%", "high where neighbours read the same data",
     "sectors that were found in the L1 cache", CounterSet::memory},
    {"sectors-per-load", "Sectors per load", "load_sectors / load_requests", "sector",
     "4 for 4-byte elements side by side, 1 when all read the same; 32 is one sector for each thread",
     "how many pieces of 32 bytes a warp's load instruction touches", CounterSet::memory},
    {"bank-conflicts", "Shared memory conflicts", "100 * shared_conflicts / shared_wavefronts", "%", "below 10 %",
     "shared memory cycles that were spent again because threads met in a bank", CounterSet::memory},
    {"occupancy", "Achieved occupancy", "occupancy", "%", "enough to hide latency: 25 to 50 % can do",
     "warps on a multiprocessor, of those it has room for", CounterSet::live},
    {"issue-busy", "Issue slots busy", "issue_busy", "%", "above 60 %",
     "cycles in which a scheduler issued an instruction", CounterSet::live},
    {"sm-balance", "Multiprocessors at work", "100 * sm_cycles_active / sm_cycles_elapsed", "%", "above 90 %",
     "how much of the time the average multiprocessor had a block", CounterSet::live},
    {"useful-arithmetic", "Useful arithmetic", "100 * flops / (2 * ffma_threads + fadd_threads + fmul_threads)", "%",
     "near 100 % outside the tensor cores", "multiply-adds that the problem needs, of those that were executed",
     CounterSet::arithmetic},
};
// clang-format on

std::optional<double> get(const Counters& c, std::string_view name) {
  auto it = c.find(name);
  if (it == c.end() || !std::isfinite(it->second)) return std::nullopt;
  return it->second;
}

std::optional<double> quotient(std::optional<double> a, std::optional<double> b) {
  if (!a || !b || *b <= 0) return std::nullopt;
  return *a / *b;
}

std::optional<double> plus(std::optional<double> a, std::optional<double> b) {
  if (!a || !b) return std::nullopt;
  return *a + *b;
}

std::optional<double> times(double f, std::optional<double> a) {
  if (!a) return std::nullopt;
  return f * *a;
}

// Why there is no value of a headline: the first reason that holds.
std::string why_missing(const Headline& h, const Counters& c, std::span<const AskedSet> asked) {
  std::string_view name = h.name;
  if (name == "bank-conflicts" && get(c, "shared_wavefronts") == 0.0) return "no shared memory was accessed";
  if (name == "sectors-per-load" && get(c, "load_requests") == 0.0) return "no global load was executed";
  std::string absent, gap;
  bool any = false, odd = false;
  for (const Metric* m : counters_in(h)) {
    if (get(c, m->name)) continue;
    any = true;
    odd |= c.contains(std::string_view(m->name));
    for (const AskedSet& a : asked) {
      if (std::find(a.not_here.begin(), a.not_here.end(), m->name) != a.not_here.end()) {
        absent += (absent.empty() ? "" : ", ") + std::string(m->name);
        break;
      }
      const auto own = metrics_of(a.set);
      if (gap.empty() && !a.gap.empty() && std::any_of(own.begin(), own.end(), [&](const Metric& each) {
            return each.name == std::string_view(m->name);
          }))
        gap = std::string("the set ") + name_of(a.set) + " could not be counted: " + a.gap;
    }
  }
  if (!absent.empty()) return "this chip has no counter for it (" + absent + ")";
  if (!gap.empty()) return gap;
  if (odd) return "what was counted is no number";
  if (!any) return "what it is divided by is 0";
  return std::string("not counted: it is in the set ") + name_of(h.from);
}

Shade above(double v, double fair, double good) {
  return v >= good ? Shade::good : v >= fair ? Shade::fair : Shade::bad;
}
Shade below(double v, double good, double fair) {
  return v <= good ? Shade::good : v <= fair ? Shade::fair : Shade::bad;
}

}  // namespace

const char* name_of(CounterSet set) {
  switch (set) {
    case CounterSet::live:
      return "live";
    case CounterSet::speed_of_light:
      return "speed-of-light";
    case CounterSet::memory:
      return "memory";
    case CounterSet::stalls:
      return "stalls";
    case CounterSet::arithmetic:
      return "arithmetic";
  }
  return "";
}

const char* about(CounterSet set) {
  switch (set) {
    case CounterSet::live:
      return "what one pass can count, at every launch";
    case CounterSet::speed_of_light:
      return "how busy each part was at its busiest";
    case CounterSet::memory:
      return "what the memory moved and what the caches held";
    case CounterSet::stalls:
      return "what warps waited for";
    case CounterSet::arithmetic:
      return "what the arithmetic units did";
  }
  return "";
}

std::span<const Metric> metrics_of(CounterSet set) {
  switch (set) {
    case CounterSet::live:
      return live;
    case CounterSet::speed_of_light:
      return speed_of_light;
    case CounterSet::memory:
      return memory;
    case CounterSet::stalls:
      return stall_metrics;
    case CounterSet::arithmetic:
      return arithmetic;
  }
  return {};
}

const Metric* find_metric(std::string_view name) {
  for (auto set : all_counter_sets)
    for (const auto& m : metrics_of(set))
      if (m.name == name) return &m;
  for (const auto& m : emulated)
    if (m.name == name) return &m;
  return nullptr;
}

std::span<const Metric> emulated_metrics() { return emulated; }

std::span<const Stall> stalls() { return stall_list; }
std::span<const Headline> headlines() { return headline_list; }

const char* name_of(Shade shade) {
  switch (shade) {
    case Shade::unknown:
      return "unknown";
    case Shade::good:
      return "good";
    case Shade::fair:
      return "fair";
    case Shade::bad:
      return "bad";
  }
  return "";
}

std::vector<const Metric*> counters_in(const Headline& h) {
  std::vector<const Metric*> list;
  const std::string_view formula = h.formula;
  auto in_name = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  for (size_t at = 0; at < formula.size();) {
    size_t end = at;
    while (end < formula.size() && in_name(formula[end])) end++;
    if (const Metric* m = end > at ? find_metric(formula.substr(at, end - at)) : nullptr) list.push_back(m);
    at = end + 1;
  }
  return list;
}

Shade shade_of(std::string_view name, double v, const Counters& c, const Workload& work) {
  // Who multiplies on tensor cores needs few instructions.
  const bool tensor = get(c, "tensor_pipe_busy").value_or(0) > 10;
  auto unless_good = [](Shade s, bool but) { return but && s != Shade::good ? Shade::unknown : s; };
  if (name == "memory-busy") {
    // Tensors that stay in the L2 cache leave the memory idle, which is nobody's fault.
    const auto moved = plus(get(c, "dram_read_bytes"), get(c, "dram_write_bytes"));
    const bool in_cache = moved && work.least_bytes > 0 && *moved < 0.5 * work.least_bytes;
    return unless_good(above(v, 40, 80), work.products_set_floor || in_cache);
  }
  if (name == "bytes-moved") return below(v, 1.2, 2);
  if (name == "l2-traffic") {
    // Where the L2 cache itself is near its limit, little that is too much costs time already.
    const bool near_limit = get(c, "l2_busy").value_or(0) >= 70;
    return below(v, near_limit ? 1.2 : 4, 16);
  }
  if (name == "sectors-per-load") {
    // Where tiles come by the copy engine, loads are those of a launch that packs weights: good or bad, they are
    // little of what moves.
    auto loads = get(c, "load_sectors"), all = get(c, "l2_sectors");
    return loads && all && *loads < 0.1 * *all ? Shade::unknown
                                               : below(v, 4.5, 16.5);  // 16: 16-byte loads side by side
  }
  if (name == "bank-conflicts") return below(v, 10, 30);
  if (name == "occupancy") return above(v, 12, 25);
  if (name == "issue-busy") return unless_good(above(v, 30, 60), tensor);
  if (name == "sm-balance") return above(v, 70, 90);
  if (name == "useful-arithmetic") return above(v, 50, 80);
  return Shade::unknown;
}

std::vector<HeadlineValue> headline_values(const Counters& c, const Workload& work, std::span<const AskedSet> asked) {
  std::vector<HeadlineValue> list;
  for (const auto& h : headline_list) {
    HeadlineValue v;
    v.headline = &h;
    std::string_view name = h.name;
    std::optional<double> least = work.least_bytes > 0 ? std::optional(work.least_bytes) : std::nullopt;
    if (name == "duration") {
      v.value = times(1e-6, get(c, "duration"));
    } else if (name == "memory-busy") {
      v.value = get(c, "dram_busy");
    } else if (name == "bytes-moved") {
      v.value = quotient(plus(get(c, "dram_read_bytes"), get(c, "dram_write_bytes")), least);
    } else if (name == "l2-traffic") {
      v.value = quotient(times(32, get(c, "l2_sectors")), least);
    } else if (name == "l2-hits") {
      v.value = get(c, "l2_hit_rate");
    } else if (name == "l1-hits") {
      v.value = get(c, "l1_hit_rate");
    } else if (name == "sectors-per-load") {
      v.value = quotient(get(c, "load_sectors"), get(c, "load_requests"));
    } else if (name == "bank-conflicts") {
      v.value = times(100, quotient(get(c, "shared_conflicts"), get(c, "shared_wavefronts")));
    } else if (name == "occupancy") {
      v.value = get(c, "occupancy");
    } else if (name == "issue-busy") {
      v.value = get(c, "issue_busy");
    } else if (name == "sm-balance") {
      v.value = times(100, quotient(get(c, "sm_cycles_active"), get(c, "sm_cycles_elapsed")));
    } else if (name == "useful-arithmetic") {
      auto done = plus(times(2, get(c, "ffma_threads")), plus(get(c, "fadd_threads"), get(c, "fmul_threads")));
      if (work.flops > 0)
        v.value = times(100, quotient(work.flops, done));
      else if (done)
        v.missing = "no tap lands in this output, so no arithmetic is useful";
      // On tensor cores next to nothing runs elsewhere: the quotient means nothing then.
      if (work.flops > 0 && done && (*done == 0 || *v.value > 105)) {
        v.value.reset();
        v.missing = "most of the arithmetic ran on tensor cores, whose operations these counters do not have";
      }
    }
    if (v.value)
      v.shade = shade_of(name, *v.value, c, work);
    else if (v.missing.empty())
      v.missing = why_missing(h, c, asked);
    list.push_back(v);
  }
  return list;
}

}  // namespace convscope
