// A kernel file that says in its comments how it is launched, so that it needs no code of this project's:
//
//   // convscope: launch gather grid=ceil_div(N*Cout*Lout,256) block=256 args=c,x,w,b,y supports=groups==1
//
// Words are set apart by blanks. After `launch` the __global__ function (gather<128> as well), then in any order grid=
// and block= (up to three expressions, with commas), shared= (bytes), args= (one for each parameter of the function),
// supports= (a condition), type= (f32, f64, f16 or bf16 of the tensors; f32), accuracy= (strict, 3xtf32 or tf32).
// Several such lines are launches one after the other. Expressions are made of numbers, + − * / % ( ), comparisons, &&,
// ||, !, ceil_div, min, max and the problem's parameters; arguments may also be c (a ConvArgs), x, w, b, y.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace convscope {

// C++ that registers the kernel of a file with such lines, to be put behind its text; "" when it has none. `name`: the
// file's, for messages. Errors: InputError that names the line.
std::string registration_of_lines(std::string_view text, const std::string& name);

// The functions that such lines launch, in their order. Errors: as registration_of_lines().
std::vector<std::string> launched_functions(std::string_view text, const std::string& name);

// By which plans and device code know a function: gather_128 for gather<128>.
std::string device_name(std::string_view function);

// A line that fits the first __global__ function of a text, as far as its parameters' names tell; "" without a
// function.
std::string suggested_line(std::string_view text);

// Whether a text has code of its own that registers a kernel.
bool registers_itself(std::string_view text);

}  // namespace convscope
