// What else than the index of a position can be wrong with a map of products: layouts of the tensors, channels and
// groups, sequences, factors, the bias.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "kernels/verify/index_formula.h"

namespace convscope {

inline constexpr const char* last_channel_left_out = "the last input channel of a group is left out";
inline constexpr const char* only_the_last_channel = "the last input channel's products alone stay";

// A map that has one structure: the same taps for all channels and sequences.
struct Structure {
  TapMap taps;
  std::vector<std::string>
      faults;          // of layouts, channels, sequences, factors and bias: "w is read as [Cout/groups, Cin, K]"
  bool sized = false;  // one of them has numbers that are this map's problem's
  bool rows = false;   // they are of rows, or of products of several channels: of one channel that is something else
  // What may be wrong with the bias, the likeliest first, as `faults` has it; "" when nothing is. On a small problem
  // several say the same.
  std::vector<std::string> biases = {};
};

// Nothing when products differ from channel to channel in a way that no layout explains.
std::optional<Structure> structure_of(const IndexMap& map);

// "y[0, 0, 3] takes x[0, 0, 1]·w[0, 0, 1], which does not belong there": the first thing that is not as it should be;
// "" where every product is the definition's, and every bias.
std::string first_deviation(const IndexMap& map);

}  // namespace convscope
