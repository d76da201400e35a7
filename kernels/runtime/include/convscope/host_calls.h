// What host code of a kernel file from outside is called with, and what is noted of it (host_code.h): the side of it
// that is in the program (kernels/runtime/compile/recording.cpp).
#pragma once
#include <initializer_list>
#include <optional>
#include <string>

#include "convscope/host_tensor.h"

namespace convscope::host {

// Numbers of addresses (host_tensor.h) from here on are variables, in the order of their declarations.
constexpr int first_variable = 0x90000;

struct Variable {
  const char* name;
  void* on_host;
  int64_t bytes;
  bool constant;
  bool fixed;  // const, so that a compiler may know its value
  int number;
  const Variable* before;
};

// The problem's tensors as host code is given them.
class Given {
 public:
  CONVSCOPE_PROGRAM explicit Given(const ConvProblem& p);
  CONVSCOPE_PROGRAM Tensor tensor(Role role) const;
  CONVSCOPE_PROGRAM std::optional<Tensor> maybe(Role role) const;
  struct Pointer {
    uint64_t address;
    template <class T>
    operator T*() const {
      return reinterpret_cast<T*>(address);
    }
  };
  CONVSCOPE_PROGRAM Pointer pointer(Role role) const;
  int64_t bytes(Role role) const { return tensor(role).nbytes(); }
  void move_weights(uint64_t address) { weights_ = address; }

 private:
  ScalarType type_;
  Sizes shapes_[5];
  bool bias_;
  uint64_t weights_ = 0;  // where they lie, if not at their usual address
};

// The function that is called, one of two kinds, and the variables of its module (the last one of them, by way of each
// of which one comes to the one before).
struct Called {
  Tensor (*returns)(const ConvProblem&, const Given&);
  void (*does)(const ConvProblem&, const Given&);
  const Variable* const* variables;
};

// Calls the host code for a problem and notes what it launches. Errors: std::runtime_error, and what the host code
// throws.
CONVSCOPE_PROGRAM void record(const ConvProblem& p, Plan& plan, const Called& host_code);
// Why the host code does not take a problem, or "".
CONVSCOPE_PROGRAM std::string refused(const ConvProblem& p, const Called& host_code);

// ---- what a call does; errors of all: refused, where it may not be, or outside of a call

// A parameter's value. words: it may hold addresses of tensors, as a struct of pointers and sizes does.
struct Handed {
  enum Kind : uint8_t { pointer, words, plain } kind;
  const void* value;
  size_t bytes;
};

// A kernel of the file. Its name in the device code is made of the mangled name of Tag<function>: the program names
// nvcc's symbols by the same rule (kernels/runtime/compile/for_gpu.h).
struct Callee {
  const char* tag;
  const void* function;
  void (*loop)(void* const*);
  int64_t most_threads = 0;  // by its __launch_bounds__; 0: it has none
};

// A launch. fills_bytes: as convscope::Launch has it.
CONVSCOPE_PROGRAM void note_launch(const Callee& kernel, const Shape& grid, const Shape& block, size_t shared_bytes,
                                   uintptr_t stream, std::initializer_list<Handed> arguments, int64_t fills_bytes = 0);

// Kernels whose addresses variables of the host code may hold. Errors of kernel_at: refused, where it is none of these.
CONVSCOPE_PROGRAM void note_kernel(const Callee& kernel);
CONVSCOPE_PROGRAM Callee kernel_at(const void* function);

// Whether an address is one of a variable.
CONVSCOPE_PROGRAM bool is_variable(uint64_t address);

// What is copied must be there (a GPU says cudaErrorInvalidValue, or copies what lies behind it).
CONVSCOPE_PROGRAM void check_room(uint64_t address, int64_t bytes, const char* doing);
CONVSCOPE_PROGRAM void check_variable(uint64_t to);
CONVSCOPE_PROGRAM void check_copy(uint64_t to, uint64_t from, int64_t bytes, bool between_device);
CONVSCOPE_PROGRAM void check_clear(uint64_t address, int64_t bytes);
// What a function of another type than tensors returns: cudaError_t, a number. Not if it is no success.
CONVSCOPE_PROGRAM void check_status(int64_t status);
// Whether an address is one of a tensor, or of memory that was taken or declared; else it is the host's own.
CONVSCOPE_PROGRAM bool on_device(uint64_t address);

}  // namespace convscope::host
