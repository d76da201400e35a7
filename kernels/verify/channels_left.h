// Input channels that a map of products lacks throughout.
#pragma once
#include <string>

#include "kernels/verify/index_map.h"

namespace convscope {

// "input channels 8–31 of 32 are left out": none of their products is in any output, of those of others some are. "":
// none is left out so.
std::string channels_left_out(const IndexMap& map);

}  // namespace convscope
