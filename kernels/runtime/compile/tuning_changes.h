// Changes of a kernel file's text that ought to leave what it computes as it is and may make it faster: sizes of tiles
// and blocks, how far loops are unrolled, how many blocks a multiprocessor shall hold, pointers that share nothing,
// indices of 32 bits, and parameters of the layer as constants. What is found is found without a compiler, and guessed:
// each text is to be judged like any other kernel (autotuners have their kernels' authors name what may change, as in
// Kernel Tuner, van Werkhoven, Future Generation Computer Systems 90, 2019; here the text alone is known).
#pragma once
#include <string>
#include <vector>

#include "kernels/problem/conv_problem.h"

namespace convscope {

struct TuningChange {
  std::string knob;   // what is changed: "TILE", "every 256", "unroll of the loop at line 12"
  std::string words;  // and how: "TILE 64 → 128"
  std::string text;   // the file's with it
  // "": as many problems as before are right with it; else on which alone: "layers of stride 3 and kernel size 12".
  std::string only_for;
};

// Of one text, those of a knob one after the other, likely knobs first. name: the file's; a Python file is changed where
// its CUDA source is, and in numbers that it names itself. for_layer: parameters of this layer may become constants.
// Errors: InputError of a Python file without a source.
std::vector<TuningChange> tuning_changes(const std::string& text, const std::string& name,
                                         const ConvProblem* for_layer = nullptr);

}  // namespace convscope
