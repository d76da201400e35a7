// Runs a small program and takes what it prints.
#pragma once
#include <string>
#include <vector>

#include "kernels/base/activity.h"
#include "kernels/base/temporary.h"

namespace convscope {

struct ProgramResult {
  bool started = false, late = false;  // late: it was ended after `seconds`
  int status = -1;                     // its exit code
  std::string out, err;
};
// Without a shell. Its stdin is empty. What it started itself and has left running ends with it, and both end with this
// process, however that ends. Errors: Cancelled (the program is ended first).
ProgramResult run_program(const std::string& path, const std::vector<std::string>& arguments, double seconds,
                          Activity& activity);

// For a process that is about to end: ends all programs that run. None can be started from then on; who tries waits for
// the end.
void end_programs_for_good();

}  // namespace convscope
