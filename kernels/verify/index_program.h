// One wrong operand or operator in the program that the definition is when it is written as a loop, found from outside.
//
// index_formula.h knows the terms of a position that people get wrong. What else stands in such a kernel is here: how a
// place in memory is taken apart into sequence, channel and position, how many channels a group has, where loops begin
// and end, what is tested, and how addresses of x and w are made. Each place is tried with each operand that stands
// near it, and what comes of it is compared with the maps: of no two of some hundred programs are these the same by
// chance.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "kernels/verify/index_map.h"

namespace convscope {

struct ProgramFault {
  std::string text;   // "co = e/L mod Cout": the statement as it is
  std::string right;  // "co = e/Lout mod Cout"
  std::string what;   // "the channel of an output is wrong": whose statement it is
};

// The likeliest single fault that gives all these maps, those that are right among them; nothing when none does.
std::optional<ProgramFault> program_fault(const std::vector<const IndexMap*>& maps);

}  // namespace convscope
