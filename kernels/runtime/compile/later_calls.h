// What host code keeps from one call to the next: static tensors, tables of packed weights, constants that are filled
// once. A plan is of a first call, before which the module's variables are what they were when it was opened; what
// later calls do instead is told by making them.
#pragma once
#include <string>

#include "convscope/host_calls.h"

namespace convscope::host {

// A call, and what became of it.
struct Call {
  bool later = false;          // memory that an earlier one took may be used
  bool other_weights = false;  // they lie elsewhere
  size_t launches = 0, of_weights = 0;
  bool keeps = false;  // memory of an earlier call was used
};
void record_call(const ConvProblem& p, Plan& plan, const Called& host_code, Call& call);

struct LaterCalls {
  std::string doubt, fault, note;  // as Plan has them
  bool afresh = false;             // each call is made as a first one
};
LaterCalls later_calls(const Called& host_code);

// Of a module that has just been opened: a place in it, and what its variables are. Then they can be made so again, but
// for those of its device code.
void know_statics(const void* in_module);
void restore_statics(const Called& host_code);

}  // namespace convscope::host
