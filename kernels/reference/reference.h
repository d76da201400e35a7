// Other people's ConvTranspose1d, to compare with: oneDNN on the CPU, cuDNN on the GPU. Each is judged against the
// oracle like any kernel; none of them is the truth.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "kernels/problem/conv_problem.h"
#include "kernels/runtime/device.h"

namespace convscope {

class Reference {
 public:
  virtual ~Reference() = default;

  // "onednn", "cudnn" (TF32 forbidden), "cudnn-tf32" (TF32 allowed, PyTorch's default).
  virtual std::string name() const = 0;
  virtual std::string idea() const = 0;
  virtual std::string version() const = 0;  // of the library that was opened; "" when none was

  // Why it cannot run on this machine, with how to get what lacks; "" when it can.
  virtual std::string unavailable() const = 0;
  // What it lacks for this problem ("has no output_padding beyond …"); "" when it takes it.
  virtual std::string unsupported(const ConvProblem& p) const = 0;
  // Whether results may be computed in TF32 (accuracy of products: 11 significant bits).
  virtual bool may_use_tf32() const { return false; }
  // What the last run really used ("engine 3, tensor cores"); "" when nothing is known.
  virtual std::string what_ran() const { return ""; }

  // Computes y = convtranspose1d(x, w, b) at the addresses of the device this reference was made for, and waits.
  // Errors: InputError when unsupported; MissingError when unavailable; DeviceError.
  virtual void run(const ConvProblem& p, const Bindings& at, Activity* activity) = 0;
  // The time of the computation alone: descriptors, algorithm choice and workspaces are made before, and kept.
  virtual Timing time(const ConvProblem& p, const Bindings& at, bool cold, const TimingOptions& options,
                      Activity* activity) = 0;
};

// The references that belong to a device, available or not: onednn for the emulator, cudnn and cudnn-tf32 for a GPU.
// They use `device` and must not outlive it.
std::vector<std::unique_ptr<Reference>> references_for(Device& device);

}  // namespace convscope
