// The operator's definition as people write it, a loop over taps and channels, with places in it that can be changed:
//
//   if e ≥ N·Cout·Lout: nothing is written
//   j = e mod Lout;  co = e/Lout mod Cout;  n = e/(Lout·Cout)
//   Cig = Cin/groups;  Cog = Cout/groups;  first = co/Cog·Cig;  sum = b[co]
//   for k from 0 while k < K:  t = j + p − k·d;  if t < 0 or t mod s ≠ 0: none;  i = t/s;  if i ≥ L: none
//     for ci from first while ci < first + Cig:  sum += x[(n·Cin + ci)·L + i] · w[(ci·Cog + co mod Cog)·K + k]
//
// (e: an output's place in memory.) What such a program reads for each output is compared with maps of a kernel's
// products.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kernels/verify/index_map.h"

namespace convscope::index_loop {

// What an operand may be. Sizes first, then what the program computes, in the order in which it does.
enum Operand : uint8_t {
  N,
  Cin,
  Cout,
  K,
  L,
  Lout,
  s,
  p,
  d,
  g,
  Cig,
  Cog,
  e,
  j,
  co,
  n,
  first,
  k,
  t,
  i,
  ci,
  zero,
  one,
  operands
};

// Places where one of them stands, in the order of the program.
enum Place : uint8_t {
  guard_n,
  guard_channels,
  guard_length,
  j_length,
  co_length,
  co_channels,
  n_length,
  n_channels,
  in_all,
  in_groups,
  out_all,
  out_groups,
  first_co,
  first_by,
  first_times,
  bias_of,
  k_begin,
  k_end,
  t_j,
  t_p,
  t_k,
  t_d,
  low_t,
  rest_t,
  rest_s,
  i_t,
  i_s,
  end_i,
  end_L,
  ci_begin,
  ci_from,
  ci_count,
  x_n,
  x_channels,
  x_ci,
  x_length,
  x_i,
  w_ci,
  w_channels,
  w_co,
  w_mod,
  w_taps,
  w_k,
  places
};

// Operators that may stand in the definition's place; what each makes of its statement stands in `operators`.
enum Operator : uint8_t {
  guard_adds,
  guard_adds_length,
  j_divides,
  co_divides,
  co_mod,
  co_times,
  n_mod,
  n_rest,
  out_times,
  first_mod,
  first_product,
  first_adds,
  t_minus_p,
  t_plus_kd,
  low_above,
  rest_is,
  rest_divides,
  one_test,
  i_mod,
  i_times,
  end_below,
  x_first,  // of an address (a·b + c)·d + e: a + b, − c, + d, − e in their order
  w_first = x_first + 4,
  w_divides = w_first + 4,
  sum_is,
  sum_minus,
  changes
};

struct Slot {
  Operand operand;
  int8_t add;  // to it
};

struct Program {
  std::array<Slot, places> slots;
  uint32_t changed = 0;  // a bit for each Operator
  bool has(int o) const { return (changed >> o & 1) != 0; }
};
extern const Program definition;

// Statements: the places that stand in them as {}, and whose they are.
struct Statement {
  Place from;
  int count;
  const char *text, *what;
  // As people write it: "k ≤ K" of "k < (K + 1)".
  std::string of(const Program& q) const;
};
extern const std::vector<Statement> statements;
const Statement& statement_of(Place at);

// What an operator makes of a statement. Of one that is no statement's own (at: places) `right` is what belongs there.
struct Change {
  Operator is;
  Place at;
  const char* text;
  const char *right = nullptr, *what = nullptr;
};
extern const std::vector<Change> operators;

// What one output of a map is made of: the weights whose products reach it, in rising order.
struct Output {
  std::vector<std::pair<int32_t, IndexMap::Read>> reads;
  IndexMap::Read bias;
  bool written = true;
};

// A map, an output at a time.
class OutputMap {
 public:
  explicit OutputMap(const IndexMap& m);
  int64_t size() const { return static_cast<int64_t>(outputs_.size()); }
  // Whether the program does with an output what the kernel did; not where it divides by zero or goes on for ever.
  bool gives(const Program& q, int64_t output) const;

 private:
  const IndexMap* map_;
  std::array<int64_t, operands> sizes_{};
  std::vector<Output> outputs_;
  mutable std::vector<int64_t> sums_;     // by weight: of the inputs' codes; 0 between two calls
  mutable std::vector<int32_t> touched_;  // weights of which that is not so
};

}  // namespace convscope::index_loop
