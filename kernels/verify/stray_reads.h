// Which lines of a kernel's source read for an output element what the definition does not take for it: from its trace,
// so that the term of the index that is wrong is found in the text.
#pragma once
#include <string>
#include <vector>

#include "kernels/problem/conv_problem.h"
#include "kernels/verify/element_trace.h"

namespace convscope {

struct StrayReads {
  // x, w or b; '-': shared memory that nobody has written; y: the line that writes, and `words` say what belongs where
  // it wrote.
  char tensor = 'x';
  std::string file;
  int line = 0;
  int64_t stray = 0, all = 0;  // of the reads of this tensor in this line
  // "x at i = 3, 4 and 5, where no tap lands"; of copies ", from shared memory that line 20 fills" behind it.
  std::string words;
  // The line that brought the stray copies to shared memory, when it is one and known.
  std::string from_file;
  int from_line = 0;
  std::vector<int64_t> elements;  // of x, w or b, flat: those that are stray
};

// Of y[n, co, j], a line and tensor each, those of x first. A thread that writes several elements in a row has read for
// all of them, and what any of these takes is none. Where all that is read belongs, but x and w are multiplied that do
// not belong together, that is said ("w of k = 2 for x at i = 7, where k = 0 belongs"). Where all that is read is what
// another element takes, the line that wrote comes last: it is that one, or the reads, that are to blame.
// Nothing where some of what was read is no copy of an input: sums of other threads, say. What is read and not used is
// no fault, as far as that was seen (ElementRead::unused).
// Where threads add up what others read, or several write it (ElementTrace::reaching), the lines that read what reaches
// it and does not belong, `stray` and `all` 0, or the one that writes it ("what comes of x at i = 3, …").
std::vector<StrayReads> stray_reads(const ElementTrace& trace, const ConvProblem& p, int64_t n, int64_t co, int64_t j);

// Whether the definition takes this element of x, w or b (flat) for y[n, co, j]; a weight whose tap points beside x as
// well.
bool belongs(const ConvProblem& p, int64_t n, int64_t co, int64_t j, char tensor, int64_t index);

}  // namespace convscope
