// What is wrong with a kernel's index, in words, from outside: its products are mapped on small problems, and a formula
// is fitted to them whose terms are the definition's or a known fault.
//
// The first small problem has the asked one's stride, padding, output_padding, dilation, kernel size and grouping;
// others have other values, so that terms can be told apart that are equal there (a shift of 1 may be the padding or
// output_padding), and so that a kernel that is right on one problem only is seen.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernels/base/activity.h"
#include "kernels/runtime/device.h"
#include "kernels/verify/accuracy.h"

namespace convscope {

struct XrayProblem {
  ConvProblem problem;
  enum class Is { right, wrong, unclear, not_mapped } is = Is::not_mapped;
  std::string why;  // of not_mapped, of unclear, and of wrong sizes of its output, which are not mapped
};

struct Xray {
  enum class Is { right, wrong, right_here_only, unclear, not_mapped } is = Is::not_mapped;
  std::string sentence;             // one, without its full stop at the end
  std::string formula;              // "i = (j − k·d)/s", or what is wrong, a statement or two; "" when none fits
  std::string right_formula;        // what belongs in its place; "": right_index()
  std::vector<std::string> faults;  // "the padding is missing"
  bool without_effect = false;      // of right_here_only: all faults are of terms that make no difference here
  // Numbers that are written into it: parameters by their names on the command line, and the only values that it was
  // seen to be right with, or takes in the place of what was asked.
  std::vector<std::pair<std::string, int64_t>> fixed;
  std::string example;  // of an output: the first product that is there and should not be, or lacks
  std::vector<XrayProblem> problems;
  int launches = 0;

  // Whether a term or a bound of its index is named that is not the definition's: what else its products may come of (a
  // race, a variable that is not set) is then no reason to doubt it.
  bool names_index() const;
};

// How far it goes, and who is told.
struct XrayLimits {
  double seconds = 1e9;                     // no further small problem is begun after so long
  std::map<size_t, std::string> left_out;   // small problems that are not run, by place, and why
  std::function<void(size_t)> begins = {};  // with the place of the small problem that is run next
};

// The definition's formula, as texts have it: "i = (j + p − k·d)/s".
std::string right_index();

// Where every product is the definition's on the small problems, pieces of p itself are judged at this accuracy, and
// the smallest that fails is told (xray_sizes.h), or else other sizes with which it is wrong (fixed_sizes.h). Of
// one whose products no formula gives the first is judged as well: what races, or is not set, says more. Among
// limits.left_out longer problems, those pieces, other sizes, what is judged, larger ones, other launches
// (launch_shapes.h), what is done behind the layer (pointwise.h) and p itself have the places behind the last small
// problem, in this order. Of one that is right on what stands for p, and not in general, p itself is judged, or what is
// as large where p takes too long: right_here_only is said of what is right there alone. Errors: InputError for an
// illegal problem; Cancelled; DeviceError when the device cannot be used again.
Xray xray(Device& device, const KernelDefinition& kernel, const ConvProblem& p, Accuracy accuracy,
          const XrayLimits& limits, Activity& activity);

}  // namespace convscope
