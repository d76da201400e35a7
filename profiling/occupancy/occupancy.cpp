#include "profiling/occupancy/occupancy.h"

#include <algorithm>
#include <fmt/format.h>
#include <vector>

namespace convscope {
namespace {

constexpr int kib = 1024;

// CUDA C++ Programming Guide 13.0, "Technical Specifications per Compute Capability". Rows: resident threads and blocks
// of a multiprocessor; shared memory of a multiprocessor and of a block; 1 KiB of each block is the system's from 8.0
// on (ibid., "Shared Memory" of each capability). 8.8 and 10.3 as the toolkit's cuda_occupancy.h and its libcu++
// (cuda/__device/arch_traits.h) have them: like 8.6 and like 10.0.
constexpr GpuArchitecture table[] = {
    {75, "sm_75 (Turing)", 1024, 16, 64 * kib, 64 * kib, 0, 256},
    {80, "sm_80 (A100)", 2048, 32, 164 * kib, 163 * kib, 1 * kib, 128},
    {86, "sm_86 (Ampere, GA10x)", 1536, 16, 100 * kib, 99 * kib, 1 * kib, 128},
    {87, "sm_87 (Jetson Orin)", 1536, 16, 164 * kib, 163 * kib, 1 * kib, 128},
    {88, "sm_88 (Ampere)", 1536, 16, 100 * kib, 99 * kib, 1 * kib, 128},
    {89, "sm_89 (Ada)", 1536, 24, 100 * kib, 99 * kib, 1 * kib, 128},
    {90, "sm_90 (Hopper)", 2048, 32, 228 * kib, 227 * kib, 1 * kib, 128},
    {100, "sm_100 (Blackwell, B200)", 2048, 32, 228 * kib, 227 * kib, 1 * kib, 128},
    {103, "sm_103 (Blackwell Ultra, B300)", 2048, 32, 228 * kib, 227 * kib, 1 * kib, 128},
    {110, "sm_110 (Jetson Thor)", 1536, 24, 228 * kib, 227 * kib, 1 * kib, 128},
    {120, "sm_120 (Blackwell, RTX)", 1536, 24, 100 * kib, 99 * kib, 1 * kib, 128},
    {121, "sm_121 (Blackwell, GB10)", 1536, 24, 100 * kib, 99 * kib, 1 * kib, 128},
};

constexpr int64_t rounded_up(int64_t v, int64_t unit) { return (v + unit - 1) / unit * unit; }

std::string room(int blocks) { return fmt::format("room for {} block{}", blocks, blocks == 1 ? "" : "s"); }

}  // namespace

std::span<const GpuArchitecture> gpu_architectures() { return table; }

const GpuArchitecture* find_architecture(std::string_view sm) {
  if (!sm.starts_with("sm_")) return nullptr;
  int number = 0;
  size_t digits = 0;
  for (char c : sm.substr(3)) {
    if (c < '0' || c > '9' || digits == 3) break;
    number = number * 10 + (c - '0'), digits++;
  }
  for (const auto& a : table)
    if (a.sm == number && sm.size() - 3 - digits <= 1) return &a;  // a letter may follow: sm_90a
  return nullptr;
}

Occupancy occupancy(const GpuArchitecture& a, const BlockShape& block) {
  using A = GpuArchitecture;
  Occupancy o;
  o.warps_per_block = (block.threads + A::warp_size - 1) / A::warp_size;
  o.by_blocks = a.blocks_per_sm;
  o.by_warps = block.threads > A::threads_per_block ? 0 : a.warps_per_sm() / o.warps_per_block;

  o.registers_per_warp = static_cast<int>(rounded_up(int64_t{block.registers} * A::warp_size, A::register_unit));
  o.registers_per_block = o.registers_per_warp * o.warps_per_block;
  // The launch check counts as if every partition took its share of the warps.
  int64_t checked = o.registers_per_warp * rounded_up(o.warps_per_block, A::partitions);
  if (block.registers > A::registers_per_thread || checked > A::registers_per_block) {
    o.by_registers = 0;
  } else if (o.registers_per_warp == 0) {
    o.by_registers = Occupancy::no_limit;
  } else {
    int warps_of_partition = A::registers_per_sm / A::partitions / o.registers_per_warp;
    o.by_registers = warps_of_partition * A::partitions / o.warps_per_block;
  }

  o.shared_bytes_per_block = rounded_up(block.shared_bytes + a.reserved_bytes_per_block, a.shared_granularity);
  if (o.shared_bytes_per_block > a.shared_bytes_per_block + a.reserved_bytes_per_block)
    o.by_shared = 0;
  else if (o.shared_bytes_per_block == 0)
    o.by_shared = Occupancy::no_limit;
  else
    o.by_shared = static_cast<int>(a.shared_bytes_per_sm / o.shared_bytes_per_block);

  o.blocks = std::min({o.by_warps, o.by_blocks, o.by_registers, o.by_shared});
  return o;
}

std::string limiter_in_words(const GpuArchitecture& a, const BlockShape& block, const Occupancy& o) {
  using A = GpuArchitecture;
  if (o.blocks == 0) {
    if (block.threads > A::threads_per_block)
      return fmt::format("cannot be launched: {} threads, a block has at most {}", block.threads, A::threads_per_block);
    if (block.registers > A::registers_per_thread)
      return fmt::format("cannot be launched: {} registers a thread, the most is {}", block.registers,
                         A::registers_per_thread);
    if (o.by_registers == 0)
      return fmt::format("cannot be launched: {} registers × {} threads need {} of {}", block.registers, block.threads,
                         o.registers_per_warp * rounded_up(o.warps_per_block, A::partitions), A::registers_per_block);
    return fmt::format("cannot be launched: {} bytes of shared memory, a block gets at most {}", block.shared_bytes,
                       a.shared_bytes_per_block);
  }
  std::vector<std::string> limits;
  if (o.limited_by_registers()) {
    // What is handed out is more than what the threads have together.
    const int own = block.registers * A::warp_size;
    limits.push_back(fmt::format(
        "registers: {} × {} threads take {}{} of {}, {}", block.registers, block.threads, o.registers_per_block,
        o.registers_per_block == block.registers * block.threads ? ""
        : own == o.registers_per_warp                            ? " (in whole warps)"
                                      : fmt::format(" (each warp's {} rounded up to {}, a multiple of {})", own,
                                                    o.registers_per_warp, A::register_unit),
        A::registers_per_sm, room(o.by_registers)));
  }
  if (o.limited_by_shared())
    limits.push_back(fmt::format("shared memory: {} bytes a block{} of {}, {}", o.shared_bytes_per_block,
                                 a.reserved_bytes_per_block ? " (1024 reserved)" : "", a.shared_bytes_per_sm,
                                 room(o.by_shared)));
  const bool full = o.warps() == a.warps_per_sm();
  if (o.limited_by_warps() && !full)
    limits.push_back(fmt::format("warps: {} a block of {}, {}", o.warps_per_block, a.warps_per_sm(), room(o.by_warps)));
  if (o.limited_by_blocks())
    limits.push_back(fmt::format("blocks: a multiprocessor holds at most {}", a.blocks_per_sm));
  if (full)
    return fmt::format(
        "full: all {} warps that a multiprocessor holds, in {} block{} of {}{}", a.warps_per_sm(), o.blocks,
        o.blocks == 1 ? "" : "s", o.warps_per_block,
        limits.empty() ? "" : fmt::format("; nor is there room for more by {}", fmt::join(limits, ", nor by ")));
  return fmt::format("limited by {}", fmt::join(limits, "; and by "));
}

}  // namespace convscope
