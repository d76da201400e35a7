// Runs a __global__ function's grid on the CPU: blocks on all cores, the threads of a block on fibres of one OS thread.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "convscope/plan.h"
#include "kernels/base/activity.h"

namespace convscope::simt {

// The limits of compute capability 9.0 (CUDA C++ Programming Guide, table "Technical Specifications").
inline constexpr int64_t max_threads_per_block = 1024;
inline constexpr int64_t max_block_z = 64;
inline constexpr int64_t max_grid_x = (int64_t{1} << 31) - 1;
inline constexpr int64_t max_grid_yz = 65535;
inline constexpr size_t max_dynamic_shared = 227 * 1024;

struct LaunchOptions {
  int workers = 0;                // OS threads; 0: all cores
  uint64_t every = 1;             // only blocks whose linear index is a multiple run: for counting, not for results
  uint64_t first = 0, count = 0;  // and of these blocks alone, from the first one on; count 0: all that there are
  uint32_t order_seed = 0;        // not 0: lanes, warps and blocks run in a shuffled order, so that races show
  bool in_order = false;          // blocks all the same in the order of their numbers: they wait for lower ones
  Activity* activity = nullptr;   // one unit a finished block; cancel is looked at between blocks, and in long ones
};

// Runs one launch to its end. `args` holds one pointer to each argument's value.
// Errors: KernelFault with a sentence naming kernel, block, thread and line; Cancelled.
void launch(const Entry& kernel, Shape grid, Shape block, size_t dynamic_shared_bytes, void* const* args,
            const LaunchOptions& options);

// Why a launch shape is impossible on any GPU, or "" (also used before a launch on a GPU, for one set of words).
std::string launch_shape_fault(const Entry& kernel, Shape grid, Shape block, size_t dynamic_shared_bytes);
// The same of a launch of a plan, and what the plan knows of it.
std::string launch_fault(const Launch& l);

// What the calling OS thread runs now, for signal handlers: no allocation. False when it runs no kernel.
struct Position {
  const char* kernel;
  uint3 block, thread;
};
bool current_position(Position& out);

// For signal handlers: whether what the calling OS thread runs can be left for ever, as its stack pointer is on a stack
// of the emulator's with room. Then leave_kernel(), which is no handler's to call: the code that failed is made to go on
// there. The launch ends with a KernelFault (access: AccessFault) in these words.
bool can_leave_kernel(const void* sp);
[[noreturn]] void leave_kernel(const char* why, bool access, uint64_t pc);

// The tensors of the launches that come now, for who uses an address that is not there.
struct KnownTensor {
  const char* name;  // of static storage
  uint64_t begin;
  int64_t elements;
  size_t element_bytes;
};
constexpr size_t most_known_tensors = 4;
void know_tensors(std::span<const KnownTensor> all);
// Bytes on both sides of each that nothing else has: as far as an index of 32 bits goes astray in floats.
constexpr uint64_t room_around_tensors = uint64_t{1} << 33;
// The one in whose room an address lies, for signal handlers: no allocation. False where it is none's.
bool nearest_tensor(uint64_t address, KnownTensor& out);

// Index of the current thread in its block, and of its block in the grid (for the tracer).
unsigned current_thread();
uint64_t current_block();

}  // namespace convscope::simt
