// Memory of the host that cannot be had: because the machine has not as much, or because this process may not have it.
#pragma once
#include <cstddef>

#include "kernels/base/error.h"

namespace convscope {

// The machine would have it: this process has reached its own limit, and little else will work in it any more.
class OwnMemoryError : public InputError {
 public:
  using InputError::InputError;
};

// Throws the one or the other, whose value is how much was asked for.
[[noreturn]] void refuse_memory(size_t bytes);

}  // namespace convscope
