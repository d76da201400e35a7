// Memory that a kernel file with host code declares: __constant__ and __device__ variables, which cudaMemcpyToSymbol
// and its like fill. The file's registration names them (kernels/runtime/compile/variables.h). Included by recording.h
// alone.
#pragma once
#include <cstdint>
#include <type_traits>

#include "convscope/host_calls.h"

namespace convscope::host {

// The last one of the file's module.
inline const Variable* last_declared = nullptr;
struct Declared {
  template <class T>
  Declared(const char* name, T& v, bool constant)
      : own{name,
            const_cast<void*>(static_cast<const volatile void*>(&v)),
            static_cast<int64_t>(sizeof(T)),
            constant,
            std::is_const_v<std::remove_all_extents_t<T>>,
            last_declared ? last_declared->number + 1 : 0,
            last_declared} {
    last_declared = &own;
  }
  Variable own;
};

}  // namespace convscope::host
