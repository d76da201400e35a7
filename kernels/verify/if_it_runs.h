// Runs that say nothing where the kernel does not take a problem, cannot run here, or fails.
#pragma once
#include <optional>

#include "kernels/base/error.h"

namespace convscope {

// What `run` gives, or nothing: InputError (a problem that is too large, say), MissingError and KernelFault end here.
// Errors: DeviceError when the device cannot be used again; Cancelled.
template <class Run>
auto if_it_runs(Run run) -> std::optional<decltype(run())> {
  try {
    return run();
  } catch (const InputError&) {
  } catch (const MissingError&) {
  } catch (const KernelFault&) {
  } catch (const DeviceError& e) {
    if (e.poisoned()) throw;
  }
  return {};
}

}  // namespace convscope
