// Kernel files that were not built with the program: compiled for the emulator by the host's g++ while the program
// runs, plain and traced, and listed beside the others. A file is of the form of kernels/ladder, with a
// CONVSCOPE_KERNEL block, or says in a comment how it is launched (launch_lines.h).
#pragma once
#include <string>
#include <vector>

#include "convscope/plan.h"
#include "kernels/base/activity.h"

namespace convscope {

struct OutsideFile {
  std::vector<const KernelDefinition*> kernels;  // the first is named like the file, others FILE:NAME
  std::string warnings;                          // what the compiler printed
  double seconds = 0;                            // of compiling; 0: it was compiled before
};

// Compiles a file if its text, the headers or the compiler are new, opens it, and puts its kernels in the place of
// those that a file of this name gave before. `name` is what the kernel is called from now on; its files lie in the
// user's cache. What is run here is what the file's author wrote, with the rights of this process. Errors: InputError
// (it says nothing of a launch, or something wrong), CompileError, MissingError (no compiler), Cancelled.
OutsideFile bring_outside(const std::string& name, const std::string& text, Activity& activity);

// The definition of a file's first kernel, plain or traced, compiled and opened where it is not yet, and in no list.
// Errors: as bring_outside().
const KernelDefinition& module_of(const std::string& name, const std::string& text, bool traced);

// The first variable of a file that may be read before anything was put into it, as the compiler's data flow has it:
// "sum at mine.cu:12"; "" when it finds none. Errors: Cancelled.
std::string unset_variable(const std::string& name, const std::string& text, Activity& activity);

// Where the compiler is: CONVSCOPE_CXX (and nothing else, when it is set), else g++ or c++ in the folders of PATH.
// Errors: MissingError.
std::string host_compiler();

// As the host compiler is given it: `extern __shared__ T name[];` is the emulator's dynamic shared memory. The lines
// stay where they are.
std::string for_host(const std::string& text, const std::string& name);

}  // namespace convscope
