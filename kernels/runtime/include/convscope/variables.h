// Memory that a kernel file with host code declares: __constant__ and __device__ variables, which cudaMemcpyToSymbol
// and its like fill. The file's registration names them (kernels/runtime/compile/variables.h). Included by recording.h
// alone.
#pragma once
#include <type_traits>
#include <vector>

#include "convscope/plan.h"

namespace convscope::host {

// Numbers of addresses (host_code.h) from here on are variables, in the order of their declarations.
constexpr int first_variable = 0x90000;

struct Variable {
  Plan::Variable own;
  bool fixed;  // const, so that a compiler may know its value
};
inline std::vector<Variable>& variables() {
  static std::vector<Variable> all;
  return all;
}
struct Declared {
  template <class T>
  Declared(const char* name, T& v, bool constant) {
    auto* at = const_cast<void*>(static_cast<const volatile void*>(&v));
    variables().push_back(
        {{name, at, static_cast<int64_t>(sizeof(T)), constant}, std::is_const_v<std::remove_all_extents_t<T>>});
  }
};

inline int variable_of(const void* symbol) {
  for (size_t i = 0; i < variables().size(); i++)
    if (variables()[i].own.on_host == symbol) return static_cast<int>(i);
  refuse("its host code names a variable for a copy that is no __constant__ or __device__ memory of the file");
}
inline uint64_t address_of_variable(const void* symbol) { return address_of(first_variable + variable_of(symbol)); }
inline int64_t bytes_of_variable(const void* symbol) {
  return variables()[static_cast<size_t>(variable_of(symbol))].own.bytes;
}
// Of an address its variable, or null.
inline const Variable* variable_at(uint64_t address) {
  const int number = what_of(address) - first_variable;
  const bool known = number >= 0 && number < static_cast<int>(variables().size());
  return known ? &variables()[static_cast<size_t>(number)] : nullptr;
}

}  // namespace convscope::host
