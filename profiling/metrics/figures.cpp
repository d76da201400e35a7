#include "profiling/metrics/figures.h"

#include <algorithm>
#include <cmath>

namespace convscope {
namespace {

using B = Better;
using G = FigureGroup;

// Spreads: times within 2 %; L2 sectors, bytes of DRAM, occupancy and issue slots within 1 %; hit rates within 0.1 %;
// wavefronts of shared memory within 0.3 %; bank conflicts of kernels that wait for copies up to 9 %; requests and
// sectors of L1 the same but for 6 millionths where blocks ask each other; multiply-adds of a known count to the last.
constexpr double of_times = 0.02, of_counts = 0.01, of_rates = 0.001, of_wavefronts = 0.003, of_conflicts = most_spread,
                 of_requests = 1e-5, unknown = unknown_spread;

constexpr const char* per_issue = "warps of a scheduler that were held up so, for each instruction that it issued";

// clang-format off
constexpr Figure figure_table[] = {
    // Headlines.
    {"duration", "Kernel time", G::time, B::lower, of_times},
    {"memory-busy", "Memory busy", G::limits, B::higher_by_bytes, of_counts},
    {"bytes-moved", "Bytes moved / least bytes", G::memory, B::lower, of_counts},
    {"l2-traffic", "L2 traffic / least bytes", G::memory, B::lower, of_counts},
    {"l2-hits", "L2 hits", G::memory, B::neither, of_rates},
    {"l1-hits", "L1 hits", G::memory, B::neither, of_rates},
    {"sectors-per-load", "Sectors per load", G::memory, B::neither, of_requests, 0,
     "How many is good follows from the width of the loads: 4 where each thread of a warp reads 4 bytes side by side, 16 where it reads 16."},
    {"bank-conflicts", "Shared memory conflicts", G::memory, B::lower, of_conflicts, 10},
    {"occupancy", "Achieved occupancy", G::launch, B::higher, of_counts, 50},
    {"issue-busy", "Issue slots busy", G::issue, B::higher, of_counts},
    {"sm-balance", "Multiprocessors at work", G::limits, B::higher, of_counts, 90},
    {"useful-arithmetic", "Useful arithmetic", G::issue, B::higher, unknown},
    // The live set.
    {"dram_busy", "Memory busy", G::limits, B::higher_by_bytes, of_counts},
    {"l2_sectors", "L2 sectors", G::memory, B::lower, of_counts, 0, "32-byte sectors that went through the L2 cache"},
    {"issue_busy", "Issue slots busy", G::issue, B::higher, of_counts},
    {"sm_cycles_active", "Cycles with a block", G::time, B::lower, of_times, 0,
     "Cycles in which the average multiprocessor had a block"},
    {"sm_cycles_elapsed", "Cycles elapsed", G::time, B::lower, of_times, 0,
     "Cycles of a multiprocessor from the first kernel's begin to the last one's end"},
    {"dram_read_bytes", "DRAM bytes read", G::memory, B::lower, of_counts, 0, "Bytes that came from the GPU's memory"},
    {"dram_write_bytes", "DRAM bytes written", G::memory, B::lower, of_counts, 0, "Bytes that went to the GPU's memory"},
    // Speed of light: the one that is nearest to 100 % limits.
    {"sm_busy", "Multiprocessor busy", G::limits, B::neither, of_counts, 0, "The busiest of a multiprocessor's pipelines, as a share of what it can do"},
    {"l1_busy", "L1 busy", G::limits, B::neither, of_counts, 0, "The busiest part of the L1 cache and of shared memory, as a share of what it can do"},
    {"l2_busy", "L2 busy", G::limits, B::neither, of_counts, 0, "The busiest part of the L2 cache, as a share of what it can do"},
    // Memory.
    {"l2_hit_rate", "L2 hits", G::memory, B::neither, of_rates},
    {"l1_hit_rate", "L1 hits", G::memory, B::neither, of_rates},
    {"load_requests", "Loads from global memory", G::memory, B::lower, of_requests, 0, "Load instructions of warps to global memory"},
    {"load_sectors", "Sectors of loads", G::memory, B::lower, of_requests, 0, "32-byte sectors that loads of global memory touched"},
    {"store_requests", "Stores to global memory", G::memory, B::lower, of_requests, 0, "Store instructions of warps to global memory"},
    {"store_sectors", "Sectors of stores", G::memory, B::lower, of_requests, 0, "32-byte sectors that stores to global memory touched"},
    {"shared_wavefronts", "Shared memory wavefronts", G::memory, B::lower, of_wavefronts, 0, "Cycles of shared memory, conflicts included"},
    {"shared_conflicts", "Bank conflicts", G::memory, B::lower, of_conflicts, 0, "Cycles of shared memory that only repeat because threads met in a bank"},
    // Arithmetic.
    {"fma_pipe_busy", "FMA pipe busy", G::limits, B::neither, of_counts, 0, "Cycles in which the pipe of multiply-adds took an instruction"},
    {"tensor_pipe_busy", "Tensor cores busy", G::limits, B::neither, of_counts, 0, "Cycles in which the tensor cores worked"},
    {"instructions", "Instructions", G::issue, B::lower, unknown, 0, "Instructions that warps executed"},
    {"threads_per_instruction", "Threads per instruction", G::issue, B::higher, unknown, 0, "Threads that took part in an instruction, of 32"},
    {"ffma_threads", "Multiply-adds (FFMA)", G::issue, B::neither, 0, 0, "Of threads. How many of them the problem needs is in Useful arithmetic."},
    {"fadd_threads", "Additions (FADD)", G::issue, B::neither, unknown, 0, "Of threads"},
    {"fmul_threads", "Multiplications (FMUL)", G::issue, B::neither, unknown, 0, "Of threads"},
    // Waiting: shares of a whole. Less of one is not better by itself.
    {"stall_barrier", "barrier", G::waiting, B::neither, unknown, 0, per_issue},
    {"stall_branch_resolving", "branch resolving", G::waiting, B::neither, unknown, 0, per_issue},
    {"stall_dispatch_stall", "dispatch", G::waiting, B::neither, unknown, 0, per_issue},
    {"stall_drain", "drain", G::waiting, B::neither, unknown, 0, per_issue},
    {"stall_gmma", "gmma", G::waiting, B::neither, unknown, 0, per_issue},
    {"stall_imc_miss", "imc miss", G::waiting, B::neither, unknown, 0, per_issue},
    {"stall_lg_throttle", "lg throttle", G::waiting, B::neither, unknown, 0, per_issue},
    {"stall_long_scoreboard", "long scoreboard", G::waiting, B::neither, unknown, 0, per_issue},
    {"stall_math_pipe_throttle", "math pipe throttle", G::waiting, B::neither, unknown, 0, per_issue},
    {"stall_membar", "membar", G::waiting, B::neither, unknown, 0, per_issue},
    {"stall_mio_throttle", "mio throttle", G::waiting, B::neither, unknown, 0, per_issue},
    {"stall_misc", "misc", G::waiting, B::neither, unknown, 0, per_issue},
    {"stall_no_instruction", "no instruction", G::waiting, B::neither, unknown, 0, per_issue},
    {"stall_not_selected", "not selected", G::waiting, B::neither, unknown, 0, per_issue},
    {"stall_selected", "selected", G::waiting, B::neither, unknown, 0, per_issue},
    {"stall_short_scoreboard", "short scoreboard", G::waiting, B::neither, unknown, 0, per_issue},
    {"stall_sleeping", "sleeping", G::waiting, B::neither, unknown, 0, per_issue},
    {"stall_tex_throttle", "tex throttle", G::waiting, B::neither, unknown, 0, per_issue},
    {"stall_wait", "wait", G::waiting, B::neither, unknown, 0, per_issue},
    // The emulator's own.
    {"load_bytes", "Bytes asked for by loads", G::memory, B::lower, 0, 0, "By all threads together"},
    {"load_used_bytes", "Bytes used by loads", G::memory, B::neither, 0, 0, "Different bytes of each request"},
    {"load_efficiency", "Bytes used of loads' sectors", G::memory, B::higher, 0, 0, "Bytes used, of those of the sectors that loads touched"},
    {"load_lanes", "Threads in loads", G::memory, B::neither, 0, 0, "Of all requests together"},
    {"lanes_per_load", "Threads per load", G::memory, B::higher, 0, 0, "Of 32: fewer where threads of a warp stand aside"},
    {"store_bytes", "Bytes written by stores", G::memory, B::lower, 0, 0, "By all threads together"},
    {"store_used_bytes", "Bytes used by stores", G::memory, B::neither, 0, 0, "Different bytes of each request"},
    {"store_efficiency", "Bytes used of stores' sectors", G::memory, B::higher, 0, 0, "Bytes used, of those of the sectors that stores touched"},
    {"store_lanes", "Threads in stores", G::memory, B::neither, 0, 0, "Of all requests together"},
    {"lanes_per_store", "Threads per store", G::memory, B::higher, 0, 0, "Of 32: fewer where threads of a warp stand aside"},
    {"shared_requests", "Accesses to shared memory", G::memory, B::lower, 0, 0, "Instructions of warps"},
    {"shared_lanes", "Threads in accesses to shared memory", G::memory, B::neither, 0, 0, "Of all requests together"},
    {"lanes_per_shared_request", "Threads per access to shared memory", G::memory, B::higher, 0, 0, "Of 32"},
};
// clang-format on

struct ShownMetric {
  std::string_view metric, headline;
};
constexpr ShownMetric shown_metrics[] = {{"duration", "duration"},   {"dram_busy", "memory-busy"},
                                         {"occupancy", "occupancy"}, {"issue_busy", "issue-busy"},
                                         {"l2_hit_rate", "l2-hits"}, {"l1_hit_rate", "l1-hits"}};

}  // namespace

const char* title_of(FigureGroup group) {
  switch (group) {
    case FigureGroup::time:
      return "Time";
    case FigureGroup::limits:
      return "What limits";
    case FigureGroup::memory:
      return "Memory";
    case FigureGroup::issue:
      return "Instructions";
    case FigureGroup::waiting:
      return "What warps wait for";
    case FigureGroup::launch:
      return "Launch";
    case FigureGroup::conditions:
      return "Clocks and power";
  }
  return "";
}

std::span<const Figure> figures() { return figure_table; }

const Figure* find_figure(std::string_view name) {
  auto it =
      std::find_if(std::begin(figure_table), std::end(figure_table), [&](const Figure& f) { return name == f.name; });
  return it == std::end(figure_table) ? nullptr : &*it;
}

std::string_view headline_showing(std::string_view metric) {
  for (const auto& s : shown_metrics)
    if (s.metric == metric) return s.headline;
  return "";
}

std::optional<double> dram_bytes(const Counters& c) {
  auto read = c.find("dram_read_bytes"), written = c.find("dram_write_bytes");
  return read == c.end() || written == c.end() ? std::nullopt : std::optional(read->second + written->second);
}

std::optional<double> used_of_sectors(double used_bytes, double sectors) {
  constexpr double sector = 32, percent = 100;
  return sectors > 0 ? std::optional(percent * used_bytes / (sector * sectors)) : std::nullopt;
}

Counters of_kernels_alone(Counters c, const std::optional<double>& kernel_ms) {
  auto range = c.find("duration");
  if (!kernel_ms || *kernel_ms <= 0 || range == c.end()) return c;
  const double longer = range->second / (*kernel_ms * 1e6);
  range->second = *kernel_ms * 1e6;
  if (longer <= 1) return c;
  for (const char* share : {"dram_busy", "sm_busy", "l2_busy"})
    if (auto it = c.find(share); it != c.end()) it->second = std::min(100.0, it->second * longer);
  if (auto it = c.find("sm_cycles_elapsed"); it != c.end()) {
    auto active = c.find("sm_cycles_active");
    it->second = std::max(it->second / longer, active == c.end() ? 0 : active->second);
  }
  return c;
}

double estimate_error(std::string_view source) {
  constexpr std::string_view before = "by tracing ";
  const size_t at = source.find(before);
  if (at == std::string_view::npos) return 0;
  double traced = 0;
  size_t i = at + before.size();
  for (; i < source.size() && source[i] >= '0' && source[i] <= '9'; i++) traced = 10 * traced + (source[i] - '0');
  return traced > 0 && source.substr(i).starts_with(" of ") ? 1 / std::sqrt(traced) : 0;
}

bool is_estimate(std::string_view source) { return estimate_error(source) > 0; }

}  // namespace convscope
