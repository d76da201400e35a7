// Where a kernel's variables declared __shared__ lie: the emulator has one copy for each OS thread, as thread-local
// variables of the module that holds the kernel.
#pragma once
#include <cstddef>

namespace convscope::simt {

struct StaticShared {
  unsigned char* begin = nullptr;
  size_t bytes = 0;  // 0: there are none, or the kernel is of the program itself, whose own variables lie among them
  bool holds(const void* p) const { return static_cast<size_t>(static_cast<const unsigned char*>(p) - begin) < bytes; }
};

// Of the module that holds `code`, for the calling OS thread.
StaticShared static_shared_of(const void* code);

}  // namespace convscope::simt
