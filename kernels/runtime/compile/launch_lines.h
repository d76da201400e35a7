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

// ---- what files with host code are registered with as well (host_code.h)

// At the commas that no bracket holds.
std::vector<std::string> list_parts(const std::string& list);
// Refuses an expression of line `number` with anything in it but numbers, what may be named and what computes. Errors:
// InputError.
void check_expression(const std::string& name, int number, const std::string& key, const std::string& text);
// What a parameter of this name usually is: x, w, b or y of a tensor, else a parameter of the problem; "" when its name
// does not tell.
std::string usual_meaning(const std::string& parameter, bool tensor);
// C++ that names the problem's parameters (of *convscope_given), and that takes the same names from macros before.
std::string names_of_problem();

// C++ that says which fields of the problem none of these expressions has ("  not_given({\"dilation\"});\n"), or "".
std::string fields_not_in(const std::vector<std::string>& expressions);
std::string undefined_names();
std::string c_string(std::string_view text);
// The first sentence of a file's head comment, or "".
std::string idea_of(std::string_view text);

// Whether a text has code of its own that registers a kernel.
bool registers_itself(std::string_view text);

}  // namespace convscope
