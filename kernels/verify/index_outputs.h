// Outputs of which something is told beside their products: which they are, by positions, channels or sequences.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/verify/index_map.h"

namespace convscope {

struct OutputWords {
  const char *is, *are;    // of one, of several
  const char* at_the_end;  // said besides where they are the last ones in memory
};
inline constexpr OutputWords never_written = {"is never written", "are never written",
                                              ": there are too few threads or blocks"},
                             no_number = {"is NaN whatever x and w are", "are NaN whatever x and w are", ""},
                             added_to = {"is added to what stood there, which nobody has cleared",
                                         "are added to what stood there, which nobody has cleared", ""},
                             of_unset = {"takes memory that the kernel has for itself and nobody has written",
                                         "take memory that the kernel has for itself and nobody has written", ""};

// "output channels 1, 3 of 4 are never written". What they have in common is what their cause is looked for by. sized
// becomes true where the numbers are this map's problem's. outputs: flat, in order, some of m's and not none.
std::string outputs_in_words(const IndexMap& m, const std::vector<int64_t>& outputs, const OutputWords& words,
                             bool& sized);

}  // namespace convscope
