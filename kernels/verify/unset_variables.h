// Variables of a kernel file that are used before anything was put into them. A GPU's registers are often zero, and
// then its results are right.
//
// Files are compiled twice, plain and traced, and their automatic variables begin with other bytes in each
// (kernels/runtime/compile/outside.cpp). Where no thread waits for luck (no race, nothing added up atomically), results
// of both are the same but for rounding, unless one of these bytes is in them.
#pragma once
#include <functional>
#include <string>

#include "kernels/base/activity.h"
#include "kernels/problem/tensor.h"
#include "kernels/verify/races.h"

namespace convscope {

// Whether the traces of a kernel leave no other reason why two runs of it should differ.
bool may_look_for_unset(const KernelDefinition& kernel, const RaceSearch& races);

// "uses sum at mine.cu:12 before anything was put into it: what stands there reaches 34 elements"; "" when the results
// are the same, or there is no twin. output_of: runs a kernel, and brings its output in p's type. Errors: Cancelled;
// those of output_of but KernelFault, of which there is nothing to tell here.
std::string unset_variable_used(const KernelDefinition& kernel, DType dtype,
                                const std::function<HostBytes(const KernelDefinition&)>& output_of, Activity& activity);

}  // namespace convscope
