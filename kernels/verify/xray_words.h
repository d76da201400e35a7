// How faults of an index are put together, and which of them can be seen on a problem (private to xray).
#pragma once
#include <string>
#include <vector>

#include "kernels/problem/conv_problem.h"

namespace convscope {

std::string joined(const std::vector<std::string>& list);
// Why a term that is wrong makes no difference on a problem; "" where it does.
std::string without_effect(const std::string& fault, const ConvProblem& p);
// What can be seen on the problem that was asked about is said before what would be wrong elsewhere.
void those_that_matter_first(std::vector<std::string>& faults, const ConvProblem& p);
// "right with 32 input channels, wrong with 33 and 64": of more than two of these, all that it is right with at once.
std::string words_of_sizes(const std::vector<std::string>& faults);

// Whether two terms in the words of a program are one with a problem's values: "k·1" and "k·d" where d is 1.
bool same_with(const ConvProblem& p, const std::string& a, const std::string& b);

// Of taps and of channels only the last: nothing is added up, which is one fault.
void one_fault_of_two(std::vector<std::string>& faults);

}  // namespace convscope
