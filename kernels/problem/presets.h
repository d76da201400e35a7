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

}  // namespace convscope
