// How the x-ray tells what a program or a bound says, and what it tells where products say nothing: of sizes, of an
// output's shape, of what the host code does (private to xray).
#pragma once
#include <string>
#include <vector>

#include "kernels/runtime/device.h"
#include "kernels/verify/index_program.h"
#include "kernels/verify/xray.h"
#include "kernels/verify/xray_extents.h"
#include "kernels/verify/xray_mapped.h"
#include "kernels/verify/xray_sizes.h"

namespace convscope {

// Begins what is told of other problems than the asked one.
inline const std::string right_here_but = "right here, but not in general: ";
// In its place where the asked one is wrong too, or nobody knows.
inline const std::string seen_elsewhere = "seen on other small problems: ";

// p: of which it is told; a term that is the definition's there comes last.
void tell_program(Xray& x, std::vector<ProgramFault> faults, const ConvProblem& p);

// A bound that is not asked, or a grid that is too small, beside what the products say or in its place.
void tell_extent(Xray& x, const ExtentFault& f, const ConvProblem& p);

// What is wrong although the products of small problems are right.
void tell_sizes(Xray& x, const SizeFault& fault);

// Where what it returns is no [N, Cout, …], its products are not looked at. The first small problem stands for p, whose
// own sizes may be those that are written into the kernel. False: there is no such thing.
bool tell_shape(Xray& x, const KernelDefinition& kernel, const ConvProblem& p);

// What its host code does to a small problem's tensors that nobody means, where that one is not right. False: nothing.
bool tell_doubt(Xray& x, const KernelDefinition& kernel, const ConvProblem& p);

// What is done to every result behind the layer, on all small problems that are looked at (pointwise.h). False:
// nothing.
bool tell_pointwise(Xray& x, const std::vector<Mapped>& mapped, Device& device, const KernelDefinition& kernel,
                    Activity& activity);

inline constexpr const char* threads_race = "its threads race, and as long as they do its products say nothing: ";

// Of a file that ran on a GPU and of whose sums something is told: results that threads race for are whatever came
// last, so that what gives them is nothing of the kernel's. Which outputs there are is another matter: a bound that is
// not asked makes threads race. False: they do not, on a short piece of p.
bool tell_race(Xray& x, const KernelDefinition& kernel, const ConvProblem& p, Activity& activity);

}  // namespace convscope
