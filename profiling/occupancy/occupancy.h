// How many warps of a kernel stay on a multiprocessor at once, from its block size, registers and shared memory alone.
//
// Theoretical occupancy: what the hardware can hold, not what a run reaches. The limits are those of the CUDA C++
// Programming Guide, "Technical Specifications per Compute Capability"; the way resources are handed out is that of the
// toolkit's cuda_occupancy.h, which the tests compare with.
#pragma once
#include <climits>
#include <cstdint>
#include <span>
#include <string>

namespace convscope {

struct GpuArchitecture {
  int sm;  // 90 for sm_90
  const char* name;
  int threads_per_sm, blocks_per_sm;
  int shared_bytes_per_sm;
  int shared_bytes_per_block;    // the most a block may ask for (opt-in)
  int reserved_bytes_per_block;  // of shared memory, taken by the system
  int shared_granularity;        // bytes

  // The same from compute capability 7.5 to 12.1.
  static constexpr int warp_size = 32, threads_per_block = 1024, registers_per_sm = 65536, registers_per_block = 65536;
  static constexpr int registers_per_thread = 255;
  static constexpr int register_unit = 256;  // a warp's registers are a multiple of it
  static constexpr int partitions =
      4;  // warps of a multiprocessor are spread over them, with a quarter of its registers each

  constexpr int warps_per_sm() const { return threads_per_sm / warp_size; }
};

std::span<const GpuArchitecture> gpu_architectures();
// By name ("sm_90", "sm_90a") or null.
const GpuArchitecture* find_architecture(std::string_view sm);

struct BlockShape {
  int threads = 256;
  int registers = 32;        // of a thread
  int64_t shared_bytes = 0;  // static and dynamic, of a block
};

struct Occupancy {
  static constexpr int no_limit = INT_MAX;

  int blocks = 0;  // on a multiprocessor at once; 0: the block cannot be launched
  int warps_per_block = 0;
  int registers_per_warp = 0, registers_per_block = 0;  // as handed out, rounded up
  int64_t shared_bytes_per_block = 0;                   // as handed out: with what is reserved, rounded up
  // Blocks that each resource alone has room for.
  int by_warps = 0, by_blocks = 0, by_registers = 0, by_shared = 0;

  int warps() const { return blocks * warps_per_block; }
  double fraction(const GpuArchitecture& a) const { return static_cast<double>(warps()) / a.warps_per_sm(); }
  bool limited_by_warps() const { return by_warps == blocks; }
  bool limited_by_blocks() const { return by_blocks == blocks; }
  bool limited_by_registers() const { return by_registers == blocks; }
  bool limited_by_shared() const { return by_shared == blocks; }
};

// threads ≥ 1; registers and shared_bytes ≥ 0. Shared memory is taken to be split for the most shared memory, as the
// driver does when a kernel has no preference.
Occupancy occupancy(const GpuArchitecture& a, const BlockShape& block);

// "limited by registers: 64 × 256 threads take 16384 of 65536, room for 4 blocks". Several limits that meet are all
// named; a multiprocessor that holds all the warps it can is "full".
std::string limiter_in_words(const GpuArchitecture& a, const BlockShape& block, const Occupancy& o);

}  // namespace convscope
