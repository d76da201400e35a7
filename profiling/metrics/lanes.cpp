#include "profiling/metrics/lanes.h"

namespace convscope {
namespace {

// clang-format off
const LaneMetric list[] = {
    {"dram_busy", "Memory busy", "%", "the share of the memory's bandwidth that is used",
     {"dram__throughput.avg.pct_of_peak_sustained_elapsed"}},
    {"sm_active", "Multiprocessors at work", "%", "the share of multiprocessors that have a block",
     {"sm__cycles_active.avg.pct_of_peak_sustained_elapsed"}},
    {"warps_active", "Warps", "%", "warps on a multiprocessor at work, of those it has room for",
     {"sm__warps_active.avg.pct_of_peak_sustained_active"}},
    {"ipc", "Instructions per cycle", "instruction/cycle", "instructions that a multiprocessor issues in a cycle, of 4 at most",
     {"sm__inst_executed.avg.per_cycle_elapsed"}},
    {"l2_gbs", "L2 traffic", "GB/s", "sectors of 32 bytes that go through the L2 cache",
     {"lts__t_sectors.sum"}, true},
};
// clang-format on

}  // namespace

std::span<const LaneMetric> lane_metrics() { return list; }

}  // namespace convscope
