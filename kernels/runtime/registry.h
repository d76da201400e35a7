// All kernels that are linked in, by name.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "convscope/plan.h"

namespace convscope {

// Specimens first, then the ladder from its lowest rung, then kernels of tests. Internal ones are left out.
std::vector<const KernelDefinition*> all_kernels();

// Errors: InputError that names the nearest kernel.
const KernelDefinition& find_kernel(std::string_view name);

// A kernel of the program's own, which no list shows.
const KernelDefinition& find_internal_kernel(std::string_view name);

// The twin of a kernel that was compiled with tracing, or null when no traced module is loaded.
const KernelDefinition* find_traced(std::string_view name);
// The same, with the module that comes with the program; null, and in `missing` why there is none.
const KernelDefinition* traced_twin(const KernelDefinition& kernel, std::string& missing);

}  // namespace convscope
