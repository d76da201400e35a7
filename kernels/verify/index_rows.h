// Maps whose taps are the definition's, and whose rows are looked for in other places, whose sums lack some of their
// products or have them several times, or whose positions are exchanged (private to xray).
#pragma once
#include <string>
#include <vector>

#include "kernels/verify/index_map.h"

namespace convscope {

struct RowFault {
  std::string what;    // "rows of x are taken to be 32 apart, and they are L apart"; "": none of these
  bool sized = false;  // it has numbers that are this map's problem's
};

// Rows of x or w that are taken to be as far apart as something else is, or as a number that stands in the kernel.
RowFault wrong_rows(const IndexMap& map);

// Input channels whose products count several times, and products that no sum has.
RowFault wrong_sums(const IndexMap& map);

// "of every 2 positions, 0 holds what belongs at 1, 1 holds what belongs at 0": within each so many positions of all
// these maps the same ones hold what belongs to others of them; "" where that is not so.
std::string wrong_positions(const std::vector<const IndexMap*>& maps);

}  // namespace convscope
