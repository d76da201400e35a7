// Launches that leave a template's arguments to what the kernel is given (k<<<1, 32>>>(x, y) of a template k). What a
// launch is noted with needs the kernel itself; so beside such a kernel a function is declared that has its parameters
// and returns what launches it, and which of them that is follows from a call of it that nobody makes.
#pragma once
#include <cstddef>
#include <map>
#include <set>
#include <string>

namespace convscope {

struct DeducedText {
  std::string text;                     // with declarations, lines as they were
  std::map<std::string, size_t> takes;  // how many arguments the template has, by the kernel's name
};
// Kernels of several definitions and with parameters that have no name are left alone. bounded: with_launch_bounds().
DeducedText with_deducers(const std::string& text, const std::set<std::string>& bounded);

// The type that launches a kernel, for its name as the launch has it (k, ns::k<float>) and its arguments; "" where the
// name says all.
std::string deduced_launch(const std::string& callee, const std::string& arguments, const DeducedText& all);

}  // namespace convscope
