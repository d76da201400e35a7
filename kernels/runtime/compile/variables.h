// The memory that a kernel file declares: its __constant__ and __device__ variables, found without a compiler.
#pragma once
#include <string>
#include <vector>

namespace convscope {

struct DeclaredVariable {
  std::string name;  // with its namespaces
  int line;
  bool is_constant;  // __constant__
  bool is_set;       // where it is declared
};
// Those at any depth of namespaces, and of no class or template, nor between #if and #endif, where they may not be. Of
// several in one declaration each.
std::vector<DeclaredVariable> variables_in(const std::string& text);

// C++ behind a text: that its __constant__ memory is no more than a GPU has and, `for_host_code`, by which names it is
// filled (convscope/variables.h).
std::string registration_of_variables(const std::string& text, const std::string& name, bool for_host_code);

}  // namespace convscope
