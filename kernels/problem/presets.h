// Named problems: the three KernelBench tasks this tool grew from, each also small, and real layers of published
// models.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "kernels/problem/conv_problem.h"

namespace convscope {

struct Preset {
  std::string name;
  std::string about;
  ConvProblem problem;
};

const std::vector<Preset>& presets();

// Errors: InputError that names the nearest preset.
const Preset& find_preset(std::string_view name);

// "kernelbench-74", "kernelbench-74, f16, with a bias" where type or bias are others, "" for any other problem.
std::string preset_in_words(const ConvProblem& p);

}  // namespace convscope
