// Kernels whose threads are more than there are outputs, or fewer: which bound is not asked, or which grid is rounded
// down. Told from outside, of small problems: how far behind y they write, and which outputs they leave.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "convscope/plan.h"

namespace convscope {

struct Extent {
  ConvProblem problem;
  int64_t behind = 0;             // outputs that are written behind y's end: up to the furthest
  bool products_behind = false;   // a product of x and w is among them
  std::vector<int64_t> missing;   // outputs that are never written, flat, in order
  bool no_blocks = false;         // a launch has none: nothing was run
  std::vector<int64_t> together;  // how many outputs its blocks may do at a time, as far as launches say
  std::vector<int64_t> in_all;    // and all of its threads
  std::vector<int64_t> in_grid;   // the blocks that these are threads of, for each number of in_all
  std::vector<int64_t> blocks;    // along each side of the grid, and in all of it
};

// With what the plan says: of launches that are given y the threads along each side of a block, in all of it and in all
// blocks, and small multiples.
Extent extent_of(const ConvProblem& p, const Plan& plan);

struct ExtentFault {
  std::string what;            // "nothing asks whether j < Lout: rows of y are written up to a multiple of 128"
  std::string formula, right;  // what it does, and what belongs in its place: a bound or a number of blocks
  bool too_many = false;       // threads; else too few
  std::function<bool(const ConvProblem&)> matters;  // whether it makes a difference on a problem
};

// The one fault that says what all of them have in common; nothing where none does, or nothing is amiss.
std::optional<ExtentFault> extent_fault(const std::vector<Extent>& all);

}  // namespace convscope
