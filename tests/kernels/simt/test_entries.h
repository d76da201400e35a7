// Launches of the kernels in this folder with any shape and any arguments.
#pragma once
#include <array>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "convscope/plan.h"
#include "kernels/base/error.h"
#include "kernels/runtime/simt/executor.h"

namespace convscope::test {

// The launch of a __global__ function that some test kernel's plan names; its shape there means nothing.
Launch planned_launch(std::string_view function, bool traced = false);

template <class... A>
void launch_entry(const Launch& planned, Shape grid, Shape block, size_t shared_bytes,
                  const simt::LaunchOptions& options, A... arguments) {
  // The emulator gets untyped pointers, so a wrong argument must be caught here.
  std::vector<size_t> sizes{sizeof arguments...};
  if (sizes.size() != planned.arguments.size())
    throw std::logic_error("another number of arguments than the kernel has");
  for (size_t i = 0; i < sizes.size(); i++)
    if (sizes[i] != planned.arguments[i].size) throw std::logic_error("an argument of another size than the kernel's");
  std::array<void*, sizeof...(A)> pointers{&arguments...};
  simt::launch(planned.entry, grid, block, shared_bytes, pointers.data(), options);
}

template <class... A>
void launch_test(std::string_view function, Shape grid, Shape block, A... arguments) {
  launch_entry(planned_launch(function), grid, block, 0, {}, arguments...);
}

// What the launch's fault says, or "".
template <class F>
std::string fault_of(F&& launch) {
  try {
    launch();
  } catch (const KernelFault& fault) {
    return fault.what();
  }
  return "";
}

}  // namespace convscope::test
