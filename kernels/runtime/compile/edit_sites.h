// The places of a kernel's text where one small edit may make it right, found without a compiler: names, numbers,
// operators, whole expressions, and where a statement may be lacking. The text is made such that each of them can be
// tried without compiling again (convscope/edits.h).
#pragma once
#include <set>
#include <string>
#include <vector>

#include "kernels/runtime/compile/edit_indices.h"

namespace convscope {

// How strongly an expression holds together, from weak to strong (C++'s operators, as far as they matter here).
enum class Binds { list, assignment, choice, either, both, bits, equality, order, shift, sum, product, sign, name };

// Of what counts bytes: what may be lacking as a factor.
inline constexpr const char* bytes_of_an_element = "sizeof(float)";

struct EditSite {
  enum class Kind {
    name,        // a, a.b, 12: may be another, or have one added
    whole,       // an expression that is an argument, an index, an initial value or one side of a comparison
    arithmetic,  // a + b and so on
    comparison,
    logic,      // a && b, a || b
    store,      // a[…] = b, a[…] += b
    barrier,    // before a statement, or at the end of a block
    clear,      // behind a declaration without a value, or where a loop's body begins: a = 0
    divisible,  // behind `int i = a/b;`: go no further unless b divides a
    jump,       // break, continue, return in a loop: continue, or break
    beyond,     // behind `int i = …;`: go no further where i is no place
    guard,      // a condition, or a statement without one (begin == end): alone where a place is within an extent
    pairing,    // a * of + b in an index: the other way round, b * another + a
    shape,      // of a launch, the grid or the block: the other one, `by`
  } kind = Kind::name;
  size_t begin = 0, end = 0;  // of its text; of a statement that may be lacking: where it would stand
  int line = 0;
  bool on_host = false, number = false;  // number: a literal
  std::string op;                        // of two operands: as it is written
  size_t left_end = 0, right_begin = 0;  // of these
  Binds left = Binds::name, right = Binds::name;
  Binds around = Binds::list;  // what the whole is an operand of; list: of nothing that could tear it apart
  bool is_right = false;       // and that it is its right operand
  std::string of;              // name: its text; clear, beyond: the variable; divisible, pairing: a
  std::string by, leave;       // divisible, pairing: b; how to leave: "continue", "return"
  int depth = 0;               // of loops around it
  // Whole numbers in scope, of a number those of its line; pairing: the extent as it is, and others.
  std::vector<std::string> candidates;
  std::vector<edits::Coordinate> coordinates;  // guard: of what stands behind it, those that can be named there
  size_t call = 0, argument = 0;               // call: not 0 where it is an argument, all of it, of this one

  static EditSite at(Kind kind, size_t begin, size_t end) {
    EditSite s;
    s.kind = kind, s.begin = begin, s.end = end;
    return s;
  }
};

struct EditSites {
  std::vector<EditSite> sites;  // numbered as the text's calls are, from 1: the first is no site
  std::string text;             // with the same lines
};

enum class EditsOf { everything, barriers };

// cuda: as cuda_source() gives it. without: lines that are left as they are (the compiler did not take them).
// What is not understood is left as it is.
EditSites edit_sites(const std::string& cuda, EditsOf what, const std::set<int>& without);

}  // namespace convscope
