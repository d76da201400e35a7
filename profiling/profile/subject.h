// What can be timed and profiled: a kernel or a reference, on one problem, with its tensors on a device.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "kernels/problem/inputs.h"
#include "kernels/reference/reference.h"
#include "kernels/runtime/device.h"
#include "kernels/verify/guarded.h"

namespace convscope {

// The tensors of a problem, between red zones as in a judged run: a kernel that reads beside them harms nothing.
class ProblemMemory {
 public:
  // `own_length`: the longest output that any kernel to run here writes. `workspace`: the largest that any needs.
  ProblemMemory(Device& device, const ConvProblem& p, const Inputs& inputs, int64_t own_length, size_t workspace);
  const Bindings& at() const { return at_; }
  void poison_output() { y_.fill(poison); }
  uint64_t output_checksum() const { return y_.checksum(); }
  // Other input values, and the drawn ones again.
  void change_input() { x_.fill(0x3e99999a); }  // 0.3
  void restore_input();

 private:
  static constexpr uint32_t poison = 0x7fc0babe;  // a NaN
  const Inputs& inputs_;
  GuardedTensor x_, w_;
  std::unique_ptr<GuardedTensor> b_;
  GuardedTensor y_;
  std::unique_ptr<GuardedTensor> workspace_;
  Bindings at_;
};

class Subject {
 public:
  virtual ~Subject() = default;
  virtual std::string name() const = 0;
  virtual bool is_reference() const = 0;
  virtual std::string file() const { return ""; }
  virtual std::vector<std::string> requires_hardware() const { return {}; }
  virtual std::string what_ran() const { return ""; }
  virtual int64_t out_length() const = 0;  // that it works out itself
  virtual size_t workspace_bytes() const { return 0; }
  // A call, whole: issued at once, waited for.
  virtual void run(const Bindings& at, Activity* activity) = 0;
  virtual Timing time(const Bindings& at, bool cold, const TimingOptions& options, Activity* activity) = 0;
  virtual std::vector<LaunchFacts> launch_facts() { return {}; }
  virtual bool tensor_arithmetic() const { return false; }  // TF32 may be used
};

// By the name of a kernel or of one of `references`. Errors: InputError when there is none, or it does not support the
// problem; MissingError when this device cannot run it.
std::unique_ptr<Subject> make_subject(const std::string& name, Device& device,
                                      std::vector<std::unique_ptr<Reference>>& references, const ConvProblem& p);

}  // namespace convscope
