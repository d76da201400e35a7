// --watch: a verb once more whenever a kernel's file that it names changes on disk.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "app/cli/options.h"

namespace convscope {

// The kernels' files that the command line names are watched. `run` is what the verb does; it says itself what it
// refuses, and returns the exit code. What is in work when a file changes is called off. Returns
// the last exit code, once Ctrl-C was pressed. Errors: InputError where no file is named, or --trust is not given.
int watch(const CommonOptions& common, const std::function<int()>& run);

}  // namespace convscope
