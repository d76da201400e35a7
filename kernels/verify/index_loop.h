// The operator's definition as people write it, a loop with places in it that can be changed: what such a program makes
// of a small problem is compared with maps of a kernel's products.
//
// There are two such loops: one thread an output, which gathers its products (index_gather.cpp), and one thread an
// input, which scatters them (index_scatter.cpp).
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/verify/index_map.h"

namespace convscope::index_loop {

// What an operand may be: sizes first, then what a program computes.
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
constexpr bool is_size(Operand o) { return o < e; }
using Values = std::array<int64_t, operands>;
// The sizes of a map's problem, and the one.
Values sizes_of(const IndexMap& m);

struct Slot {
  Operand operand;
  int8_t add = 0;  // to it
};

constexpr int most_places = 48;

struct Program {
  std::array<Slot, most_places> slots{};
  uint64_t changed = 0;  // a bit for each operator that stands in the definition's place
  bool has(int o) const { return (changed >> o & 1) != 0; }
};

// Statements: the places that stand in them as {}, and whose they are.
struct Statement {
  int from, count;
  std::string text, what;
};

// What an operator makes of the statement that begins at a place; "": there is none. Of one that is no statement's own (at: no_place)
// `right` is what belongs there.
constexpr int no_place = 1 << 20;
struct Change {
  int is;
  int at;
  std::string text, right = {}, what = {};
  double cost = 1.6;
};

// Of a test, which is sooner left out than written in another way.
constexpr double left_out = 1.1;

// Maps that a program has to give, all of them.
class Maps {
 public:
  virtual ~Maps() = default;
  virtual bool fit(const Program& q) = 0;
  // It divides by zero on one of their problems, or goes on for ever: what a GPU makes of that is no matter of the
  // index.
  virtual bool fails(const Program& q) = 0;
};

// A word that is not the definition's, and what it is; of_what: it stands in whose statement it is, and not in that.
struct Name {
  std::string word, is;
  bool of_what = false;
};

struct Loop {
  std::vector<Slot> definition;
  std::vector<Statement> statements;
  std::vector<Change> operators;
  bool (*in_scope)(Operand o, int place);  // whether it has been computed where that place is
  std::vector<uint64_t> forms = {0};       // bits of Program::changed in each of the definition's forms
  std::vector<Name> names;
  std::unique_ptr<Maps> (*maps)(const std::vector<const IndexMap*>& maps);

  Program right() const;
  const Statement& statement_of(int place) const;
  // A statement as people write it: "k ≤ K" of "k < (K + 1)".
  std::string text(const Statement& st, const Program& q) const;
};

// A statement of the five places from `place` on, and its operators from `adds` on: "x[({}·{} + {})·{} + {}]".
void add_address(Loop& l, const std::string& tensor, int place, int adds);
// What it is: (a·b + c)·d + e, where from `adds` on stand the operators that make it a + b, − c, + d and − e.
inline int64_t address(const Program& q, int adds, int64_t a, int64_t b, int64_t c, int64_t d, int64_t e) {
  const int64_t row = (q.has(adds) ? a + b : a * b) + (q.has(adds + 1) ? -c : c);
  return (q.has(adds + 2) ? row + d : row * d) + (q.has(adds + 3) ? -e : e);
}

const Loop& gather();
const Loop& scatter();

template <class M>
std::unique_ptr<Maps> maps_of(const std::vector<const IndexMap*>& maps) {
  return std::make_unique<M>(maps);
}

// Whether a map's cell is what comes of inputs whose codes have this sum. Of several inputs it is read as whatever
// their sum looks like, or as unclear.
bool is_sum(const IndexMap::Read& r, int64_t sum);

}  // namespace convscope::index_loop
