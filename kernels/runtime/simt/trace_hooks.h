// Between the hooks, which live in the traced module, and the tracer, which lives in the program.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "convscope/simt.h"

namespace convscope::simt {

// Records one access of the running thread; does nothing when nobody traces.
CONVSCOPE_SIMT_API void record_access(const void* address, unsigned size, uint8_t kind, const void* pc);
// The same of a type that must lie at a multiple of its size, and does not.
CONVSCOPE_SIMT_API void record_misaligned(const void* address, unsigned size, uint8_t kind, const void* pc);
// A copy of 16 bytes at most that the running thread waits for later: it orders it, of these bytes; it is there.
void record_copy(const void* address, unsigned size, const void* bytes, bool is_there, const void* pc);
// An array whose size is known is about to be indexed beyond it: the place in the source, the array's type as the
// compiler writes it ("'float [4]'"), and the index.
CONVSCOPE_SIMT_API void record_beyond(const char* file, unsigned line, const char* type, int64_t index);
// The running thread has come to another piece of straight code: so loops and their rounds are known (trace.cpp).
CONVSCOPE_SIMT_API void record_step(const void* pc);
// It enters a function that is not put in its caller's place, called at `from`; it leaves one.
CONVSCOPE_SIMT_API void record_call(const void* from);
CONVSCOPE_SIMT_API void record_return();

// Whether anybody traces: barriers ask this first, since they are what a kernel may do most often.
inline std::atomic<bool> traced{false};
inline bool is_traced() { return traced.load(std::memory_order_acquire); }

// Not of the hooks, but of the emulator's barriers: a thread arrives at `object`, or may go on from it. That is said
// when the last has arrived, and not when the thread does go on: others may have arrived for the next time by then.
void record_meeting(const void* object, bool goes_on, unsigned thread);
// A thread gets values of other lanes of its warp. Recorded beside meetings only.
void record_exchange(unsigned thread);
// The copy engine writes shared memory on behalf of a thread. Recorded beside meetings only.
void record_engine_write(const void* address, size_t bytes, unsigned thread, const void* pc);

}  // namespace convscope::simt
