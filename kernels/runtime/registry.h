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

// Definitions that are made on this thread while one of these lives (a module is being opened) come here and into no
// list.
class Arrivals {
 public:
  Arrivals();
  ~Arrivals();
  Arrivals(const Arrivals&) = delete;
  std::vector<KernelDefinition*> plain, traced;
};

// Puts kernels from outside into the lists, under the names they have by now; those that were listed as `name` or as
// parts of it ("name:part") before are in no list any more, but live on.
void list_outside(const std::string& name, const std::vector<KernelDefinition*>& plain,
                  const std::vector<KernelDefinition*>& traced);

// Whether a kernel's name is that of a file (a slash in it, or .cu, .cuh or .py at its end), or of a kernel in one
// ("mine.cu:gather").
bool names_file(std::string_view kernel);

// The twin of a kernel that was compiled with tracing, or null when no traced module is loaded.
const KernelDefinition* find_traced(std::string_view name);
// The same, with the module that comes with the program; null, and in `missing` why there is none.
const KernelDefinition* traced_twin(const KernelDefinition& kernel, std::string& missing);

}  // namespace convscope
