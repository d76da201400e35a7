// The formula by which a kernel's host code makes its output long, from outside: its plans are made for problems that
// differ in every parameter, nothing is run, and a polynomial of the parameters is fitted to the lengths.
#pragma once
#include <string>
#include <vector>

#include "kernels/base/activity.h"
#include "kernels/runtime/device.h"

namespace convscope {

struct LengthFormula {
  std::string text;   // "Lout = 2·L + 2·K − 5"
  std::string fault;  // "its output's length is 2·L + 2·K − 5, whatever stride and padding are, where … belongs"
};

// "Lout = (L − 1)·s − 2·p + d·(K − 1) + op + 1" (PyTorch's ConvTranspose1d).
std::string right_length();

// Of problems near p, of the same channels, groups, type and bias; with one wrong parameter in all of them it is told
// as explain_length() does ("its output is as long as if output_padding were 0"), and text is "". Nothing of both: no
// polynomial gives its lengths, or they are right. Errors: Cancelled.
LengthFormula length_formula(const KernelDefinition& kernel, const ConvProblem& p, const Activity& activity);

}  // namespace convscope
