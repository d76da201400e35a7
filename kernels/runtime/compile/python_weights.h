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

// The problem's tensors are of one type, and so is a module that is made for it: by torch.set_default_dtype() in the
// file's text, by .half(), .to(torch.float64) and the like, by dtype= of what makes weights. Errors: std::exception,
// which says that the problem is in another.
void look_at_default_type(const std::string& text, ScalarType asked);
void look_at_conversion(const std::string& method, const PythonArguments& a, ScalarType asked);
void look_at_dtype(const PythonArguments& a, const std::string& of, ScalarType asked);

// What is told beside the verdict of a module that gives its weights other values than the layer does, whose weights
// are the problem's all the same: in a method of its own, by a function of torch.nn.init, by what it is made of.
void note_own_values(const PythonStatement& method);
void note_own_values(const std::string& path, const PythonArguments& a);
void note_made(const PythonObject& weights);
void note_normalised();
void note_packed();

// A call of the host code that does not fit it. Always throws: what PyTorch's binding does too, where that is known.
[[noreturn]] void refuse_call(const std::string& text, const std::string& name, const PythonFunction& f,
                              size_t by_place, size_t by_name);

// What a parameter of that name is given for the problem; nothing: its name does not tell.
std::optional<PythonValue> number_of_layer(const ConvProblem& p, const std::string& name);

}  // namespace convscope::host
