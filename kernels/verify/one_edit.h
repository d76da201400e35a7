// Which one small edit of its text makes a wrong kernel right. Thousands are tried on small problems without compiling
// again (kernels/runtime/compile/edit_sites.h); what is right on all of them is put into the text, compiled as the file
// is, and judged like any other kernel.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernels/base/activity.h"
#include "kernels/runtime/device.h"
#include "kernels/verify/edit_trial.h"
#include "kernels/verify/edit_words.h"

namespace convscope {

struct OneEdit {
  std::string text;                // the file's with the edit
  std::vector<ChangedLine> lines;  // that differ
  int edits = 1;                   // more where each makes it right on some more problems
  int problems = 0;                // small ones, on which it is right with it
  int left = 0;                    // others, on which it is not
  std::string wrong_with;          // what these have that the asked one has not: "a dilation"
  int judged = 0;                  // problems on which it was compiled as it is now, and judged right
  bool asked = false;              // the asked one is among these
  DrawnProblems drawn;             // others, like the asked one, after it was chosen
};

struct OneEditSearch {
  std::optional<OneEdit> edit;
  std::string reason;  // without one: why not
  bool right = false;  // nothing is wrong with it there
  int64_t tried = 0;
  double seconds = 0, compiling = 0;  // compiling: of these
};

// On the emulator, for a kernel file. No more is tried after so many seconds, of which half at
// least are left once it is compiled. Errors: Cancelled, MissingError.
OneEditSearch one_edit(const KernelDefinition& kernel, const ConvProblem& p, double seconds, Activity& activity);

}  // namespace convscope
