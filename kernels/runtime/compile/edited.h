// A kernel file compiled such that edits of its text can be tried one after the other (edit_sites.h).
#pragma once
#include <string>
#include <vector>

#include "convscope/plan.h"
#include "kernels/base/activity.h"
#include "kernels/runtime/compile/edit_sites.h"

namespace convscope {

struct EditedFile {
  EditSites sites;
  std::vector<KernelDefinition*> kernels;  // as bring_outside() has them; in no list
  std::vector<KernelDefinition*> traced;   // where barriers alone were asked for; maybe none
  double seconds = 0;                      // of compiling
};

// Errors: CompileError where the compiler takes even what is left of the sites not; else as bring_outside().
EditedFile open_edited(const std::string& name, const std::string& text, EditsOf what, Activity& activity);

}  // namespace convscope
