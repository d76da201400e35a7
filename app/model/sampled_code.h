// Whether samples of warps are of the code that is shown beside them: a recording may be of another build.
#pragma once
#include <string>

#include "app/model/machine_code.h"
#include "app/model/profile.h"

namespace convscope {

struct SampledCode {
  // same: by a hash of the machine code. alike: nothing that the samples tell contradicts it. other: something does.
  // unknown: there is nothing to tell it by.
  enum class Is { same, alike, other, unknown } code = Is::unknown;
  bool lines_moved = false;  // instructions come from other lines now than when they were sampled
  std::string words;         // what a person must know beside the heat of lines; "": nothing
  std::string code_words;    // the same beside instructions
  std::string evidence;      // what that rests on
};

// The samples of one function of a profile against its machine code. code: null where none is known.
SampledCode sampled_code(const Profile& p, const CodeFunction* code, const std::string& architecture);
// Of all functions that were sampled together: the first that is not the same decides.
SampledCode sampled_code(const Profile& p, const MachineCode* code);

}  // namespace convscope
