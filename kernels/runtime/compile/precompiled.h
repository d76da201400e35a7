// What every kernel file from outside begins with, compiled once for all of them: two thirds of the time that a small
// file takes went into reading these headers again (GCC's manual, "Using Precompiled Headers").
#pragma once
#include <string>
#include <vector>

#include "kernels/runtime/compile/workshop.h"

namespace convscope {

// Of the folder of modules: where precompiled headers lie, and what else is the same for every file.
std::filesystem::path shared_by_all(const std::filesystem::path& modules);

// The arguments by which a compilation with these flags begins with convscope/outside.h, for host code with
// convscope/host_code.h behind it. Precompiled where that can be made and kept, which is tried once for each program,
// compiler and set of flags, and whole by its checksum; else the headers themselves. Errors: Cancelled.
std::vector<std::string> first_header(const Workshop& in, const std::string& compiler,
                                      const std::vector<std::string>& flags, bool host_code, Activity& activity);

// Whether a compiler that said this, failing or not, did not take the precompiled header, which then is forgotten.
bool forget_unreadable(const std::vector<std::string>& first, const std::string& log);

}  // namespace convscope
