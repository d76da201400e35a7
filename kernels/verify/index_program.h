// One or two wrong operands or operators in the program that the definition is when it is written as a loop, by one
// thread an output or by one an input (index_loop.h), found from outside.
//
// index_formula.h knows the terms of a position that people get wrong. What else stands in such a kernel is here: how a
// place in memory is taken apart into sequence, channel and position, how many channels a group has, where loops begin
// and end, what is tested, and how addresses of x and w are made. Each place is tried with each operand that stands
// near it, and what comes of it is compared with the maps: of no two of some hundred programs are these the same by
// chance. Where none fits, each two of them are tried together, some hundred thousand programs, of which nearly all
// fail at the first output that the definition does not give.
#pragma once
#include <string>
#include <vector>

#include "kernels/base/activity.h"
#include "kernels/verify/index_map.h"

namespace convscope {

struct ProgramFault {
  std::string text;                // "co = e/L mod Cout": the statement as it is
  std::string right;               // "co = e/Lout mod Cout"
  std::string what;                // "the channel of an output": whose statement it is
  std::vector<std::string> names;  // "e: an output's place in memory": words of it that are not the definition's
};

// The likeliest fault that gives all these maps, those that are right among them, or the likeliest two; none when
// nothing does. Two faults of one statement are one element. Errors: Cancelled, which a search of a second makes room
// for.
// one_statement: only one operand or operator of a statement, as where other words fit the maps as well.
std::vector<ProgramFault> program_faults(const std::vector<const IndexMap*>& maps, const Activity& activity,
                                         bool one_statement = false);

}  // namespace convscope
