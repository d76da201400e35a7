// Every memory access of a traced kernel: its thread, address, size, and place in the source.
//
// A traced kernel is the same source compiled with g++'s ThreadSanitizer instrumentation, whose hooks are ours
// (trace_hooks.cpp). The product's own binary never links the sanitizer's runtime together with them.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "convscope/plan.h"

namespace convscope::simt {

// bulk_write: by the copy engine, on behalf of the thread that ordered it; no request of the load and store units.
// release, acquire: no access of memory, but a meeting (TraceWish): what the thread did before is known to whoever
// acquires the same object later. `address` is the object's, and size 0. exchange: no access either, but values of
// other lanes of its warp (shuffles, votes, matrices); recorded beside meetings. ordered, arrival: a thread orders a
// copy that it waits for later, and the copy is there; without meetings both are one write, when it is ordered. fence:
// __threadfence, beside meetings.
enum class AccessKind : uint8_t {
  read,
  write,
  atomic,
  bulk_write,
  release,
  acquire,
  exchange,
  ordered,
  arrival,
  fence
};

struct Access {
  uint64_t address;
  uint64_t pc;      // return address of the hook: resolve with source_line()
  uint64_t block;   // linear index in the grid
  uint16_t thread;  // linear index in the block
  uint16_t size;    // bytes
  AccessKind kind;
  bool shared =
      false;  // in shared memory; known where reads and meetings are wanted, and of atomics where meetings are
  // Names the rounds of all loops that the thread is in: equal for threads that are in the same rounds of the same
  // loops, and 0 outside of loops. A GPU brings the threads of a warp together again in every round. 0 where rounds
  // were not asked for: they take ten times as long. With meetings instead: what stands there before the access, in the
  // low `size` bytes (0 for more than 8; accesses of 16 are told as two of 8 then); of a copy that is ordered, what it
  // will bring.
  uint64_t round = 0;
};

// Where a trace goes: called from worker threads, each call with accesses of one OS thread in program order.
using TraceSink = std::function<void(std::span<const Access>)>;

// What of it is wanted: the less, the faster.
struct TraceWish {
  bool rounds = false;  // Access::round
  bool reads = true;
  bool meetings = false;  // where threads wait for each other, and what the copy engine writes for them
  int64_t block = -1;     // of this block alone; -1: of all
};

// While an object of this class lives, accesses made by traced kernels on any thread go to the sink. One at a time.
// Accesses to the emulator's own variables (threadIdx, …) and to the threads' stacks are dropped.
class Tracing {
 public:
  explicit Tracing(TraceSink sink, TraceWish wish = {});
  ~Tracing();  // delivers what is buffered
  // The first access that was met of 2 bytes and more at an address that is no multiple of their number, whether reads
  // are wanted or not: a GPU ends the launch there (CUDA C++ Programming Guide, "Device Memory Accesses").
  static std::optional<Access> misaligned();
  // The first access that was met which leaves an array of shared memory, where reads and meetings are wanted: dynamic,
  // or declared by a kernel file from outside.
  struct LeavesShared {
    Access access;
    std::string words;  // "element 34 of xs, which has 34 of 4 bytes each"
  };
  static std::optional<LeavesShared> leaves_shared();
  // The first index that was met beyond an array of known size, of any memory (kernel files from outside).
  struct Beyond {
    std::string file, type;  // type: "'float [4]'"
    int line;
    int64_t index;
    uint64_t block;
    unsigned thread;
  };
  static std::optional<Beyond> beyond();
  Tracing(const Tracing&) = delete;
};

// Opens the module of traced kernels that stands beside the program (libconvscope_traced.so); afterwards find_traced()
// knows them. Returns "" or why tracing is not available.
std::string load_traced_kernels();

struct SourceLine {
  std::string file;  // kernels/ladder/direct.cu
  int line = 0;
  std::string function;
};
// The source line of a return address of this process (innermost inlined frame); file is empty when unknown. The first
// look into a module reads its debug information.
SourceLine source_line(uint64_t pc);

// The access of a kernel that the calling OS thread is about to record, whose memory it looks at: for signal handlers.
// pc: behind the access, as a return address is; 0: none. It is forgotten.
struct AccessInHand {
  uint64_t pc;
  bool writes;
};
AccessInHand take_access_in_hand();

}  // namespace convscope::simt
