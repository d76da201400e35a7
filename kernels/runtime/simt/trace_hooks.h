// Between the hooks, which live in the traced module, and the tracer, which lives in the program.
#pragma once
#include <cstddef>
#include <cstdint>

#include "convscope/simt.h"

namespace convscope::simt {

// Records one access of the running thread; does nothing when nobody traces.
CONVSCOPE_SIMT_API void record_access(const void* address, unsigned size, uint8_t kind, const void* pc);

}  // namespace convscope::simt
