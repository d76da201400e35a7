// One parameter of a problem, or several that go together, over a list of values: what a sweep goes along.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "kernels/problem/conv_problem.h"

namespace convscope {

struct Axis {
  std::vector<const ProblemField*> fields;  // all get the same value
  std::vector<int64_t> values;              // ascending, each once

  std::string name() const;  // "in_channels, out_channels"
  int64_t of(const ConvProblem& p) const { return p.*fields.front()->value; }
  bool varies(const std::string& field) const;

  // What stands at one of the values, legal or not. The output padding follows down when stride and dilation leave no
  // room for it, unless it is what is varied.
  struct Point {
    ConvProblem problem;
    std::string note;                 // what else was changed: "output_padding 1 → 0"; "" for nothing
    std::optional<InputError> wrong;  // the rule that the problem breaks
  };
  Point at(const ConvProblem& base, int64_t value) const;
};

// At most this many values: each is a problem that is judged.
inline constexpr size_t max_axis_values = 64;

// FIELD[,FIELD…]=VALUES, with values N, A..B (every one, or doubled from A where those are more than 32), A..B+S (in
// steps), A..B*F (multiplied), several of them behind commas: "stride=1..8", "length=1024..131072",
// "in-channels,out-channels=64..512*2", "kernel-size=3,5,7". Errors: InputError ("over", …).
Axis axis_from(const std::string& text);

}  // namespace convscope
