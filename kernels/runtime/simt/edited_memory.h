// What edited code may do (convscope/edits.h).
#pragma once
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace convscope::simt {

// What kernels may touch beside their blocks' own memory: first and behind the last address of each. Not while a kernel
// runs.
void know_edited_memory(std::vector<std::pair<uint64_t, uint64_t>> ranges);

// Calls edited host code; false: the processor ended it (a division by zero), and what it had is lost. Errors: those of
// the code.
bool survives_host_code(const std::function<void()>& call);
// For signal handlers: leaves that code, if it is what the calling thread runs.
void leave_edited_host_code();

}  // namespace convscope::simt
