// What kernel files from outside include: this project's headers, carried by the program.
#pragma once
#include <vector>

#include "kernels/runtime/sources.h"

namespace convscope {

const std::vector<KernelSource>& outside_headers();

}  // namespace convscope
