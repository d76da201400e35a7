// Kernel files from outside, compiled for a GPU by nvcc: to PTX, whose entries get the plain names by which plans know
// them, and by ptxas to machine code with its line table. What it is run with is made by outside.h.
#pragma once
#include <string>
#include <string_view>

#include "convscope/plan.h"
#include "kernels/base/activity.h"

namespace convscope {

struct MadeForGpu {
  std::string printed;  // by the compiler
  double seconds = 0;   // of compiling; 0: there was nothing to compile
};

// Sees to it that a kernel from outside has an image for `architecture` ("sm_90"; from sm_90 on with what only that
// architecture has, sm_90a). Nothing for other kernels, and when it is there already. Images lie in the user's cache,
// by text, headers, flags and compiler. Errors: CompileError, MissingError (no nvcc), Cancelled.
MadeForGpu bring_device_code(const KernelDefinition& kernel, const std::string& architecture, Activity& activity);

// Where nvcc is: CONVSCOPE_NVCC (and nothing else, when it is set), else in PATH, CUDA_HOME, CUDA_PATH,
// /usr/local/cuda. Errors: MissingError.
std::string device_compiler();

// As nvcc is given it: `name` for its lines, and a use of each function template that is launched.
std::string for_device(const std::string& text, const std::string& name);

// PTX whose entries and variables have their mangled names replaced: _Z6gatherPKf by gather, those of gather<128> by
// gather_128, _ZN2up1wE by w; a driver finds all of them.
// Where two would have one name both keep theirs.
std::string with_plain_entries(const std::string& ptx);

namespace host {
// "…Tag<&(void ns::gather<64, long>(float*))>", mangled → gather_64_long. Called by modules (convscope/recording.h).
CONVSCOPE_SIMT_API std::string name_in_device_code(const char* tag);
}  // namespace host

}  // namespace convscope
