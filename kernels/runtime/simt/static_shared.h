// Where a kernel's variables declared __shared__ lie: the emulator has one copy for each OS thread, as thread-local
// variables of the module that holds the kernel.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace convscope::simt {

// One of them, where its module says so (kernels/runtime/compile/shared_zones.h).
struct DeclaredShared {
  uint64_t offset, bytes;  // among the module's thread-local variables
  const char* name;        // mangled
};
// The table of a module that was opened.
void know_declared_shared(const void* table);
// Of a table the function that declares the most, and its bytes.
struct MostShared {
  std::string function;  // "up", without parameters
  uint64_t bytes = 0;
};
MostShared most_declared_shared(const void* table);

struct StaticShared {
  unsigned char* begin = nullptr;
  size_t bytes = 0;  // 0: there are none, or the kernel is of the program itself, whose own variables lie among them
  struct Declared {
    uint64_t room = 0;                // before and behind each of them
    std::vector<DeclaredShared> all;  // by offset
  };
  const Declared* declared = nullptr;
  bool holds(const void* p) const { return static_cast<size_t>(static_cast<const unsigned char*>(p) - begin) < bytes; }
  // Of which of them `size` bytes at p lie outside, but in the room around it; null: none.
  const DeclaredShared* left(const void* p, size_t size) const;
};
// "xs" of "up(float const*)::xs", mangled.
std::string own_name(const DeclaredShared& variable);

// Of the module that holds `code`, for the calling OS thread.
StaticShared static_shared_of(const void* code);

}  // namespace convscope::simt
