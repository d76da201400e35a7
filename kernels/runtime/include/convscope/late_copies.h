// Copies that a thread orders and waits for later (cp.async), in the emulator. What they bring is read when they are
// ordered, and stands where it belongs when their thread has waited; in a shuffled order some are there at once. A GPU
// may do either, so who does not wait reads what was there before. Source: PTX ISA 9.0, "cp.async",
// "cp.async.wait_group", "cp.async.mbarrier.arrive".
#pragma once
#include "convscope/kernel.h"

#ifndef __CUDACC__
namespace convscope::simt {

struct BlockBarrier;

// Of 1 to 16 bytes; to: a multiple of `alignment`, which tracing tells otherwise.
CONVSCOPE_SIMT_API void late_copy(void* to, const void* value, unsigned bytes, unsigned alignment);
// What this thread has ordered since the last call is one group; until at most `pending` of its groups are on their
// way.
CONVSCOPE_SIMT_API void late_copies_commit();
CONVSCOPE_SIMT_API void late_copies_wait(uint64_t pending);
// What this thread has ordered and not committed is there for whoever has waited for this phase of a barrier.
CONVSCOPE_SIMT_API void late_copies_arrive_at(const BlockBarrier* b);

}  // namespace convscope::simt
#endif
