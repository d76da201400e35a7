// C++ names of symbols.
#pragma once
#include <cstdlib>
#include <cxxabi.h>
#include <memory>
#include <string>

namespace convscope {

// "k(float*)" of "_Z1kPf"; "" of what is no mangled name.
inline std::string demangled(const char* symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> known(abi::__cxa_demangle(symbol, nullptr, nullptr, &status), std::free);
  return status == 0 && known ? known.get() : "";
}

}  // namespace convscope
