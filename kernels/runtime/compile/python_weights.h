// Whether the layer's weights could be loaded into a module that has sizes of its own; what its numbers are called.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "kernels/runtime/compile/python_values.h"

namespace convscope::host {

// Weights in another order, or as many as another convolution has. Errors: WrongWeights.
void look_at_sizes(const ConvProblem& p, const Sizes& own);
// An nn.ConvTranspose1d, by what it was made with. Errors: WrongWeights.
void look_at_layer(const ConvProblem& p, const std::map<std::string, PythonValue>& attributes);

// What a parameter of that name is given for the problem; nothing: its name does not tell.
std::optional<PythonValue> number_of_layer(const ConvProblem& p, const std::string& name);

}  // namespace convscope::host
