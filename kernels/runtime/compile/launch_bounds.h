// What __launch_bounds__ of kernel files from outside allow: a GPU does not start a block of more threads. The
// emulator's own macro is empty, so the numbers are taken from the text: each becomes a constant before its kernel, a
// template where that is one.
#pragma once
#include <set>
#include <string>

namespace convscope {

struct BoundedText {
  std::string text;             // with constants, lines as they were
  std::set<std::string> names;  // of the kernels that have one
};
// Kernels whose bounds cannot be told are left alone: those of several definitions, of macros, specialisations.
BoundedText with_launch_bounds(const std::string& text);

// C++ for what the kernel of a launch is allowed, of its name as the launch has it (up<32, 4>, ns::up); "" where it has
// no such constant.
std::string bounds_of(const std::string& callee, const std::set<std::string>& names);

}  // namespace convscope
