// Outputs whose sums are right and that are stored in other places: rows or sequences of y as far apart as something
// else is.
#pragma once
#include <string>

#include "kernels/verify/index_map.h"

namespace convscope {

// "rows of y are taken to be L·s apart, and they are Lout apart"; "" where that is not what a map shows. Where two sums
// have one place either may be there.
std::string wrong_places(const IndexMap& m);

}  // namespace convscope
