// Which lines of a kernel's source read for an output element what the definition does not take for it: from its trace,
// so that the term of the index that is wrong is found in the text.
#pragma once
#include <string>
#include <vector>

#include "kernels/problem/conv_problem.h"
#include "kernels/verify/element_trace.h"

namespace convscope {

struct StrayReads {
  char tensor = 'x';  // x, w or b
  std::string file;
  int line = 0;
  int64_t stray = 0, all = 0;  // of the reads of this tensor in this line
  std::string words;           // "x at i = 3, 4 and 5, where no tap lands"
};

// Of y[n, co, j], a line and tensor each, those of x first. Nothing of a kernel that reads through shared memory or a
// workspace: what it fetches is its neighbours' as well. A right kernel may have some, too, which it then does not use.
std::vector<StrayReads> stray_reads(const ElementTrace& trace, const ConvProblem& p, int64_t n, int64_t co, int64_t j);

}  // namespace convscope
