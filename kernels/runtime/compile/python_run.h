// The module of a Python file, followed: __init__() is given the layer's numbers and makes its attributes, forward() is
// given x, and what it calls is called. What is not followed is refused with its line.
#pragma once
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace convscope {

// Whether a text has a class with a forward(), and does not say in a line `# convscope: call …` that the host code's
// function alone is meant.
bool has_python_module(const std::string& text);

// What the module is made with, and called with, by the usual names (launch_lines.h): what is not among them it is not
// told.
std::vector<std::string> python_module_numbers(const std::string& text);

// The functions of an extension by the names that the module calls them by: functions=["a"], m.def("a", &b).
struct PythonBinding {
  std::string function;    // of the host code
  std::string names;       // its parameters', as convscope::host::PythonFunction has them; "": the binding names none
  std::string types = {};  // of its parameters, where the binding says which of several it is
};
std::map<std::string, PythonBinding> python_bindings(const std::string& text);

// The module's own weights have sizes that the layer's do not have: "its weight has sizes …". Nothing is launched.
struct WrongWeights : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace convscope
