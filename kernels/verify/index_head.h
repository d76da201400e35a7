// What both loops begin with: an element's place in memory is taken apart, and its group looked up. Of outputs:
//
//   if e ≥ N·Cout·Lout: none
//   j = e mod Lout;  co = e/Lout mod Cout;  n = e/(Lout·Cout)
//   Cig = Cin/groups;  Cog = Cout/groups;  first = co/Cog·Cig
//
// and of inputs the same with i, ci, Cin, L and first = ci/Cig·Cog.
#pragma once
#include "kernels/verify/index_loop.h"

namespace convscope::index_loop::head {

// The first places of both loops, in the order of the program.
enum Place {
  guard_n,
  guard_channels,
  guard_length,
  position_length,
  channel_length,
  channel_channels,
  n_length,
  n_channels,
  in_all,
  in_groups,
  out_all,
  out_groups,
  first_channel,
  first_by,
  first_times,
  places
};
// The first operators of both.
enum Operator {
  guard_adds,
  guard_adds_length,
  position_divides,
  channel_divides,
  channel_mod,
  channel_times,
  n_mod,
  n_rest,
  out_times,
  first_mod,
  first_product,
  first_adds,
  operators
};

// Whose places in memory they are, as a program has them.
struct Elements {
  Operand position, channel, channels, length;
  Operand own_group, other_group;  // channels of a group
  const char *one, *other;         // "output", "input"
};
inline constexpr Elements outputs = {j, co, Cout, Lout, Cog, Cig, "output", "input"};
inline constexpr Elements inputs = {i, ci, Cin, L, Cig, Cog, "input", "output"};

// Definition, statements, operators and names of a loop that begins with it.
Loop loop_of(const Elements& of);
// Whether an operand that is computed here has been at a place.
bool in_scope(Operand o, const Elements& of, int at);

// Puts what is computed into `o`, where e stands. Begins::no: the element is left out; fails: it divides by zero.
enum class Begins { yes, no, fails };
Begins begin(const Program& q, const Elements& of, Values& o);

}  // namespace convscope::index_loop::head
